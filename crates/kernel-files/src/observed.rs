//! Asks and tells the supervisor, if there is one, about files at their places.

use kernel_core::supervisor::{self, FileEvent, Right};
use linux_abi::SysResult;

use crate::metadata::FileKind;
use crate::mount::Location;

/// Whether a kind of file holds something that could be kept from a guest. Names and metadata
/// are always visible, so that a folder may be listed; devices, FIFOs and sockets are the
/// sandbox's own.
pub(crate) fn is_stored(kind: FileKind) -> bool {
    kind == FileKind::Regular
}

/// Whether somebody is to be asked and told.
pub(crate) fn is_there() -> bool {
    supervisor::get().is_some()
}

/// Fails if the caller may not do this with the file at `location`.
pub fn check(location: &Location, right: Right) -> SysResult<()> {
    let Some(supervisor) = supervisor::get() else { return Ok(()) };
    match location.full_path() {
        Some(path) => supervisor.check(right, &path),
        // What has no path is the guest's own: a pipe, a memory file.
        None => Ok(()),
    }
}

/// Fails if the caller would not be let do this with the file at `location`, if it tried.
pub fn ask(location: &Location, rights: &[Right]) -> SysResult<()> {
    let Some(supervisor) = supervisor::get() else { return Ok(()) };
    if !is_stored(location.inode()?.kind()) {
        return Ok(());
    }
    let Some(path) = location.full_path() else { return Ok(()) };
    rights.iter().try_for_each(|right| supervisor.ask(*right, &path))
}

/// Fails if the caller may not make, change or remove this name in a folder.
pub(crate) fn check_name(folder: &Location, name: &[u8]) -> SysResult<()> {
    let Some(supervisor) = supervisor::get() else { return Ok(()) };
    folder.path_of_child(name).map_or(Ok(()), |path| supervisor.check(Right::Write, &path))
}

/// Something happened to the file at `location`.
pub fn tell(location: &Location, event: FileEvent<'_>) {
    if let Some(supervisor) = supervisor::get()
        && let Some(path) = location.full_path()
    {
        supervisor.file(&path, event);
    }
}

/// Something happened to a name in a folder.
pub(crate) fn tell_name(folder: &Location, name: &[u8], event: FileEvent<'_>) {
    if let Some(supervisor) = supervisor::get()
        && let Some(path) = folder.path_of_child(name)
    {
        supervisor.file(&path, event);
    }
}

/// A path led to nothing, or was not to be walked. Programs look for thousands of files that are not
/// there, so it is put together only if there is somebody to be told.
#[cold]
pub(crate) fn tell_missing(start: &Location, path: &[u8]) {
    let Some(supervisor) = supervisor::get() else { return };
    if path.first() == Some(&b'/') {
        return supervisor.missing(path);
    }
    if let Some(mut whole) = start.full_path() {
        whole.push(b'/');
        whole.extend_from_slice(path);
        supervisor.missing(&whole);
    }
}

/// A name in a folder has become another, maybe in another folder.
pub(crate) fn tell_rename(old: (&Location, &[u8]), new: (&Location, &[u8]), replaces: bool) {
    if let Some(supervisor) = supervisor::get()
        && let Some(old) = old.0.path_of_child(old.1)
        && let Some(new) = new.0.path_of_child(new.1)
    {
        supervisor.file(&old, FileEvent::MovedTo(&new, replaces));
    }
}

/// A file was opened. What is no file and no folder has nothing that could be told of.
pub(crate) fn tell_open(location: &Location, reads: bool, writes: bool) {
    let kind = location.inode().map(|inode| inode.kind());
    match kind {
        Ok(FileKind::Directory) => tell(location, FileEvent::Listed),
        Ok(FileKind::Regular) => {
            if reads {
                tell(location, FileEvent::Read);
            }
            if writes {
                tell(location, FileEvent::Changed);
            }
        }
        _ => {}
    }
}
