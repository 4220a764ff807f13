//! Hints in the instructions: install commands, and known programs in shell examples.

use std::sync::LazyLock;

use regex::Regex;

use super::lists::is_known_program;
use super::{Evidence, Hint, Hints, is_scanned, programs};
use crate::skill::Skill;

#[expect(clippy::unwrap_used, reason = "the patterns are constants, and tests use each")]
fn pattern(text: &str) -> Regex {
    Regex::new(text).unwrap()
}

static PIP: LazyLock<Regex> = LazyLock::new(|| pattern(r"\bpip3?\s+install\s+([^`|;&)\n]+)"));
static NPM: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\b(?:npm\s+(?:install|i)|pnpm\s+add|yarn\s+add)\s+([^`|;&)\n]+)"));
static CODE: LazyLock<Regex> = LazyLock::new(|| pattern(r"`([a-z][a-z0-9+-]*)(?:\s[^`]*)?`"));

/// Languages of code blocks that are shell.
const SHELL: [&str; 6] = ["bash", "sh", "shell", "console", "zsh", "shell-session"];

/// Adds what the Markdown files of the skill mention.
pub(super) fn scan(skill: &Skill, hints: &mut Hints) {
    for entry in skill.regular_files().filter(|entry| is_scanned(entry)) {
        if !entry.extension().is_some_and(|end| end.eq_ignore_ascii_case("md")) {
            continue;
        }
        if let Some(text) = skill.read_text(entry) {
            scan_text(&entry.path, &text, hints);
        }
    }
}

fn scan_text(file: &str, text: &str, hints: &mut Hints) {
    let mut language: Option<&str> = None;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if let Some(fence) = line.trim_start().strip_prefix("```") {
            language = match language {
                Some(_) => None,
                None => Some(fence.trim().trim_start_matches('{')),
            };
            continue;
        }
        let mention = |name: &str| Hint::new(name, file, number, Evidence::Mentioned);
        let pip = installed(&PIP, line);
        let npm = installed(&NPM, line);
        hints.python.extend(pip.iter().map(|name| mention(without_extras(name))));
        hints.node.extend(npm.iter().map(|name| mention(without_version(name))));
        if !pip.is_empty() || !npm.is_empty() {
            continue; // The installer itself is not what is needed.
        }
        let named: Vec<String> = match language {
            Some(language) if SHELL.contains(&language) => {
                let line = line.trim_start().trim_start_matches("$ ");
                programs::shell_programs(line).into_iter().map(|(_, name)| name).collect()
            }
            Some(_) => Vec::new(),
            None => CODE
                .captures_iter(line)
                .filter_map(|code| code.get(1))
                .map(|name| name.as_str().to_owned())
                .collect(),
        };
        let known = named.iter().filter(|name| is_known_program(name));
        hints.programs.extend(known.map(|name| mention(name)));
    }
}

/// The names after an install command.
fn installed<'l>(command: &Regex, line: &'l str) -> Vec<&'l str> {
    let rests = command.captures_iter(line).filter_map(|found| found.get(1));
    rests
        .flat_map(|rest| rest.as_str().split_whitespace().take_while(|word| *word != "#"))
        .map(|word| word.trim_matches(|c| matches!(c, '"' | '\'' | '`' | ',' | '.')))
        .filter(|word| word.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '@'))
        .collect()
}

fn without_extras(name: &str) -> &str {
    name.split(['=', '<', '>', '~', '!', '[']).next().unwrap_or(name)
}

fn without_version(name: &str) -> &str {
    match name.rfind('@') {
        Some(at) if at > 0 => name.get(..at).unwrap_or(name),
        _ => name,
    }
}
