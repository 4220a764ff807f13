//! Names that a guest chose, in a tree that a guest shaped, as the program itself works with them.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use host_sys::beneath::{Folder, Limits, Next};
use rustix::fs::{CWD, FileType, Mode};

use super::scratch;

/// What lies beside the tree, and must stay as it is.
const OUTSIDE: &[u8] = b"of the host";
const OUTSIDE_MODE: u32 = 0o640;
/// An input takes so many steps at most, and looks at so many names.
const MAX_STEPS: usize = 32;
const LIMITS: Limits = Limits { entries: 200, depth: 16 };

/// Makes a tree with links that lead out of it, and takes a step for each line: the first byte says
/// what is done, a tab divides two names.
///
/// # Panics
///
/// If a step reads or changes what lies outside of the tree.
pub fn names(bytes: &[u8]) {
    let Some(place) = scratch::with(|scratch| scratch.path("beneath")) else { return };
    let Ok((tree, held)) = make(&place) else { return };
    for step in bytes.split(|byte| *byte == b'\n').take(MAX_STEPS) {
        let Some((kind, names)) = step.split_first() else { continue };
        let mut names = names.splitn(2, |byte| *byte == b'\t').map(OsStr::from_bytes);
        let (one, other) = (names.next().unwrap_or_default(), names.next().unwrap_or_default());
        // Names are wrong more often than not: what is asked is what a step did, not whether.
        let _ = take(*kind, &tree, one, other);
        check(&place);
    }
    let _ = tree.remove_contents();
    check(&place);
    drop(held);
    // What is left over is no matter: the next input makes all of it anew.
    let _ = std::fs::remove_dir_all(&place);
}

/// The tree, and the folder that it is in.
fn make(place: &Path) -> io::Result<(Folder, Folder)> {
    if place.exists() {
        std::fs::remove_dir_all(place)?;
    }
    let inside = place.join("tree");
    std::fs::create_dir_all(inside.join("a/b"))?;
    std::fs::create_dir(place.join("outside"))?;
    let kept = kept(place);
    std::fs::write(&kept, OUTSIDE)?;
    std::fs::set_permissions(&kept, std::fs::Permissions::from_mode(OUTSIDE_MODE))?;
    std::fs::write(inside.join("f"), "of the guest")?;
    symlink("../outside", inside.join("l"))?;
    symlink("../../outside/kept", inside.join("a/l"))?;
    symlink(&kept, inside.join("k"))?;
    symlink("/proc/self/cwd", inside.join("a/b/m"))?;
    rustix::fs::mknodat(CWD, inside.join("p"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
    let held = Folder::at(place)?;
    Ok((held.folder("tree")?, held))
}

fn take(kind: u8, tree: &Folder, one: &OsStr, other: &OsStr) -> io::Result<()> {
    let (at, name) = tree.parent_of(Path::new(one))?;
    match kind {
        b'r' => {
            let read = at.read(name, 100)?;
            assert!(read != OUTSIDE, "{one:?} reads what is outside");
        }
        b'c' => drop(at.create(name, 0o600)?),
        b'w' => at.replace(name, 0o644, other.as_bytes())?,
        b'm' => at.set_mode_of(name, 0o777)?,
        b'd' => drop(at.make_folder(name, 0o700)?),
        b'e' => drop(at.ensure_folder(name, 0o777)?),
        b'l' => at.make_link(name, Path::new(other))?,
        b'n' => at.rename(name, tree, other)?,
        b'y' => tree.replace_by_copy(other, 0o644, &at.open(name)?)?,
        b'x' => at.remove(name)?,
        b'u' => at.remove_unlocked(name)?,
        b'g' => drop(tree.descend(Path::new(one))?.make_folder(other, 0o700)?),
        _ => tree.walk(LIMITS, &mut |found| {
            let _ = found.folder.set_mode_of(found.name, 0o700);
            Ok(Next::Into)
        })?,
    }
    Ok(())
}

fn kept(place: &Path) -> PathBuf {
    place.join("outside/kept")
}

/// Nothing came to what is outside, and nothing of it changed.
fn check(place: &Path) {
    let count = |folder: PathBuf| std::fs::read_dir(folder).map_or(0, Iterator::count);
    assert_eq!(count(place.join("outside")), 1, "something was made or removed outside");
    assert_eq!(count(place.to_owned()), 2, "something was made or removed beside the tree");
    assert!(std::fs::read(kept(place)).is_ok_and(|bytes| bytes == OUTSIDE), "written outside");
    let mode = std::fs::metadata(kept(place)).map(|meta| meta.permissions().mode() & 0o7777);
    assert!(mode.is_ok_and(|mode| mode == OUTSIDE_MODE), "permissions changed outside");
}
