//! Where pip takes packages from, out of its own configuration.

use std::collections::BTreeMap;

use super::source::{Source, host_of};

/// Options of pip that say where packages come from and how they are fetched.
const PASSED_ON: [&str; 14] = [
    "cert",
    "client-cert",
    "constraint",
    "default-timeout",
    "extra-index-url",
    "find-links",
    "index-url",
    "no-binary",
    "no-index",
    "only-binary",
    "proxy",
    "retries",
    "timeout",
    "trusted-host",
];

/// Python code that prints the index that pip uses when it is told of none, and the host that
/// keeps its files. Run by a Python that has pip.
pub const DEFAULT_INDEX_PROBE: &str =
    "from pip._internal.models.index import PyPI\nprint(PyPI.simple_url, PyPI.file_storage_domain)";

/// Reads what `pip config list` printed, with what [`DEFAULT_INDEX_PROBE`] printed for the case
/// that no index is configured.
pub fn pip_source(config: &str, default_index: &str) -> Source {
    let options = effective_options(config);
    let mut source = Source::default();
    // What was read is passed on by name; nothing else of the host's configuration counts.
    source.env.insert("PIP_CONFIG_FILE".to_owned(), "/dev/null".to_owned());
    for (name, value) in &options {
        let variable = format!("PIP_{}", name.to_uppercase().replace('-', "_"));
        source.env.insert(variable, value.clone());
    }
    let list = |name: &str| -> Vec<&str> {
        options.get(name).map(|value| value.split_whitespace().collect()).unwrap_or_default()
    };
    for name in ["cert", "client-cert", "constraint", "find-links"] {
        list(name).into_iter().for_each(|value| source.add_address(value));
    }
    let is_on = |value: &String| matches!(value.as_str(), "1" | "true" | "yes" | "on");
    if options.get("no-index").is_some_and(is_on) {
        return source;
    }
    list("extra-index-url").into_iter().for_each(|value| source.add_address(value));
    if let Some(proxy) = options.get("proxy") {
        source.add_address(proxy);
    }
    match options.get("index-url") {
        Some(index) => source.add_address(index),
        None => {
            let mut words = default_index.split_whitespace();
            words.next().into_iter().for_each(|index| source.add_address(index));
            let files = words.next().and_then(|host| host_of(&format!("https://{host}")));
            source.hosts.extend(files);
        }
    }
    source
}

/// The options that count for `pip install`: the environment wins over the command's own section,
/// and that over the global one.
fn effective_options(config: &str) -> BTreeMap<String, String> {
    let mut options = BTreeMap::new();
    for section in ["global", "install", ":env:"] {
        for line in config.lines() {
            let Some((key, value)) = line.split_once('=') else { continue };
            let Some((of, name)) = key.trim().rsplit_once('.') else { continue };
            let name = name.replace('_', "-");
            if of == section && PASSED_ON.contains(&name.as_str()) {
                options.insert(name, unquoted(value.trim()));
            }
        }
    }
    options
}

/// A value as Python prints it, without its quotes and escapes.
fn unquoted(value: &str) -> String {
    let inner = ['\'', '"']
        .into_iter()
        .find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote))
        .unwrap_or(value);
    let mut text = String::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, false) => text.push(c),
            (_, true) => match chars.next() {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some(other) => text.push(other),
                None => {}
            },
        }
    }
    text
}
