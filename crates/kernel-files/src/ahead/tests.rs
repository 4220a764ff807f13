use super::*;
use crate::hostfs::{HostFs, HostOptions};
use crate::inode::FileSystem;
use crate::mount::Mount;
use crate::overlay::{Moves, Overlay, Upper, UpperKind};
use crate::tmpfs::{Limits, Tmpfs};
use linux_abi::files::MountFlags;

/// An overlay over a folder that never changes, with files `0` to `9`, and their names in the order
/// of the list.
fn folder() -> (tempfile::TempDir, Location, Vec<Vec<u8>>) {
    let folder = tempfile::tempdir().unwrap();
    for name in 0..10 {
        std::fs::write(folder.path().join(name.to_string()), format!("content {name}")).unwrap();
    }
    std::fs::create_dir(folder.path().join("directory")).unwrap();
    let options = HostOptions { read_only: true, immutable: true, ..Default::default() };
    let lower = HostFs::open(folder.path(), options).unwrap();
    let upper = Upper {
        file_system: Tmpfs::new(Limits::default(), 0o755, 0, 0),
        kind: UpperKind::Memory,
        moves: Moves::AsRecords,
        lock: None,
    };
    let overlay = Overlay::new(vec![lower.root()], Some(upper)).unwrap();
    let top = Mount::of(overlay, b"test", MountFlags::empty()).top();
    let mut names = Vec::new();
    let listed = top.inode().unwrap().directory().unwrap().list(0, &mut |entry| {
        if entry.name != b"directory" {
            names.push(entry.name.to_vec());
        }
        true
    });
    listed.unwrap();
    (folder, top, names)
}

fn at(top: &Location, name: &[u8]) -> Location {
    let dentry = top.dentry.child(name).unwrap();
    Location { mount: Rc::clone(&top.mount), dentry }
}

fn open(top: &Location, name: &[u8]) {
    opened(&at(top, name));
    read();
}

fn content(top: &Location, name: &[u8]) -> Option<Vec<u8>> {
    with_content(at(top, name).inode().unwrap(), <[u8]>::to_vec)
}

fn expected(name: &[u8]) -> Option<Vec<u8>> {
    Some([b"content ", name].concat())
}

#[test]
fn files_that_are_opened_in_order_are_read_ahead() {
    let (_folder, top, names) = folder();
    for name in &names[..2] {
        open(&top, name);
        assert_eq!(content(&top, &names[2]), None);
    }
    for at in 2..9 {
        open(&top, &names[at]);
        assert_eq!(content(&top, &names[at + 1]), expected(&names[at + 1]));
        assert_eq!(content(&top, &names[at]), None);
    }
    open(&top, &names[9]); // the last one
}

#[test]
fn wrong_guesses_end_it() {
    let (_folder, top, names) = folder();
    for name in &names[..4] {
        open(&top, name);
    }
    assert_eq!(content(&top, &names[4]), expected(&names[4]));
    open(&top, &names[8]);
    open(&top, &names[0]);
    open(&top, &names[6]);
    assert_eq!(content(&top, &names[7]), None);
}

#[test]
fn a_file_that_was_copied_up_since_is_not_what_was_read() {
    let (_folder, top, names) = folder();
    for name in &names[..4] {
        open(&top, name);
    }
    assert_eq!(content(&top, &names[4]), expected(&names[4]));
    at(&top, &names[4]).inode().unwrap().content().unwrap().truncate(0).unwrap();
    assert_eq!(content(&top, &names[4]), None);
    // It has a guess that follows it, as others.
    open(&top, &names[4]);
    assert_eq!(content(&top, &names[5]), expected(&names[5]));
}
