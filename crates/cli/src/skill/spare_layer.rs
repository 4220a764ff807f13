//! An empty layer that is kept for the next run.
//!
//! Most runs write nothing, and on some file systems removing a folder takes as long as starting a
//! sandbox. So a layer that nothing was written to is put beside the others, and the next run takes
//! it, if it is as it was made.

use std::ffi::{OsStr, OsString};
use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use host_sys::beneath::{Folder, Kind};
use host_sys::rustix;

/// Its name, in the folder above those of all layers.
const SPARE: &str = "spare";
/// The permissions that a folder of ours has, by the usual masks.
const MODES: [u32; 3] = [0o755, 0o750, 0o700];
/// What every run writes down at the top of its layer: whom the folder belongs to.
const OWNER: &str = "user.belljar.owner";
/// How many bytes the names of attributes may take.
const MAX_NAMES_BYTES: usize = 4096;

/// Takes the spare layer into `layers`, under a new name that begins with `prefix`. Only one run can.
pub fn take(
    layers: &Folder,
    above: &Folder,
    prefix: &str,
    files: &str,
) -> Option<(OsString, Folder)> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_nanos();
    let name = OsString::from(format!("{prefix}{now:x}-{:x}", std::process::id()));
    above.rename(SPARE, layers, &name).ok()?;
    let folder = layers.folder(&name).ok()?;
    if is_unused(&folder, files).unwrap_or(false) {
        return Some((name, folder));
    }
    // Somebody was cut off while it was put there.
    let _ = layers.remove(&name);
    None
}

/// Puts a layer that nothing was written to where the next run takes it from. `marks` are the files
/// that were made beside the layer. Fails if there is one already.
pub fn put(
    layers: &Folder,
    above: &Folder,
    name: &OsStr,
    folder: &Folder,
    files: &str,
    marks: &[&str],
) -> io::Result<()> {
    let layer = folder.folder(files)?;
    match rustix::fs::fremovexattr(layer.open_itself()?, OWNER) {
        Ok(()) | Err(rustix::io::Errno::NODATA) => {}
        Err(errno) => return Err(errno.into()),
    }
    if !is_layer_unused(&layer)? {
        return Err(io::ErrorKind::InvalidData.into());
    }
    // Never replaces another one, which is not empty.
    layers.rename(name, above, SPARE)?;
    for mark in marks {
        // One that still has a mark is not taken, and goes.
        let _ = folder.remove_file(mark);
    }
    Ok(())
}

/// Whether nothing but an unused layer is in a folder.
fn is_unused(folder: &Folder, files: &str) -> io::Result<bool> {
    let entries = folder.list(2)?;
    let is_alone = matches!(entries.as_slice(), [only] if only.name == *files);
    Ok(is_alone && is_layer_unused(&folder.folder(files)?)?)
}

/// Whether a layer is empty, and has neither rights nor attributes that a guest could have given it.
fn is_layer_unused(layer: &Folder) -> io::Result<bool> {
    let status = layer.status()?;
    let is_ours = status.uid == rustix::process::geteuid().as_raw();
    let is_plain = status.kind == Kind::Folder && MODES.contains(&status.mode);
    if !(is_ours && is_plain && layer.list(1).is_ok_and(|entries| entries.is_empty())) {
        return Ok(false);
    }
    let mut names = [0; MAX_NAMES_BYTES];
    let length = rustix::fs::flistxattr(layer.open_itself()?, &mut names)?;
    // Labels are the host's.
    let mut names = names.get(..length).unwrap_or_default().split(|byte| *byte == 0);
    Ok(names.all(|name| name.is_empty() || name.starts_with(b"security.")))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use super::*;

    fn place() -> (tempfile::TempDir, Folder, Folder) {
        let top = tempfile::tempdir().unwrap();
        let above = Folder::at(top.path()).unwrap();
        let layers = above.make_folder("layers", 0o700).unwrap();
        (top, above, layers)
    }

    fn make(layers: &Folder, name: &str) -> Folder {
        let folder = layers.make_folder(name, 0o700).unwrap();
        folder.make_folder("files", 0o755).unwrap();
        folder.create("mark", 0o600).unwrap();
        folder
    }

    fn put_one(above: &Folder, layers: &Folder, name: &str) -> io::Result<()> {
        let folder = make(layers, name);
        put(layers, above, OsStr::new(name), &folder, "files", &["mark", "other"])
    }

    #[test]
    fn one_is_kept_and_one_takes_it() {
        let (_top, above, layers) = place();
        put_one(&above, &layers, "a").unwrap();
        assert!(put_one(&above, &layers, "b").is_err(), "there is one");
        assert!(layers.folder("b").unwrap().folder("files").is_ok());
        let (name, folder) = take(&layers, &above, "p-", "files").unwrap();
        assert!(name.to_string_lossy().starts_with("p-") && layers.folder(&name).is_ok());
        assert_eq!(folder.list(9).unwrap().len(), 1);
        assert!(take(&layers, &above, "p-", "files").is_none());
    }

    #[test]
    fn what_was_used_is_neither_put_nor_taken() {
        let uses: [fn(&Path); 3] = [
            |files| std::fs::write(files.join("x"), "").unwrap(),
            |files| {
                std::fs::set_permissions(files, std::fs::Permissions::from_mode(0o777)).unwrap();
            },
            |files| {
                let flags = rustix::fs::XattrFlags::empty();
                rustix::fs::setxattr(files, "user.overlay.opaque", b"y", flags).unwrap();
            },
        ];
        for used in uses {
            let (top, above, layers) = place();
            let folder = make(&layers, "a");
            used(&top.path().join("layers/a/files"));
            assert!(put(&layers, &above, OsStr::new("a"), &folder, "files", &["mark"]).is_err());
            put_one(&above, &layers, "b").unwrap();
            used(&top.path().join("spare/files"));
            assert!(take(&layers, &above, "p-", "files").is_none());
            assert!(above.status_of("spare").unwrap().is_none(), "it goes");
        }
    }

    #[test]
    fn one_that_was_put_in_part_goes() {
        let (top, above, layers) = place();
        put_one(&above, &layers, "a").unwrap();
        std::fs::write(top.path().join("spare/mark"), "").unwrap();
        assert!(take(&layers, &above, "p-", "files").is_none());
        assert!(layers.list(9).unwrap().is_empty() && above.list(9).unwrap().len() == 1);
    }
}
