//! Changes in words: those that deserve a close look first and one by one, then the others, new
//! folders as one line each if they are many.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use sandbox_spec::{Change, Happened, Now, printable_name};

use super::risk::{Risk, Weight, risks};

/// How many lines a list of ordinary changes has.
const MAX_LINES: usize = 24;
/// How many of the weightiest changes are named again after a list that is longer than a screen.
const MAX_REPEATED: usize = 5;
/// A list that is longer than this may have left the screen when its end is read.
const SCREEN_LINES: usize = 10;

/// The changes in words, a line for each. What deserves a close look is never left out, and what
/// weighs most is named at the end again. Of the others, new folders are opened as long as the lines
/// suffice, the small ones first and hidden ones, such as `.git`, last.
pub fn in_words(changes: &[Change]) -> String {
    let risky = by_weight(changes);
    let mut text = marked(&risky);
    let listing = Listing::new(changes);
    let shown = listing.shown(&risky);
    for line in shown.iter().take(MAX_LINES) {
        let Some(change) = changes.get(line.at) else { continue };
        let inside = if line.is_closed { listing.inside(line.at) } else { String::new() };
        text.push_str(&format!("  {}{inside}\n", one_line(change)));
    }
    if shown.len() > MAX_LINES {
        text.push_str(&format!("  and {} more\n", shown.len() - MAX_LINES));
    }
    let n_lines = text.lines().count();
    text + &closing(&risky, n_lines)
}

/// All changes in words, whatever they are and however many.
pub fn all_in_words(changes: &[Change]) -> String {
    let risky = by_weight(changes);
    let mut text = marked(&risky);
    let known: HashSet<usize> = risky.iter().map(|(at, _, _)| *at).collect();
    for (_, change) in changes.iter().enumerate().filter(|(at, _)| !known.contains(at)) {
        text.push_str(&format!("  {}\n", one_line(change)));
    }
    let n_lines = text.lines().count();
    text + &closing(&risky, n_lines)
}

/// A change in words.
pub fn one_line(change: &Change) -> String {
    format!("{}  {}{}", change.happened.word(), shown_path(&change.path), about(change))
}

/// Why a change deserves a close look, in words; nothing for most.
pub fn why(change: &Change) -> Option<String> {
    let reasons: Vec<&str> = risks(change).iter().map(|risk| risk.reason).collect();
    if reasons.is_empty() { None } else { Some(reasons.join("; ")) }
}

type Risky<'a> = (usize, &'a Change, Vec<Risk>);

/// What deserves a close look, the weightiest first.
fn by_weight(changes: &[Change]) -> Vec<Risky<'_>> {
    let all = changes.iter().enumerate().map(|(at, change)| (at, change, risks(change)));
    // What is only hidden by the name of a new folder is told by that folder.
    let folders: HashSet<&Path> = changes
        .iter()
        .filter(|it| it.happened == Happened::Created && it.now == Now::Folder)
        .filter(|it| !risks(it).is_empty())
        .map(|it| it.path.as_path())
        .collect();
    let is_only_hidden =
        |risks: &[Risk]| risks.first().is_some_and(|risk| risk.weight == Weight::Hidden);
    let is_told = |change: &Change| change.path.ancestors().skip(1).any(|it| folders.contains(it));
    let mut risky: Vec<Risky<'_>> = all
        .filter(|(_, _, risks)| !risks.is_empty())
        .filter(|(_, change, risks)| !(is_only_hidden(risks) && is_told(change)))
        .collect();
    let weight = |risks: &[Risk]| risks.first().map(|risk| risk.weight);
    risky.sort_by_key(|(at, _, risks)| (std::cmp::Reverse(weight(risks)), *at));
    risky
}

/// The order in which changes are asked about: what deserves a close look first.
pub fn in_order(changes: &[Change]) -> Vec<&Change> {
    let risky = by_weight(changes);
    let known: HashSet<usize> = risky.iter().map(|(at, _, _)| *at).collect();
    let others = changes.iter().enumerate().filter(|(at, _)| !known.contains(at));
    let first = risky.iter().map(|(_, change, _)| *change);
    first.chain(others.map(|(_, change)| change)).collect()
}

fn marked(risky: &[Risky<'_>]) -> String {
    let line = |(_, change, risks): &Risky<'_>| {
        let reasons: Vec<&str> = risks.iter().map(|risk| risk.reason).collect();
        format!("! {}  <- {}\n", one_line(change), reasons.join("; "))
    };
    risky.iter().map(line).collect()
}

/// How many deserve a close look, by the reason, and, if the list was long, the weightiest of them
/// again: what stood first may not be on the screen any more.
fn closing(risky: &[Risky<'_>], n_lines: usize) -> String {
    let heavy: Vec<&Risky<'_>> = risky
        .iter()
        .filter(|(_, _, risks)| risks.first().is_some_and(|risk| risk.weight > Weight::Hidden))
        .collect();
    if heavy.is_empty() {
        return String::new();
    }
    let mut text = String::new();
    if n_lines > SCREEN_LINES {
        for (_, change, risks) in heavy.iter().take(MAX_REPEATED) {
            let reason = risks.first().map_or("", |risk| risk.reason);
            text.push_str(&format!("! {}  <- {reason}\n", one_line(change)));
        }
    }
    let mut counts: BTreeMap<(std::cmp::Reverse<Weight>, &str), usize> = BTreeMap::new();
    for (_, _, risks) in &heavy {
        if let Some(risk) = risks.first() {
            *counts.entry((std::cmp::Reverse(risk.weight), risk.reason)).or_default() += 1;
        }
    }
    let counts: Vec<String> =
        counts.into_iter().map(|((_, reason), n)| format!("{n} x {reason}")).collect();
    format!("{text}! look closely at {}: {}\n", heavy.len(), counts.join(", "))
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
        Now::File { size, .. } => format!("  {size} bytes"),
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

    /// The lines for what is not `risky`, which has lines already.
    fn shown(&self, risky: &[Risky<'_>]) -> Vec<Line> {
        let known: HashSet<usize> = risky.iter().map(|(at, _, _)| *at).collect();
        // A folder that has a line already is opened, or stands for what is in it.
        let is_told = |line: &Line| known.contains(&line.at) && !line.is_closed;
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
        lines.retain(|line| !is_told(line));
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
                Some(Now::File { size, .. }) => {
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
        let now =
            if path.ends_with('/') { Now::Folder } else { Now::File { size: 10, mode: 0o644 } };
        Change { path: path.trim_end_matches('/').into(), happened: Happened::Created, now }
    }

    #[test]
    fn few_changes_are_all_listed() {
        let changes = ["a/", "a/.b/", "a/.b/c", "d"].map(created);
        let text = in_words(&changes);
        assert_eq!(
            text,
            "! created  a/.b/  <- hidden: a name in its path begins with a dot\n  created  a/\n  \
             created  a/.b/c  10 bytes\n  created  d  10 bytes\n"
        );
    }

    #[test]
    fn a_large_hidden_folder_is_one_line() {
        let mut changes: Vec<Change> = ["p/", "p/.git/", "p/.git/x/"].map(created).to_vec();
        changes.extend((0..40).map(|n| created(&format!("p/.git/x/{n}"))));
        changes.extend((0..10).map(|n| created(&format!("p/{n}"))));
        let text = in_words(&changes);
        assert_eq!(text.lines().count(), 13, "{text}");
        assert!(text.starts_with("! created  p/.git/  <- hidden"), "{text}");
        assert!(text.contains("created  p/.git/x/  40 files, 400 bytes"), "{text}");
        assert!(text.contains("created  p/9  10 bytes"));
    }

    #[test]
    fn what_weighs_most_is_first_and_last_however_many_there_are() {
        let mut changes: Vec<Change> = (0..24).map(|n| created(&format!("{n:03}.txt"))).collect();
        changes.push(created("zz/.git/hooks/pre-commit"));
        changes.push(created("zz/package.json"));
        for text in [in_words(&changes), all_in_words(&changes)] {
            let lines: Vec<&str> = text.lines().collect();
            let hook = "! created  zz/.git/hooks/pre-commit  10 bytes  <- a git hook: git runs it";
            assert_eq!(lines[0], hook);
            assert!(lines[1].starts_with("! created  zz/package.json"), "{text}");
            assert_eq!(lines[lines.len() - 3], hook);
            assert!(lines[lines.len() - 1].starts_with("! look closely at 2: 1 x a git hook"));
            assert!(!text.contains("more"), "{text}");
        }
        changes.extend((24..60).map(|n| created(&format!("{n:03}.txt"))));
        assert!(in_words(&changes).contains("  and 36 more\n"));
        assert_eq!(all_in_words(&changes).lines().count(), 62 + 3);
    }

    #[test]
    fn a_list_has_an_end() {
        let changes: Vec<Change> = (0..100).map(|n| created(&format!("{n:03}"))).collect();
        let text = in_words(&changes);
        assert_eq!(text.lines().count(), 25);
        assert!(text.ends_with("and 76 more\n"));
    }
}
