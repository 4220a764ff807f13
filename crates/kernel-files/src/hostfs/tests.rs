use super::*;
use crate::inode::{NewInode, NewKind};
use kernel_core::io::VecSink;
use linux_abi::files::OpenFlags;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("shown")).unwrap();
    std::fs::write(folder.path().join("secret"), "outside").unwrap();
    std::fs::write(folder.path().join("shown/file"), "inside").unwrap();
    std::os::unix::fs::symlink("../secret", folder.path().join("shown/relative")).unwrap();
    std::os::unix::fs::symlink("/etc", folder.path().join("shown/absolute")).unwrap();
    folder
}

fn shown(folder: &tempfile::TempDir, options: HostOptions) -> Rc<dyn Inode> {
    HostFs::open(&folder.path().join("shown"), options).unwrap().root()
}

fn text(inode: &Rc<dyn Inode>) -> Vec<u8> {
    let mut sink = VecSink::new(100);
    inode.content().unwrap().read(&mut sink, 0).unwrap();
    sink.bytes
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let folder = folder();
    let root = shown(&folder, HostOptions::default());
    let directory = root.directory().unwrap();
    for name in [&b".."[..], b".", b"", b"../secret", b"file/../../secret", b"/etc/passwd"] {
        assert_eq!(directory.lookup(name).err(), Some(Errno::EINVAL), "{name:?}");
        assert!(directory.unlink(name).is_err());
        let new = NewInode { kind: NewKind::Regular, mode: 0o600, uid: 0, gid: 0 };
        assert!(directory.create(name, &new).is_err());
    }
}

#[test]
fn links_are_shown_and_never_followed() {
    let folder = folder();
    let root = shown(&folder, HostOptions::default());
    let directory = root.directory().unwrap();
    for name in [&b"relative"[..], b"absolute"] {
        let link = directory.lookup(name).unwrap();
        assert!(link.directory().is_none() && link.content().is_none());
    }
    assert_eq!(directory.lookup(b"relative").unwrap().read_link().unwrap(), b"../secret");
}

#[test]
fn a_file_that_the_host_replaces_by_a_link_is_not_followed() {
    let folder = folder();
    let root = shown(&folder, HostOptions::default());
    let file = root.directory().unwrap().lookup(b"file").unwrap();
    assert_eq!(text(&file), b"inside");
    let path = folder.path().join("shown/file");
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("../secret", &path).unwrap();
    assert!(file.content().unwrap().read(&mut VecSink::new(9), 0).is_err());
    assert!(file.content().unwrap().truncate(0).is_err());
    assert_eq!(std::fs::read(folder.path().join("secret")).unwrap(), b"outside");
}

#[test]
fn a_directory_that_the_host_replaces_by_a_link_is_not_entered() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("shown/sub")).unwrap();
    let root = shown(&folder, HostOptions::default());
    let sub = root.directory().unwrap().lookup(b"sub").unwrap();
    std::fs::remove_dir(folder.path().join("shown/sub")).unwrap();
    std::os::unix::fs::symlink("..", folder.path().join("shown/sub")).unwrap();
    assert!(sub.directory().unwrap().lookup(b"secret").is_err());
}

#[test]
fn open_files_outlive_their_names() {
    let folder = folder();
    let root = shown(&folder, HostOptions::default());
    let file = root.directory().unwrap().lookup(b"file").unwrap();
    let _guard = file.content().unwrap().prepare_open(OpenFlags::empty()).unwrap();
    root.directory().unwrap().unlink(b"file").unwrap();
    assert_eq!(text(&file), b"inside");
    assert_eq!(file.metadata().unwrap().n_links, 0);
}

#[test]
fn a_read_only_folder_takes_no_change() {
    let folder = folder();
    let root = shown(&folder, HostOptions { read_only: true, ..Default::default() });
    let directory = root.directory().unwrap();
    assert_eq!(directory.unlink(b"file"), Err(Errno::EROFS));
    let file = directory.lookup(b"file").unwrap();
    assert_eq!(file.content().unwrap().truncate(0), Err(Errno::EROFS));
    assert!(file.content().unwrap().prepare_open(OpenFlags::RDWR).is_err());
}

#[test]
fn a_single_file_can_be_shown() {
    let folder = folder();
    let fs = HostFs::open(&folder.path().join("secret"), HostOptions::default()).unwrap();
    assert_eq!(text(&fs.root()), b"outside");
    assert!(fs.usage().is_ok());
}

#[test]
fn set_id_bits_do_not_reach_the_host() {
    let folder = folder();
    let root = shown(&folder, HostOptions::default());
    let new = NewInode { kind: NewKind::Regular, mode: 0o6755, uid: 0, gid: 0 };
    let file = root.directory().unwrap().create(b"tool", &new).unwrap();
    let change = crate::metadata::AttributeChange { mode: Some(0o4700), ..Default::default() };
    file.set_attributes(&change).unwrap();
    assert_eq!(file.metadata().unwrap().mode & 0o7777, 0o700);
}

#[test]
fn data_that_is_on_a_disk_only_is_fetched_without_waiting() {
    use host_sys::rustix::fs::{Advice, fadvise, fsync};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, vec![7; 1 << 20]).unwrap();
    let file = std::fs::File::open(&path).unwrap();
    fsync(&file).unwrap();
    fadvise(&file, 0, None, Advice::DontNeed).unwrap();
    let host = HostFs::open(folder.path(), HostOptions::default()).unwrap();
    let inode = host.root().directory().unwrap().lookup(b"file").unwrap();
    let content = inode.content().unwrap();
    if !content.is_cold(0, 4096) {
        eprintln!("skipped: the host's file system keeps everything in memory");
        return;
    }
    let started = std::time::Instant::now();
    while content.is_cold(0, 4096) {
        assert!(started.elapsed().as_secs() < 20, "the host does not fetch it");
        std::thread::sleep(std::time::Duration::from_micros(100));
    }
    let mut sink = VecSink::new(4);
    assert_eq!(content.read(&mut sink, 0), Ok(4));
    assert_eq!(sink.bytes, [7; 4]);
}

#[test]
fn a_file_outlives_the_name_that_it_was_last_found_by() {
    let folder = folder();
    let root = shown(&folder, HostOptions::default());
    let directory = root.directory().unwrap();
    let file = directory.lookup(b"file").unwrap();
    for name in [&b"second"[..], b"third"] {
        directory.link(name, &file).unwrap();
        assert!(Rc::ptr_eq(&directory.lookup(name).unwrap(), &file));
    }
    directory.rename(b"third", &root, b"moved", crate::inode::RenameMode::Replace).unwrap();
    for (name, left) in [(&b"moved"[..], 2), (b"second", 1)] {
        directory.unlink(name).unwrap();
        assert_eq!(file.metadata().unwrap().n_links, left);
    }
    assert_eq!(text(&file), b"inside");
}
