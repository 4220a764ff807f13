//! What a terminal shows of what was printed: as much of it as programs that print lines need.

/// The colours of a terminal that text can have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colour {
    /// The usual one.
    #[default]
    Plain,
    /// A number from 0 to 15.
    Numbered(u8),
}

/// How a character looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Its colour.
    pub colour: Colour,
    /// Whether it is bold.
    pub is_bold: bool,
}

/// A character on the screen.
pub type Cell = (char, Style);

/// A screen without a last line.
#[derive(Default)]
pub struct Screen {
    lines: Vec<Vec<Cell>>,
    current: Vec<Cell>,
    column: usize,
    style: Style,
}

impl Screen {
    /// Prints.
    pub fn feed(&mut self, text: &str) {
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            match c {
                '\n' => {
                    self.lines.push(std::mem::take(&mut self.current));
                    self.column = 0;
                }
                '\r' => self.column = 0,
                '\x1b' => self.escape(&mut chars),
                c if c.is_control() => {}
                c => self.put(c),
            }
        }
    }

    /// Every line, without empty ones at the end.
    pub fn lines(mut self) -> Vec<Vec<Cell>> {
        self.lines.push(self.current);
        while self.lines.last().is_some_and(Vec::is_empty) {
            self.lines.pop();
        }
        self.lines
    }

    fn put(&mut self, c: char) {
        let cell = (c, self.style);
        match self.current.get_mut(self.column) {
            Some(old) => *old = cell,
            None => self.current.push(cell),
        }
        self.column += 1;
    }

    /// An escape sequence: colours, and clearing the rest of a line. Others have no effect, as those
    /// by which the program takes the terminal back from a guest.
    fn escape(&mut self, chars: &mut std::str::Chars<'_>) {
        match chars.next() {
            Some('[') => {}
            // A string, up to `ESC \`.
            Some(']' | 'P') => {
                while chars.next().is_some_and(|c| c != '\x1b') {}
                chars.next();
                return;
            }
            // A character set, or the size of a line.
            Some('(' | ')' | '*' | '+' | '%' | '#') => {
                chars.next();
                return;
            }
            _ => return,
        }
        let mut arguments = String::new();
        for c in chars {
            match c {
                'm' => return self.restyle(&arguments),
                'K' => return self.current.truncate(self.column),
                c if c.is_ascii_alphabetic() => return,
                c => arguments.push(c),
            }
        }
    }

    fn restyle(&mut self, arguments: &str) {
        for argument in arguments.split(';') {
            match argument.parse::<u8>().unwrap_or(0) {
                0 => self.style = Style::default(),
                1 => self.style.is_bold = true,
                22 => self.style.is_bold = false,
                39 => self.style.colour = Colour::Plain,
                n @ 30..=37 => self.style.colour = Colour::Numbered(n - 30),
                n @ 90..=97 => self.style.colour = Colour::Numbered(n - 90 + 8),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let mut screen = Screen::default();
        screen.feed(text);
        screen.lines().iter().map(|line| line.iter().map(|(c, _)| c).collect()).collect()
    }

    #[test]
    fn lines_are_written_over_and_cleared() {
        assert_eq!(shown("abc\r\nxyz\rq\r\n\n"), ["abc", "qyz"]);
        assert_eq!(shown("12345\r\x1b[Kok"), ["ok"]);
    }

    #[test]
    fn other_sequences_are_passed_over() {
        assert_eq!(shown("a\x1b(B\x1b]0;title\x1b\\\x1b7\x1b[?25h\x1b#5b"), ["ab"]);
    }

    #[test]
    fn colours_are_kept() {
        let mut screen = Screen::default();
        screen.feed("\x1b[1;31mx\x1b[0my");
        let lines = screen.lines();
        let red = Style { colour: Colour::Numbered(1), is_bold: true };
        assert_eq!(lines[0], [('x', red), ('y', Style::default())]);
    }
}
