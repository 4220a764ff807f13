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
fn a_file_that_lost_its_first_name_is_opened_by_its_other() {
    let folder = folder();
    let root = shown(&folder, HostOptions::default());
    let directory = root.directory().unwrap();
    let file = directory.lookup(b"file").unwrap();
    directory.link(b"other", &file).unwrap();
    directory.unlink(b"file").unwrap();
    // Nobody has asked for its status since, which would have found the other name.
    let _guard = file.content().unwrap().prepare_open(OpenFlags::empty()).unwrap();
    assert_eq!(text(&file), b"inside");
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
        test_skips::skip(
            "cold-data",
            "the file system of temporary files keeps everything in memory",
        );
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

/// A folder of the host as the whole tree of a guest.
fn tree(folder: &tempfile::TempDir) -> Rc<crate::FsContext> {
    use crate::mount::{Mount, MountNamespace};
    let fs = HostFs::open(&folder.path().join("shown"), HostOptions::default()).unwrap();
    let mount = Mount::of(fs, b"host", linux_abi::files::MountFlags::empty());
    let namespace = MountNamespace::new(Rc::clone(&mount));
    crate::FsContext::new(namespace, mount.top(), crate::special::SpecialFiles::new())
}

#[test]
fn names_that_are_there_are_noticed_by_who_makes_them() {
    use crate::open::{OpenHow, open};
    use crate::operations;
    let folder = folder();
    let metadata = std::fs::metadata(folder.path()).unwrap();
    let uid = std::os::unix::fs::MetadataExt::uid(&metadata);
    let owner = Rc::new(kernel_core::credentials::Credentials::of_user(uid, uid));
    let stranger = Rc::new(kernel_core::credentials::Credentials::of_user(4711, 4711));
    for (who, otherwise) in [(&owner, None), (&stranger, Some(Errno::EACCES))] {
        let fs = tree(&folder);
        let access = crate::Access { fs: &fs, credentials: who, caller: &() };
        let make = |name: &str, kind| {
            operations::create(&access, &fs.cwd(), name.as_bytes(), kind, 0o755).err()
        };
        let link = |name: &str| {
            let target =
                crate::walk::lookup(&access, &fs.cwd(), b"file", crate::walk::LastLink::Follow);
            operations::link(&access, &target.unwrap(), &fs.cwd(), name.as_bytes()).err()
        };
        let open_new = |name: &str| {
            let flags = OpenFlags::CREAT | OpenFlags::EXCL | OpenFlags::WRONLY;
            let how = OpenHow { flags, mode: 0o644, ..Default::default() };
            open(&access, &fs.cwd(), name.as_bytes(), &how).err()
        };
        let path = |name: &str| folder.path().join("shown").join(name);
        // Of which nothing is known inside.
        for name in ["directory", "opened", "linked", "symlink"] {
            std::fs::write(path(name), "the host's").unwrap();
        }
        assert_eq!(make("directory", NewKind::Directory), Some(Errno::EEXIST));
        assert_eq!(make("symlink", NewKind::Symlink(b"x")), Some(Errno::EEXIST));
        assert_eq!(open_new("opened"), Some(Errno::EEXIST));
        assert_eq!(link("linked"), Some(Errno::EEXIST));
        for name in ["directory", "opened", "linked", "symlink"] {
            assert_eq!(std::fs::read(path(name)).unwrap(), b"the host's");
            std::fs::remove_file(path(name)).unwrap();
        }
        kernel_core::facts::begin_call();
        assert_eq!(make("directory", NewKind::Directory), otherwise);
        assert_eq!(make("symlink", NewKind::Symlink(b"x")), otherwise);
        assert_eq!(open_new("opened"), otherwise);
        assert_eq!(link("linked"), otherwise);
        if otherwise.is_none() {
            assert!(path("directory").is_dir() && path("symlink").is_symlink());
            assert_eq!(std::fs::read(path("linked")).unwrap(), b"inside");
            for name in ["opened", "linked", "symlink"] {
                std::fs::remove_file(path(name)).unwrap();
            }
            std::fs::remove_dir(path("directory")).unwrap();
        }
    }
}

#[test]
fn a_new_file_is_not_taken_for_an_old_one_of_its_number() {
    let folder = folder();
    let root = shown(&folder, HostOptions::default());
    let directory = root.directory().unwrap();
    let new = NewInode { kind: NewKind::Regular, mode: 0o600, uid: 0, gid: 0 };
    let mut old: Vec<Rc<dyn Inode>> = Vec::new();
    for n in 0..20 {
        let name = format!("new{n}");
        let made = directory.create(name.as_bytes(), &new).unwrap();
        assert!(old.iter().all(|old| !Rc::ptr_eq(old, &made)));
        assert!(Rc::ptr_eq(&made, &directory.lookup(name.as_bytes()).unwrap()));
        std::fs::remove_file(folder.path().join("shown").join(name)).unwrap();
        old.push(made);
        // The host may give the number again once nobody has the file open.
        crate::late_closes::close_all();
    }
}
