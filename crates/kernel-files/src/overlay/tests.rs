use super::*;
use crate::inode::{NewInode, NewKind, RenameMode, WriteAt};
use crate::metadata::FileKind;
use crate::tmpfs::{Limits, Tmpfs};
use kernel_core::io::{SliceSource, VecSink};

fn new(kind: NewKind<'_>) -> NewInode<'_> {
    NewInode { kind, mode: 0o755, uid: 1, gid: 1 }
}

fn memory() -> Rc<Tmpfs> {
    Tmpfs::new(Limits::default(), 0o755, 0, 0)
}

fn add(directory: &Rc<dyn Inode>, name: &str, text: &str) -> Rc<dyn Inode> {
    let names = directory.directory().unwrap();
    let file = names.create(name.as_bytes(), &new(NewKind::Regular)).unwrap();
    put(&file, text);
    file
}

fn put(file: &Rc<dyn Inode>, text: &str) {
    let mut source = SliceSource::new(text.as_bytes());
    file.content().unwrap().write(&mut source, WriteAt::Offset(0)).unwrap();
}

fn text(file: &Rc<dyn Inode>) -> String {
    let mut sink = VecSink::new(1000);
    file.content().unwrap().read(&mut sink, 0).unwrap();
    String::from_utf8(sink.bytes).unwrap()
}

fn get(directory: &Rc<dyn Inode>, path: &str) -> SysResult<Rc<dyn Inode>> {
    let mut at = Rc::clone(directory);
    for name in path.split('/') {
        let next = at.directory().ok_or(Errno::ENOTDIR)?.lookup(name.as_bytes())?;
        at = next;
    }
    Ok(at)
}

fn names(directory: &Rc<dyn Inode>) -> Vec<String> {
    let mut names = Vec::new();
    let listed = directory.directory().unwrap().list(0, &mut |entry| {
        names.push(String::from_utf8(entry.name.to_vec()).unwrap());
        true
    });
    listed.unwrap();
    names.sort();
    names
}

/// A lower layer with `file`, `other` and `folder/deep`, under an empty upper one.
fn overlay() -> (Rc<Tmpfs>, Rc<dyn Inode>, Rc<Tmpfs>) {
    let (lower, upper) = (memory(), memory());
    let root = lower.root();
    add(&root, "file", "lower");
    add(&root, "other", "other");
    let folder = root.directory().unwrap().create(b"folder", &new(NewKind::Directory)).unwrap();
    add(&folder, "deep", "deep");
    let layer = Upper {
        file_system: Rc::clone(&upper) as Rc<_>,
        kind: UpperKind::Memory,
        moves: Moves::AsRecords,
        lock: None,
    };
    let overlay = Overlay::new(vec![root], Some(layer)).unwrap();
    (lower, overlay.root(), upper)
}

#[test]
fn a_write_changes_the_upper_layer_only_and_keeps_the_number() {
    let (lower, root, upper) = overlay();
    let file = get(&root, "folder/deep").unwrap();
    let number = file.metadata().unwrap().inode;
    put(&file, "new!");
    assert_eq!(text(&get(&root, "folder/deep").unwrap()), "new!");
    assert_eq!(text(&get(&lower.root(), "folder/deep").unwrap()), "deep");
    assert_eq!(text(&get(&upper.root(), "folder/deep").unwrap()), "new!");
    drop(file);
    assert_eq!(get(&root, "folder/deep").unwrap().metadata().unwrap().inode, number);
}

#[test]
fn removed_names_stay_removed_and_can_come_back() {
    let (lower, root, _upper) = overlay();
    let directory = root.directory().unwrap();
    directory.unlink(b"file").unwrap();
    assert_eq!(get(&root, "file").err(), Some(Errno::ENOENT));
    assert_eq!(names(&root), ["folder", "other"]);
    add(&root, "file", "again");
    assert_eq!(names(&root), ["file", "folder", "other"]);
    assert_eq!(text(&get(&root, "file").unwrap()), "again");
    assert_eq!(text(&get(&lower.root(), "file").unwrap()), "lower");
}

#[test]
fn a_new_directory_does_not_show_what_a_removed_one_had() {
    let (_lower, root, _upper) = overlay();
    let directory = root.directory().unwrap();
    assert_eq!(directory.rmdir(b"folder"), Err(Errno::ENOTEMPTY));
    get(&root, "folder").unwrap().directory().unwrap().unlink(b"deep").unwrap();
    directory.rmdir(b"folder").unwrap();
    let folder = directory.create(b"folder", &new(NewKind::Directory)).unwrap();
    assert_eq!(names(&folder), Vec::<String>::new());
    assert_eq!(get(&root, "folder/deep").err(), Some(Errno::ENOENT));
}

#[test]
fn a_renamed_directory_takes_the_lower_files_with_it() {
    let (_lower, root, _upper) = overlay();
    root.directory().unwrap().rename(b"folder", &root, b"moved", RenameMode::Replace).unwrap();
    assert_eq!(names(&root), ["file", "moved", "other"]);
    assert_eq!(get(&root, "folder").err(), Some(Errno::ENOENT));
    assert_eq!(text(&get(&root, "moved/deep").unwrap()), "deep");
    put(&get(&root, "moved/deep").unwrap(), "DEEP");
    assert_eq!(text(&get(&root, "moved/deep").unwrap()), "DEEP");
}

#[test]
fn exchanged_names_change_places() {
    let (_lower, root, _upper) = overlay();
    let directory = root.directory().unwrap();
    directory.rename(b"folder", &root, b"file", RenameMode::Exchange).unwrap();
    assert_eq!(text(&get(&root, "folder").unwrap()), "lower");
    assert_eq!(text(&get(&root, "file/deep").unwrap()), "deep");
}

#[test]
fn hard_links_share_what_is_written() {
    let (_lower, root, _upper) = overlay();
    let file = get(&root, "file").unwrap();
    root.directory().unwrap().link(b"second", &file).unwrap();
    put(&get(&root, "second").unwrap(), "LOWER");
    assert_eq!(text(&get(&root, "file").unwrap()), "LOWER");
    assert_eq!(file.metadata().unwrap().n_links, 2);
}

#[test]
fn higher_layers_win_and_directories_merge() {
    let (one, two) = (memory(), memory());
    add(&one.root(), "both", "high");
    add(&two.root(), "both", "low");
    for (layer, name) in [(&one, "a"), (&two, "b")] {
        let root = layer.root();
        let folder = root.directory().unwrap().create(b"sub", &new(NewKind::Directory)).unwrap();
        add(&folder, name, name);
    }
    let overlay = Overlay::new(vec![one.root(), two.root()], None).unwrap();
    let root = overlay.root();
    assert_eq!(text(&get(&root, "both").unwrap()), "high");
    assert_eq!(names(&get(&root, "sub").unwrap()), ["a", "b"]);
    assert_eq!(get(&root, "sub").unwrap().kind(), FileKind::Directory);
    assert_eq!(root.directory().unwrap().unlink(b"both"), Err(Errno::EROFS));
}

#[test]
fn an_open_file_sees_what_is_written_through_another_name_of_it() {
    let (_lower, root, _upper) = overlay();
    let before = get(&root, "file").unwrap();
    let again = get(&root, "file").unwrap();
    assert!(Rc::ptr_eq(&before, &again));
    put(&again, "fresh");
    assert_eq!(text(&before), "fresh");
}

/// A file of so many bytes, all different from their neighbours.
fn large(directory: &Rc<dyn Inode>, name: &str, size: usize) -> Vec<u8> {
    let bytes: Vec<u8> = (0..size).map(|at| u8::try_from(at % 251).unwrap()).collect();
    let file = add(directory, name, "");
    let content = file.content().unwrap();
    let mut source = SliceSource::new(&bytes);
    assert_eq!(content.write(&mut source, WriteAt::Offset(0)).unwrap().0, size);
    bytes
}

fn read_all(file: &Rc<dyn Inode>) -> Vec<u8> {
    let mut sink = VecSink::new(usize::try_from(file.metadata().unwrap().size).unwrap());
    file.content().unwrap().read(&mut sink, 0).unwrap();
    sink.bytes
}

#[test]
fn a_large_file_is_copied_piece_by_piece_and_used_when_all_is_there() {
    let (lower, root, upper) = overlay();
    let bytes = large(&lower.root(), "large", 9 << 20);
    let file = get(&root, "large").unwrap();
    let content = file.content().unwrap();
    assert!(get(&root, "file").unwrap().content().unwrap().draft().unwrap().is_none(), "small");
    let draft = content.draft().unwrap().unwrap();
    draft.copy_piece().unwrap();
    let same = content.draft().unwrap().unwrap();
    assert!(Rc::ptr_eq(&draft, &same), "two who open it share the work");
    assert_eq!(names(&upper.root()), [""; 0], "it is nowhere to be seen");
    assert_eq!(names(&root), ["file", "folder", "large", "other"]);
    let mut n_pieces = 1;
    while draft.next().is_some() {
        draft.copy_piece().unwrap();
        n_pieces += 1;
    }
    assert!(n_pieces > 8, "{n_pieces}");
    draft.set_durable();
    assert!(content.draft().unwrap().is_none());
    put(&file, "new");
    let mut expected = bytes;
    expected[..3].copy_from_slice(b"new");
    assert!(read_all(&get(&upper.root(), "large").unwrap()) == expected);
    assert!(Rc::ptr_eq(&get(&upper.root(), "large").unwrap(), draft.copy()), "not copied again");
    assert_eq!(file.metadata().unwrap().n_links, 1);
}

#[test]
fn a_copy_that_nobody_waits_for_is_gone() {
    let (lower, root, _upper) = overlay();
    let bytes = large(&lower.root(), "large", 9 << 20);
    let file = get(&root, "large").unwrap();
    let draft = file.content().unwrap().draft().unwrap().unwrap();
    draft.copy_piece().unwrap();
    let copy = Rc::downgrade(draft.copy());
    assert!(copy.upgrade().is_some());
    drop(draft);
    assert!(copy.upgrade().is_none());
    // Who does not wait copies at once.
    put(&file, "x");
    assert!(read_all(&file)[1..] == bytes[1..]);
}
