//! Which files were used, and what became of them.

use std::collections::BTreeMap;
use std::ops::Bound;

use kernel_core::supervisor::FileEvent;
use sandbox_spec::{Activity, FileFate, FileRecord, sensitive_place};

use super::text;

/// How many files are recorded.
const MAX_FILES: usize = 20_000;
/// How many bytes their paths may have together.
const MAX_BYTES: usize = 4 << 20;
/// Room that is kept for files that are changed, and for places of secrets, whatever else a guest has
/// read before: so many of each, and so many bytes.
const MAX_KEPT: usize = 2_000;
const MAX_KEPT_BYTES: usize = 512 << 10;

/// The files that were used, by path.
#[derive(Default)]
pub struct Files {
    by_path: BTreeMap<Vec<u8>, Entry>,
    all: Room,
    changed: Room,
    sensitive: Room,
    more: u64,
}

/// What is taken of the room for some files.
#[derive(Default)]
struct Room {
    n_files: usize,
    n_bytes: usize,
}

impl Room {
    /// Whether there was room for a path, which it has now.
    fn take(&mut self, path: &[u8], max_files: usize, max_bytes: usize) -> bool {
        let has_room = self.n_files < max_files && self.n_bytes + path.len() <= max_bytes;
        if has_room {
            self.n_files += 1;
            self.n_bytes += path.len();
        }
        has_room
    }
}

#[derive(Clone, Copy)]
struct Entry {
    is_folder: bool,
    is_read: bool,
    was_there: bool,
    is_there: bool,
    is_changed: bool,
}

impl Entry {
    fn fate(self) -> FileFate {
        match (self.was_there, self.is_there) {
            (false, true) => FileFate::Created,
            (false, false) => FileFate::Temporary,
            (true, false) => FileFate::Removed,
            (true, true) if self.is_changed => FileFate::Changed,
            (true, true) => FileFate::Unchanged,
        }
    }
}

impl Files {
    /// Something happened to a file.
    pub fn add(&mut self, path: &[u8], event: FileEvent<'_>) {
        match event {
            FileEvent::Read => self.change(path, true, |entry| entry.is_read = true),
            FileEvent::Listed => self.change(path, true, |entry| {
                entry.is_read = true;
                entry.is_folder = true;
            }),
            FileEvent::Changed => self.change(path, true, |entry| entry.is_changed = true),
            FileEvent::Created(is_folder) => self.appears(path, is_folder, false),
            FileEvent::Removed => self.change(path, true, |entry| entry.is_there = false),
            FileEvent::MovedTo(new, replaces) => self.moves(path, new, replaces),
        }
    }

    /// Changes the entry of a path. A path that was not known before was there before the run as
    /// `was_there` says.
    fn change(&mut self, path: &[u8], was_there: bool, change: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.by_path.get_mut(path) {
            return change(entry);
        }
        let mut entry = Entry {
            is_folder: false,
            is_read: false,
            was_there,
            is_there: true,
            is_changed: false,
        };
        change(&mut entry);
        if self.has_room(path, entry) {
            self.by_path.insert(path.to_vec(), entry);
        } else {
            self.more += 1;
        }
    }

    fn has_room(&mut self, path: &[u8], entry: Entry) -> bool {
        let is_changed = entry.fate() != FileFate::Unchanged;
        self.all.take(path, MAX_FILES, MAX_BYTES)
            || (is_changed && self.changed.take(path, MAX_KEPT, MAX_KEPT_BYTES))
            || (sensitive_place(path).is_some()
                && self.sensitive.take(path, MAX_KEPT, MAX_KEPT_BYTES))
    }

    fn appears(&mut self, path: &[u8], is_folder: bool, was_there: bool) {
        self.change(path, was_there, |entry| {
            entry.is_folder = is_folder;
            entry.is_there = true;
            entry.is_changed = true;
        });
    }

    fn moves(&mut self, old: &[u8], new: &[u8], replaces: bool) {
        let is_folder = self.by_path.get(old).is_some_and(|entry| entry.is_folder);
        self.change(old, true, |entry| entry.is_there = false);
        self.appears(new, is_folder, replaces);
        // What is known beneath a folder moves with it.
        let beneath = [old, b"/"].concat();
        let known = (Bound::Included(beneath.clone()), Bound::Unbounded);
        let moved: Vec<(Vec<u8>, bool)> = self
            .by_path
            .range(known)
            .take_while(|(path, _)| path.starts_with(&beneath))
            .filter(|(_, entry)| entry.is_there)
            .map(|(path, entry)| (path.clone(), entry.is_folder))
            .collect();
        for (path, is_folder) in moved {
            let rest = path.get(old.len()..).unwrap_or_default();
            self.change(&path, true, |entry| entry.is_there = false);
            self.appears(&[new, rest].concat(), is_folder, false);
        }
    }

    /// Tells which files were used.
    pub fn tell(self, activity: &mut Activity) {
        activity.more_files = self.more;
        activity.files = self
            .by_path
            .into_iter()
            .map(|(path, entry)| FileRecord {
                path: text(&path),
                is_folder: entry.is_folder,
                is_read: entry.is_read,
                fate: entry.fate(),
            })
            .collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fates(events: &[(&str, FileEvent<'_>)]) -> Vec<(String, FileFate)> {
        let mut files = Files::default();
        for (path, event) in events {
            files.add(path.as_bytes(), *event);
        }
        let mut activity = Activity::default();
        files.tell(&mut activity);
        activity.files.into_iter().map(|file| (file.path, file.fate)).collect()
    }

    fn expect(events: &[(&str, FileEvent<'_>)], wanted: &[(&str, FileFate)]) {
        let wanted: Vec<_> =
            wanted.iter().map(|(path, fate)| ((*path).to_owned(), *fate)).collect();
        assert_eq!(fates(events), wanted);
    }

    #[test]
    fn tells_what_became_of_files() {
        expect(&[("/a", FileEvent::Read)], &[("/a", FileFate::Unchanged)]);
        expect(&[("/a", FileEvent::Changed)], &[("/a", FileFate::Changed)]);
        expect(&[("/a", FileEvent::Removed)], &[("/a", FileFate::Removed)]);
        let made = ("/a", FileEvent::Created(false));
        expect(&[made, ("/a", FileEvent::Changed)], &[("/a", FileFate::Created)]);
        expect(&[made, ("/a", FileEvent::Removed)], &[("/a", FileFate::Temporary)]);
        expect(&[("/a", FileEvent::Removed), made], &[("/a", FileFate::Changed)]);
    }

    #[test]
    fn a_file_that_is_put_in_place_is_temporary_by_its_first_name() {
        let made = ("/t", FileEvent::Created(false));
        let replaced = [made, ("/t", FileEvent::MovedTo(b"/a", true))];
        expect(&replaced, &[("/a", FileFate::Changed), ("/t", FileFate::Temporary)]);
        let new = [made, ("/t", FileEvent::MovedTo(b"/a", false))];
        expect(&new, &[("/a", FileFate::Created), ("/t", FileFate::Temporary)]);
    }

    #[test]
    fn what_is_in_a_folder_moves_with_it() {
        let events = [
            ("/d", FileEvent::Created(true)),
            ("/d/f", FileEvent::Created(false)),
            ("/d", FileEvent::MovedTo(b"/e", false)),
        ];
        let wanted = [
            ("/d", FileFate::Temporary),
            ("/d/f", FileFate::Temporary),
            ("/e", FileFate::Created),
            ("/e/f", FileFate::Created),
        ];
        expect(&events, &wanted);
    }

    #[test]
    fn what_is_too_much_is_counted() {
        let mut files = Files::default();
        for n in 0..MAX_FILES + 3 {
            files.add(format!("/{n}").as_bytes(), FileEvent::Read);
        }
        let mut activity = Activity::default();
        files.tell(&mut activity);
        assert_eq!((activity.files.len(), activity.more_files), (MAX_FILES, 3));
    }

    #[test]
    fn what_is_read_does_not_hide_what_is_changed_nor_secrets() {
        let mut files = Files::default();
        for n in 0..2 * MAX_FILES {
            files.add(format!("/{n}").as_bytes(), FileEvent::Read);
        }
        for n in 0..2 * MAX_KEPT {
            files.add(format!("/new/{n}").as_bytes(), FileEvent::Created(false));
        }
        files.add(b"/home/u/.ssh/id_rsa", FileEvent::Read);
        let mut activity = Activity::default();
        files.tell(&mut activity);
        assert!(activity.files.iter().any(|file| file.path == "/home/u/.ssh/id_rsa"));
        let changed = activity.files.iter().filter(|file| file.fate == FileFate::Created);
        assert_eq!(changed.count(), MAX_KEPT);
    }
}
