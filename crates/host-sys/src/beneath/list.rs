//! The names in a folder.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::Dir;

use super::{Folder, Kind};

/// A name in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name.
    pub name: OsString,
    /// What had this name when the folder was read.
    pub kind: Kind,
}

impl Folder {
    /// Every name in this folder, sorted. More than `most` are an error.
    pub fn list(&self, most: usize) -> io::Result<Vec<Entry>> {
        let mut entries = self.list_some(most.saturating_add(1))?;
        if entries.len() > most {
            return Err(too_many(most));
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    /// At most so many of the names in this folder, as they come.
    pub(super) fn list_some(&self, most: usize) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for entry in Dir::new(self.open_itself()?)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            if entries.len() >= most {
                break;
            }
            let kind = match Kind::of(entry.file_type()) {
                Some(kind) => kind,
                // Some file systems do not say, and what is gone meanwhile is not listed.
                None => match self.status_of(name)? {
                    Some(status) => status.kind,
                    None => continue,
                },
            };
            entries.push(Entry { name: name.to_owned(), kind });
        }
        Ok(entries)
    }
}

pub(super) fn too_many(most: usize) -> io::Error {
    let words = format!("there are more than {most} files and folders in it");
    io::Error::new(io::ErrorKind::QuotaExceeded, words)
}
