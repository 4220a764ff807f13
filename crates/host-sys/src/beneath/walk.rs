//! A walk through everything beneath a folder.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use super::list::too_many;
use super::{Entry, Folder, Kind, Status};

/// How much one walk looks at. Whoever made the tree may have made it to keep us busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many names there may be.
    pub entries: usize,
    /// How deep folders may lie in each other. A descriptor is held for each level.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { entries: 1 << 20, depth: 256 }
    }
}

impl Limits {
    /// The failure of a tree that has more names.
    pub fn too_many(&self) -> io::Error {
        too_many(self.entries)
    }

    /// The failure of a tree that is deeper.
    pub fn too_deep(&self) -> io::Error {
        let words = format!("folders lie in each other more than {} deep", self.depth);
        io::Error::new(io::ErrorKind::QuotaExceeded, words)
    }
}

/// Something that a walk has come to.
#[derive(Debug)]
pub struct Found<'w> {
    /// Its path, from where the walk began.
    pub path: &'w Path,
    /// The folder that it is in.
    pub folder: &'w Folder,
    /// Its name there.
    pub name: &'w OsStr,
    /// What it is.
    pub status: Status,
}

/// Where a walk goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Into what was found, if it is a folder.
    Into,
    /// Past it.
    Past,
}

impl Folder {
    /// Visits everything beneath this folder: names in order, a folder before what is in it. What is
    /// gone before it is its turn is not visited.
    pub fn walk(
        &self,
        limits: Limits,
        visit: &mut dyn FnMut(&Found<'_>) -> io::Result<Next>,
    ) -> io::Result<()> {
        let mut left = limits.entries;
        let mut path = PathBuf::new();
        let mut levels = vec![Level::of(self.again()?, &mut left, limits)?];
        loop {
            let depth = levels.len();
            let Some(level) = levels.last_mut() else { return Ok(()) };
            let Some(name) = level.names.pop() else {
                levels.pop();
                path.pop();
                continue;
            };
            let Some(status) = level.folder.status_of(&name)? else { continue };
            path.push(&name);
            let found = Found { path: &path, folder: &level.folder, name: &name, status };
            let next = visit(&found).map_err(|error| at(&path, &error))?;
            if next == Next::Past || status.kind != Kind::Folder {
                path.pop();
                continue;
            }
            if depth > limits.depth {
                return Err(at(&path, &limits.too_deep()));
            }
            let inner = level.folder.folder(&name);
            let inner = inner.and_then(|folder| Level::of(folder, &mut left, limits));
            levels.push(inner.map_err(|error| at(&path, &error))?);
        }
    }
}

struct Level {
    folder: Folder,
    /// What is still to be visited, the last one first.
    names: Vec<OsString>,
}

impl Level {
    fn of(folder: Folder, left: &mut usize, limits: Limits) -> io::Result<Self> {
        let entries = folder.list(*left).map_err(|error| match error.kind() {
            io::ErrorKind::QuotaExceeded => limits.too_many(),
            _ => error,
        })?;
        *left = left.saturating_sub(entries.len());
        let names = entries.into_iter().rev().map(|Entry { name, .. }| name).collect();
        Ok(Self { folder, names })
    }
}

/// The same failure, with the place where it happened.
fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
