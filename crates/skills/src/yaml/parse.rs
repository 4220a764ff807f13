//! Turns parser events into a tree, without recursion and with limits.

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span};
use thiserror::Error;

use super::{Document, Duplicate, Entry, Node, Position, Value};

/// The largest text that is parsed.
const MAX_BYTES: usize = 1024 * 1024;
/// The deepest nesting that is accepted.
const MAX_DEPTH: usize = 32;

/// Why a text is not YAML that we accept.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum YamlError {
    /// the text is not YAML
    #[error("{message}")]
    Syntax {
        /// Where the parser stopped.
        position: Position,
        /// What the parser said.
        message: String,
    },
    /// the text is too large
    #[error("the text is larger than {MAX_BYTES} bytes")]
    TooLarge,
    /// the text is nested too deeply
    #[error("nested deeper than {MAX_DEPTH} levels")]
    TooDeep(Position),
    /// an alias
    #[error("aliases (`*name`) are not accepted here")]
    Alias(Position),
    /// an anchor
    #[error("anchors (`&name`) are not accepted here")]
    Anchor(Position),
    /// a tag
    #[error("tags (`!name`) are not accepted here")]
    Tag(Position),
    /// a mapping key that is not a scalar
    #[error("a key must be plain text")]
    Key(Position),
    /// a second document
    #[error("only one document is accepted")]
    SecondDocument(Position),
}

impl YamlError {
    /// Where the error is.
    pub fn position(&self) -> Position {
        match self {
            YamlError::TooLarge => Position { line: 1, column: 1 },
            YamlError::Syntax { position, .. }
            | YamlError::TooDeep(position)
            | YamlError::Alias(position)
            | YamlError::Anchor(position)
            | YamlError::Tag(position)
            | YamlError::Key(position)
            | YamlError::SecondDocument(position) => *position,
        }
    }
}

/// A collection that is not closed yet.
enum Open {
    List { at: Position, items: Vec<Node> },
    Map { at: Position, is_flow: bool, entries: Vec<Entry>, key: Option<(String, Position)> },
}

struct Builder<'t> {
    lines: Vec<&'t str>,
    open: Vec<Open>,
    root: Option<Node>,
    duplicates: Vec<Duplicate>,
}

impl Document {
    /// Parses a text that holds one YAML document, or none.
    pub fn parse(text: &str) -> Result<Self, YamlError> {
        if text.len() > MAX_BYTES {
            return Err(YamlError::TooLarge);
        }
        let lines = text.lines().collect();
        let mut builder = Builder { lines, open: Vec::new(), root: None, duplicates: Vec::new() };
        for event in Parser::new_from_str(text) {
            let (event, span) = event.map_err(|error| YamlError::Syntax {
                position: position(*error.marker()),
                message: error.info().to_owned(),
            })?;
            builder.take(event, span)?;
        }
        let nothing = Node {
            position: Position { line: 1, column: 1 },
            value: Value::Scalar { text: String::new(), is_plain: true },
        };
        Ok(Self { root: builder.root.unwrap_or(nothing), duplicates: builder.duplicates })
    }
}

impl Builder<'_> {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), YamlError> {
        let at = position(span.start);
        match event {
            Event::Alias(_) => return Err(YamlError::Alias(at)),
            Event::Scalar(_, _, _, Some(_))
            | Event::SequenceStart(_, Some(_))
            | Event::MappingStart(_, Some(_)) => return Err(YamlError::Tag(at)),
            Event::Scalar(_, _, anchor, None)
            | Event::SequenceStart(anchor, None)
            | Event::MappingStart(anchor, None)
                if anchor != 0 =>
            {
                return Err(YamlError::Anchor(at));
            }
            Event::DocumentStart(_) if self.root.is_some() => {
                return Err(YamlError::SecondDocument(at));
            }
            Event::Scalar(text, style, ..) => {
                let is_plain = style == ScalarStyle::Plain;
                let value = Value::Scalar { text: text.into_owned(), is_plain };
                return self.add(Node { position: at, value });
            }
            Event::SequenceStart(..) => {
                self.push(Open::List { at, items: Vec::new() }, at)?;
            }
            Event::MappingStart(..) => {
                let is_flow = self.starts_with(at, '{');
                self.push(Open::Map { at, is_flow, entries: Vec::new(), key: None }, at)?;
            }
            Event::SequenceEnd | Event::MappingEnd => return self.close(),
            _ => {}
        }
        Ok(())
    }

    fn push(&mut self, open: Open, at: Position) -> Result<(), YamlError> {
        if self.open.len() >= MAX_DEPTH {
            return Err(YamlError::TooDeep(at));
        }
        self.open.push(open);
        Ok(())
    }

    fn close(&mut self) -> Result<(), YamlError> {
        let node = match self.open.pop() {
            Some(Open::List { at, items }) => Node { position: at, value: Value::List { items } },
            Some(Open::Map { at, is_flow, entries, .. }) => {
                Node { position: at, value: Value::Map { entries, is_flow } }
            }
            None => return Ok(()),
        };
        self.add(node)
    }

    fn add(&mut self, node: Node) -> Result<(), YamlError> {
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(Open::List { items, .. }) => items.push(node),
            Some(Open::Map { entries, key, .. }) => match key.take() {
                Some((name, position)) => {
                    let entry = Entry { key: name, position, node };
                    match entries.iter().find(|known| known.key == entry.key) {
                        Some(known) => self.duplicates.push(Duplicate {
                            key: entry.key,
                            again: entry.position,
                            first: known.position,
                        }),
                        None => entries.push(entry),
                    }
                }
                None => match node.value {
                    Value::Scalar { text, .. } => *key = Some((text, node.position)),
                    _ => return Err(YamlError::Key(node.position)),
                },
            },
        }
        Ok(())
    }

    fn starts_with(&self, at: Position, wanted: char) -> bool {
        let line = self.lines.get(at.line.saturating_sub(1));
        line.and_then(|line| line.chars().nth(at.column.saturating_sub(1))) == Some(wanted)
    }
}

fn position(marker: Marker) -> Position {
    Position { line: marker.line(), column: marker.col() + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(text: &str) -> Vec<Entry> {
        match Document::parse(text).unwrap().root.value {
            Value::Map { entries, .. } => entries,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn knows_where_keys_and_values_stand() {
        let map = entries("a: 1\nbeta:\n  - x\n  - 'y'\n");
        assert_eq!(map[1].position, Position { line: 2, column: 1 });
        let Value::List { items } = &map[1].node.value else { panic!() };
        assert_eq!(items[1].position, Position { line: 4, column: 5 });
    }

    #[test]
    fn keeps_the_first_of_two_equal_keys_and_reports_the_second() {
        let document = Document::parse("a: 1\nb: 2\na: 3\n").unwrap();
        assert_eq!(document.duplicates.len(), 1);
        assert_eq!(document.duplicates[0].again.line, 3);
    }

    #[test]
    fn refuses_what_can_grow() {
        let is = |text: &str| Document::parse(text).unwrap_err();
        assert!(matches!(is("a: &x 1\nb: *x\n"), YamlError::Anchor(_)));
        assert!(matches!(is("a: !!str 1\n"), YamlError::Tag(_)));
        assert!(matches!(is("? [a]\n: b\n"), YamlError::Key(_)));
        assert!(matches!(is("a: 1\n---\nb: 2\n"), YamlError::SecondDocument(_)));
        assert!(matches!(is(&"[".repeat(100)), YamlError::TooDeep(_)));
        assert!(matches!(is(&" ".repeat(MAX_BYTES + 1)), YamlError::TooLarge));
    }

    #[test]
    fn tells_flow_from_block() {
        let map = entries("a: {b: c}\nd:\n  e: f\n");
        assert!(matches!(map[0].node.value, Value::Map { is_flow: true, .. }));
        assert!(matches!(map[1].node.value, Value::Map { is_flow: false, .. }));
    }

    #[test]
    fn syntax_errors_have_a_position() {
        let error = Document::parse("a: b: c\n").unwrap_err();
        assert_eq!(error.position().line, 1);
    }

    #[test]
    fn an_empty_text_is_nothing() {
        assert!(Document::parse("").unwrap().root.is_null());
        assert!(Document::parse("# only a comment\n").unwrap().root.is_null());
    }
}
