//! Mounts: how file systems make one tree.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::{Rc, Weak};

use linux_abi::files::MountFlags;
use linux_abi::{Errno, SysResult};

use crate::dentry::Dentry;
use crate::inode::{FileSystem, Inode};

mod groups;
mod namespace;
mod propagate;
#[cfg(test)]
mod tests;
mod tree;

pub use groups::Propagation;
pub use namespace::MountNamespace;
pub use tree::{attach, copy_tree, dissolve, move_tree, tree_of, unmount};

/// Unique numbers of mounts are beyond this one.
pub const NO_UNIQUE_ID: u64 = 1 << 31;

/// A place in the tree: a name as seen through a mount.
#[derive(Clone)]
pub struct Location {
    /// The mount it is seen through.
    pub mount: Rc<Mount>,
    /// The name.
    pub dentry: Rc<Dentry>,
}

impl std::fmt::Debug for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.mount.id, String::from_utf8_lossy(&self.dentry.name()))
    }
}

impl Location {
    /// The file there.
    pub fn inode(&self) -> SysResult<&Rc<dyn Inode>> {
        self.dentry.inode()
    }

    /// Whether both are the same place.
    pub fn is_same(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.dentry, &other.dentry) && Rc::ptr_eq(&self.mount, &other.mount)
    }

    /// This place, or the top of what is mounted there, or of what is mounted there in turn.
    #[must_use]
    pub fn topmost(mut self) -> Self {
        while let Some(mount) = self.mount.mounted_at(&self.dentry) {
            self = mount.top();
        }
        self
    }

    /// Whether this is the top of its mount.
    pub fn is_mount_root(&self) -> bool {
        Rc::ptr_eq(&self.dentry, &self.mount.root)
    }

    /// `EROFS` if nothing may be written here.
    pub fn check_writable(&self) -> SysResult<()> {
        if self.mount.is_read_only() { Err(Errno::EROFS) } else { Ok(()) }
    }

    /// The path from `root` to here. The second part says whether `root` was met on the way up.
    pub fn path_from(&self, root: &Location) -> (Vec<u8>, bool) {
        let mut names: Vec<Rc<[u8]>> = Vec::new();
        let mut at = self.clone();
        let reached = loop {
            if at.is_same(root) {
                break true;
            }
            if at.is_mount_root() {
                let place = at.mount.place.borrow().clone();
                match place {
                    Some(place) => at = place,
                    None => break false,
                }
                continue;
            }
            names.push(at.dentry.name());
            match at.dentry.parent() {
                Some(parent) => at.dentry = parent,
                None => break false,
            }
        };
        let mut path = Vec::new();
        for name in names.iter().rev() {
            path.push(b'/');
            path.extend_from_slice(name);
        }
        if path.is_empty() {
            path.push(b'/');
        }
        (path, reached)
    }

    /// The path from the very top, whatever anybody's root is; `None` for what is at no place.
    pub fn full_path(&self) -> Option<Vec<u8>> {
        let mut names: Vec<Rc<[u8]>> = Vec::new();
        let mut at = self.clone();
        loop {
            if at.is_mount_root() {
                let place = at.mount.place.borrow().clone();
                match place {
                    Some(place) => at = place,
                    None => break,
                }
                continue;
            }
            names.push(at.dentry.name());
            at.dentry = at.dentry.parent()?;
        }
        let mut path = Vec::new();
        for name in names.iter().rev() {
            path.push(b'/');
            path.extend_from_slice(name);
        }
        if path.is_empty() {
            path.push(b'/');
        }
        Some(path)
    }

    /// The path from the very top to a name in this folder.
    pub fn path_of_child(&self, name: &[u8]) -> Option<Vec<u8>> {
        let mut path = self.full_path()?;
        if path != b"/" {
            path.push(b'/');
        }
        path.extend_from_slice(name);
        Some(path)
    }

    /// The path as `/proc/self/fd` shows it: with ` (deleted)` when the name is gone.
    pub fn display_path(&self, root: &Location) -> Vec<u8> {
        if self.dentry.parent().is_none() && !self.is_mount_root() {
            return self.dentry.name().to_vec();
        }
        let (mut path, _) = self.path_from(root);
        if self.dentry.is_unlinked() {
            path.extend_from_slice(b" (deleted)");
        }
        path
    }
}

/// A file system, or a part of one, at a place in the tree.
pub struct Mount {
    /// A number that no other mount of the sandbox has.
    pub id: u64,
    /// The file system.
    pub file_system: Rc<dyn FileSystem>,
    /// Its top: the root of the file system, or another directory for a bind mount.
    pub root: Rc<Dentry>,
    /// What was mounted, as `/proc/mounts` shows it.
    pub source: Vec<u8>,
    /// Where it is mounted; `None` for the root of all, and for what is not mounted.
    place: RefCell<Option<Location>>,
    /// What is mounted on it, by the name that it hides. The dentries live as long as the places
    /// of those mounts do, which hold them.
    children: RefCell<HashMap<*const Dentry, Rc<Mount>>>,
    /// The namespace that it is in; none for what is not mounted.
    namespace: RefCell<Weak<MountNamespace>>,
    flags: Cell<MountFlags>,
    /// Flags that may not be taken off: somebody with more rights has set them.
    locked_flags: Cell<MountFlags>,
    /// It may not be taken away by itself: that would show what somebody with more rights hid.
    is_locked: Cell<bool>,
    /// It cannot be bound elsewhere.
    is_unbindable: Cell<bool>,
    /// The group whose members see each other's mounts; 0 for none.
    group: Cell<u64>,
    /// The group whose mounts it sees, while they do not see its own; 0 for none.
    master: Cell<u64>,
}

impl Drop for Mount {
    fn drop(&mut self) {
        groups::forget(self.id, self.group.get(), self.master.get());
    }
}

impl Mount {
    /// A mount that is at no place yet. `root` is the top of `file_system` or a name in it.
    pub fn new(
        file_system: Rc<dyn FileSystem>,
        root: Rc<Dentry>,
        source: &[u8],
        flags: MountFlags,
    ) -> Rc<Self> {
        thread_local!(static NEXT: Cell<u64> = const { Cell::new(20) });
        let id = NEXT.get();
        NEXT.set(id + 1);
        Rc::new(Self {
            id,
            file_system,
            root,
            source: source.to_vec(),
            place: RefCell::default(),
            children: RefCell::default(),
            namespace: RefCell::default(),
            flags: Cell::new(flags),
            locked_flags: Cell::default(),
            is_locked: Cell::default(),
            is_unbindable: Cell::default(),
            group: Cell::default(),
            master: Cell::default(),
        })
    }

    /// A mount of a whole file system.
    pub fn of(file_system: Rc<dyn FileSystem>, source: &[u8], flags: MountFlags) -> Rc<Self> {
        let root = Dentry::root(file_system.root());
        Self::new(file_system, root, source, flags)
    }

    /// Another mount of what this one shows, or of the part beneath `root`: alone, and at no place.
    fn same_at(&self, root: &Rc<Dentry>) -> Rc<Self> {
        let copy =
            Self::new(Rc::clone(&self.file_system), Rc::clone(root), &self.source, self.flags());
        copy.locked_flags.set(self.locked_flags.get());
        copy.is_locked.set(self.is_locked.get());
        copy.is_unbindable.set(self.is_unbindable.get());
        copy
    }

    /// Where it is mounted.
    pub fn place(&self) -> Option<Location> {
        self.place.borrow().clone()
    }

    /// The namespace that it is in.
    pub fn namespace(&self) -> Option<Rc<MountNamespace>> {
        self.namespace.borrow().upgrade()
    }

    /// What hides a name of this mount, if anything does.
    pub fn mounted_at(&self, dentry: &Rc<Dentry>) -> Option<Rc<Mount>> {
        if !dentry.is_mount_point() {
            return None;
        }
        self.children.borrow().get(&Rc::as_ptr(dentry)).cloned()
    }

    /// The mounts directly on this one, oldest first.
    pub fn children(&self) -> Vec<Rc<Mount>> {
        let mut children: Vec<_> = self.children.borrow().values().cloned().collect();
        children.sort_by_key(|child| child.id);
        children
    }

    fn has_children(&self) -> bool {
        !self.children.borrow().is_empty()
    }

    /// Its flags.
    pub fn flags(&self) -> MountFlags {
        self.flags.get()
    }

    /// Changes its flags (`MS_REMOUNT`).
    pub fn set_flags(&self, flags: MountFlags) {
        self.flags.set(flags);
    }

    /// `EPERM` if a change to `flags` would take off what is locked.
    pub fn check_locked_flags(&self, flags: MountFlags) -> SysResult<()> {
        let locked = self.locked_flags.get();
        let kept =
            MountFlags::READ_ONLY | MountFlags::NO_SUID | MountFlags::NO_DEV | MountFlags::NO_EXEC;
        let times = MountFlags::NO_ATIME | MountFlags::NO_DIR_ATIME | MountFlags::RELATIVE_ATIME;
        let changes_times = locked.intersects(times) && (flags ^ self.flags()).intersects(times);
        if !flags.contains(locked & kept) || changes_times {
            return Err(Errno::EPERM);
        }
        Ok(())
    }

    /// Whether it may not be taken away by itself.
    pub fn is_locked(&self) -> bool {
        self.is_locked.get()
    }

    /// Hands the lock of this mount on to another one, which takes its place (`pivot_root`).
    pub fn hand_lock_to(&self, other: &Self) {
        if self.is_locked.replace(false) {
            other.is_locked.set(true);
        }
    }

    /// Locks this mount as it is, because those who get it have fewer rights.
    fn lock(&self) {
        let times = MountFlags::NO_ATIME | MountFlags::NO_DIR_ATIME | MountFlags::RELATIVE_ATIME;
        self.locked_flags.set(self.flags() | times);
        self.is_locked.set(true);
    }

    /// Whether nothing may be written through it.
    pub fn is_read_only(&self) -> bool {
        self.is_shown_read_only() || self.is_file_system_read_only()
    }

    /// Whether it shows itself as read-only, apart from what was switched for its file system.
    pub fn is_shown_read_only(&self) -> bool {
        self.flags.get().contains(MountFlags::READ_ONLY) || self.file_system.is_read_only()
    }

    /// Whether nothing may be written to its file system, through whichever mount.
    pub fn is_file_system_read_only(&self) -> bool {
        let switch = self.file_system.read_only_switch();
        switch.is_some_and(Cell::get) || self.file_system.is_read_only()
    }

    /// The number of `statmount(2)`, which is never used again, and is none of the small ones.
    pub fn unique_id(&self) -> u64 {
        NO_UNIQUE_ID + self.id
    }

    /// Whether its file system belongs to somebody with more rights than the namespace it is in.
    pub fn is_handed_down(&self) -> bool {
        !self.locked_flags.get().is_empty()
    }

    /// Which directory of the file system is mounted: `/`, or another one for a bind mount.
    pub fn path_in_file_system(&self) -> Vec<u8> {
        let mut names = Vec::new();
        let mut at = Rc::clone(&self.root);
        while let Some(parent) = at.parent() {
            names.push(at.name());
            at = parent;
        }
        let steps = names.iter().rev().flat_map(|name| [b"/", &**name].concat());
        let mut path: Vec<u8> = steps.collect();
        if path.is_empty() {
            path.push(b'/');
        }
        path
    }

    /// Its top, as a place.
    pub fn top(self: &Rc<Self>) -> Location {
        Location { mount: Rc::clone(self), dentry: Rc::clone(&self.root) }
    }

    /// Whether anybody uses it, beside the namespace, its parent and `n_held` handles of the
    /// caller.
    pub fn is_used(self: &Rc<Self>, n_held: usize) -> bool {
        Rc::strong_count(self) > 2 + n_held
    }
}
