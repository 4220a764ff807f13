use super::*;
use crate::hostfs::{HostFs, HostOptions};
use crate::inode::{FileSystem, Inode};
use crate::listings::Version;
use std::time::Duration;

/// Six directories `0` to `5` with a file each; `3` has two subdirectories.
fn tree() -> (tempfile::TempDir, Rc<Dentry>) {
    let folder = tempfile::tempdir().unwrap();
    for name in ["0", "1", "2", "3", "4", "5", "3/a", "3/b"] {
        let directory = folder.path().join(name);
        std::fs::create_dir(&directory).unwrap();
        std::fs::write(directory.join("file"), "").unwrap();
    }
    let root = HostFs::open(folder.path(), HostOptions::default()).unwrap().root();
    (folder, Dentry::root(root))
}

/// Waits until what is listed can be kept; says so if it never can.
fn can_be_kept(top: &Rc<Dentry>) -> bool {
    for _ in 0..100 {
        let all = ["0", "1", "2", "3", "4", "5"].map(|name| version(&at(top, name)).is_some());
        let beneath = ["a", "b"].map(|name| version(&at(&at(top, "3"), name)).is_some());
        if all.into_iter().chain(beneath).all(|is_known| is_known) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    test_skips::skip("kept-listings", "the file system is not known to note every change");
    false
}

fn at(directory: &Rc<Dentry>, name: &str) -> Rc<Dentry> {
    directory.child(name.as_bytes()).unwrap()
}

fn inode(directory: &Rc<Dentry>) -> &Rc<dyn Inode> {
    directory.inode().unwrap()
}

fn version(directory: &Rc<Dentry>) -> Option<Version> {
    inode(directory).directory().unwrap().version()
}

fn is_known(directory: &Rc<Dentry>) -> bool {
    version(directory).is_some_and(|it| listings::find(&**inode(directory), it).is_some())
}

/// Lists a directory as a guest does, and lets the kernel have nothing to do. Returns its
/// subdirectories in the order of the list.
fn visit(directory: &Rc<Dentry>) -> Vec<String> {
    let (mut packed, mut names) = (Vec::new(), Vec::new());
    let visited = inode(directory).directory().unwrap().list(0, &mut |entry| {
        listings::pack(&mut packed, entry);
        if entry.kind == crate::FileKind::Directory {
            names.push(String::from_utf8(entry.name.to_vec()).unwrap());
        }
        true
    });
    visited.unwrap();
    listed(directory, &packed);
    list();
    names
}

/// Goes through everything beneath, and notes for each directory whether it was known before.
fn walk(directory: &Rc<Dentry>, known: &mut Vec<bool>) {
    known.push(is_known(directory));
    for name in visit(directory) {
        walk(&at(directory, &name), known);
    }
}

#[test]
fn a_walk_finds_directories_that_were_listed_ahead() {
    let (_folder, top) = tree();
    if !can_be_kept(&top) {
        return;
    }
    let mut known = Vec::new();
    walk(&top, &mut known);
    // The top and two more, after which the guesses have been right often enough.
    let expected: Vec<_> = (0..9).map(|index| index > 2).collect();
    assert_eq!(known, expected);
}

#[test]
fn another_order_ends_it() {
    let (_folder, top) = tree();
    if !can_be_kept(&top) {
        return;
    }
    let names = visit(&top);
    let names: Vec<_> = names.iter().filter(|name| *name != "3").collect();
    for name in [4, 3, 2, 1, 0] {
        visit(&at(&top, names[name]));
    }
    assert!(names.iter().all(|name| !is_known(&at(&top, name))));
    assert!(!WALK.with_borrow(|walk| walk.credit >= ENOUGH));
}

#[test]
fn what_changes_after_it_was_listed_ahead_is_listed_again() {
    let (folder, top) = tree();
    if !can_be_kept(&top) {
        return;
    }
    let names = visit(&top);
    let mut next = None;
    for name in &names {
        let directory = at(&top, name);
        if is_known(&directory) {
            next = Some((name, directory));
            break;
        }
        visit(&directory).iter().for_each(|name| drop(visit(&at(&directory, name))));
    }
    let (name, directory) = next.unwrap();
    std::fs::write(folder.path().join(name).join("new"), "").unwrap();
    assert!(!is_known(&directory));
}

#[test]
fn a_directory_that_is_gone_is_not_listed() {
    let (folder, top) = tree();
    let names = visit(&top);
    WALK.with_borrow_mut(|walk| walk.credit = MOST);
    std::fs::remove_dir_all(folder.path().join(&names[1])).unwrap();
    visit(&at(&top, &names[0]));
    assert!(top.child(names[1].as_bytes()).unwrap().inode_if_any().is_none());
}

#[test]
fn what_is_remembered_has_limits() {
    let (_folder, top) = tree();
    let mut packed = Vec::new();
    let name = &[b'x'; 255][..];
    for next in 0..1000 {
        let kind = crate::FileKind::Directory;
        listings::pack(&mut packed, &crate::inode::DirEntry { name, inode: 1, kind, next });
    }
    let mut directory = Rc::clone(&top);
    for _ in 0..2 * MAX_LEVELS {
        listed(&directory, &packed);
        directory = directory.adopt(name, Some(Rc::clone(inode(&top))));
    }
    WALK.with_borrow(|walk| {
        assert_eq!(walk.levels.len(), MAX_LEVELS);
        assert!(walk.levels.iter().all(|level| level.names.len() <= MAX_NAMES));
    });
}
