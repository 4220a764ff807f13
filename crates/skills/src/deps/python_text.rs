//! Cuts Python text into logical lines: comments gone, strings emptied, brackets joined.

/// A statement of Python, or as much of one as stands on a logical line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Statement {
    /// The line on which it begins, from one.
    pub line: usize,
    /// How far it is indented.
    pub indent: usize,
    /// The code with empty strings and without comments.
    pub code: String,
    /// The code with strings, on one line.
    pub full: String,
}

/// Cuts a text into statements.
pub(crate) fn statements(text: &str) -> Vec<Statement> {
    let mut cutter = Cutter { chars: text.chars().collect(), ..Cutter::default() };
    cutter.run();
    cutter.done
}

#[derive(Default)]
struct Cutter {
    chars: Vec<char>,
    at: usize,
    line: usize,
    depth: usize,
    current: Option<Statement>,
    done: Vec<Statement>,
    indent: usize,
    is_line_start: bool,
}

impl Cutter {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn run(&mut self) {
        self.line = 1;
        self.is_line_start = true;
        while let Some(c) = self.peek(0) {
            match c {
                '#' => self.skip_comment(),
                '"' | '\'' => self.string(c),
                '\n' => self.newline(),
                '\\' if matches!(self.peek(1), Some('\n')) => self.join_lines(2),
                '\\' if self.peek(1) == Some('\r') && self.peek(2) == Some('\n') => {
                    self.join_lines(3);
                }
                ';' if self.depth == 0 => {
                    self.at += 1;
                    self.end();
                }
                ' ' | '\t' | '\r' if self.is_line_start => {
                    self.indent += 1;
                    self.at += 1;
                }
                _ => self.plain(c),
            }
        }
        self.end();
    }

    fn plain(&mut self, c: char) {
        match c {
            '(' | '[' | '{' => self.depth += 1,
            ')' | ']' | '}' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.at += 1;
        self.push(c, true);
    }

    fn push(&mut self, c: char, is_code: bool) {
        self.is_line_start = false;
        let (line, indent) = (self.line, self.indent);
        let current = self.current.get_or_insert_with(|| Statement {
            line,
            indent,
            code: String::new(),
            full: String::new(),
        });
        if is_code {
            current.code.push(c);
        }
        current.full.push(c);
    }

    fn skip_comment(&mut self) {
        while self.peek(0).is_some_and(|c| c != '\n') {
            self.at += 1;
        }
    }

    fn newline(&mut self) {
        self.at += 1;
        self.line += 1;
        if self.depth > 0 {
            self.push(' ', true);
            return;
        }
        self.end();
        self.is_line_start = true;
        self.indent = 0;
    }

    fn join_lines(&mut self, width: usize) {
        self.at += width;
        self.push(' ', true);
        self.line += 1;
    }

    fn end(&mut self) {
        if let Some(statement) = self.current.take() {
            self.done.push(statement);
        }
    }

    /// Passes a string; what is in it goes to `full` only.
    fn string(&mut self, quote: char) {
        let is_triple = self.peek(1) == Some(quote) && self.peek(2) == Some(quote);
        let width = if is_triple { 3 } else { 1 };
        for _ in 0..width {
            self.push(quote, true);
            self.at += 1;
        }
        while let Some(c) = self.peek(0) {
            let is_end = c == quote
                && (!is_triple || (self.peek(1) == Some(quote) && self.peek(2) == Some(quote)));
            if is_end {
                for _ in 0..width {
                    self.push(quote, true);
                    self.at += 1;
                }
                return;
            }
            if c == '\n' {
                if !is_triple {
                    return; // An unclosed string ends with its line.
                }
                self.line += 1;
            }
            self.push(if c == '\n' { ' ' } else { c }, false);
            self.at += 1;
            if c == '\\' && self.peek(0).is_some_and(|next| next != '\n') {
                self.push(self.peek(0).unwrap_or(' '), false);
                self.at += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(text: &str) -> Vec<(usize, usize, String)> {
        statements(text).into_iter().map(|s| (s.line, s.indent, s.code.trim().to_owned())).collect()
    }

    #[test]
    fn strings_and_comments_hide_code() {
        let text = "\"\"\"\nimport a\n\"\"\"\nx = 'import b'  # import c\nimport d\n";
        let all = codes(text);
        assert_eq!(all[1], (4, 0, "x = ''".to_owned()));
        assert_eq!(all[2], (5, 0, "import d".to_owned()));
    }

    #[test]
    fn brackets_and_backslashes_join_lines() {
        assert_eq!(codes("from a import (\n  b,  # c\n  d)\nx\n").len(), 2);
        assert_eq!(codes("import a, \\\n  b\ny\n")[1].0, 3);
    }

    #[test]
    fn semicolons_part_statements_and_indent_is_kept() {
        let all = codes("if x:\n    import a; import b\n");
        assert_eq!(all[1], (2, 4, "import a".to_owned()));
        assert_eq!(all[2].2, "import b");
    }

    #[test]
    fn broken_text_ends() {
        for text in ["'", "\"\"\"", "'a\\", "((((", "\\", "'\\\n"] {
            statements(text);
        }
    }
}
