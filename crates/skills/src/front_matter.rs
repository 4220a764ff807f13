//! The front matter of `SKILL.md`: where it begins and ends, and what it says.
//!
//! Fences are whole lines: `description: a --- b` does not end the front matter. Reading is
//! lenient and keeps positions; the rules are in [`crate::check`].

use std::collections::BTreeMap;

use serde::Serialize;

use crate::yaml::{Document, Node, Value, YamlError};

/// What the front matter says, as far as it could be read.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FrontMatter {
    /// The skill's name.
    pub name: Option<String>,
    /// What the skill does and when to use it.
    pub description: Option<String>,
    /// The licence, as free text.
    pub license: Option<String>,
    /// What the skill expects of its surroundings, as free text.
    pub compatibility: Option<String>,
    /// Further properties.
    pub metadata: BTreeMap<String, String>,
    /// The tools that the skill asks to use, as one text.
    pub allowed_tools: Option<String>,
}

/// `SKILL.md` in its parts.
#[derive(Clone, Debug)]
pub(crate) struct Parts<'t> {
    /// The text between the fences. It begins on line two of the file.
    pub yaml: &'t str,
    /// What follows the closing fence.
    pub body: &'t str,
    /// The line of the file on which the body begins.
    pub body_line: usize,
}

/// Why a text has no front matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoFrontMatter {
    /// The file begins with a byte order mark.
    ByteOrderMark,
    /// The first line is not `---`.
    NoOpeningFence,
    /// No later line is `---`.
    NoClosingFence,
}

/// Splits `SKILL.md` at its fences.
pub(crate) fn split(text: &str) -> Result<Parts<'_>, NoFrontMatter> {
    if text.starts_with('\u{feff}') {
        return Err(NoFrontMatter::ByteOrderMark);
    }
    let mut lines = text.split_inclusive('\n');
    let opening = lines.next().unwrap_or_default();
    if !is_fence(opening) {
        return Err(NoFrontMatter::NoOpeningFence);
    }
    let start = opening.len();
    let mut end = start;
    for (index, line) in lines.enumerate() {
        let next = end + line.len();
        if is_fence(line) {
            let yaml = text.get(start..end).unwrap_or_default();
            let body = text.get(next..).unwrap_or_default();
            return Ok(Parts { yaml, body, body_line: index + 3 });
        }
        end = next;
    }
    Err(NoFrontMatter::NoClosingFence)
}

fn is_fence(line: &str) -> bool {
    line.trim_end() == "---"
}

/// Reads the YAML between the fences; if that fails, tries again with values quoted.
pub(crate) fn read_leniently(yaml: &str) -> Result<FrontMatter, YamlError> {
    let document = Document::parse(yaml)
        .or_else(|error| Document::parse(&quote_values(yaml)).map_err(|_| error))?;
    Ok(from_node(&document.root))
}

/// Quotes the value of each top-level `key: text` line, so that `description: a: b` can be read.
fn quote_values(yaml: &str) -> String {
    let mut quoted = String::new();
    for line in yaml.lines() {
        match line.split_once(": ") {
            Some((key, value)) if needs_quotes(key, value.trim()) => {
                let value = value.trim().replace('\'', "''");
                quoted.push_str(&format!("{key}: '{value}'\n"));
            }
            _ => {
                quoted.push_str(line);
                quoted.push('\n');
            }
        }
    }
    quoted
}

fn needs_quotes(key: &str, value: &str) -> bool {
    let is_key = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "-_".contains(c));
    is_key && !value.is_empty() && !value.starts_with(['"', '\'', '|', '>', '[', '{'])
}

fn from_node(root: &Node) -> FrontMatter {
    let mut read = FrontMatter::default();
    let Value::Map { entries, .. } = &root.value else { return read };
    for entry in entries {
        let text = scalar(&entry.node);
        match entry.key.as_str() {
            "name" => read.name = text,
            "description" => read.description = text,
            "license" => read.license = text,
            "compatibility" => read.compatibility = text,
            "allowed-tools" => read.allowed_tools = text.or_else(|| joined(&entry.node)),
            "metadata" => read.metadata = string_map(&entry.node),
            _ => {}
        }
    }
    read
}

fn scalar(node: &Node) -> Option<String> {
    match &node.value {
        Value::Scalar { text, .. } if !node.is_null() => Some(text.trim().to_owned()),
        _ => None,
    }
}

fn joined(node: &Node) -> Option<String> {
    let Value::List { items } = &node.value else { return None };
    Some(items.iter().filter_map(scalar).collect::<Vec<_>>().join(" "))
}

fn string_map(node: &Node) -> BTreeMap<String, String> {
    let Value::Map { entries, .. } = &node.value else { return BTreeMap::new() };
    entries.iter().filter_map(|entry| Some((entry.key.clone(), scalar(&entry.node)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_are_whole_lines() {
        let text = "---\nname: a\ndescription: x --- y\n---\nBody\n---\nmore\n";
        let parts = split(text).unwrap();
        assert_eq!(parts.yaml, "name: a\ndescription: x --- y\n");
        assert_eq!(parts.body, "Body\n---\nmore\n");
        assert_eq!(parts.body_line, 5);
    }

    #[test]
    fn carriage_returns_and_a_missing_last_newline_are_fine() {
        let parts = split("---\r\nname: a\r\n---").unwrap();
        assert_eq!(parts.yaml, "name: a\r\n");
        assert_eq!(parts.body, "");
    }

    #[test]
    fn says_which_fence_is_missing() {
        assert_eq!(split("# Title\n").unwrap_err(), NoFrontMatter::NoOpeningFence);
        assert_eq!(split("\n---\n---\n").unwrap_err(), NoFrontMatter::NoOpeningFence);
        assert_eq!(split("---\nname: a\n").unwrap_err(), NoFrontMatter::NoClosingFence);
        assert_eq!(split("\u{feff}---\n---\n").unwrap_err(), NoFrontMatter::ByteOrderMark);
        assert_eq!(split("").unwrap_err(), NoFrontMatter::NoOpeningFence);
    }

    #[test]
    fn reads_a_colon_in_an_unquoted_value() {
        let read = read_leniently("name: a\ndescription: Use when: it's time\n").unwrap();
        assert_eq!(read.description.as_deref(), Some("Use when: it's time"));
    }

    #[test]
    fn reads_every_field() {
        let read = read_leniently(
            "name: a\ndescription: >-\n  two\n  lines\nlicense: MIT\ncompatibility: any\n\
             metadata:\n  version: '1'\nallowed-tools:\n  - Read\n  - Bash\n",
        )
        .unwrap();
        assert_eq!(read.description.as_deref(), Some("two lines"));
        assert_eq!(read.metadata["version"], "1");
        assert_eq!(read.allowed_tools.as_deref(), Some("Read Bash"));
    }
}
