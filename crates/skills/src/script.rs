//! Scripts and what runs them.
//!
//! The interpreter comes from the `#!` line, else from the content or the extension, else from the
//! mode bits: an executable text without an extension is the shell's. Many
//! real scripts are executable without a `#!` line, and many archives lose the execute bit, so
//! neither is needed.

mod runners;

use serde::{Serialize, Serializer};

pub(crate) use runners::runner_line;

use crate::deps;
use crate::skill::{FileEntry, Skill};

/// How much of a file is read to tell what it is.
pub(crate) const HEAD_BYTES: u64 = 512;

/// What every Linux program begins with.
pub(crate) const ELF_MAGIC: [u8; 4] = *b"\x7fELF";

/// Folders that hold no scripts to run, whatever their files are.
const NOT_SCRIPTS: [&str; 4] = ["tests", "evals", "assets", "node_modules"];

/// The option by which Node runs TypeScript, from [`STRIPS_TYPES_SINCE`] on.
pub const STRIP_TYPES: &str = "--experimental-strip-types";
/// The first version of Node, major and minor, that has [`STRIP_TYPES`].
pub const STRIPS_TYPES_SINCE: (u32, u32) = (22, 6);

/// What runs a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Interpreter {
    /// CPython.
    Python,
    /// A POSIX shell.
    Sh,
    /// Bash.
    Bash,
    /// Node.
    Node,
    /// TypeScript, by whichever runtime is there.
    TypeScript,
    /// Perl.
    Perl,
    /// Ruby.
    Ruby,
    /// A Linux program.
    Elf,
    /// Something else that a `#!` line names: the program and its arguments.
    Other(Vec<String>),
}

impl Interpreter {
    /// Command lines that can run the script, the best first. The script's path is to follow.
    pub fn commands(&self) -> Vec<Vec<String>> {
        let of = |commands: &[&[&str]]| {
            commands
                .iter()
                .map(|words| words.iter().map(|word| (*word).to_owned()).collect())
                .collect()
        };
        match self {
            Interpreter::Python => of(&[&["python3"], &["python"]]),
            Interpreter::Sh => of(&[&["sh"]]),
            Interpreter::Bash => of(&[&["bash"]]),
            Interpreter::Node => of(&[&["node"], &["nodejs"]]),
            Interpreter::TypeScript => of(&[
                &["deno", "run", "--allow-all"],
                &["bun", "run"],
                &["tsx"],
                &["node", STRIP_TYPES],
            ]),
            Interpreter::Perl => of(&[&["perl"]]),
            Interpreter::Ruby => of(&[&["ruby"]]),
            Interpreter::Elf => vec![Vec::new()],
            Interpreter::Other(words) => vec![words.clone()],
        }
    }

    /// The program that usually runs such scripts.
    pub fn usual_program(&self) -> &str {
        match self {
            Interpreter::Python => "python3",
            Interpreter::Sh => "sh",
            Interpreter::Bash => "bash",
            Interpreter::Node => "node",
            Interpreter::TypeScript => "deno",
            Interpreter::Perl => "perl",
            Interpreter::Ruby => "ruby",
            Interpreter::Elf => "",
            Interpreter::Other(words) => words.first().map_or("", String::as_str),
        }
    }

    /// The word for people and for `--json`.
    pub fn word(&self) -> &str {
        match self {
            Interpreter::TypeScript => "typescript",
            Interpreter::Elf => "program",
            other => other.usual_program(),
        }
    }
}

impl Serialize for Interpreter {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.word())
    }
}

/// A script of a skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Script {
    /// Path in the skill.
    pub path: String,
    /// What runs it.
    pub interpreter: Interpreter,
    /// The `#!` line's command, when there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shebang: Option<Vec<String>>,
    /// Size in bytes.
    pub size: u64,
    /// Whether it does something when it is started. Other files are there to be imported.
    pub is_entry: bool,
}

impl Script {
    /// The options that the `#!` line gives to an interpreter that we know.
    pub(crate) fn options(&self) -> Vec<String> {
        let words = self.shebang.as_deref().unwrap_or_default();
        match (runner_line(words), &self.interpreter) {
            (_, Interpreter::Other(_) | Interpreter::Elf) => Vec::new(),
            (Some(line), _) => line.options,
            (None, _) => words.iter().skip(1).cloned().collect(),
        }
    }
}

/// Lists the skill's scripts: in `scripts/` those that a person would start, elsewhere what has a
/// `#!` line or a script's extension.
pub fn find_scripts(skill: &Skill) -> Vec<Script> {
    skill
        .regular_files()
        .filter(|entry| is_candidate(entry))
        .filter_map(|entry| read(skill, entry))
        .collect()
}

/// Reads what runs one file, or nothing if it is no script.
pub fn interpreter_of(skill: &Skill, entry: &FileEntry) -> Option<Interpreter> {
    read(skill, entry).map(|script| script.interpreter)
}

/// Reads one file as a script, or nothing if it is none.
pub fn read(skill: &Skill, entry: &FileEntry) -> Option<Script> {
    let head = skill.read_start(entry, HEAD_BYTES).ok()?;
    let shebang = shebang_of(&head);
    let interpreter = match &shebang {
        Some(words) => from_shebang(words)?,
        None if head.starts_with(&ELF_MAGIC) => Interpreter::Elf,
        None => match entry.extension() {
            Some(extension) => from_extension(extension)?,
            // What a shell does with an executable file that says nothing of itself.
            None if entry.is_executable && is_text(&head) => Interpreter::Sh,
            None => return None,
        },
    };
    let is_entry =
        shebang.is_some() || entry.is_executable || does_something(skill, entry, &interpreter);
    Some(Script { path: entry.path.clone(), interpreter, shebang, size: entry.size, is_entry })
}

fn is_text(head: &[u8]) -> bool {
    !head.is_empty() && !head.contains(&0)
}

/// Whether a file does more than define things for others.
fn does_something(skill: &Skill, entry: &FileEntry, interpreter: &Interpreter) -> bool {
    match interpreter {
        Interpreter::Python => {
            let text = skill.read_text(entry).unwrap_or_default();
            deps::does_something_in_python(&text)
        }
        Interpreter::Node | Interpreter::TypeScript => {
            let text = skill.read_text(entry).unwrap_or_default();
            let is_module = text
                .lines()
                .any(|line| line.starts_with("export ") || line.starts_with("module.exports"));
            let is_both = text.contains("require.main") || text.contains("import.meta.");
            !is_module || is_both || text.contains("process.argv")
        }
        _ => true,
    }
}

/// Files that are never listed as scripts, though they look like some.
fn is_candidate(entry: &FileEntry) -> bool {
    let top = entry.path.split('/').next().unwrap_or_default();
    let is_shared_library = entry.name().contains(".so");
    entry.name() != "__init__.py"
        && entry.name() != "conftest.py"
        && !is_shared_library
        && !NOT_SCRIPTS.contains(&top)
}

/// The words of a `#!` line; `env` and its options are taken away.
fn shebang_of(head: &[u8]) -> Option<Vec<String>> {
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let mut words: Vec<&str> = line.split_whitespace().collect();
    if words.first().is_some_and(|first| first.rsplit('/').next() == Some("env")) {
        words.remove(0);
        let is_setting = |word: &str| word.starts_with('-') || word.contains('=');
        while words.first().is_some_and(|word| is_setting(word)) {
            words.remove(0);
        }
    }
    (!words.is_empty()).then(|| words.into_iter().map(str::to_owned).collect())
}

fn from_shebang(words: &[String]) -> Option<Interpreter> {
    let program = words.first()?;
    if runner_line(words).is_some() {
        return Some(Interpreter::Python);
    }
    let name = program.rsplit('/').next().unwrap_or(program);
    let letters = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    Some(match letters {
        "python" => Interpreter::Python,
        "sh" | "dash" | "ash" => Interpreter::Sh,
        "bash" => Interpreter::Bash,
        "node" | "nodejs" => Interpreter::Node,
        "perl" => Interpreter::Perl,
        "ruby" => Interpreter::Ruby,
        _ => Interpreter::Other(words.to_vec()),
    })
}

fn from_extension(extension: &str) -> Option<Interpreter> {
    Some(match extension.to_ascii_lowercase().as_str() {
        "py" => Interpreter::Python,
        "sh" | "bash" => Interpreter::Bash,
        "js" | "mjs" | "cjs" => Interpreter::Node,
        "ts" | "mts" => Interpreter::TypeScript,
        "pl" => Interpreter::Perl,
        "rb" => Interpreter::Ruby,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::SkillBuilder;

    fn interpreter(path: &str, content: &str) -> Option<Interpreter> {
        let skill = SkillBuilder::new("a").file(path, content).load();
        interpreter_of(&skill, skill.find_file(path).unwrap())
    }

    #[test]
    fn the_shebang_comes_first() {
        assert_eq!(interpreter("scripts/a.py", "#!/bin/bash\n"), Some(Interpreter::Bash));
        assert_eq!(
            interpreter("scripts/a", "#!/usr/bin/env python3.12\n"),
            Some(Interpreter::Python)
        );
        assert_eq!(interpreter("scripts/a", "#! /usr/bin/python\r\n"), Some(Interpreter::Python));
        let uv = "#!/usr/bin/env -S uv run --script\n";
        assert_eq!(interpreter("scripts/a", uv), Some(Interpreter::Python));
        assert_eq!(interpreter("scripts/a", "#!/bin/bash -eu\n"), Some(Interpreter::Bash));
        assert_eq!(interpreter("scripts/a", "#!/usr/bin/python3 -u\n"), Some(Interpreter::Python));
        let awk = ["/usr/bin/awk", "-f"].map(str::to_owned).to_vec();
        assert_eq!(interpreter("a", "#!/usr/bin/awk -f\n"), Some(Interpreter::Other(awk)));
    }

    #[test]
    fn then_the_content_and_the_extension() {
        assert_eq!(interpreter("scripts/a.py", "print()"), Some(Interpreter::Python));
        assert_eq!(interpreter("scripts/a.mjs", ""), Some(Interpreter::Node));
        assert_eq!(interpreter("scripts/a", "\u{7f}ELF..."), Some(Interpreter::Elf));
        assert_eq!(interpreter("scripts/a.txt", "words"), None);
        assert_eq!(interpreter("scripts/.py", ""), None);
    }

    #[test]
    fn then_the_mode_bits() {
        let by_mode = |path: &str, content: &str| {
            let skill = SkillBuilder::new("a").program(path, content).load();
            interpreter_of(&skill, skill.find_file(path).unwrap())
        };
        assert_eq!(by_mode("scripts/go", "echo hello\n"), Some(Interpreter::Sh));
        assert_eq!(by_mode("scripts/go.py", "print(1)\n"), Some(Interpreter::Python));
        assert_eq!(by_mode("scripts/go", "\u{1}\u{0}"), None);
        assert_eq!(by_mode("notes.txt", "words\n"), None);
        assert_eq!(interpreter("scripts/go", "echo hello\n"), None);
    }

    #[test]
    fn files_to_be_imported_are_told_from_files_to_be_started() {
        let is_entry = |path: &str, text: &str| {
            let skill = SkillBuilder::new("a").file(path, text).load();
            find_scripts(&skill)[0].is_entry
        };
        assert!(is_entry("a.py", "def f():\n    g()\nif __name__ == '__main__':\n    f()\n"));
        assert!(is_entry("a.py", "import x\nx.go()\n"));
        assert!(is_entry("a.py", "import x\nif x.a():\n    print(1)\nelse:\n    print(2)\n"));
        assert!(is_entry("a.py", "for a in b:\n    print(a)\n"));
        assert!(!is_entry(
            "a.py",
            "\"\"\"Doc.\"\"\"\nimport x\nN = 3\n\n@x.y\ndef f():\n    g()\n"
        ));
        assert!(!is_entry("a.py", "try:\n    import x\nexcept ImportError:\n    x = None\n"));
        assert!(!is_entry("a.js", "export function f() {}\n"));
        assert!(is_entry("a.js", "console.log(1)\n"));
    }

    #[test]
    fn packages_and_tests_are_not_listed() {
        let skill = SkillBuilder::new("a")
            .file("scripts/__init__.py", "")
            .file("scripts/go.py", "")
            .file("tests/t.py", "")
            .file("lib/tool.sh", "")
            .load();
        let paths: Vec<String> =
            find_scripts(&skill).into_iter().map(|script| script.path).collect();
        assert_eq!(paths, ["lib/tool.sh", "scripts/go.py"]);
    }
}
