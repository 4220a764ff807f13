//! Rules about source files.

use std::path::{Path, PathBuf};

/// Crates that may contain `unsafe`.
pub const UNSAFE_CRATES: [&str; 3] = ["host-sys", "guest-shim", "guest-process"];

/// A file is thought about again above this many lines, its tests not counted.
pub const MAX_LINES: usize = 500;

/// Files that may be longer, each with the reason.
pub const LONG_FILES: &[(&str, &str)] = &[];

/// A Rust source file.
pub struct Source {
    /// Relative to the project.
    pub path: String,
    /// What is in it.
    pub text: String,
}

/// Every Rust file of the crates and of xtask.
pub fn all(project: &Path) -> Result<Vec<Source>, String> {
    let mut found = Vec::new();
    let mut pending: Vec<PathBuf> = vec![project.join("crates"), project.join("xtask")];
    while let Some(folder) = pending.pop() {
        let entries =
            folder.read_dir().map_err(|error| format!("{}: {error}", folder.display()))?;
        for entry in entries {
            let path = entry.map_err(|error| error.to_string())?.path();
            if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
                pending.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).map_err(|error| error.to_string())?;
                let path = path.strip_prefix(project).unwrap_or(&path);
                found.push(Source { path: path.display().to_string(), text });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Lines without the tests at the end of a file.
fn lines_of_code(text: &str) -> usize {
    let is_tests = |line: &&str| *line != "mod tests {";
    text.lines().take_while(is_tests).count()
}

/// Files that are too long, and exceptions that are not needed any more.
pub fn too_long(sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources {
        let is_test = source.path.contains("/tests/") || source.path.ends_with("/tests.rs");
        let n_lines = lines_of_code(&source.text);
        let excepted = LONG_FILES.iter().any(|(path, _)| *path == source.path);
        if n_lines > MAX_LINES && !excepted && !is_test {
            found.push(format!(
                "{} has {n_lines} lines: split it, or list it with a reason",
                source.path
            ));
        }
    }
    for (path, _) in LONG_FILES {
        let source = sources.iter().find(|source| source.path == *path);
        if source.is_none_or(|source| lines_of_code(&source.text) <= MAX_LINES) {
            found.push(format!("{path} is listed as long and is not: take it from the list"));
        }
    }
    found
}

/// Crate roots that do not forbid `unsafe`, and files outside of the border that allow it.
pub fn unsafe_outside_the_border(sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources {
        if UNSAFE_CRATES.iter().any(|name| source.path.starts_with(&format!("crates/{name}/"))) {
            continue;
        }
        let is_root = source.path.ends_with("src/lib.rs") || source.path.ends_with("src/main.rs");
        if is_root && !source.text.contains("#![forbid(unsafe_code)]") {
            found.push(format!("{} does not forbid unsafe code", source.path));
        }
        let allows = ["expect(unsafe_code", "allow(unsafe_code"];
        let own = source.path.starts_with("crates/house-rules/");
        if !own && allows.iter().any(|word| source.text.contains(word)) {
            found.push(format!("{} allows unsafe code outside of the border", source.path));
        }
    }
    found
}

/// Crate roots and module files that do not say what they are.
pub fn without_introduction(sources: &[Source]) -> Vec<String> {
    let says = |source: &&Source| {
        let first = source.text.lines().find(|line| !line.is_empty() && !line.starts_with("#!"));
        !first.is_some_and(|line| line.starts_with("//!"))
    };
    let in_src = |source: &&Source| source.path.contains("/src/") && !source.path.contains("tests");
    let found = sources.iter().filter(in_src).filter(says);
    found.map(|source| format!("{} does not open with what it is", source.path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source { path: path.into(), text: text.into() }
    }

    #[test]
    fn tests_do_not_make_a_file_long() {
        let text = "x\n".repeat(400) + "mod tests {\n" + &"y\n".repeat(400);
        assert_eq!(lines_of_code(&text), 400);
    }

    #[test]
    fn only_the_border_may_be_unsafe() {
        let word = concat!("#![expect(unsafe", "_code, reason = \"\")]");
        assert!(unsafe_outside_the_border(&[source("crates/host-sys/src/a.rs", word)]).is_empty());
        assert_eq!(unsafe_outside_the_border(&[source("crates/cli/src/a.rs", word)]).len(), 1);
        assert_eq!(unsafe_outside_the_border(&[source("crates/cli/src/lib.rs", "")]).len(), 1);
    }
}
