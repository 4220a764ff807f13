//! The rules of the front matter.

use unicode_normalization::UnicodeNormalization as _;

use crate::finding::Finding;
use crate::yaml::{Entry, Fields, Node, Position, Source, Value};

const MAX_NAME: usize = 64;
const MAX_DESCRIPTION: usize = 1024;
const MAX_COMPATIBILITY: usize = 500;
/// The front matter begins after its fence.
const FENCE_LINES: usize = 1;

/// Checks the text between the fences.
pub(super) fn check(file: &str, yaml: &str, folder_name: &str) -> Vec<Finding> {
    let mut source = Source::new(file, "front-matter");
    source.line_offset = FENCE_LINES;
    let Some(root) = source.parse(yaml) else { return source.findings };
    let Some(mut fields) = source.fields(&root, "front matter") else { return source.findings };
    check_name(&mut source, &mut fields, folder_name);
    check_description(&mut source, &mut fields);
    check_text(&mut source, fields.take("license"), "license", None);
    check_text(&mut source, fields.take("compatibility"), "compatibility", Some(MAX_COMPATIBILITY));
    if let Some(node) = fields.take("metadata") {
        check_metadata(&mut source, node);
    }
    check_tools(&mut source, fields.take("allowed-tools"));
    fields.refuse_others(&mut source);
    source.findings
}

fn push(
    source: &mut Source<'_>,
    rule: &'static str,
    at: Position,
    what: String,
    why: &str,
    mend: &str,
) {
    let finding = Finding::error(rule, source.place(at), what).why(why).mend(mend);
    source.findings.push(finding);
}

fn missing(source: &mut Source<'_>, fields: &Fields<'_>, name: &'static str, mend: &str) {
    let what = format!("`{name}` is missing");
    push(source, "front-matter", fields.position, what, "the specification requires it", mend);
}

fn check_name(source: &mut Source<'_>, fields: &mut Fields<'_>, folder_name: &str) {
    let Some(node) = fields.take("name") else {
        missing(source, fields, "name", &format!("add `name: {folder_name}`"));
        return;
    };
    let Some(name) = plain_text(source, node, "name") else { return };
    let name: String = name.trim().nfkc().collect();
    let at = node.position;
    if name.chars().count() > MAX_NAME {
        let what = format!(
            "`name` has {} characters, at most {MAX_NAME} are allowed",
            name.chars().count()
        );
        push(
            source,
            "name-format",
            at,
            what,
            "the specification limits it",
            "choose a shorter name",
        );
    }
    let is_allowed = |c: char| c == '-' || (c.is_alphanumeric() && c.to_lowercase().eq([c]));
    if let Some(bad) = name.chars().find(|c| !is_allowed(*c)) {
        let what = format!("`name` contains `{}`", bad.escape_debug());
        let mend = "use the letters a-z, the digits 0-9 and single hyphens";
        push(source, "name-format", at, what, "names become folder names and identifiers", mend);
    } else if !name.is_ascii() {
        let finding =
            Finding::warning("name-format", source.place(at), "`name` has letters beyond a-z")
                .why("some readers accept only a-z, 0-9 and hyphens")
                .mend("use a-z and 0-9 if the skill is meant for everyone");
        source.findings.push(finding);
    }
    if name.starts_with('-') || name.ends_with('-') || name.contains("--") {
        let what = "`name` begins or ends with a hyphen, or has two in a row".to_owned();
        push(
            source,
            "name-format",
            at,
            what,
            "the specification forbids it",
            "use single hyphens between words",
        );
    }
    let folder: String = folder_name.nfkc().collect();
    if name != folder {
        let what = format!("`name` is `{name}`, the folder is `{folder_name}`");
        let mend = format!("rename the folder to `{name}`, or the skill to `{folder_name}`");
        push(source, "name-folder", at, what, "the specification wants both to be equal", &mend);
    }
}

fn check_description(source: &mut Source<'_>, fields: &mut Fields<'_>) {
    let Some(node) = fields.take("description") else {
        let mend = "add `description:` and say what the skill does and when to use it";
        missing(source, fields, "description", mend);
        return;
    };
    check_text(source, Some(node), "description", Some(MAX_DESCRIPTION));
}

/// Checks an optional text field with a limit in characters.
fn check_text(source: &mut Source<'_>, node: Option<&Node>, name: &str, limit: Option<usize>) {
    let Some(node) = node else { return };
    let Some(text) = plain_text(source, node, name) else { return };
    let length = text.trim().chars().count();
    if let Some(limit) = limit.filter(|limit| length > *limit) {
        let what = format!("`{name}` has {length} characters, at most {limit} are allowed");
        push(
            source,
            "length",
            node.position,
            what,
            "readers load it for every skill that they know",
            "shorten it",
        );
    }
}

/// A text that is not blank. Anything else is reported.
fn plain_text(source: &mut Source<'_>, node: &Node, name: &str) -> Option<String> {
    if let Value::Scalar { text, .. } = &node.value
        && (node.is_null() || text.trim().is_empty())
    {
        let what = format!("`{name}` is empty");
        push(
            source,
            "front-matter",
            node.position,
            what,
            "an empty field says nothing",
            "fill it in, or remove it if it is optional",
        );
        return None;
    }
    let text = source.text(node, name)?;
    warn_if_typed(source, node, name);
    Some(text)
}

fn warn_if_typed(source: &mut Source<'_>, node: &Node, name: &str) {
    if node.looks_typed() {
        let what = format!("`{name}` looks like a number or a truth value");
        let finding = Finding::warning("quotes", source.place(node.position), what)
            .why("the value must be a text, and other readers guess its type")
            .mend("put it in quotes");
        source.findings.push(finding);
    }
}

fn check_metadata(source: &mut Source<'_>, node: &Node) {
    if matches!(node.value, Value::Map { is_flow: true, .. }) {
        let mend = "write one `key: value` per line, indented";
        push(
            source,
            "front-matter",
            node.position,
            "`metadata` is written with braces".to_owned(),
            "the reference reader refuses braces",
            mend,
        );
    }
    let Some(fields) = source.fields(node, "metadata") else { return };
    for Entry { key, node, .. } in fields.entries {
        if source.text(node, key).is_some() {
            warn_if_typed(source, node, key);
        }
    }
}

fn check_tools(source: &mut Source<'_>, node: Option<&Node>) {
    let Some(node) = node else { return };
    let Some(text) = plain_text(source, node, "allowed-tools") else { return };
    let open = text.matches('(').count();
    if open != text.matches(')').count() {
        push(
            source,
            "allowed-tools",
            node.position,
            "brackets do not match".to_owned(),
            "no tool is named so",
            "write for example `Bash(git:*) Read`",
        );
    }
    if text.contains(',') {
        let finding = Finding::warning(
            "allowed-tools",
            source.place(node.position),
            "tools are separated by commas",
        )
        .why("the specification separates them by spaces")
        .mend("write for example `Bash(git:*) Read`");
        source.findings.push(finding);
    }
}
