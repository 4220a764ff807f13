//! Files that were used, put together for reading.

use std::collections::BTreeMap;

use sandbox_spec::{Activity, FileFate, FileRecord};

/// Folders of the system, which are counted and not listed, and how many names of a path tell them
/// apart.
const SYSTEM: [(&str, usize); 9] = [
    ("/usr", 3),
    ("/opt", 3),
    ("/etc", 1),
    ("/var", 2),
    ("/lib", 1),
    ("/lib64", 1),
    ("/proc", 1),
    ("/sys", 1),
    ("/dev", 1),
];

/// The files of a run, by what became of them.
#[derive(Default)]
pub struct FileGroups<'r> {
    /// Were not there before.
    pub created: Vec<&'r str>,
    /// Were there before and were opened to be written.
    pub changed: Vec<&'r str>,
    /// Are gone.
    pub removed: Vec<&'r str>,
    /// Were only read, outside of the system's folders.
    pub read: Vec<&'r str>,
    /// How many files of each folder of the system were read.
    pub read_system: BTreeMap<String, usize>,
    /// How many folders were listed.
    pub n_listed: usize,
    /// How many were made and are gone again.
    pub n_temporary: usize,
}

impl<'r> FileGroups<'r> {
    /// Puts the files of a run together.
    pub fn of(activity: &'r Activity) -> Self {
        let mut groups = Self::default();
        for file in &activity.files {
            groups.add(file);
        }
        groups
    }

    fn add(&mut self, file: &'r FileRecord) {
        match file.fate {
            FileFate::Created => self.created.push(&file.path),
            FileFate::Changed => self.changed.push(&file.path),
            FileFate::Removed => self.removed.push(&file.path),
            FileFate::Temporary => self.n_temporary += 1,
            FileFate::Unchanged if file.is_folder => self.n_listed += 1,
            FileFate::Unchanged => match system_folder(&file.path) {
                Some(folder) => *self.read_system.entry(folder).or_default() += 1,
                None => self.read.push(&file.path),
            },
        }
    }

    /// The lists with their names, the most telling first.
    pub fn lists(&self) -> [(&'static str, &[&'r str]); 4] {
        [
            ("created", &self.created),
            ("changed", &self.changed),
            ("removed", &self.removed),
            ("read", &self.read),
        ]
    }
}

fn system_folder(path: &str) -> Option<String> {
    let is_in = |top: &str| path.strip_prefix(top).is_some_and(|rest| rest.starts_with('/'));
    let (_, n_names) = SYSTEM.iter().find(|(top, _)| is_in(top))?;
    let end = path.match_indices('/').nth(*n_names).map_or(path.rfind('/')?, |(at, _)| at);
    path.get(..end).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_folders_are_told_apart() {
        let folder = |path| system_folder(path);
        assert_eq!(folder("/usr/lib/python3/a/b.py").as_deref(), Some("/usr/lib/python3"));
        assert_eq!(folder("/usr/bin/sh").as_deref(), Some("/usr/bin"));
        assert_eq!(folder("/etc/fonts/x").as_deref(), Some("/etc"));
        assert_eq!(folder("/work/usr/x"), None);
        assert_eq!(folder("/devices"), None);
    }
}
