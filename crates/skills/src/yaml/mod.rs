//! YAML with positions: a small tree over the event parser.
//!
//! Every file that a skill brings (front matter, `belljar.yaml`, test cases) is read through this
//! module, so that a wrong key or type is reported where it stands. Aliases and tags are refused:
//! no format of ours needs them, and without them a small file cannot become a large value.
//! [`Document::parse`] is the way in, [`Fields`] the way to take a mapping apart.

mod fields;
mod parse;

pub(crate) use fields::{Fields, Source};
pub use parse::YamlError;

/// A position in a YAML text, from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, from one.
    pub line: usize,
    /// Column in characters, from one.
    pub column: usize,
}

/// A parsed YAML document.
#[derive(Clone, Debug)]
pub struct Document {
    /// The top value. An empty text is an empty plain scalar.
    pub root: Node,
    /// Keys that occur twice in one mapping.
    pub duplicates: Vec<Duplicate>,
}

/// A key that occurs a second time in its mapping.
#[derive(Clone, Debug)]
pub struct Duplicate {
    /// The key.
    pub key: String,
    /// Where it stands again.
    pub again: Position,
    /// Where it stood first.
    pub first: Position,
}

/// A value and its position.
#[derive(Clone, Debug)]
pub struct Node {
    /// Where the value begins.
    pub position: Position,
    /// The value.
    pub value: Value,
}

/// What a node holds.
#[derive(Clone, Debug)]
pub enum Value {
    /// A scalar, still as text.
    Scalar {
        /// The text after unquoting.
        text: String,
        /// Whether it stood without quotes, so that other readers guess a type.
        is_plain: bool,
    },
    /// A list.
    List {
        /// Its items.
        items: Vec<Node>,
    },
    /// A mapping, in the order of the file. A second use of a key is left out.
    Map {
        /// Its entries.
        entries: Vec<Entry>,
        /// Whether it was written `{like: this}`.
        is_flow: bool,
    },
}

/// One entry of a mapping.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub position: Position,
    /// The value.
    pub node: Node,
}

impl Node {
    /// The word for the kind of value, for messages.
    pub fn kind(&self) -> &'static str {
        match &self.value {
            Value::Scalar { .. } if self.is_null() => "nothing",
            Value::Scalar { .. } => "a scalar",
            Value::List { .. } => "a list",
            Value::Map { .. } => "a mapping",
        }
    }

    /// Whether the value is an unquoted empty text, `null` or `~`.
    pub fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar { text, is_plain: true }
            if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
    }

    /// Whether another reader would take the unquoted text for a number or a truth value.
    pub fn looks_typed(&self) -> bool {
        let Value::Scalar { text, is_plain: true } = &self.value else { return false };
        let word = text.to_ascii_lowercase();
        matches!(word.as_str(), "true" | "false" | "yes" | "no" | "on" | "off")
            || word.parse::<f64>().is_ok()
    }
}
