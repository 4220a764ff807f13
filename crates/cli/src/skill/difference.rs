//! What a change does to a file, line by line, for somebody who has to agree to it.
//!
//! Both sides are read beneath folders that are held, without following a link, up to a limit.

use std::io;
use std::path::Path;
use std::time::Duration;

use host_sys::beneath::Folder;
use sandbox_spec::{Change, Happened, Now, printable_path, printable_within};
use similar::{ChangeTag, TextDiff};

/// The largest file that is compared.
const MAX_BYTES: u64 = 1 << 20;
/// How many lines of a difference are shown.
const MAX_LINES: usize = 200;
/// How long a line may be.
const MAX_LINE_CHARS: usize = 200;
/// How many lines are shown around a difference.
const CONTEXT: usize = 3;
/// How long the smallest difference is looked for; after this any will do.
const PATIENCE: Duration = Duration::from_secs(2);

/// The folder of the user's and the layer with what was written.
pub struct Sides {
    old: Option<Folder>,
    new: Folder,
}

impl Sides {
    /// Opens both.
    pub fn open(folder: Option<&Path>, layer: &Path) -> io::Result<Self> {
        Ok(Self { old: folder.map(Folder::at).transpose()?, new: Folder::at(layer)? })
    }

    /// The difference in words, with a line that names it.
    pub fn of(&self, change: &Change) -> String {
        let title = format!("--- {} {}\n", change.happened.word(), printable_path(&change.path));
        let body = match &change.now {
            Now::Folder => "  a folder\n".to_owned(),
            Now::Special => "  no file; it is not written\n".to_owned(),
            Now::Link { target } => format!("  a link to {}\n", printable_path(target)),
            Now::Nothing => self.compare(change),
            Now::File { mode, .. } => format!("  mode {mode:04o}\n") + &self.compare(change),
        };
        title + &body
    }

    fn compare(&self, change: &Change) -> String {
        let old = match (&self.old, change.happened) {
            (Some(top), Happened::Changed | Happened::Removed) => read(top, &change.path),
            _ => Ok(Vec::new()),
        };
        let new = match change.now {
            Now::File { .. } => read(&self.new, &change.path),
            _ => Ok(Vec::new()),
        };
        match (old, new) {
            (Ok(old), Ok(new)) => between(&old, &new),
            (Err(error), _) | (_, Err(error)) => format!("  cannot be shown: {error}\n"),
        }
    }
}

/// Reads a file beneath a folder.
fn read(top: &Folder, path: &Path) -> io::Result<Vec<u8>> {
    let (folder, name) = top.parent_of(path)?;
    folder.read(name, MAX_BYTES)
}

fn between(old: &[u8], new: &[u8]) -> String {
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
    let mut shown: Vec<String> = lines.iter().skip(1).take(MAX_LINES).cloned().collect();
    if let Some(n @ 1..) = lines.len().checked_sub(MAX_LINES + 1) {
        shown.push(format!("  and {n} more lines"));
    }
    shown.iter().map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn change(path: &str, happened: Happened) -> Change {
        Change { path: path.into(), happened, now: Now::File { size: 0, mode: 0o644 } }
    }

    #[test]
    fn lines_that_differ_are_shown_and_cannot_act() {
        let text = between(b"a\nb\nc\n", b"a\nB\x1b[8m\nc\n");
        assert_eq!(text, "    a\n  - b\n  + B\\u{1b}[8m\n    c\n");
        assert!(between(b"\0", b"a").contains("no text"));
        let long = between(b"", "x\n".repeat(1000).as_bytes());
        assert!(long.ends_with("and 800 more lines\n"), "{long}");
    }

    #[test]
    fn links_and_large_files_are_not_read() {
        let top = tempfile::tempdir().unwrap();
        let (old, new) = (top.path().join("old"), top.path().join("new"));
        std::fs::create_dir(&old).unwrap();
        std::fs::create_dir(&new).unwrap();
        std::fs::write(top.path().join("secret"), "mine").unwrap();
        std::fs::create_dir(top.path().join("d")).unwrap();
        std::fs::write(top.path().join("d/f"), "mine").unwrap();
        symlink("../secret", new.join("f")).unwrap();
        symlink("../d", new.join("d")).unwrap();
        std::fs::write(new.join("large"), vec![b'x'; (1 << 20) + 1]).unwrap();
        let sides = Sides::open(Some(&old), &new).unwrap();
        for path in ["f", "d/f", "large", "gone"] {
            let text = sides.of(&change(path, Happened::Created));
            assert!(text.contains("cannot be shown") && !text.contains("mine"), "{text}");
        }
    }
}
