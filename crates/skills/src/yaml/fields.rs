//! Takes a mapping apart field by field and reports what does not fit.

use std::collections::BTreeMap;

use super::{Document, Entry, Node, Position, Value, YamlError};
use crate::finding::{Finding, Place};

/// A YAML file that is being read: its name, the findings so far.
pub(crate) struct Source<'f> {
    /// Path in the skill, for findings.
    pub file: &'f str,
    /// Rule name of this file's findings.
    pub rule: &'static str,
    /// Added to every line, when the YAML is a part of its file.
    pub line_offset: usize,
    /// What was found so far.
    pub findings: Vec<Finding>,
}

impl<'f> Source<'f> {
    /// Starts to read a file.
    pub fn new(file: &'f str, rule: &'static str) -> Self {
        Self { file, rule, line_offset: 0, findings: Vec::new() }
    }

    /// Parses the text and reports syntax errors and keys that stand twice.
    pub fn parse(&mut self, text: &str) -> Option<Node> {
        match Document::parse(text) {
            Ok(document) => {
                for twice in &document.duplicates {
                    let first = twice.first.line + self.line_offset;
                    let place = self.place(twice.again);
                    self.findings.push(
                        Finding::error(self.rule, place, format!("`{}` stands twice", twice.key))
                            .why(format!("it stands already on line {first}; readers differ in which they take"))
                            .mend("remove one of the two"),
                    );
                }
                Some(document.root)
            }
            Err(error) => {
                let place = self.place(error.position());
                self.findings.push(
                    Finding::error(self.rule, place, format!("cannot read the YAML: {error}"))
                        .why("no reader can know what is meant")
                        .mend(mend_of(&error)),
                );
                None
            }
        }
    }

    /// The place of a position in this file.
    pub fn place(&self, position: Position) -> Place {
        Place::new(self.file, position.line + self.line_offset, position.column)
    }

    /// Reports an error at a position.
    pub fn error(&mut self, at: Position, what: impl Into<String>, mend: impl Into<String>) {
        let finding = Finding::error(self.rule, self.place(at), what)
            .why("the value would be misread or ignored")
            .mend(mend);
        self.findings.push(finding);
    }

    /// Reports what is valid, and may be a surprise.
    pub fn warning(&mut self, at: Position, what: impl Into<String>, mend: impl Into<String>) {
        let finding = Finding::warning(self.rule, self.place(at), what)
            .why("whoever grants it may not expect that")
            .mend(mend);
        self.findings.push(finding);
    }

    /// Reports a value of the wrong kind.
    pub fn wrong_kind(&mut self, node: &Node, name: &str, wanted: &str) {
        let what = format!("`{name}` must be {wanted}, not {}", node.kind());
        self.error(node.position, what, format!("write {wanted}"));
    }

    /// Takes a mapping apart. Anything else is reported.
    pub fn fields<'n>(&mut self, node: &'n Node, name: &str) -> Option<Fields<'n>> {
        match &node.value {
            Value::Map { entries, .. } => {
                Some(Fields { entries, taken: Vec::new(), position: node.position })
            }
            _ => {
                self.wrong_kind(node, name, "a mapping");
                None
            }
        }
    }

    /// A text.
    pub fn text(&mut self, node: &Node, name: &str) -> Option<String> {
        match &node.value {
            Value::Scalar { text, .. } if !node.is_null() => Some(text.clone()),
            _ => {
                self.wrong_kind(node, name, "a text");
                None
            }
        }
    }

    /// A whole number.
    pub fn number<T: std::str::FromStr>(&mut self, node: &Node, name: &str) -> Option<T> {
        let parsed = match &node.value {
            Value::Scalar { text, .. } => text.parse().ok(),
            _ => None,
        };
        if parsed.is_none() {
            self.wrong_kind(node, name, "a whole number");
        }
        parsed
    }

    /// `true` or `false`.
    pub fn truth(&mut self, node: &Node, name: &str) -> Option<bool> {
        let parsed = match &node.value {
            Value::Scalar { text, .. } => text.parse().ok(),
            _ => None,
        };
        if parsed.is_none() {
            self.wrong_kind(node, name, "`true` or `false`");
        }
        parsed
    }

    /// The items of a list.
    pub fn items<'n>(&mut self, node: &'n Node, name: &str) -> &'n [Node] {
        match &node.value {
            Value::List { items } => items,
            _ => {
                self.wrong_kind(node, name, "a list");
                &[]
            }
        }
    }

    /// A list of texts, each with its position.
    pub fn texts(&mut self, node: &Node, name: &str) -> Vec<(Position, String)> {
        let mut texts = Vec::new();
        for item in self.items(node, name) {
            if let Some(text) = self.text(item, name) {
                texts.push((item.position, text));
            }
        }
        texts
    }

    /// One text or a list of them.
    pub fn one_or_more(&mut self, node: &Node, name: &str) -> Vec<String> {
        match &node.value {
            Value::List { .. } => {
                self.texts(node, name).into_iter().map(|(_, text)| text).collect()
            }
            _ => self.text(node, name).into_iter().collect(),
        }
    }

    /// A mapping of text to text.
    pub fn text_map(&mut self, node: &Node, name: &str) -> BTreeMap<String, String> {
        let mut map = BTreeMap::new();
        let Some(fields) = self.fields(node, name) else { return map };
        for entry in fields.entries {
            if let Some(text) = self.text(&entry.node, &entry.key) {
                map.insert(entry.key.clone(), text);
            }
        }
        map
    }
}

/// The entries of a mapping, and which of them were asked for.
pub(crate) struct Fields<'n> {
    /// All entries in the order of the file.
    pub entries: &'n [Entry],
    /// Where the mapping begins.
    pub position: Position,
    taken: Vec<&'static str>,
}

impl<'n> Fields<'n> {
    /// The value of a key, if it is there. The key counts as known from now on.
    pub fn take(&mut self, key: &'static str) -> Option<&'n Node> {
        self.taken.push(key);
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    /// Reports every key that nobody asked for.
    pub fn refuse_others(&self, source: &mut Source<'_>) {
        for entry in self.entries {
            if !self.taken.contains(&entry.key.as_str()) {
                let what = format!("unknown key `{}`", entry.key);
                let mend = format!("known here: {}", self.taken.join(", "));
                source.error(entry.position, what, mend);
            }
        }
    }
}
/// How to mend YAML that cannot be read.
fn mend_of(error: &YamlError) -> &'static str {
    match error {
        YamlError::Alias(_) | YamlError::Anchor(_) => {
            "write the value out at every place where it is meant"
        }
        YamlError::Tag(_) => "remove the tag; every value is a text",
        YamlError::TooDeep(_) => "nest less deeply",
        YamlError::TooLarge => "shorten it",
        YamlError::SecondDocument(_) => "remove the `---` or `...` line in the middle",
        YamlError::Key(_) => "write a name before the colon",
        YamlError::Syntax { message, .. } if message.contains("whitespace") => {
            "put a space after the colon, and never a tab"
        }
        YamlError::Syntax { message, .. } if message.contains("unprintable") => {
            "remove the character"
        }
        YamlError::Syntax { message, .. } if message.contains("recursion") => "nest less deeply",
        YamlError::Syntax { .. } => {
            "put text that contains `: ` or ` #` in quotes, and indent with spaces"
        }
    }
}
