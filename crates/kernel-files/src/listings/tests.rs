use super::*;
use crate::hostfs::{HostFs, HostOptions};
use crate::inode::{FileSystem, NewInode, NewKind};
use std::path::Path;
use std::time::Duration;

/// A folder with so many files, and its directory.
fn folder(n_files: usize) -> (tempfile::TempDir, Rc<dyn Inode>) {
    let folder = tempfile::tempdir().unwrap();
    for name in 0..n_files {
        std::fs::write(folder.path().join(format!("file{name}")), "").unwrap();
    }
    let root = show(folder.path());
    (folder, root)
}

fn show(path: &Path) -> Rc<dyn Inode> {
    HostFs::open(path, HostOptions::default()).unwrap().root()
}

/// Waits until the next change of a directory would show. Returns whether it ever would; says so if
/// not.
fn settle(root: &Rc<dyn Inode>) -> bool {
    for _ in 0..100 {
        if root.directory().unwrap().version().is_some() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    test_skips::skip("kept-listings", "the file system is not known to note every change");
    false
}

fn is_kept(root: &Rc<dyn Inode>) -> bool {
    let version = root.directory().unwrap().version();
    version.is_some_and(|version| find(&**root, version).is_some())
}

/// Lists whole, as `getdents64` does. Returns the names.
fn names(root: &Rc<dyn Inode>) -> Vec<String> {
    let directory = root.directory().unwrap();
    refresh(&**root, directory, usize::MAX);
    let kept = directory.version().and_then(|version| find(&**root, version));
    let mut bytes = Vec::new();
    match kept {
        Some(listing) => bytes.extend_from_slice(&listing.bytes),
        None => directory
            .list(0, &mut |entry| {
                pack(&mut bytes, entry);
                true
            })
            .unwrap(),
    }
    let mut names: Vec<_> = unpack(&bytes).into_iter().map(|(name, _)| name).collect();
    names.sort();
    names
}

/// Names and positions.
fn unpack(mut bytes: &[u8]) -> Vec<(String, u64)> {
    let mut entries = Vec::new();
    while !bytes.is_empty() {
        let length = u16::from_le_bytes(bytes[LENGTH_AT..LENGTH_AT + 2].try_into().unwrap());
        let (entry, rest) = bytes.split_at(length.into());
        let name = entry[NAME_AT..].split(|&byte| byte == 0).next().unwrap();
        let next = u64::from_le_bytes(entry[8..16].try_into().unwrap());
        entries.push((String::from_utf8(name.to_vec()).unwrap(), next));
        bytes = rest;
    }
    entries
}

#[test]
fn what_is_kept_is_what_the_directory_says() {
    let (_folder, root) = folder(20);
    if !settle(&root) {
        return;
    }
    let directory = root.directory().unwrap();
    let version = directory.version().unwrap();
    assert!(find(&*root, version).is_none());
    refresh(&*root, directory, usize::MAX);
    let listing = find(&*root, version).unwrap();
    let mut said = Vec::new();
    let listed = directory.list(0, &mut |entry| {
        said.push((String::from_utf8(entry.name.to_vec()).unwrap(), entry.next));
        true
    });
    listed.unwrap();
    assert_eq!(unpack(&listing.bytes), said);
    assert_eq!(listing.end, said.last().unwrap().1);
    assert_eq!(said.len(), 20);
}

#[test]
fn an_empty_directory_ends_after_its_dots() {
    let (_folder, root) = folder(0);
    if settle(&root) {
        let directory = root.directory().unwrap();
        refresh(&*root, directory, usize::MAX);
        let listing = find(&*root, directory.version().unwrap()).unwrap();
        assert!(listing.bytes.is_empty());
        assert_eq!(listing.end, AFTER_DOT_DOT);
    }
}

#[test]
fn changes_from_outside_are_seen_at_once() {
    let (folder, root) = folder(3);
    let path = |name: &str| folder.path().join(name);
    let can_be_kept = settle(&root);
    assert_eq!(names(&root), ["file0", "file1", "file2"]);
    assert_eq!(is_kept(&root), can_be_kept);
    std::fs::write(path("new"), "").unwrap();
    assert_eq!(names(&root), ["file0", "file1", "file2", "new"]);
    std::fs::remove_file(path("file1")).unwrap();
    assert_eq!(names(&root), ["file0", "file2", "new"]);
    settle(&root);
    names(&root);
    assert_eq!(is_kept(&root), can_be_kept);
    std::fs::rename(path("file0"), path("file9")).unwrap();
    assert_eq!(names(&root), ["file2", "file9", "new"]);
    for round in 0..200 {
        let name = format!("round{round}");
        std::fs::write(path(&name), "").unwrap();
        assert!(names(&root).contains(&name));
    }
}

#[test]
fn changes_from_inside_are_seen_at_once() {
    let (_folder, root) = folder(3);
    let new = NewInode { kind: NewKind::Regular, mode: 0o600, uid: 0, gid: 0 };
    settle(&root);
    names(&root);
    let directory = root.directory().unwrap();
    for round in 0..100 {
        let name = format!("round{round}");
        directory.create(name.as_bytes(), &new).unwrap();
        assert!(names(&root).contains(&name));
        directory.unlink(name.as_bytes()).unwrap();
        assert!(!names(&root).contains(&name));
    }
}

#[test]
fn large_listings_are_not_kept() {
    let (_folder, root) = folder(4000);
    settle(&root);
    assert_eq!(names(&root).len(), 4000);
    assert!(!is_kept(&root));
}

#[test]
fn who_lists_ahead_stops_at_its_limit() {
    let (_folder, root) = folder(100);
    settle(&root);
    refresh(&*root, root.directory().unwrap(), 99 * packed_length(b"file0"));
    assert!(!is_kept(&root));
}

#[test]
fn file_systems_that_do_not_note_changes_are_asked() {
    assert_eq!(show(Path::new("/proc/self")).directory().unwrap().version(), None);
}

#[test]
fn directories_are_found_among_packed_entries() {
    let mut bytes = Vec::new();
    let kinds = [FileKind::Directory, FileKind::Regular, FileKind::Symlink, FileKind::Directory];
    for (name, kind) in [&b"a"[..], b"file", b"link", b"longer name"].into_iter().zip(kinds) {
        pack(&mut bytes, &DirEntry { name, inode: 7, kind, next: 9 });
    }
    assert_eq!(directories_in(&bytes, 100), b"a\0longer name\0");
    assert_eq!(directories_in(&bytes, 10), b"a\0");
    assert_eq!(directories_in(&bytes[..bytes.len() - 1], 100), b"a\0", "a broken one is left out");
    assert!(directories_in(&[], 100).is_empty());
}

#[test]
fn what_is_kept_has_a_limit_and_stays_in_part() {
    let time = Timespec::default();
    let version = Version { modified: time, changed: time, n_changes: 0 };
    let listing = || {
        let bytes = vec![0; 20_000].into();
        Rc::new(Listing { bytes, end: 9, has_directories: false, version })
    };
    let all: Vec<_> = (0..1000).map(|_| listing()).collect();
    let mut listings = Listings::default();
    for listing in &all {
        listings.add(Rc::clone(listing));
        assert!(listings.n_bytes <= MAX_KEPT_BYTES);
    }
    let kept: usize = listings.kept.iter().map(|listing| listing.n_bytes()).sum();
    assert_eq!(kept, listings.n_bytes);
    let is_kept = |listing: &&Rc<Listing>| Rc::strong_count(listing) > 1;
    let n_kept = all.iter().filter(is_kept).count();
    assert_eq!(n_kept, MAX_KEPT_BYTES / listing().n_bytes());
    let n_old = all.iter().take(n_kept).filter(is_kept).count();
    assert!(n_old > n_kept / 3 && n_old < n_kept, "{n_old} of {n_kept}");
}
