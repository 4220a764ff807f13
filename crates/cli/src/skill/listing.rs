//! Changes in words: all of them if they are few, otherwise new folders as one line each.

use std::collections::HashMap;
use std::path::Path;

use sandbox_spec::{Change, Happened, Now, printable_name};

/// How many lines a list has.
const MAX_LINES: usize = 24;

/// The changes in words, a line for each. New folders are opened as long as the lines suffice, the
/// small ones first and hidden ones, such as `.git`, last.
pub fn in_words(changes: &[Change]) -> String {
    let listing = Listing::new(changes);
    let shown = listing.shown();
    let mut text = String::new();
    for line in shown.iter().take(MAX_LINES) {
        let Some(change) = changes.get(line.at) else { continue };
        let inside = if line.is_closed { listing.inside(line.at) } else { String::new() };
        let word = change.happened.word();
        text.push_str(&format!(
            "  {word}  {}{}{inside}\n",
            shown_path(&change.path),
            about(change)
        ));
    }
    if shown.len() > MAX_LINES {
        text.push_str(&format!("  and {} more\n", shown.len() - MAX_LINES));
    }
    text
}

/// How many were created, changed and removed.
pub fn counted(changes: &[Change]) -> String {
    let n = |what: Happened| changes.iter().filter(|change| change.happened == what).count();
    let parts: Vec<String> = [Happened::Created, Happened::Changed, Happened::Removed]
        .into_iter()
        .filter(|what| n(*what) > 0)
        .map(|what| format!("{} {}", n(what), what.word()))
        .collect();
    parts.join(", ")
}

/// A path that cannot drive the terminal.
pub fn shown_path(path: &Path) -> String {
    printable_name(path)
}

fn about(change: &Change) -> String {
    match &change.now {
        Now::File { size } => format!("  {size} bytes"),
        Now::Folder => "/".to_owned(),
        Now::Link { target } => format!(" -> {}", shown_path(target)),
        Now::Special => "  (no file; is not written back)".to_owned(),
        Now::Nothing => String::new(),
    }
}

/// One line of a list.
#[derive(Clone, Copy)]
struct Line {
    /// Which change.
    at: usize,
    /// Whether it stands for a folder with everything in it.
    is_closed: bool,
}

/// The changes with what is in which new folder.
struct Listing<'a> {
    changes: &'a [Change],
    /// What is directly in each new folder.
    children: HashMap<&'a Path, Vec<usize>>,
    /// What is in no new folder.
    tops: Vec<usize>,
}

impl<'a> Listing<'a> {
    fn new(changes: &'a [Change]) -> Self {
        let is_new =
            |change: &Change| change.happened == Happened::Created && change.now == Now::Folder;
        let mut children: HashMap<&Path, Vec<usize>> = changes
            .iter()
            .filter(|change| is_new(change))
            .map(|change| (change.path.as_path(), Vec::new()))
            .collect();
        let mut tops = Vec::new();
        for (at, change) in changes.iter().enumerate() {
            let parent = change.path.parent().and_then(|parent| children.get_mut(parent));
            parent.unwrap_or(&mut tops).push(at);
        }
        Self { changes, children, tops }
    }

    fn children_of(&self, at: usize) -> &[usize] {
        let path = self.changes.get(at).map(|change| change.path.as_path());
        path.and_then(|path| self.children.get(path)).map_or(&[], Vec::as_slice)
    }

    fn line(&self, at: usize) -> Line {
        Line { at, is_closed: !self.children_of(at).is_empty() }
    }

    fn shown(&self) -> Vec<Line> {
        let mut lines: Vec<Line> = self.tops.iter().map(|at| self.line(*at)).collect();
        loop {
            let room = MAX_LINES.saturating_sub(lines.len());
            let fits = |line: &&mut Line| line.is_closed && self.children_of(line.at).len() <= room;
            let Some(next) = lines.iter_mut().filter(fits).min_by_key(|line| self.rank(line.at))
            else {
                break;
            };
            next.is_closed = false;
            let opened = self.children_of(next.at).iter().map(|at| self.line(*at));
            lines.extend(opened);
        }
        lines.sort_by_key(|line| self.changes.get(line.at).map(|change| &change.path));
        lines
    }

    /// Which folder is opened first.
    fn rank(&self, at: usize) -> (bool, usize) {
        let path = self.changes.get(at).map(|change| change.path.as_path());
        let name = path.and_then(Path::file_name).unwrap_or_default();
        (name.as_encoded_bytes().starts_with(b"."), self.children_of(at).len())
    }

    /// How much is in a folder.
    fn inside(&self, top: usize) -> String {
        let (mut n_files, mut n_bytes) = (0_u64, 0_u64);
        let mut left = self.children_of(top).to_vec();
        while let Some(at) = left.pop() {
            left.extend(self.children_of(at));
            match self.changes.get(at).map(|change| &change.now) {
                Some(Now::File { size }) => {
                    n_files += 1;
                    n_bytes = n_bytes.saturating_add(*size);
                }
                Some(Now::Link { .. } | Now::Special) => n_files += 1,
                Some(Now::Folder | Now::Nothing) | None => {}
            }
        }
        let s = if n_files == 1 { "" } else { "s" };
        format!("  {n_files} file{s}, {n_bytes} bytes")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn created(path: &str) -> Change {
        let now = if path.ends_with('/') { Now::Folder } else { Now::File { size: 10 } };
        Change { path: path.trim_end_matches('/').into(), happened: Happened::Created, now }
    }

    #[test]
    fn few_changes_are_all_listed() {
        let changes = ["a/", "a/.b/", "a/.b/c", "d"].map(created);
        let text = in_words(&changes);
        assert_eq!(
            text,
            "  created  a/\n  created  a/.b/\n  created  a/.b/c  10 bytes\n  created  d  10 bytes\n"
        );
    }

    #[test]
    fn a_large_hidden_folder_is_one_line() {
        let mut changes: Vec<Change> = ["p/", "p/.git/", "p/.git/x/"].map(created).to_vec();
        changes.extend((0..40).map(|n| created(&format!("p/.git/x/{n}"))));
        changes.extend((0..10).map(|n| created(&format!("p/{n}"))));
        let text = in_words(&changes);
        assert_eq!(text.lines().count(), 13, "{text}");
        assert!(text.contains("created  p/.git/x/  40 files, 400 bytes"), "{text}");
        assert!(text.contains("created  p/9  10 bytes"));
    }

    #[test]
    fn a_list_has_an_end() {
        let changes: Vec<Change> = (0..100).map(|n| created(&format!("{n:03}"))).collect();
        let text = in_words(&changes);
        assert_eq!(text.lines().count(), 25);
        assert!(text.ends_with("and 76 more\n"));
    }
}
