//! Asks the user at the terminal whether what a skill wrote shall be written to the folder.

use std::collections::HashSet;
use std::path::Path;

use sandbox_spec::{Change, Happened, Now, printable_path};

use super::difference::Sides;
use super::listing::{all_in_words, counted, in_order, in_words, one_line, why};
use crate::failure::Failure;
use crate::signals::Signals;
use crate::user_terminal::UserTerminal;

/// How often something is asked again that was not understood. After that it is a no.
const MAX_TRIES: usize = 20;

/// What the user has chosen.
#[derive(Debug, PartialEq, Eq)]
pub enum Choice {
    /// Everything is written.
    All,
    /// Nothing is.
    Nothing,
    /// Only this is.
    Some(Vec<Change>),
}

/// What is asked about.
pub struct Question<'q> {
    /// Where it is asked.
    pub terminal: &'q UserTerminal,
    /// Signals to us, which are a no.
    pub signals: &'q Signals,
    /// The folder that would be written to.
    pub folder: &'q Path,
    /// The layer that has what was written.
    pub layer: &'q Path,
    /// What was written.
    pub changes: &'q [Change],
}

impl Question<'_> {
    /// Shows what was written and asks until there is an answer. Whoever does not answer has not
    /// agreed.
    pub fn ask(&self) -> Result<Choice, Failure> {
        let (count, folder) = (counted(self.changes), printable_path(self.folder));
        self.terminal.say(&format!("{count} in {folder}:\n{}", in_words(self.changes)));
        for _ in 0..MAX_TRIES {
            self.terminal.say("y: all of it, n: nothing, d: the differences, f: file by file\n");
            let question = format!("Write this to {folder}? [y/N] ");
            match self.terminal.ask(&question, self.signals)?.as_deref() {
                Some("y" | "yes") => return Ok(Choice::All),
                Some("d" | "diff") => self.show_all()?,
                Some("f" | "file" | "files") => return self.ask_each(),
                _ => return Ok(Choice::Nothing),
            }
        }
        Ok(Choice::Nothing)
    }

    fn sides(&self) -> Result<Sides, Failure> {
        Sides::open(Some(self.folder), self.layer)
            .map_err(|error| Failure::new(format!("cannot compare: {error}")))
    }

    /// Shows all differences, and after them the whole list again.
    fn show_all(&self) -> Result<(), Failure> {
        let sides = self.sides()?;
        // What weighs most comes last: that is what is still on the screen.
        let is_told = |change: &&Change| !is_new_folder(change);
        for change in in_order(self.changes).into_iter().rev().filter(is_told) {
            self.signals.check()?;
            self.terminal.say(&sides.of(change));
        }
        self.terminal.say(&all_in_words(self.changes));
        Ok(())
    }

    fn ask_each(&self) -> Result<Choice, Failure> {
        let sides = self.sides()?;
        let mut chosen: HashSet<&Path> = HashSet::new();
        let all = in_order(self.changes);
        // A new folder goes with what is in it.
        let parents: HashSet<&Path> =
            self.changes.iter().filter_map(|change| change.path.parent()).collect();
        let is_asked =
            |change: &&&Change| !is_new_folder(change) || !parents.contains(change.path.as_path());
        let n_all = all.iter().filter(is_asked).count();
        'changes: for (n, change) in all.iter().filter(is_asked).enumerate() {
            let reason = why(change).map_or(String::new(), |why| format!("  <- {why}"));
            let mark = if reason.is_empty() { ' ' } else { '!' };
            self.terminal.say(&format!("{mark} {}{reason}\n", one_line(change)));
            for _ in 0..MAX_TRIES {
                let question =
                    format!("{} of {n_all}: write it? d: the difference, q: no more [y/N] ", n + 1);
                match self.terminal.ask(&question, self.signals)?.as_deref() {
                    Some("y" | "yes") => {
                        chosen.insert(&change.path);
                    }
                    Some("d" | "diff") => {
                        self.terminal.say(&sides.of(change));
                        continue;
                    }
                    Some("q" | "quit") | None => break 'changes,
                    Some(_) => {}
                }
                break;
            }
        }
        Ok(self.choice(&chosen))
    }

    /// What was chosen, with the new folders that it needs, in the order in which it is written. What is
    /// in a folder that takes the place of something else needs that folder to be chosen: nobody has
    /// agreed that the other thing goes.
    fn choice(&self, chosen: &HashSet<&Path>) -> Choice {
        let (wanted, n_refused) = wanted(self.changes, chosen);
        if n_refused > 0 {
            self.terminal.say(&format!(
                "{n_refused} not written: the folder above is declined, and something else is there\n"
            ));
        }
        match wanted.len() {
            0 => Choice::Nothing,
            n if n == self.changes.len() => Choice::All,
            _ => Choice::Some(wanted),
        }
    }
}

/// The changes that are written for what was chosen, and how many cannot be.
fn wanted(changes: &[Change], chosen: &HashSet<&Path>) -> (Vec<Change>, usize) {
    let declined: HashSet<&Path> = changes
        .iter()
        .filter(|change| change.now == Now::Folder && !is_new_folder(change))
        .map(|change| change.path.as_path())
        .filter(|path| !chosen.contains(path))
        .collect();
    let is_possible = |path: &Path| !path.ancestors().skip(1).any(|it| declined.contains(it));
    let (possible, refused): (Vec<&Path>, Vec<&Path>) =
        chosen.iter().copied().partition(|path| is_possible(path));
    let above: HashSet<&Path> = possible.iter().flat_map(|path| path.ancestors().skip(1)).collect();
    let possible: HashSet<&Path> = possible.into_iter().collect();
    let is_wanted = |change: &&Change| {
        let path = change.path.as_path();
        possible.contains(path) || (is_new_folder(change) && above.contains(path))
    };
    (changes.iter().filter(is_wanted).cloned().collect(), refused.len())
}

fn is_new_folder(change: &Change) -> bool {
    change.happened == Happened::Created && change.now == Now::Folder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_was_declined_does_not_come_back_with_a_file_in_it() {
        let file = || Now::File { size: 1, mode: 0o644 };
        let changes = [
            Change::new("new", Happened::Created, Now::Folder),
            Change::new("new/a", Happened::Created, file()),
            Change::new("was-file", Happened::Changed, Now::Folder),
            Change::new("was-file/sub", Happened::Created, Now::Folder),
            Change::new("was-file/sub/b", Happened::Created, file()),
        ];
        let paths = |chosen: &[&'static str]| {
            let chosen: HashSet<&Path> = chosen.iter().map(|path| Path::new(*path)).collect();
            let (wanted, n_refused) = wanted(&changes, &chosen);
            let wanted: Vec<String> =
                wanted.iter().map(|it| it.path.to_str().unwrap().to_owned()).collect();
            (wanted.join(" "), n_refused)
        };
        assert_eq!(paths(&["new/a"]), ("new new/a".to_owned(), 0));
        assert_eq!(paths(&["was-file/sub/b"]), (String::new(), 1));
        assert_eq!(paths(&["new/a", "was-file/sub/b"]), ("new new/a".to_owned(), 1));
        let all = "was-file was-file/sub was-file/sub/b".to_owned();
        assert_eq!(paths(&["was-file", "was-file/sub/b"]), (all, 0));
    }
}
