use super::*;
use std::rc::Rc;

use kernel_core::credentials::Credentials;

use crate::fs_context::FsContext;
use crate::hostfs::{HostFs, HostOptions};
use crate::inode::{FileSystem, NewKind};
use crate::mount::{Mount, MountNamespace};
use crate::open::{OpenHow, open};
use crate::operations::{self, RenameFlags};
use crate::overlay::{Moves, Overlay, Upper, UpperKind};
use crate::special::SpecialFiles;
use crate::tmpfs::{Limits, Tmpfs};
use linux_abi::files::{MountFlags, OpenFlags};

struct World {
    fs: Rc<FsContext>,
    who: Rc<Credentials>,
}

impl World {
    fn of(fs: Rc<dyn FileSystem>) -> Self {
        let mount = Mount::of(fs, b"root", MountFlags::empty());
        let namespace = MountNamespace::new(Rc::clone(&mount));
        let fs = FsContext::new(namespace, mount.top(), SpecialFiles::new());
        Self { fs, who: Rc::new(Credentials::of_user(0, 0)) }
    }

    fn new() -> Self {
        let world = Self::of(Tmpfs::new(Limits::default(), 0o755, 0, 0));
        for path in ["/a", "/a/b", "/mnt"] {
            world.make(path, NewKind::Directory);
        }
        world.make("/a/file", NewKind::Regular);
        world
    }

    fn access(&self) -> Access<'_> {
        Access { fs: &self.fs, credentials: &self.who, caller: &() }
    }

    fn make(&self, path: &str, kind: NewKind<'_>) {
        let start = self.fs.cwd();
        operations::create(&self.access(), &start, path.as_bytes(), kind, 0o755).unwrap();
    }

    fn link(&self, path: &str, target: &str) {
        self.make(path, NewKind::Symlink(target.as_bytes()));
    }

    fn find(&self, path: &str) -> SysResult<String> {
        self.resolve(path, LastLink::Follow, ResolveFlags::empty())
    }

    fn resolve(&self, path: &str, last: LastLink, flags: ResolveFlags) -> SysResult<String> {
        let start = self.fs.cwd();
        let found = resolve(&self.access(), &start, path.as_bytes(), last, flags)?.existing()?;
        let (path, is_reachable) = found.path_from(&self.fs.root());
        assert!(is_reachable);
        Ok(String::from_utf8(path).unwrap())
    }

    fn open(&self, path: &str, flags: OpenFlags) -> SysResult<()> {
        let how = OpenHow { flags, mode: 0o644, ..Default::default() };
        open(&self.access(), &self.fs.cwd(), path.as_bytes(), &how).map(drop)
    }
}

#[test]
fn dots_and_slashes_are_seen_through() {
    let world = World::new();
    assert_eq!(world.find("/a//b/./..///file").unwrap(), "/a/file");
    assert_eq!(world.find("/../../a/b/").unwrap(), "/a/b");
    assert_eq!(world.find("///").unwrap(), "/");
    assert_eq!(world.find(""), Err(Errno::ENOENT));
    assert_eq!(world.find("/a/file/"), Err(Errno::ENOTDIR));
    assert_eq!(world.find("/a/file/.."), Err(Errno::ENOTDIR));
    assert_eq!(world.find("/a/nothing/x"), Err(Errno::ENOENT));
    assert_eq!(world.find(&format!("/a/{}", "x".repeat(256))), Err(Errno::ENAMETOOLONG));
}

#[test]
fn links_are_followed_where_they_should_be() {
    let world = World::new();
    world.link("/relative", "a/b");
    world.link("/a/up", "../a/file");
    world.link("/absolute", "/a");
    world.link("/dangling", "nowhere");
    world.link("/loop", "loop");
    assert_eq!(world.find("/relative").unwrap(), "/a/b");
    assert_eq!(world.find("/absolute/up").unwrap(), "/a/file");
    assert_eq!(world.find("/absolute/b/../up").unwrap(), "/a/file");
    assert_eq!(world.find("/dangling"), Err(Errno::ENOENT));
    assert_eq!(world.find("/loop"), Err(Errno::ELOOP));
    let keep = |path| world.resolve(path, LastLink::Keep, ResolveFlags::empty());
    assert_eq!(keep("/relative").unwrap(), "/relative");
    assert_eq!(keep("/relative/").unwrap(), "/a/b");
    assert_eq!(keep("/loop").unwrap(), "/loop");
}

#[test]
fn forty_links_are_enough_and_one_more_is_not() {
    let world = World::new();
    world.link("/l0", "/a");
    for n in 1..=40 {
        world.link(&format!("/l{n}"), &format!("/l{}", n - 1));
    }
    assert_eq!(world.find("/l39").unwrap(), "/a");
    assert_eq!(world.find("/l40"), Err(Errno::ELOOP));
}

#[test]
fn mounts_are_crossed_both_ways() {
    let world = World::new();
    let fs = Tmpfs::new(Limits::default(), 0o755, 0, 0);
    let place = lookup(&world.access(), &world.fs.cwd(), b"/mnt", LastLink::Follow).unwrap();
    world.fs.namespace().mount(&Mount::of(fs, b"x", MountFlags::empty()), &place).unwrap();
    world.make("/mnt/inside", NewKind::Directory);
    assert_eq!(world.find("/mnt/inside/../../a").unwrap(), "/a");
    let crossed = world.resolve("/mnt/inside", LastLink::Follow, ResolveFlags::NO_XDEV);
    assert_eq!(crossed, Err(Errno::EXDEV));
    let start = world.fs.cwd();
    assert_eq!(operations::rmdir(&world.access(), &start, b"/mnt"), Err(Errno::EBUSY));
    let across = operations::rename(
        &world.access(),
        (&start, b"/a/file"),
        (&start, b"/mnt/file"),
        RenameFlags::empty(),
    );
    assert_eq!(across, Err(Errno::EXDEV));
}

#[test]
fn resolve_flags_keep_a_walk_inside() {
    let world = World::new();
    world.link("/a/out", "/mnt");
    world.link("/a/up", "../mnt");
    let start = lookup(&world.access(), &world.fs.cwd(), b"/a", LastLink::Follow).unwrap();
    world.fs.set_cwd(start);
    let beneath = |path| world.resolve(path, LastLink::Follow, ResolveFlags::BENEATH);
    assert_eq!(beneath("b/../file").unwrap(), "/a/file");
    for path in ["..", "b/../..", "/a/b", "out", "up"] {
        assert_eq!(beneath(path), Err(Errno::EXDEV), "{path}");
    }
    let in_root = |path| world.resolve(path, LastLink::Follow, ResolveFlags::IN_ROOT);
    assert_eq!(in_root("/../../file").unwrap(), "/a/file");
    assert_eq!(in_root("out"), Err(Errno::ENOENT));
    let no_links = world.resolve("out", LastLink::Follow, ResolveFlags::NO_SYMLINKS);
    assert_eq!(no_links, Err(Errno::ELOOP));
}

#[test]
fn strangers_need_permission_to_search_and_to_change() {
    let mut world = World::new();
    let private = lookup(&world.access(), &world.fs.cwd(), b"/a", LastLink::Follow).unwrap();
    operations::change_mode(&private, &world.who, 0o700).unwrap();
    world.who = Rc::new(Credentials::of_user(5, 5));
    assert_eq!(world.find("/a/file"), Err(Errno::EACCES));
    assert_eq!(world.find("/a/nothing"), Err(Errno::EACCES));
    assert_eq!(world.open("/new", OpenFlags::CREAT | OpenFlags::WRONLY), Err(Errno::EACCES));
    let start = world.fs.cwd();
    assert_eq!(operations::rmdir(&world.access(), &start, b"/mnt"), Err(Errno::EACCES));
}

#[test]
fn open_tells_apart_what_can_be_opened() {
    let world = World::new();
    world.link("/link", "a/file");
    world.link("/new", "a/fresh");
    let create = OpenFlags::CREAT | OpenFlags::WRONLY;
    assert_eq!(world.open("/a", OpenFlags::WRONLY), Err(Errno::EISDIR));
    assert_eq!(world.open("/a", create), Err(Errno::EISDIR));
    assert_eq!(world.open("/a/x/", create), Err(Errno::EISDIR));
    assert_eq!(world.open("/a/file", OpenFlags::DIRECTORY), Err(Errno::ENOTDIR));
    assert_eq!(world.open("/link", OpenFlags::NOFOLLOW), Err(Errno::ELOOP));
    assert_eq!(world.open("/link", create | OpenFlags::EXCL), Err(Errno::EEXIST));
    assert_eq!(world.open("/link", OpenFlags::NOFOLLOW | OpenFlags::PATH), Ok(()));
    assert_eq!(world.open("/new", create), Ok(()));
    assert_eq!(world.find("/a/fresh").unwrap(), "/a/fresh");
}

#[test]
fn directories_move_with_what_is_in_them_and_not_into_themselves() {
    let world = World::new();
    let start = world.fs.cwd();
    let rename = |old: &str, new: &str| {
        let places = ((&start, old.as_bytes()), (&start, new.as_bytes()));
        operations::rename(&world.access(), places.0, places.1, RenameFlags::empty())
    };
    assert_eq!(rename("/a", "/a/b/c"), Err(Errno::EINVAL));
    assert_eq!(rename("/a/b", "/a"), Err(Errno::ENOTEMPTY));
    assert_eq!(rename("/a", "/a/file"), Err(Errno::EINVAL));
    assert_eq!(rename("/a/file", "/mnt"), Err(Errno::EISDIR));
    let inside = lookup(&world.access(), &start, b"/a/b", LastLink::Follow).unwrap();
    world.fs.set_cwd(inside.clone());
    rename("/a", "/mnt").unwrap();
    assert_eq!(inside.path_from(&start).0, b"/mnt/b");
    assert_eq!(world.find("../file").unwrap(), "/mnt/file");
}

#[test]
fn a_removed_directory_is_gone_but_can_be_left() {
    let world = World::new();
    let start = world.fs.cwd();
    let inside = lookup(&world.access(), &start, b"/a/b", LastLink::Follow).unwrap();
    operations::rmdir(&world.access(), &start, b"/a/b").unwrap();
    world.fs.set_cwd(inside);
    assert_eq!(world.find("..").unwrap(), "/a");
    assert_eq!(world.open("new", OpenFlags::CREAT | OpenFlags::RDWR), Err(Errno::ENOENT));
}

#[test]
fn the_way_to_a_directory_is_known_until_something_changes() {
    let mut world = World::new();
    world.make("/a/b/deep", NewKind::Regular);
    let knows = |world: &World, path: &str| {
        let start = if path.starts_with('/') { world.fs.root() } else { world.fs.cwd() };
        world.fs.known_directories().find(&start, path.as_bytes(), &world.who).is_some()
    };
    assert_eq!(world.find("/a/b/deep").unwrap(), "/a/b/deep");
    assert!(knows(&world, "/a/b/"));
    assert!(knows(&world, "/a/"), "and the one above, for its neighbours");
    assert_eq!(world.find("a/b/deep").unwrap(), "/a/b/deep");
    assert!(knows(&world, "a/b/"));
    world.make("/a/b/other", NewKind::Regular);
    world.make("/a/c", NewKind::Directory);
    operations::unlink(&world.access(), &world.fs.cwd(), b"/a/b/other").unwrap();
    assert!(knows(&world, "/a/b/"), "files come and go");
    assert_eq!(world.find("/a/b/deep").unwrap(), "/a/b/deep");
    assert_eq!(world.find("/a/b/nothing"), Err(Errno::ENOENT));
    assert_eq!(world.find("/a/b/..").unwrap(), "/a");
    assert_eq!(world.find("/a/b/").unwrap(), "/a/b");

    // Links in memory tell when they were last followed.
    world.link("/link", "a");
    assert_eq!(world.find("/link/b/deep").unwrap(), "/a/b/deep");
    assert!(!knows(&world, "/link/b/"));
    assert_eq!(world.find("/a/b/deep").unwrap(), "/a/b/deep");

    let root = Rc::clone(&world.who);
    world.who = Rc::new(Credentials::of_user(5, 5));
    assert!(!knows(&world, "/a/b/"), "another may not be allowed to go there");
    assert_eq!(world.find("/a/b/deep").unwrap(), "/a/b/deep");
    let a = lookup(&world.access(), &world.fs.cwd(), b"/a", LastLink::Follow).unwrap();
    operations::change_mode(&a, &root, 0o700).unwrap();
    assert!(!knows(&world, "/a/b/"));
    assert_eq!(world.find("/a/b/deep"), Err(Errno::EACCES));

    world.who = root;
    assert_eq!(world.find("/a/b/deep").unwrap(), "/a/b/deep");
    world.fs.set_root(a);
    assert_eq!(world.find("/a/b/deep"), Err(Errno::ENOENT));
    assert_eq!(world.find("/b/deep").unwrap(), "/b/deep");
}

#[test]
fn a_known_way_is_not_gone_once_a_directory_of_it_has_changed() {
    let world = World::new();
    world.make("/a/b/deep", NewKind::Regular);
    let start = world.fs.cwd();
    let rename = |old: &str, new: &str| {
        let places = ((&start, old.as_bytes()), (&start, new.as_bytes()));
        operations::rename(&world.access(), places.0, places.1, RenameFlags::empty()).unwrap();
    };
    assert_eq!(world.find("/a/b/deep").unwrap(), "/a/b/deep");
    rename("/a/b", "/a/moved");
    assert_eq!(world.find("/a/b/deep"), Err(Errno::ENOENT));
    assert_eq!(world.find("/a/moved/deep").unwrap(), "/a/moved/deep");
    rename("/a/moved", "/a/b");
    assert_eq!(world.find("/a/b/deep").unwrap(), "/a/b/deep");
    operations::unlink(&world.access(), &start, b"/a/b/deep").unwrap();
    operations::rmdir(&world.access(), &start, b"/a/b").unwrap();
    assert_eq!(world.find("/a/b/deep"), Err(Errno::ENOENT));
    world.make("/a/b", NewKind::Directory);
    world.make("/a/b/deep", NewKind::Regular);
    assert_eq!(world.find("/a/b/deep").unwrap(), "/a/b/deep");

    // A relative path starts anew in another directory.
    world.make("/a/b/a", NewKind::Directory);
    assert_eq!(world.find("a/b").unwrap(), "/a/b");
    world.fs.set_cwd(lookup(&world.access(), &start, b"/a/b", LastLink::Follow).unwrap());
    assert_eq!(world.find("a/b"), Err(Errno::ENOENT));
}

#[test]
fn a_way_through_a_link_that_never_changes_ends_with_the_link() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["old", "new"] {
        std::fs::create_dir_all(folder.path().join(name).join("deep")).unwrap();
        std::fs::write(folder.path().join(name).join("deep/file"), name).unwrap();
    }
    std::os::unix::fs::symlink("old", folder.path().join("link")).unwrap();
    let options = HostOptions { read_only: true, immutable: true, ..Default::default() };
    let lower = HostFs::open(folder.path(), options).unwrap().root();
    let upper = Upper {
        file_system: Tmpfs::new(Limits::default(), 0o755, 0, 0),
        kind: UpperKind::Memory,
        moves: Moves::AsRecords,
        lock: None,
    };
    let world = World::of(Overlay::new(vec![lower], Some(upper)).unwrap());
    assert_eq!(world.find("/link/deep/file").unwrap(), "/old/deep/file");
    let start = world.fs.root();
    let known = world.fs.known_directories().find(&start, b"/link/deep/", &world.who);
    assert!(known.is_some());
    operations::unlink(&world.access(), &start, b"/link").unwrap();
    assert_eq!(world.find("/link/deep/file"), Err(Errno::ENOENT));
    world.link("/link", "new");
    assert_eq!(world.find("/link/deep/file").unwrap(), "/new/deep/file");
}
