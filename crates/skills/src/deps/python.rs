//! Imports and started programs of Python files.

use super::lists::{distribution_of, is_python_stdlib};
use super::python_text::{Statement, statements};
use super::{Evidence, Hint, Hints, programs};
use crate::skill::{FileEntry, Skill};

/// One imported module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Import {
    /// The dotted name; empty for `from . import x`.
    pub module: String,
    /// How many dots stood before it.
    pub level: usize,
    /// The line.
    pub line: usize,
    /// Whether the script goes on without it.
    pub is_optional: bool,
}

impl Import {
    /// The first part of the name.
    pub fn top(&self) -> String {
        self.module.split('.').next().unwrap_or_default().to_owned()
    }
}

/// Adds what one Python file needs.
pub(super) fn scan(skill: &Skill, entry: &FileEntry, text: &str, hints: &mut Hints) {
    for import in imports(text) {
        let top = import.top();
        if import.level > 0 || is_python_stdlib(&top) || is_local(skill, entry, &top) {
            continue;
        }
        let name = distribution_of(&import.module);
        let mut hint = Hint::new(name, &entry.path, import.line, Evidence::Used);
        hint.import = Some(top);
        hint.is_optional = import.is_optional;
        hints.python.push(hint);
    }
    for statement in statements(text) {
        if statement.code.trim_start().starts_with(['"', '\'']) {
            continue; // A string that stands alone is documentation.
        }
        let hint = |program| Hint::new(program, &entry.path, statement.line, Evidence::Used);
        let started = programs::started_by_python(&statement.full).into_iter().map(hint);
        hints.programs.extend(started);
        let probed = programs::probed_by_python(&statement.full).into_iter().map(hint);
        hints.programs.extend(probed.map(|hint| Hint { is_optional: true, ..hint }));
    }
}

/// Whether a module lies beside the script, above it or at the top of the skill.
fn is_local(skill: &Skill, entry: &FileEntry, module: &str) -> bool {
    let mut folder = entry.folder();
    loop {
        if is_at(skill, folder, module) {
            return true;
        }
        match folder.rsplit_once('/') {
            Some((up, _)) => folder = up,
            None if folder.is_empty() => return added_to_path(skill, module),
            None => folder = "",
        }
    }
}

/// Whether any folder of the skill holds the module: scripts add such folders to their path.
fn added_to_path(skill: &Skill, module: &str) -> bool {
    let file = format!("{module}.py");
    let package = format!("{module}/__init__.py");
    skill.files.iter().any(|entry| {
        entry.name() == file
            || entry.path == package
            || entry.path.ends_with(&format!("/{package}"))
    })
}

/// Whether a folder of the skill holds a module or package.
pub(crate) fn is_at(skill: &Skill, folder: &str, module: &str) -> bool {
    let base = if folder.is_empty() { module.to_owned() } else { format!("{folder}/{module}") };
    let has_python = |folder: &str| {
        let beneath = format!("{folder}/");
        skill.files.iter().any(|e| e.path.starts_with(&beneath) && e.extension() == Some("py"))
    };
    skill.find_file(&format!("{base}.py")).is_some()
        || (skill.find_file(&base).is_some() && has_python(&base))
}

/// Whether a text does something when it is started, beyond definitions and imports. An empty one
/// may.
pub(crate) fn does_something(text: &str) -> bool {
    let all = statements(text);
    let mut definition: Option<usize> = None;
    for statement in &all {
        if definition.is_some_and(|indent| statement.indent > indent) {
            continue;
        }
        let code = statement.code.trim();
        let is_definition =
            ["def ", "class ", "async def "].iter().any(|word| code.starts_with(word));
        definition = is_definition.then_some(statement.indent);
        if !is_definition && acts(code) {
            return true;
        }
    }
    all.is_empty()
}

/// Whether a statement outside of definitions does something.
fn acts(code: &str) -> bool {
    let is_loop =
        ["for ", "while ", "with ", "raise ", "assert "].iter().any(|word| code.starts_with(word));
    // What runs in one line behind `if ...:` counts too.
    let tail = match code.split_once(':') {
        Some((head, tail)) if is_block_head(head) => tail.trim(),
        _ => code,
    };
    let is_call = tail.ends_with(')') && !is_assignment(tail);
    let is_other = ["sys.path", "from ", "import ", "@", "(", "[", "except"]
        .iter()
        .any(|start| tail.starts_with(start));
    is_loop || (is_call && !is_other)
}

/// Whether a statement assigns: a single `=` outside of brackets.
fn is_assignment(code: &str) -> bool {
    let mut depth = 0_usize;
    for c in code.chars() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            '=' if depth == 0 => return true,
            _ => {}
        }
    }
    false
}

/// Finds the imports of a Python text.
pub(crate) fn imports(text: &str) -> Vec<Import> {
    let all = statements(text);
    let mut found = Vec::new();
    for (index, statement) in all.iter().enumerate() {
        let code = statement.code.trim();
        // `try: import x` and `if y: import x` stand on one line.
        let code = match code.split_once(':') {
            Some((head, rest)) if is_block_head(head) => rest.trim(),
            _ => code,
        };
        let Some(modules) = modules_of(code) else { continue };
        match surroundings(&all, index) {
            Surroundings::TypesOnly => continue,
            around => found.extend(modules.into_iter().map(|(level, module)| Import {
                module,
                level,
                line: statement.line,
                is_optional: around == Surroundings::MayFail,
            })),
        }
    }
    found
}

fn is_block_head(head: &str) -> bool {
    let word = head.split_whitespace().next().unwrap_or_default();
    matches!(word, "try" | "if" | "else" | "except" | "finally" | "with" | "elif")
}

/// The modules that an import statement names, with their dots.
fn modules_of(code: &str) -> Option<Vec<(usize, String)>> {
    let word_end = code.find(|c: char| c.is_whitespace())?;
    let (keyword, rest) = code.split_at(word_end);
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.')
    };
    match keyword {
        "import" => {
            let names = rest.split(',').filter_map(|part| part.split_whitespace().next());
            let modules: Vec<_> =
                names.filter(|name| is_name(name)).map(|name| (0, name.to_owned())).collect();
            (!modules.is_empty()).then_some(modules)
        }
        "from" => {
            let (module, after) = rest.trim_start().split_once(char::is_whitespace)?;
            let name = module.trim_start_matches('.');
            let level = module.len() - name.len();
            let is_import = after.trim_start().starts_with("import");
            let is_good = is_import && (is_name(name) || (name.is_empty() && level > 0));
            is_good.then(|| vec![(level, name.to_owned())])
        }
        _ => None,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Surroundings {
    /// Nothing special.
    Plain,
    /// In a `try` whose failure is caught.
    MayFail,
    /// Only for type checkers.
    TypesOnly,
}

/// Looks at the blocks around a statement.
fn surroundings(all: &[Statement], index: usize) -> Surroundings {
    let Some(statement) = all.get(index) else { return Surroundings::Plain };
    let own = statement.code.trim();
    if own.starts_with("try") && is_caught(all, index) {
        return Surroundings::MayFail;
    }
    let mut indent = statement.indent;
    for at in (0..index).rev() {
        let Some(outer) = all.get(at) else { break };
        if outer.indent >= indent {
            continue;
        }
        indent = outer.indent;
        let code = outer.code.trim();
        if code.starts_with("if") && code.contains("TYPE_CHECKING") {
            return Surroundings::TypesOnly;
        }
        // The alternative in an `except ImportError` is one of two, so neither is a must.
        let is_fallback = code.starts_with("except") && catches_import(code);
        if is_fallback || (code.starts_with("try") && is_caught(all, at)) {
            return Surroundings::MayFail;
        }
        if indent == 0 {
            break;
        }
    }
    Surroundings::Plain
}

/// Whether the `try` at an index is followed by an `except` that catches a failed import.
fn is_caught(all: &[Statement], index: usize) -> bool {
    let Some(start) = all.get(index) else { return false };
    let rest = all.iter().skip(index + 1);
    rest.take_while(|next| {
        next.indent > start.indent
            || (next.indent == start.indent
                && ["except", "else", "finally"]
                    .iter()
                    .any(|word| next.code.trim().starts_with(word)))
    })
    .filter(|next| next.indent == start.indent)
    .any(|next| catches_import(next.code.trim()))
}

fn catches_import(code: &str) -> bool {
    let Some(caught) = code.strip_prefix("except") else { return false };
    let caught = caught.split(':').next().unwrap_or_default().trim();
    caught.is_empty()
        || ["ImportError", "ModuleNotFoundError", "Exception"]
            .iter()
            .any(|name| caught.contains(name))
}
