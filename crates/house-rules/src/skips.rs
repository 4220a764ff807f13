//! Rules about tests that are skipped: they say so by `test-skips`, and in no other way.

use crate::sources::Source;

/// What a test calls.
const CALL: &str = "test_skips::skip(";

/// Crates in which the words are about something else: the one way itself, and these rules.
const OWN: [&str; 2] = ["crates/test-skips/", "crates/house-rules/"];

fn is_own(source: &Source) -> bool {
    OWN.iter().any(|own| source.path.starts_with(own))
}

/// Lines that print that something was skipped.
pub fn said_otherwise(sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| !is_own(source)) {
        for (index, line) in source.text.lines().enumerate() {
            let Some((_, printed)) = line.split_once("print!(").or(line.split_once("println!("))
            else {
                continue;
            };
            let printed = printed.to_lowercase();
            let starts = ["\"skipped", "\"skipping", "\"skip:"];
            if starts.iter().any(|start| printed.trim_start().starts_with(start)) {
                let place = format!("{}:{}", source.path, index + 1);
                found.push(format!("{place} prints that it skips: call {CALL}NAME, REASON)"));
            }
        }
    }
    found
}

/// Tests that return before their end in files where nothing is ever skipped: they pass without
/// having tried anything, and nobody is told.
pub fn silent_returns(sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| !is_own(source)) {
        let modules = format!("{}/", source.path.trim_end_matches(".rs"));
        let skips = sources
            .iter()
            .filter(|other| other.path == source.path || other.path.starts_with(&modules))
            .any(|other| other.text.contains(CALL));
        if skips {
            continue;
        }
        let names = early_returns(&source.text);
        found.extend(names.into_iter().map(|name| {
            format!("{}: {name} returns early: call {CALL}NAME, REASON) before", source.path)
        }));
    }
    found
}

/// The names of the tests that have a `return` without a value.
fn early_returns(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim() != "#[test]" {
            continue;
        }
        let end = format!("{}}}", line.trim_end().trim_end_matches("#[test]"));
        let mut name = "";
        for line in lines.by_ref().take_while(|line| *line != end) {
            if let Some(rest) = line.trim_start().strip_prefix("fn ") {
                name = rest.split('(').next().unwrap_or(rest);
            }
            let is_return = |word: &str| line.contains(word) && !found.contains(&name);
            if is_return("return;") || is_return("{ return }") {
                found.push(name);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source { path: path.into(), text: text.into() }
    }

    #[test]
    fn a_skip_that_is_only_printed_is_found() {
        let text = "    eprintln!(\"SKIPPED: no tmux\");\n    println!(\"{n} skipped\");\n";
        let found = said_otherwise(&[source("crates/cli/tests/a.rs", text)]);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("crates/cli/tests/a.rs:1 "), "{found:?}");
    }

    #[test]
    fn a_test_that_returns_without_a_word_is_found() {
        let silent = "#[test]\nfn one() {\n    let Some(a) = b() else { return };\n}\n\
                      #[test]\nfn two() {\n    a();\n}\nfn three() {\n    return;\n}\n";
        let found = silent_returns(&[source("crates/cli/tests/a.rs", silent)]);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("one returns early"), "{found:?}");
        // Said by a helper, in a module of the test.
        let helper = source("crates/cli/tests/a/b.rs", "test_skips::skip(\"x\", \"y\");");
        assert!(silent_returns(&[source("crates/cli/tests/a.rs", silent), helper]).is_empty());
    }
}
