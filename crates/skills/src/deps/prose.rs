//! Hints in the instructions: install commands, and known programs in shell examples.

use super::lists::is_known_program;
use super::{Evidence, Hint, Hints, is_scanned, programs};
use crate::pattern::Pattern;
use crate::skill::Skill;

static PIP: Pattern = Pattern::new(r"\bpip3?\s+install\s+([^`|;&)\n]+)");
static NPM: Pattern =
    Pattern::new(r"\b(?:npm\s+(?:install|i)|pnpm\s+add|yarn\s+add)\s+([^`|;&)\n]+)");
static CODE: Pattern = Pattern::new(r"`([a-z][a-z0-9+-]*)(?:\s[^`]*)?`");

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

/// Names of programs that are English words as well.
const WORDS: [&str; 9] =
    ["bun", "convert", "dot", "go", "identify", "java", "magick", "make", "tree"];

/// Adds the programs that the front matter's `compatibility` names. It is the place where the
/// specification wants them, so they count as declared.
pub(super) fn scan_compatibility(skill: &Skill, hints: &mut Hints) {
    let Some(text) = &skill.front_matter.compatibility else { return };
    let manifest = skill.find_file(&skill.manifest).and_then(|entry| skill.read_text(entry));
    let manifest = manifest.unwrap_or_default();
    let line = manifest.lines().position(|line| line.starts_with("compatibility:"));
    let line = line.map_or(1, |at| at + 1);
    let is_part = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    for word in text.split(|c: char| !is_part(c)) {
        let name = word.to_lowercase();
        if is_known_program(&name) && !WORDS.contains(&name.as_str()) {
            hints.programs.push(Hint::new(name, &skill.manifest, line, Evidence::Declared));
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
            None => {
                CODE.find_groups(line).into_iter().map(|name| name.as_str().to_owned()).collect()
            }
        };
        let known = named.iter().filter(|name| is_known_program(name));
        hints.programs.extend(known.map(|name| mention(name)));
    }
}

/// The names after an install command.
fn installed<'l>(command: &Pattern, line: &'l str) -> Vec<&'l str> {
    let rests = command.find_groups(line).into_iter();
    rests
        .flat_map(|rest| rest.as_str().split_whitespace().take_while(|word| *word != "#"))
        .map(|word| word.trim_matches(|c| matches!(c, '"' | '\'' | '`' | ',' | '.')))
        .filter(|word| word.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '@'))
        // `-r requirements.txt` names a file, and only scoped packages have a slash.
        .filter(|word| !word.ends_with(".txt") && (word.starts_with('@') || !word.contains('/')))
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
