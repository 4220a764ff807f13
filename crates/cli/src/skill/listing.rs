//! Changes in words: those that deserve a close look first and one by one, then whatever is removed or
//! overwritten, then what is new, folders as one line each if they are many.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use sandbox_spec::{Change, Gone, Happened, Now, printable_name};

use super::risk::{Risk, Weight, risks};

/// How many lines a list of new things has that need no close look.
const MAX_LINES: usize = 24;
/// How many of the weightiest changes are named again after a list that is longer than a screen.
const MAX_REPEATED: usize = 5;
/// A list that is longer than this may have left the screen when its end is read.
const SCREEN_LINES: usize = 10;

/// The changes in words, a line for each. What deserves a close look, what goes and what is overwritten
/// is never left out, and what weighs most is named at the end again. Of the others, new folders are
/// opened as long as the lines suffice, the small ones first and hidden ones, such as `.git`, last.
pub fn in_words(changes: &[Change]) -> String {
    let first = never_folded(changes);
    let mut text = one_by_one(&first);
    let listing = Listing::new(changes);
    let shown = listing.shown(&first);
    for line in shown.iter().take(MAX_LINES) {
        let Some(change) = changes.get(line.at) else { continue };
        let inside = if line.is_closed { listing.inside(line.at) } else { String::new() };
        text.push_str(&format!("  {}{inside}\n", one_line(change)));
    }
    if shown.len() > MAX_LINES {
        text.push_str(&format!("  and {} more that are new\n", shown.len() - MAX_LINES));
    }
    let n_lines = text.lines().count();
    text + &closing(&first, n_lines)
}

/// All changes in words, whatever they are and however many.
pub fn all_in_words(changes: &[Change]) -> String {
    let first = never_folded(changes);
    let mut text = one_by_one(&first);
    let known: HashSet<usize> = first.iter().map(|one| one.at).collect();
    for (_, change) in changes.iter().enumerate().filter(|(at, _)| !known.contains(at)) {
        text.push_str(&format!("  {}\n", one_line(change)));
    }
    let n_lines = text.lines().count();
    text + &closing(&first, n_lines)
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

/// A change that has a line of its own whatever else there is.
struct Shown<'a> {
    at: usize,
    change: &'a Change,
    risks: Vec<Risk>,
}

impl Shown<'_> {
    fn weight(&self) -> Option<Weight> {
        self.risks.first().map(|risk| risk.weight)
    }

    /// Whether something of the user's goes by it.
    fn takes_away(&self) -> bool {
        self.change.happened != Happened::Created
    }

    /// The order of lines: what runs by itself; what takes something away; what is run; what is only
    /// hidden. Whoever makes very many programs does not hide by them that a folder goes.
    fn order(&self) -> (Reverse<u8>, u8, Reverse<Option<Weight>>, usize) {
        let level = match (self.weight(), self.takes_away()) {
            (Some(Weight::ByItself), _) => 3,
            (_, true) => 2,
            (Some(Weight::Run), _) => 1,
            _ => 0,
        };
        let what = match self.change.happened {
            Happened::Removed => 0,
            Happened::Changed => 1,
            Happened::Created => 2,
        };
        (Reverse(level), what, Reverse(self.weight()), self.at)
    }

    fn line(&self) -> String {
        let reasons: Vec<&str> = self.risks.iter().map(|risk| risk.reason).collect();
        match reasons.is_empty() {
            true => format!("  {}\n", one_line(self.change)),
            false => format!("! {}  <- {}\n", one_line(self.change), reasons.join("; ")),
        }
    }
}

/// What deserves a close look, and what takes something away, in the order in which it is shown.
fn never_folded(changes: &[Change]) -> Vec<Shown<'_>> {
    let all = changes.iter().enumerate();
    let all = all.map(|(at, change)| Shown { at, change, risks: risks(change) });
    // What is only hidden by the name of a new folder is told by that folder.
    let folders: HashSet<&Path> = changes
        .iter()
        .filter(|it| it.happened == Happened::Created && it.now == Now::Folder)
        .filter(|it| !risks(it).is_empty())
        .map(|it| it.path.as_path())
        .collect();
    let is_told = |change: &Change| change.path.ancestors().skip(1).any(|it| folders.contains(it));
    let is_shown = |one: &Shown<'_>| match one.weight() {
        _ if one.takes_away() => true,
        None => false,
        Some(Weight::Hidden) => !is_told(one.change),
        Some(_) => true,
    };
    let mut shown: Vec<Shown<'_>> = all.filter(is_shown).collect();
    shown.sort_by_key(Shown::order);
    shown
}

/// The order in which changes are asked about: what is never folded first.
pub fn in_order(changes: &[Change]) -> Vec<&Change> {
    let first = never_folded(changes);
    let known: HashSet<usize> = first.iter().map(|one| one.at).collect();
    let others = changes.iter().enumerate().filter(|(at, _)| !known.contains(at));
    first.iter().map(|one| one.change).chain(others.map(|(_, change)| change)).collect()
}

fn one_by_one(shown: &[Shown<'_>]) -> String {
    shown.iter().map(Shown::line).collect()
}

/// How many deserve a close look, by the reason, and, if the list was long, the weightiest of them
/// again: what stood first may not be on the screen any more. What goes is said in any case.
fn closing(first: &[Shown<'_>], n_lines: usize) -> String {
    let is_heavy = |one: &&Shown<'_>| one.weight().is_some_and(|it| it > Weight::Hidden);
    let heavy: Vec<&Shown<'_>> = first.iter().filter(is_heavy).collect();
    let removed: Vec<&Shown<'_>> =
        first.iter().filter(|one| one.change.happened == Happened::Removed).collect();
    let mut text = String::new();
    if n_lines > SCREEN_LINES {
        let mut again: Vec<&Shown<'_>> = heavy.iter().take(MAX_REPEATED).copied().collect();
        for one in removed.iter().take(MAX_REPEATED) {
            if !again.iter().any(|known| known.at == one.at) {
                again.push(one);
            }
        }
        text.extend(again.into_iter().map(Shown::line));
    }
    let gone = gone_in_words(first.iter().map(|one| one.change));
    if !gone.is_empty() {
        text.push_str(&format!("! {gone}\n"));
    }
    if heavy.is_empty() {
        return text;
    }
    let mut counts: BTreeMap<(Reverse<Weight>, &str), usize> = BTreeMap::new();
    for one in &heavy {
        if let Some(risk) = one.risks.first() {
            *counts.entry((Reverse(risk.weight), risk.reason)).or_default() += 1;
        }
    }
    let counts: Vec<String> =
        counts.into_iter().map(|((_, reason), n)| format!("{n} x {reason}")).collect();
    format!("{text}! look closely at {}: {}\n", heavy.len(), counts.join(", "))
}

/// How many files are removed, those in folders that go among them; nothing if none are.
fn gone_in_words<'a>(changes: impl Iterator<Item = &'a Change>) -> String {
    let (mut n_files, mut n_folders, mut is_at_least) = (0_u64, 0_u64, false);
    for change in changes {
        match (change.gone, change.happened) {
            (Some(gone), _) => {
                n_folders += 1;
                n_files = n_files.saturating_add(gone.files);
                is_at_least |= gone.is_at_least;
            }
            (None, Happened::Removed) => n_files = n_files.saturating_add(1),
            (None, _) => {}
        }
    }
    let folders = match n_folders {
        0 => String::new(),
        n => format!("{} and ", plural(n, "folder")),
    };
    match (n_files, n_folders) {
        (0, 0) => String::new(),
        _ => {
            let least = if is_at_least { "at least " } else { "" };
            format!("{folders}{least}{} removed", plural(n_files, "file"))
        }
    }
}

fn plural(n: u64, what: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{n} {what}{s}")
}

/// How many were created, changed and removed.
pub fn counted(changes: &[Change]) -> String {
    let n = |what: Happened| changes.iter().filter(|change| change.happened == what).count();
    let parts: Vec<String> = [Happened::Created, Happened::Changed, Happened::Removed]
        .into_iter()
        .filter(|what| n(*what) > 0)
        .map(|what| format!("{} {}", n(what), what.word()))
        .collect();
    let gone = match changes.iter().any(|change| change.gone.is_some()) {
        true => format!(" ({})", gone_in_words(changes.iter())),
        false => String::new(),
    };
    parts.join(", ") + &gone
}

/// What goes with a folder, in words.
pub fn gone_with(gone: Gone) -> String {
    let least = if gone.is_at_least { "at least " } else { "" };
    format!("a folder with {least}{} in it", plural(gone.files, "file"))
}

/// A path that cannot drive the terminal.
pub fn shown_path(path: &Path) -> String {
    printable_name(path)
}

fn about(change: &Change) -> String {
    let now = match &change.now {
        Now::File { size, .. } => format!("  {size} bytes"),
        Now::Folder => "/".to_owned(),
        Now::Link { target } => format!(" -> {}", shown_path(target)),
        Now::Special => "  (no file; is not written back)".to_owned(),
        Now::Nothing => String::new(),
    };
    match (change.gone, &change.now) {
        (Some(gone), Now::Nothing) => format!("/  {}", gone_with(gone)),
        (Some(gone), _) => format!("{now}; it was {}", gone_with(gone)),
        (None, _) => now,
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

    /// The lines for what is not among `first`, which has lines already.
    fn shown(&self, first: &[Shown<'_>]) -> Vec<Line> {
        let known: HashSet<usize> = first.iter().map(|one| one.at).collect();
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
        Change::new(path.trim_end_matches('/'), Happened::Created, now)
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
        assert!(in_words(&changes).contains("  and 36 more that are new\n"));
        assert_eq!(all_in_words(&changes).lines().count(), 62 + 3);
    }

    #[test]
    fn a_list_has_an_end() {
        let changes: Vec<Change> = (0..100).map(|n| created(&format!("{n:03}"))).collect();
        let text = in_words(&changes);
        assert_eq!(text.lines().count(), 25);
        assert!(text.ends_with("and 76 more that are new\n"));
    }

    fn removed(path: &str, files: u64) -> Change {
        let gone = Some(Gone { files, is_at_least: false });
        Change { gone, ..Change::new(path, Happened::Removed, Now::Nothing) }
    }

    #[test]
    fn what_goes_is_not_behind_what_is_new() {
        let mut changes: Vec<Change> = (0..60).map(|n| created(&format!("{n:03}.txt"))).collect();
        changes.push(removed("src", 12));
        changes.push(Change::new("zz", Happened::Removed, Now::Nothing));
        let now = Now::File { size: 5, mode: 0o644 };
        changes.push(Change::new("thesis", Happened::Changed, now.clone()));
        let gone = Some(Gone { files: 3, is_at_least: true });
        changes.push(Change { gone, ..Change::new("data", Happened::Changed, now) });
        // Many programs, which deserve a look as well.
        for n in 0..50 {
            let now = Now::File { size: 1, mode: 0o755 };
            changes.push(Change::new(format!("tool{n}"), Happened::Created, now));
        }
        for text in [in_words(&changes), all_in_words(&changes)] {
            let lines: Vec<&str> = text.lines().collect();
            assert_eq!(
                lines[0],
                "! removed  src/  a folder with 12 files in it  <- a folder goes, with everything in it"
            );
            assert_eq!(lines[1], "  removed  zz");
            assert!(
                lines[2].starts_with("! changed  data  5 bytes; it was a folder with at least 3")
            );
            assert_eq!(lines[3], "  changed  thesis  5 bytes");
            let end = &lines[lines.len() - 9..];
            assert!(end.contains(&lines[0]) && end.contains(&lines[1]), "{text}");
            assert!(end.contains(&"! 2 folders and at least 16 files removed"), "{text}");
        }
        assert!(counted(&changes).ends_with("2 removed (2 folders and at least 16 files removed)"));
    }

    #[test]
    fn removals_and_overwrites_are_never_folded() {
        let mut changes: Vec<Change> = Vec::new();
        for n in 0..100 {
            changes.push(Change::new(format!("r{n}"), Happened::Removed, Now::Nothing));
            let now = Now::File { size: 1, mode: 0o644 };
            changes.push(Change::new(format!("c{n}"), Happened::Changed, now));
        }
        let text = in_words(&changes);
        for n in 0..100 {
            assert!(text.contains(&format!("removed  r{n}\n")), "{n}");
            assert!(text.contains(&format!("changed  c{n}  1 bytes\n")), "{n}");
        }
        assert!(text.contains("! 100 files removed\n"));
    }
}
