//! Where npm takes packages from, out of its own configuration.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::source::{Source, host_of};

/// Options of npm that say where packages come from and how they are fetched.
const PASSED_ON: [&str; 8] = [
    "cafile",
    "fetch-retries",
    "fetch-timeout",
    "https-proxy",
    "noproxy",
    "proxy",
    "registry",
    "strict-ssl",
];

/// Reads what `npm config list --json` printed, and the lines of npm's configuration files, in
/// which the keys to private registries are: npm does not print those.
pub fn npm_source(config: &str, files: &str, host_env: &BTreeMap<String, String>) -> Source {
    let mut source = Source::default();
    // Files that are not there: npm refuses to load one file twice, even an empty one.
    for file in ["userconfig", "globalconfig"] {
        source.env.insert(format!("npm_config_{file}"), format!("/nonexistent/{file}"));
    }
    let Ok(Value::Object(mut options)) = serde_json::from_str::<Value>(config) else {
        return source;
    };
    add_protected(&mut options, files, host_env);
    for (name, value) in &options {
        let is_registry = name.starts_with('@') && name.ends_with(":registry");
        if !is_registry && !PASSED_ON.contains(&name.as_str()) {
            continue;
        }
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Bool(_) | Value::Number(_) => value.to_string(),
            Value::Array(items) => {
                items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(",")
            }
            Value::Null | Value::Object(_) => continue,
        };
        if text.is_empty() {
            continue;
        }
        if is_registry || matches!(name.as_str(), "registry" | "proxy" | "https-proxy" | "cafile") {
            source.add_address(&text);
        }
        source.env.insert(format!("npm_config_{name}"), text);
    }
    source.env.extend(keys(files, &source, host_env));
    source
}

/// The packages that bring something to be run when they are installed, by the list that npm
/// leaves in `node_modules`, or nothing if that list says nothing.
pub fn packages_with_scripts(list: &str) -> Option<Vec<String>> {
    let list: Value = serde_json::from_str(list).ok()?;
    let with_scripts = list.get("packages")?.as_object()?.iter().filter_map(|(path, package)| {
        let has_scripts = package.get("hasInstallScript").and_then(Value::as_bool);
        let (_, name) = path.rsplit_once("node_modules/")?;
        has_scripts.unwrap_or(false).then(|| name.to_owned())
    });
    // One name may be there in several versions; npm takes all of a name.
    let names: BTreeSet<String> = with_scripts.collect();
    Some(names.into_iter().collect())
}

/// Adds the options that npm does not print because there is a password in them. Without, packages
/// would be looked for in another registry than the one that is configured.
fn add_protected(
    options: &mut serde_json::Map<String, Value>,
    files: &str,
    host_env: &BTreeMap<String, String>,
) {
    let is_address = |name: &str| {
        matches!(name, "registry" | "proxy" | "https-proxy") || name.ends_with(":registry")
    };
    let mut protected = BTreeMap::new();
    for line in files.lines() {
        let Some((name, value)) = line.split_once('=') else { continue };
        let value = value.trim().trim_matches('"');
        protected.insert(name.trim().to_owned(), expanded(value, host_env));
    }
    // The environment wins over files.
    for (name, value) in host_env {
        let name = name.to_lowercase();
        if let Some(option) = name.strip_prefix("npm_config_") {
            protected.insert(option.replace('_', "-"), value.clone());
        }
    }
    for (name, value) in protected {
        if is_address(&name) && value.contains('@') && !options.contains_key(&name) {
            options.insert(name, Value::String(value));
        }
    }
}

/// Lines such as `//HOST/:_authToken=KEY` for the hosts that are reached anyway.
fn keys(
    files: &str,
    source: &Source,
    host_env: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut keys = BTreeMap::new();
    for line in files.lines().map(str::trim).filter(|line| line.starts_with("//")) {
        let Some((name, value)) = line.split_once('=') else { continue };
        let (name, value) = (name.trim(), value.trim().trim_matches('"'));
        let is_reached = ["https:", "http:"].iter().any(|scheme| {
            host_of(&format!("{scheme}{}", name.split("/:").next().unwrap_or(name)))
                .is_some_and(|host| source.hosts.contains(&host))
        });
        if is_reached {
            keys.insert(format!("npm_config_{name}"), expanded(value, host_env));
        }
    }
    keys
}

/// A value with every `${NAME}` replaced by the host's variable.
fn expanded(value: &str, host_env: &BTreeMap<String, String>) -> String {
    let mut text = value.to_owned();
    for (name, replacement) in host_env {
        text = text.replace(&format!("${{{name}}}"), replacement);
    }
    text
}
