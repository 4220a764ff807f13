//! Programs that scripts start: from calls in Python and Node, and from shell scripts.

use super::{Evidence, Hint, Hints, is_scanned};
use crate::pattern::Pattern;
use crate::script::Interpreter;
use crate::skill::Skill;
use std::collections::BTreeSet;

/// Calls of Python whose first word is a program.
static PYTHON_CALL: Pattern = Pattern::new(
    r#"(?:subprocess\.(?:run|Popen|call|check_call|check_output|getoutput|getstatusoutput)|\bPopen|os\.system|os\.popen|create_subprocess_exec|create_subprocess_shell|os\.exec[lv]p?e?)\s*\(\s*(?:args\s*=\s*)?\[?\s*[rf]?["']([A-Za-z0-9][\w.+-]*)"#,
);

/// Lists in Python that are usually commands.
static PYTHON_LIST: Pattern = Pattern::new(
    r#"\b(?:\w*cmd|\w*command|argv)\s*(?::[^=]+)?=\s*\[\s*["']([A-Za-z0-9][\w.+-]*)["']"#,
);

/// Calls of Node whose first word is a program.
static NODE_CALL: Pattern = Pattern::new(
    r#"\b(?:exec|execSync|execFile|execFileSync|spawn|spawnSync|execa)\s*\(\s*["'`]([A-Za-z0-9][\w.+-]*)"#,
);

/// Calls of Python that only look for a program.
static PYTHON_PROBE: Pattern = Pattern::new(r#"shutil\.which\s*\(\s*["']([A-Za-z0-9][\w.+-]*)"#);

/// The programs that a statement of Python starts.
pub(super) fn started_by_python(statement: &str) -> Vec<String> {
    [&PYTHON_CALL, &PYTHON_LIST].iter().flat_map(|calls| found(calls, statement)).collect()
}

/// The programs that a statement of Python looks for. The script may go on without them.
pub(super) fn probed_by_python(statement: &str) -> Vec<String> {
    found(&PYTHON_PROBE, statement)
}

/// The programs that a line of JavaScript starts.
pub(super) fn started_by_node(line: &str) -> Vec<String> {
    found(&NODE_CALL, line)
}

fn found(calls: &Pattern, text: &str) -> Vec<String> {
    calls.find_groups(text).into_iter().map(|name| name.as_str().to_owned()).collect()
}

/// Stands where something is that cannot be a program.
const NOT_A_WORD: char = '\u{fffd}';

/// Words of the shell's own.
const SHELL_WORDS: &[&str] = &[
    "alias",
    "bg",
    "break",
    "builtin",
    "caller",
    "case",
    "cd",
    "command",
    "compgen",
    "continue",
    "coproc",
    "declare",
    "dirs",
    "do",
    "done",
    "elif",
    "else",
    "esac",
    "eval",
    "exec",
    "exit",
    "export",
    "fc",
    "fg",
    "fi",
    "for",
    "function",
    "getopts",
    "hash",
    "help",
    "history",
    "if",
    "in",
    "jobs",
    "let",
    "local",
    "mapfile",
    "popd",
    "pushd",
    "read",
    "readarray",
    "readonly",
    "return",
    "select",
    "set",
    "shift",
    "shopt",
    "source",
    "then",
    "time",
    "times",
    "trap",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "until",
    "wait",
    "while",
];

/// Words that run the program that follows them.
const PREFIXES: &[&str] = &[
    "do", "else", "elif", "exec", "if", "nohup", "sudo", "then", "time", "until", "while",
    "command", "env",
];

/// Adds the programs that shell scripts start.
pub(super) fn scan_shell(skill: &Skill, hints: &mut Hints) {
    for entry in skill.regular_files().filter(|entry| is_scanned(entry)) {
        let interpreter = crate::script::interpreter_of(skill, entry);
        if !matches!(interpreter, Some(Interpreter::Sh | Interpreter::Bash)) {
            continue;
        }
        let Some(text) = skill.read_text(entry) else { continue };
        for (line, program) in shell_programs(&text) {
            hints.programs.push(Hint::new(program, &entry.path, line, Evidence::Used));
        }
    }
}

/// The programs that a shell text starts, with their lines.
pub(super) fn shell_programs(text: &str) -> Vec<(usize, String)> {
    let functions = functions(text);
    let mut programs = Vec::new();
    let mut until: Option<String> = None;
    let mut is_continued = false;
    let mut open = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if let Some(end) = &until {
            if line.trim() == end {
                until = None;
            }
            continue;
        }
        until = here_document(line);
        let goes_on =
            std::mem::replace(&mut is_continued, line.ends_with('\\')) || !open.is_empty();
        let mut commands = commands(line, &mut open);
        if goes_on && !commands.is_empty() {
            commands.remove(0);
        }
        for command in commands {
            if let Some(program) = program_of(&command)
                && !functions.contains(program)
            {
                programs.push((index + 1, program.to_owned()));
            }
        }
    }
    programs
}

/// The word that ends a here document which begins on this line.
fn here_document(line: &str) -> Option<String> {
    let (_, after) = line.split_once("<<")?;
    if after.starts_with('<') {
        return None;
    }
    let word = after.trim_start_matches('-').split_whitespace().next()?;
    let end = word.trim_matches(|c| c == '"' || c == '\'' || c == '\\');
    let is_word = !end.is_empty() && end.chars().all(|c| c.is_alphanumeric() || c == '_');
    is_word.then(|| end.to_owned())
}

fn functions(text: &str) -> BTreeSet<&str> {
    let names = text.lines().filter_map(|line| {
        let line = line.trim();
        let named = line.strip_prefix("function ").map(|rest| rest.split([' ', '(']).next());
        let called = line.split_once("()").map(|(name, _)| Some(name.trim()));
        named.or(called).flatten()
    });
    names.collect()
}

/// Cuts a line into simple commands and drops what is in quotes. `open` holds the quotes and
/// brackets that are open; what is open at the end stays open for the next line.
fn commands(line: &str, open: &mut Vec<char>) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut last = ' ';
    for c in line.chars() {
        let Some(part) = parts.last_mut() else { break };
        match (open.last().copied(), c) {
            (Some('\''), '\'') => drop(open.pop()),
            (Some('\''), _) => {}
            (Some('"'), '"') if last != '\\' => drop(open.pop()),
            // A command inside of a string: `"$(program ...)"`.
            (Some('"'), '(') if last == '$' => {
                open.push('(');
                parts.push(String::new());
            }
            (Some('"'), _) => {}
            (_, '#') if last.is_whitespace() => break,
            (_, '"' | '\'') if last != '\\' => {
                open.push(c);
                part.push(NOT_A_WORD);
            }
            (_, '(') => {
                open.push(c);
                // `((` begins arithmetic, where names are variables.
                let start = if last == '(' { NOT_A_WORD.to_string() } else { String::new() };
                parts.push(start);
            }
            (Some('('), ')') => {
                open.pop();
                parts.push(String::new());
            }
            (_, '|' | ';' | '&' | ')' | '`' | '{' | '}') if last != '>' => {
                parts.push(String::new())
            }
            _ => part.push(c),
        }
        last = c;
    }
    parts
}

/// The program that a simple command starts, if it can be known.
fn program_of(command: &str) -> Option<&str> {
    let mut words = command.split_whitespace();
    loop {
        let word = words.next()?;
        let is_assignment = word.split_once('=').is_some_and(|(name, _)| is_plain(name));
        if is_assignment || word == "!" || PREFIXES.contains(&word) {
            continue;
        }
        let name = word.rsplit('/').next().unwrap_or(word);
        let is_program = is_plain(name)
            && word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
            && !SHELL_WORDS.contains(&name)
            && !command.trim_start().starts_with("for ");
        return is_program.then_some(name);
    }
}

fn is_plain(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.+".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        shell_programs(text).into_iter().map(|(_, name)| name).collect()
    }

    #[test]
    fn shell_commands() {
        assert_eq!(names("git init -q && pandoc a.md | tidy # note\n"), ["git", "pandoc", "tidy"]);
        assert_eq!(names("X=1 make all; if jq . f; then rsync a b; fi\n"), ["make", "jq", "rsync"]);
        assert_eq!(names("v=$(node -v)\necho \"$(pnpm -v) | x\"\n"), ["node", "echo", "pnpm"]);
        assert_eq!(names("cat <<'END'\nffmpeg in\nEND\nsox a\n"), ["cat", "sox"]);
        assert_eq!(
            names("node -e \"\nconst x = 1;\nfoo.bar\n\" && sox\nqpdf\n"),
            ["node", "sox", "qpdf"]
        );
        assert_eq!(
            names("echo \"a (b: $(jq c))\"\nqpdf\nx=$((y + 1)); sox\n"),
            ["echo", "jq", "qpdf", "sox"]
        );
        assert_eq!(names("go_on() { true; }\ngo_on x\n"), ["true"]);
        assert_eq!(names("tar -x \\\n  file\nfor a in b c; do dot a; done\n"), ["tar", "dot"]);
        assert_eq!(names("\"$PROGRAM\" x\n./configure\n[ -f x ] && qpdf\n"), ["qpdf"]);
    }

    #[test]
    fn python_calls() {
        let of = started_by_python;
        assert_eq!(of("subprocess.run(['soffice', '--headless'])"), ["soffice"]);
        assert_eq!(of("os.system('pdftotext a.pdf')"), ["pdftotext"]);
        assert_eq!(of("cmd = [\"pdftoppm\", x]"), ["pdftoppm"]);
        assert!(of("if shutil.which('qpdf'):").is_empty());
        assert_eq!(probed_by_python("if shutil.which('qpdf'):"), ["qpdf"]);
        assert!(of("subprocess.run([sys.executable, 'x'])").is_empty());
        assert!(of("subprocess.run(f'{x} y')").is_empty());
    }

    #[test]
    fn node_calls() {
        assert_eq!(started_by_node("execSync(`git log`)"), ["git"]);
        assert_eq!(started_by_node("spawn('ffmpeg', [a])"), ["ffmpeg"]);
    }
}
