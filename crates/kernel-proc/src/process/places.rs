//! `cwd`, `root` and `exe`.

use std::any::Any;

use kernel_files::Location;
use kernel_files::pseudo::Link;
use linux_abi::{Errno, SysResult};

use super::Context;

/// Which place a link leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    WorkingDirectory,
    Root,
    Executable,
}

pub(super) struct PlaceLink {
    pub(super) context: Context,
    pub(super) place: Place,
}

impl PlaceLink {
    fn location(&self) -> SysResult<Location> {
        let thread = self.context.subject.thread().map_err(|_| Errno::ENOENT)?;
        match self.place {
            Place::WorkingDirectory => Ok(thread.fs().cwd()),
            Place::Root => Ok(thread.fs().root()),
            Place::Executable => thread.process().program().location.clone().ok_or(Errno::ENOENT),
        }
    }
}

impl Link for PlaceLink {
    fn read(&self, _caller: Option<&dyn Any>) -> SysResult<Vec<u8>> {
        let thread = self.context.subject.thread().map_err(|_| Errno::ENOENT)?;
        if self.place == Place::Executable {
            let program = thread.process().program();
            if program.location.is_none() && !program.executable.is_empty() {
                return Ok(program.executable.clone());
            }
        }
        Ok(self.location()?.display_path(&thread.fs().root()))
    }

    fn target(&self) -> Option<SysResult<Location>> {
        match self.location() {
            // The path is all that is known of the program: an ordinary link then.
            Err(_) if self.place == Place::Executable => None,
            location => Some(location),
        }
    }
}
