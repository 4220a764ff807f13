//! Copies a tree from one folder to another.

use std::ffi::OsStr;
use std::io;

use super::sparse::copy_with_holes;
use super::{Folder, Found, Kind, Limits, Next, Status};

/// Permissions that are copied: no set-id bits.
const COPIED_MODE: u32 = 0o777;

impl Folder {
    /// Copies what has this name to a name that nothing has in another folder: files, folders and
    /// links as they are. Anything else is an error.
    pub fn copy(
        &self,
        name: impl AsRef<OsStr>,
        to: &Self,
        to_name: impl AsRef<OsStr>,
        limits: Limits,
    ) -> io::Result<()> {
        let (name, to_name) = (name.as_ref(), to_name.as_ref());
        let status = self.status_of(name)?.ok_or(rustix::io::Errno::NOENT)?;
        self.copy_one(name, status, to, to_name)?;
        if status.kind != Kind::Folder {
            return Ok(());
        }
        let (from, made) = (self.folder(name)?, to.folder(to_name)?);
        // A folder may forbid its owner to write; so each gets its permissions when it is full.
        let mut modes = vec![(std::path::PathBuf::new(), status.mode)];
        from.walk(limits, &mut |found: &Found<'_>| {
            let (parent, name) = made.parent_of(found.path)?;
            found.folder.copy_one(found.name, found.status, &parent, name)?;
            if found.status.kind == Kind::Folder {
                modes.push((found.path.to_path_buf(), found.status.mode));
            }
            Ok(Next::Into)
        })?;
        for (path, mode) in modes.iter().rev() {
            made.descend(path)?.set_mode(mode & COPIED_MODE)?;
        }
        Ok(())
    }

    fn copy_one(&self, name: &OsStr, status: Status, to: &Self, to_name: &OsStr) -> io::Result<()> {
        match status.kind {
            Kind::Folder => to.make_folder(to_name, 0o700).map(|_| ()),
            Kind::Link => to.make_link(to_name, &self.read_link(name)?),
            Kind::File => {
                let from = self.open(name)?;
                let made = to.create(to_name, 0o600)?;
                copy_with_holes(&from, &made)?;
                let mode = rustix::fs::Mode::from_raw_mode(status.mode & COPIED_MODE);
                Ok(rustix::fs::fchmod(&made, mode)?)
            }
            kind => {
                let words = format!("it is {}, which is not copied", kind.words());
                Err(io::Error::new(io::ErrorKind::InvalidInput, words))
            }
        }
    }
}
