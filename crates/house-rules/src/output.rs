//! Rules about what is shown to a person.
//!
//! A guest, a package or an archive chooses names, and a name can drive a terminal, turn the text
//! beside it round, or hide it. `sandbox_spec::printable` is the one place that decides what is shown
//! as it is. So what the program says goes through the two files that call it for every word, and
//! no message shows a path in another way: only `printable_path` also keeps a name on one line.

use crate::sources::Source;

/// Words by which something is printed.
const PRINTING: [&str; 8] =
    ["println!", "print!", "dbg!", "stdout()", "stderr()", "io::Stdout", "io::Stderr", ".print()"];

/// Words that print too; those of the command are its own, and call the one function.
const PRINTING_ELSEWHERE: [&str; 2] = ["eprintln!", "eprint!"];

/// Words by which a path becomes text as it is.
const RAW_PATH: &str = ".display()";

/// Crates whose messages reach a person.
const SPEAKING: [&str; 3] = ["crates/cli/", "crates/skills/", "crates/sandbox/"];

/// Programs for those who work on this project, and what only their tests use.
const NOT_SHIPPED: [&str; 5] =
    ["xtask/", "crates/house-rules/", "crates/kernel-fuzz/", "crates/test-skips/", "fuzz/"];

/// Files that may print, or use a raw path, each with the reason.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("crates/cli/src/output.rs", "standard output: calls the one function"),
    ("crates/cli/src/speak.rs", "standard error: calls the one function"),
    ("crates/cli/src/user_terminal.rs", "questions: calls the one function"),
    ("crates/cli/src/keyboard.rs", "asks which stream is a terminal"),
    ("crates/cli/src/options/common.rs", "asks whether a stream is a terminal"),
    ("crates/cli/src/skill/progress.rs", "asks whether a stream is a terminal"),
    ("crates/cli/src/diff.rs", "the guest's own output goes to standard error"),
    ("crates/cli/src/conform/needs.rs", "starts a program, whose output goes to standard error"),
    ("crates/cli/src/skill/inventory.rs", "a path becomes a variable of a guest"),
    ("crates/skills/src/cases/native.rs", "a path becomes an argument of a program"),
    (
        "crates/skills/src/load/archive.rs",
        "a place of a finding, which is escaped where it is shown",
    ),
    ("crates/skills/src/check/mod.rs", "a place of a finding, which is escaped where it is shown"),
    ("crates/sandbox/src/streams.rs", "the guest's own streams"),
    ("crates/backend-kernel/src/trace.rs", "a trace, in which every string is quoted as ASCII"),
    ("crates/backend-kernel/src/tree.rs", "asks which stream is a terminal"),
];

/// Places that show something without the one function, and exceptions that nobody needs.
pub fn around_the_one_function(sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| is_product(&source.path)) {
        let lines: Vec<&str> =
            code(&source.text).filter_map(|line| word_in(source, line)).collect();
        let excepted = EXCEPTIONS.iter().any(|(path, _)| *path == source.path);
        match (lines.first(), excepted) {
            (Some(word), false) => found.push(format!(
                "{} has `{word}`: print with `output` or `speak`, show paths with `printable_path`, \
                 or list it with a reason",
                source.path
            )),
            (None, true) => found.push(format!("{} needs no exception any more", source.path)),
            _ => {}
        }
    }
    for (path, _) in EXCEPTIONS {
        if !sources.is_empty() && !sources.iter().any(|source| source.path == *path) {
            found.push(format!("{path} is listed and does not exist"));
        }
    }
    found
}

fn is_product(path: &str) -> bool {
    let is_test = path.contains("/tests/") || path.ends_with("/tests.rs");
    !is_test && path.contains("/src/") && !NOT_SHIPPED.iter().any(|start| path.starts_with(start))
}

/// The lines of a file that are neither tests nor comments.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let is_code = |line: &&str| *line != "mod tests {" && *line != "pub mod tests {";
    text.lines().take_while(is_code).filter(|line| !line.trim_start().starts_with("//"))
}

/// The first word in a line that shows something.
fn word_in(source: &Source, line: &str) -> Option<&'static str> {
    let speaks = SPEAKING.iter().any(|start| source.path.starts_with(start));
    if speaks && line.contains(RAW_PATH) {
        return Some(RAW_PATH);
    }
    let is_own = source.path.starts_with("crates/cli/");
    let elsewhere = PRINTING_ELSEWHERE.into_iter().filter(|_| !is_own);
    PRINTING.into_iter().chain(elsewhere).find(|word| {
        line.match_indices(word).any(|(at, _)| {
            let before = line.get(..at).unwrap_or_default();
            !before.ends_with(|c: char| c.is_alphanumeric() || c == '_')
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        let source = Source { path: path.into(), text: text.into() };
        let lines: Vec<&str> =
            code(&source.text).filter_map(|line| word_in(&source, line)).collect();
        if is_product(path) { lines.len() } else { 0 }
    }

    #[test]
    fn printing_is_found() {
        assert_eq!(found("crates/cli/src/a.rs", "println!(\"x\");"), 1);
        assert_eq!(found("crates/cli/src/a.rs", "eprintln!(\"x\");"), 0);
        assert_eq!(found("crates/egress/src/a.rs", "eprintln!(\"x\");"), 1);
        assert_eq!(found("crates/cli/src/a.rs", "std::io::stderr().write_all(b);"), 1);
        assert_eq!(found("crates/cli/src/a.rs", "format!(\"{}\", path.display())"), 1);
        assert_eq!(found("crates/kernel-files/src/a.rs", "path.display()"), 0);
        assert_eq!(found("crates/cli/src/a.rs", "// println!\nmod tests {\nprintln!"), 0);
        assert_eq!(found("xtask/src/a.rs", "println!(\"x\");"), 0);
    }
}
