use std::rc::Rc;

use linux_abi::Errno;
use linux_abi::files::MountFlags;

use super::*;
use crate::inode::{NewInode, NewKind};
use crate::tmpfs::{Limits, Tmpfs};

fn tmpfs() -> Rc<Mount> {
    let limits = Limits { max_bytes: None, max_inodes: None };
    Mount::of(Tmpfs::new(limits, 0o755, 0, 0), b"tmpfs", MountFlags::empty())
}

fn folder(mount: &Rc<Mount>, name: &[u8]) -> Location {
    let new = NewInode { kind: NewKind::Directory, mode: 0o755, uid: 0, gid: 0 };
    let made = mount.root.inode().unwrap().directory().unwrap().create(name, &new).unwrap();
    Location { mount: Rc::clone(mount), dentry: mount.root.adopt(name, Some(made)) }
}

fn seen_through(mount: &Rc<Mount>, place: &Location) -> Option<Rc<Mount>> {
    mount.mounted_at(&place.dentry)
}

#[test]
fn peers_get_copies_and_slaves_listen() {
    let root = tmpfs();
    let _namespace = MountNamespace::new(Rc::clone(&root));
    let [a, b, c] = [b"a", b"b", b"c"].map(|name| folder(&root, name));
    let first = tmpfs();
    attach(&first, &a).unwrap();
    first.set_propagation(Propagation::Shared);
    let peer = copy_tree(&first.top(), false).unwrap();
    attach(&peer, &b).unwrap();
    let slave = copy_tree(&first.top(), false).unwrap();
    attach(&slave, &c).unwrap();
    slave.set_propagation(Propagation::Slave);
    assert_eq!((peer.group(), slave.master()), (first.group(), first.group()));

    let inner = folder(&first, b"inner");
    let mounted = tmpfs();
    attach(&mounted, &inner).unwrap();
    let at_peer = seen_through(&peer, &inner).unwrap();
    let at_slave = seen_through(&slave, &inner).unwrap();
    assert_eq!(at_peer.group(), mounted.group());
    assert_eq!((at_slave.group(), at_slave.master()), (0, mounted.group()));
    drop((at_peer, at_slave));

    unmount(&mounted, false, 1).unwrap();
    assert!(seen_through(&peer, &inner).is_none() && seen_through(&slave, &inner).is_none());

    let there = Location { mount: Rc::clone(&slave), dentry: Rc::clone(&inner.dentry) };
    attach(&tmpfs(), &there).unwrap();
    assert!(seen_through(&first, &inner).is_none());
}

#[test]
fn slaves_of_a_group_that_ends_listen_to_its_master() {
    let root = tmpfs();
    let _namespace = MountNamespace::new(Rc::clone(&root));
    let [a, b, c] = [b"a", b"b", b"c"].map(|name| folder(&root, name));
    let first = tmpfs();
    attach(&first, &a).unwrap();
    first.set_propagation(Propagation::Shared);
    let middle = copy_tree(&first.top(), false).unwrap();
    attach(&middle, &b).unwrap();
    middle.set_propagation(Propagation::Slave);
    middle.set_propagation(Propagation::Shared);
    let last = copy_tree(&middle.top(), false).unwrap();
    attach(&last, &c).unwrap();
    last.set_propagation(Propagation::Slave);
    assert_eq!(last.master(), middle.group());
    middle.set_propagation(Propagation::Private);
    assert_eq!((last.master(), middle.master()), (first.group(), 0));
}

#[test]
fn a_busy_mount_stays_and_a_lazy_unmount_takes_all() {
    let root = tmpfs();
    let namespace = MountNamespace::new(Rc::clone(&root));
    let place = folder(&root, b"a");
    let outer = tmpfs();
    attach(&outer, &place).unwrap();
    let inner = tmpfs();
    attach(&inner, &folder(&outer, b"b")).unwrap();
    assert_eq!(unmount(&outer, false, 1), Err(Errno::EBUSY));
    unmount(&outer, true, 1).unwrap();
    assert_eq!(namespace.n_mounts(), 1);
    assert!(inner.place().is_none());
}

#[test]
fn a_copy_for_others_is_locked_and_listens() {
    let root = tmpfs();
    root.set_propagation(Propagation::Shared);
    let namespace = MountNamespace::new(Rc::clone(&root));
    let hidden = tmpfs();
    attach(&hidden, &folder(&root, b"a")).unwrap();
    hidden.set_flags(MountFlags::READ_ONLY);
    let who = Rc::new(kernel_core::credentials::Credentials::of_user(7, 7));
    let owner = kernel_core::user_namespace::UserNamespace::new(&who).unwrap();
    let (copy, pairs) = namespace.copy(&owner).unwrap();
    let theirs = pairs.get(&hidden.id).unwrap();
    assert!(theirs.is_locked() && copy.has(theirs));
    assert_eq!(theirs.check_locked_flags(MountFlags::empty()), Err(Errno::EPERM));
    assert_eq!((theirs.group(), theirs.master()), (0, hidden.group()));
}
