//! What differs between two files, line by line, for somebody who has to agree to it.

use std::time::Duration;

use sandbox_spec::printable_within;
use similar::{ChangeTag, TextDiff};

/// How many lines of a difference are shown.
pub const MAX_DIFFERENT_LINES: usize = 200;
/// How long a line may be.
const MAX_LINE_CHARS: usize = 200;
/// How many lines are shown around a difference.
const CONTEXT: usize = 3;
/// How long the smallest difference is looked for; after this any will do.
const PATIENCE: Duration = Duration::from_secs(2);

/// The lines that differ between two files, with some around them, each made fit to be shown. Both are
/// in memory, so whoever calls this has held them to a limit.
pub fn lines_that_differ(old: &[u8], new: &[u8]) -> String {
    if old.contains(&0) || new.contains(&0) {
        return format!("  no text: {} bytes before, {} bytes now\n", old.len(), new.len());
    }
    let (old, new) = (String::from_utf8_lossy(old), String::from_utf8_lossy(new));
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(&*old, &*new);
    let mut lines = Vec::new();
    for group in diff.grouped_ops(CONTEXT) {
        lines.push("  ...".to_owned());
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            // The end of a line is its own; another one in it is shown.
            let line = change.value().strip_suffix('\n').unwrap_or(change.value());
            lines.push(format!("  {sign} {}", printable_within(line, MAX_LINE_CHARS)));
        }
    }
    // The first dots would stand for nothing but the beginning.
    let mut shown: Vec<String> = lines.iter().skip(1).take(MAX_DIFFERENT_LINES).cloned().collect();
    if let Some(n @ 1..) = lines.len().checked_sub(MAX_DIFFERENT_LINES + 1) {
        shown.push(format!("  and {n} more lines"));
    }
    shown.iter().map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_differ_are_shown_and_cannot_act() {
        let text = lines_that_differ(b"a\nb\nc\n", b"a\nB\x1b[8m\nc\n");
        assert_eq!(text, "    a\n  - b\n  + B\\u{1b}[8m\n    c\n");
        assert!(lines_that_differ(b"\0", b"a").contains("no text"));
        let long = lines_that_differ(b"", "x\n".repeat(1000).as_bytes());
        assert!(long.ends_with("and 800 more lines\n"), "{long}");
    }
}
