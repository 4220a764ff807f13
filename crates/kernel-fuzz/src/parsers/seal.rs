//! The seal of an environment, of a tree whose names packages chose.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use host_sys::beneath::Folder;
use skills::install::seal::{first_difference, seal, stamp};

use super::scratch;

/// An input makes so many names at most.
const MAX_STEPS: usize = 24;

/// Makes two trees, one for each half of the bytes, and seals both. A line is a step: its first byte
/// says what is made, a tab divides its name from its bytes.
///
/// # Panics
///
/// If trees have one seal that are not the same, or the same tree has two.
pub fn trees(bytes: &[u8]) {
    let mut halves = bytes.splitn(2, |byte| *byte == 0);
    let (one, other) = (halves.next().unwrap_or_default(), halves.next().unwrap_or_default());
    let sealed = [one, other].map(|steps| sealed(steps).ok());
    let [Some((one, first)), Some((other, second))] = sealed else { return };
    assert_eq!(one == other, first == second, "{first}\n{second}");
    let said = first_difference(&first, &second);
    assert!(!said.contains('\n') && (said == "its end") == (first == second), "{said}");
    // What was read from the disk may be anything.
    let _ = first_difference(&String::from_utf8_lossy(bytes), &first);
}

/// What a tree has at each path: its kind, its permissions, its bytes or where it leads.
type Tree = BTreeMap<PathBuf, (char, u32, Vec<u8>)>;

/// The tree that steps make, and its manifest.
fn sealed(steps: &[u8]) -> io::Result<(Tree, String)> {
    let Some(top) = scratch::with(|scratch| scratch.path("sealed")) else {
        return Err(io::ErrorKind::NotFound.into());
    };
    if top.exists() {
        fs::remove_dir_all(&top)?;
    }
    fs::create_dir(&top)?;
    for step in steps.split(|byte| *byte == b'\n').take(MAX_STEPS) {
        // Most names cannot be made, and those that can are what counts.
        let _ = make(&top, step);
    }
    let folder = Folder::at(&top)?;
    let made = seal(&folder)?;
    assert_eq!(stamp(&folder)?, made.stamp, "nothing was changed");
    let mut tree = Tree::new();
    list(&top, Path::new(""), &mut tree)?;
    assert_eq!(made.manifest.lines().count(), tree.len() + 1, "{}", made.manifest);
    Ok((tree, made.manifest))
}

fn make(top: &Path, step: &[u8]) -> io::Result<()> {
    let Some((kind, rest)) = step.split_first() else { return Ok(()) };
    let mut parts = rest.splitn(2, |byte| *byte == b'\t');
    let name = OsStr::from_bytes(parts.next().unwrap_or_default());
    let bytes = parts.next().unwrap_or_default();
    // A path out of the tree would be made by this test and by nobody else.
    if Path::new(name).components().any(|it| !matches!(it, std::path::Component::Normal(_))) {
        return Ok(());
    }
    let path = top.join(name);
    match kind {
        b'd' => fs::create_dir(path),
        b'l' => symlink(OsStr::from_bytes(bytes), path),
        b'x' => {
            fs::File::create_new(&path)?;
            fs::set_permissions(path, fs::Permissions::from_mode(0o755))
        }
        _ => io::Write::write_all(&mut fs::File::create_new(path)?, bytes),
    }
}

fn list(top: &Path, below: &Path, tree: &mut Tree) -> io::Result<()> {
    for entry in fs::read_dir(top.join(below))? {
        let entry = entry?;
        let (path, meta) = (below.join(entry.file_name()), entry.metadata()?);
        let mode = meta.permissions().mode() & 0o7777;
        if meta.is_dir() {
            list(top, &path, tree)?;
            tree.insert(path, ('d', mode, Vec::new()));
        } else if meta.is_symlink() {
            let target = fs::read_link(entry.path())?.into_os_string().as_bytes().to_vec();
            tree.insert(path, ('l', 0, target));
        } else {
            tree.insert(path, ('f', mode, fs::read(entry.path())?));
        }
    }
    Ok(())
}
