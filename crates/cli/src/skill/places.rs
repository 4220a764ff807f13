//! Places of the host that runs are shown, as folders that are held.

use std::io;
use std::path::Path;

use host_sys::beneath::Folder;
use sandbox_spec::HostPlace;

/// The place of a folder that was looked at, found at a path. What is mounted is this folder.
pub fn held(path: &Path, folder: Folder) -> HostPlace {
    HostPlace::held(path, folder)
}

/// The folder at a place.
pub fn folder(place: &HostPlace) -> io::Result<Folder> {
    match place.as_held().map(|held| held.descriptor()) {
        None => Folder::at(place.path()),
        Some(Some(descriptor)) => Folder::of(descriptor.try_clone_to_owned()?),
        Some(None) => Err(io::Error::new(io::ErrorKind::NotFound, "its descriptor did not come")),
    }
}
