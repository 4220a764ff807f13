//! Text of strangers, made fit to be shown: on a terminal, in a report, in a message.
//!
//! This is the one place that decides what is shown as it is. Everything that could drive a
//! terminal, reorder or hide what stands beside it, or look like nothing, is shown as an escape:
//!
//! | what | why |
//! |---|---|
//! | control characters, line ends among them | they drive the terminal, or make a line of their own |
//! | format characters: bidirectional marks, zero-width ones, tags | they reorder what is read, or are not seen |
//! | variation selectors, joiners, and all others that are shown as nothing where they are not known | two names look the same |
//! | spaces other than the ordinary one, fillers, the blank pattern of Braille | they push text away unseen |
//! | line and paragraph separators | some programs break lines there |
//! | unassigned and private characters | nobody knows what a terminal makes of them |
//! | combining marks with nothing before them, or too many of them | they change what is not theirs |
//! | bytes that are no UTF-8 | a terminal in another mode takes them for commands |
//!
//! A backslash stays one: whoever sends a text through here twice gets the same.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// How many combining marks may follow one letter. The scripts that need most have four.
const MAX_MARKS: usize = 4;

/// How much of a name is shown where it stands in a list or in a question.
pub const MAX_NAME_CHARS: usize = 160;

/// Characters that are empty to look at, though the standard library calls them neither spaces nor
/// formats: the first and the last of each range. All that Unicode calls `Default_Ignorable_Code_Point`
/// are here, or are formats or unassigned; the others are blanks of their scripts.
const UNSEEN: [(char, char); 17] = [
    ('\u{34f}', '\u{34f}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{2065}', '\u{2065}'),
    ('\u{2800}', '\u{2800}'),
    ('\u{2d7f}', '\u{2d7f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fff8}'),
    ('\u{1107f}', '\u{1107f}'),
    ('\u{13441}', '\u{13442}'),
    ('\u{16fe4}', '\u{16fe4}'),
    ('\u{1d159}', '\u{1d159}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// Text on one line, in which everything that cannot be seen for what it is is escaped.
pub fn printable(text: &str) -> String {
    pieces(text).concat()
}

/// Text of our own that may hold text of others: like [`printable`], but its lines stay lines.
pub fn printable_lines(text: &str) -> String {
    if text.bytes().all(|byte| byte == b'\n' || is_plain(byte)) {
        return text.to_owned();
    }
    let lines: Vec<String> = text.split('\n').map(printable).collect();
    lines.join("\n")
}

/// Bytes that need not be text. What is no UTF-8 is shown byte by byte.
pub fn printable_bytes(bytes: &[u8]) -> String {
    let mut shown = String::new();
    for chunk in bytes.utf8_chunks() {
        shown.push_str(&printable(chunk.valid()));
        for byte in chunk.invalid() {
            shown.push_str(&format!("\\x{byte:02x}"));
        }
    }
    shown
}

/// A path, as [`printable_bytes`] shows it.
pub fn printable_path(path: impl AsRef<Path>) -> String {
    printable_bytes(path.as_ref().as_os_str().as_bytes())
}

/// Text that has at most about `max_chars` characters when it is shown. What is longer loses its
/// middle, for both ends of a name tell something, and it is said how much is missing.
pub fn printable_within(text: &str, max_chars: usize) -> String {
    shorten(&pieces(text), max_chars)
}

/// A path that is no longer than a name in a list may be.
pub fn printable_name(path: impl AsRef<Path>) -> String {
    let shown = printable_path(path);
    shorten(&pieces(&shown), MAX_NAME_CHARS)
}

/// What is shown for each character. An escape is one piece, so that none is cut in two.
fn pieces(text: &str) -> Vec<String> {
    let mut n_marks = None;
    text.chars()
        .map(|c| {
            let (shown, marks) = piece(c, n_marks);
            n_marks = marks;
            shown
        })
        .collect()
}

/// What is shown for a character, and how many marks there are from the last letter on. Without a
/// letter that marks could belong to there is no such number.
fn piece(c: char, n_marks: Option<usize>) -> (String, Option<usize>) {
    if c == ' ' {
        return (c.into(), None);
    }
    if !is_visible(c) {
        return (escape(c), None);
    }
    match (is_mark(c), n_marks) {
        (false, _) => (c.into(), Some(0)),
        (true, Some(n)) if n < MAX_MARKS => (c.into(), Some(n + 1)),
        (true, _) => (escape(c), None),
    }
}

fn is_plain(byte: u8) -> bool {
    byte == b' ' || byte.is_ascii_graphic()
}

/// Whether a character is one that can be seen, alone or on a letter. The standard library knows
/// which are not: controls, formats, separators, spaces, private and unassigned ones. Marks count
/// as seen here: it escapes those only at the start of a text.
fn is_visible(c: char) -> bool {
    if c.is_ascii() {
        return c == ' ' || c.is_ascii_graphic();
    }
    if UNSEEN.iter().any(|(first, last)| (*first..=*last).contains(&c)) {
        return false;
    }
    let mut after_a_letter = String::from("a");
    after_a_letter.push(c);
    after_a_letter.escape_debug().nth(1) == Some(c)
}

/// Whether a visible character belongs to the one before it.
fn is_mark(c: char) -> bool {
    !c.is_ascii() && c.escape_debug().next() != Some(c)
}

/// The escape for a character, as Rust writes it.
fn escape(c: char) -> String {
    match c {
        '\n' | '\r' | '\t' => c.escape_default().to_string(),
        c => c.escape_unicode().to_string(),
    }
}

/// JSON in which everything that [`printable`] would escape is escaped as JSON does it: it can be
/// shown, and says the same to a machine. The line ends between members stay.
pub fn printable_json(json: &str) -> String {
    let mut shown = String::new();
    for c in json.chars() {
        if c == '\n' || (is_visible(c) && !is_mark(c)) {
            shown.push(c);
        } else {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                shown.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    shown
}

fn shorten(pieces: &[String], max_chars: usize) -> String {
    let length = |pieces: &[String]| pieces.iter().map(|it| it.chars().count()).sum::<usize>();
    let whole = length(pieces);
    if whole <= max_chars {
        return pieces.concat();
    }
    // Two thirds of what is shown are the beginning.
    let start = fitting(pieces.iter(), max_chars - max_chars / 3);
    let end = fitting(pieces.iter().rev(), max_chars / 3);
    let head = pieces.get(..start).unwrap_or_default();
    let tail = pieces.get(pieces.len() - end..).unwrap_or_default();
    let n_missing = whole.saturating_sub(length(head) + length(tail));
    // A mark must not get onto our own words.
    let tail: Vec<String> = tail.iter().skip_while(|it| it.chars().any(is_mark)).cloned().collect();
    format!("{}[... {n_missing} more ...]{}", head.concat(), tail.concat())
}

/// How many of the first pieces have together no more than so many characters.
fn fitting<'p>(pieces: impl Iterator<Item = &'p String>, max_chars: usize) -> usize {
    let mut left = max_chars;
    pieces
        .take_while(|piece| {
            let n = piece.chars().count();
            let fits = n <= left;
            left = left.saturating_sub(n);
            fits
        })
        .count()
}

#[cfg(test)]
mod tests;
