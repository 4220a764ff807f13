//! Text of strangers, on its way to somebody who reads it.

use sandbox_spec::{printable_bytes, printable_json, printable_lines, printable_within};
use skills::{MAX_DIFFERENT_LINES, lines_that_differ};

/// How much longer than asked for a text may be: the words that say what is missing.
const MAX_WORDS: usize = 40;
/// The most that a line of a difference may have.
const MAX_LINE_CHARS: usize = 260;

/// Shows any bytes.
///
/// # Panics
///
/// If something is left in them that acts on a terminal or cannot be seen.
pub fn printable(bytes: &[u8]) {
    let shown = printable_bytes(bytes);
    assert_plain(&shown);
    let text = String::from_utf8_lossy(bytes);
    let once = sandbox_spec::printable(&text);
    assert_plain(&once);
    assert_eq!(sandbox_spec::printable(&once), once, "twice is once");
    for max in [0, 1, 20, 160] {
        let cut = printable_within(&text, max);
        assert_plain(&cut);
        assert!(cut.chars().count() <= max + MAX_WORDS, "{max}: {cut}");
    }
    let lines = printable_lines(&text);
    assert_eq!(lines.split('\n').count(), text.split('\n').count());
    lines.split('\n').for_each(assert_plain);
    printable_json(&text).split('\n').for_each(assert_plain);
}

/// Shows what differs between two files.
///
/// # Panics
///
/// If a file begins a line of its own, acts on a terminal, or shows more than was allowed.
pub fn difference(bytes: &[u8]) {
    let Some((at, rest)) = bytes.split_first() else { return };
    let at = rest.len() * usize::from(*at) / usize::from(u8::MAX);
    let (old, new) = rest.split_at_checked(at).unwrap_or((rest, &[]));
    let text = lines_that_differ(old, new);
    assert!(text.is_empty() || text.ends_with('\n'), "{text:?}");
    assert!(text.lines().count() <= MAX_DIFFERENT_LINES + 1);
    for line in text.lines() {
        assert_plain(line);
        assert!(line.starts_with("  ") && line.chars().count() <= MAX_LINE_CHARS, "{line}");
    }
    if old == new {
        assert!(text.is_empty() || old.contains(&0), "nothing differs: {text}");
    }
}

fn assert_plain(text: &str) {
    let is_bad = |c: char| c.is_control() || (c.is_whitespace() && c != ' ');
    assert!(!text.contains(is_bad), "{text:?}");
    let hidden = ['\u{202e}', '\u{200b}', '\u{fe0f}', '\u{34f}', '\u{e0001}', '\u{feff}'];
    assert!(!text.contains(hidden), "{text:?}");
}
