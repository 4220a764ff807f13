//! Mounts: how file systems make one tree.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use linux_abi::files::MountFlags;
use linux_abi::{Errno, SysResult};

use crate::dentry::Dentry;
use crate::inode::{FileSystem, Inode};

/// How many mounts a namespace may have (Linux: `fs.mount-max`, which is larger).
const MAX_MOUNTS: usize = 10_000;

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
    flags: Cell<MountFlags>,
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
            flags: Cell::new(flags),
        })
    }

    /// A mount of a whole file system.
    pub fn of(file_system: Rc<dyn FileSystem>, source: &[u8], flags: MountFlags) -> Rc<Self> {
        let root = Dentry::root(file_system.root());
        Self::new(file_system, root, source, flags)
    }

    /// Where it is mounted.
    pub fn place(&self) -> Option<Location> {
        self.place.borrow().clone()
    }

    /// Its flags.
    pub fn flags(&self) -> MountFlags {
        self.flags.get()
    }

    /// Changes its flags (`MS_REMOUNT`).
    pub fn set_flags(&self, flags: MountFlags) {
        self.flags.set(flags);
    }

    /// Whether nothing may be written through it.
    pub fn is_read_only(&self) -> bool {
        self.flags.get().contains(MountFlags::READ_ONLY) || self.file_system.is_read_only()
    }

    /// Its top, as a place.
    pub fn top(self: &Rc<Self>) -> Location {
        Location { mount: Rc::clone(self), dentry: Rc::clone(&self.root) }
    }
}

type Place = (u64, *const Dentry);

fn place_of(location: &Location) -> Place {
    (location.mount.id, Rc::as_ptr(&location.dentry))
}

/// All mounts that one group of processes sees.
#[derive(Default)]
pub struct MountNamespace {
    by_id: RefCell<BTreeMap<u64, Rc<Mount>>>,
    /// What is mounted at a place. The dentries live as long as their mounts, which hold them.
    by_place: RefCell<HashMap<Place, u64>>,
    root: RefCell<Option<Rc<Mount>>>,
}

impl MountNamespace {
    /// A namespace whose tree starts with `root`.
    pub fn new(root: Rc<Mount>) -> Rc<Self> {
        let namespace = Self::default();
        namespace.by_id.borrow_mut().insert(root.id, Rc::clone(&root));
        *namespace.root.borrow_mut() = Some(root);
        Rc::new(namespace)
    }

    /// The top of the tree.
    pub fn root(&self) -> SysResult<Location> {
        let root = self.root.borrow().as_ref().map(Rc::clone).ok_or(Errno::ENOENT)?;
        Ok(self.topmost(root.top()))
    }

    /// What is mounted at `location`, if anything is.
    pub fn mounted_at(&self, location: &Location) -> Option<Rc<Mount>> {
        if !location.dentry.is_mount_point() {
            return None;
        }
        let id = *self.by_place.borrow().get(&place_of(location))?;
        self.by_id.borrow().get(&id).cloned()
    }

    /// `location`, or the top of what is mounted there, or of what is mounted there in turn.
    pub fn topmost(&self, mut location: Location) -> Location {
        while let Some(mount) = self.mounted_at(&location) {
            location = mount.top();
        }
        location
    }

    /// Mounts `mount` at `location`, on top of what is mounted there already.
    pub fn mount(&self, mount: &Rc<Mount>, location: &Location) -> SysResult<()> {
        if self.by_id.borrow().len() >= MAX_MOUNTS {
            return Err(Errno::ENOSPC);
        }
        let location = self.topmost(location.clone());
        location.dentry.add_mount();
        self.by_place.borrow_mut().insert(place_of(&location), mount.id);
        self.by_id.borrow_mut().insert(mount.id, Rc::clone(mount));
        *mount.place.borrow_mut() = Some(location);
        Ok(())
    }

    /// Takes a mount out of the tree; those that use it keep it. `EINVAL` if it is not in this
    /// namespace or is its root.
    pub fn detach(&self, mount: &Rc<Mount>) -> SysResult<()> {
        let place = mount.place().ok_or(Errno::EINVAL)?;
        if self.by_id.borrow_mut().remove(&mount.id).is_none() {
            return Err(Errno::EINVAL);
        }
        self.by_place.borrow_mut().remove(&place_of(&place));
        place.dentry.remove_mount();
        *mount.place.borrow_mut() = None;
        Ok(())
    }

    /// Moves a mount to another place, with everything mounted beneath it.
    pub fn move_mount(&self, mount: &Rc<Mount>, to: &Location) -> SysResult<()> {
        if self.is_beneath(to, mount) {
            return Err(Errno::ELOOP);
        }
        self.detach(mount)?;
        self.mount(mount, to)
    }

    /// Whether `location` is in `mount` or in a mount beneath it.
    pub fn is_beneath(&self, location: &Location, mount: &Rc<Mount>) -> bool {
        let mut at = Some(location.clone());
        while let Some(location) = at {
            if Rc::ptr_eq(&location.mount, mount) {
                return true;
            }
            at = location.mount.place();
        }
        false
    }

    /// The mounts directly on `mount`.
    pub fn children(&self, mount: &Rc<Mount>) -> Vec<Rc<Mount>> {
        let is_child =
            |child: &&Rc<Mount>| child.place().is_some_and(|place| Rc::ptr_eq(&place.mount, mount));
        self.by_id.borrow().values().filter(is_child).cloned().collect()
    }

    /// All mounts, oldest first.
    pub fn all(&self) -> Vec<Rc<Mount>> {
        self.by_id.borrow().values().cloned().collect()
    }

    /// Whether `mount` is part of this namespace.
    pub fn has(&self, mount: &Mount) -> bool {
        self.by_id.borrow().contains_key(&mount.id)
    }

    /// Makes another mount the top of the tree and puts the old one at `old_place`, which is seen
    /// through the new one (`pivot_root`).
    pub fn change_root(&self, new_root: &Rc<Mount>, old_place: &Location) -> SysResult<()> {
        let old_root = self.root.borrow().as_ref().map(Rc::clone).ok_or(Errno::EINVAL)?;
        let place = new_root.place().ok_or(Errno::EINVAL)?;
        self.by_place.borrow_mut().remove(&place_of(&place));
        place.dentry.remove_mount();
        *new_root.place.borrow_mut() = None;
        *self.root.borrow_mut() = Some(Rc::clone(new_root));
        self.mount(&old_root, old_place)
    }

    /// A copy of this namespace with mounts of its own (`CLONE_NEWNS`). The second part translates
    /// places of this namespace into the copy's.
    pub fn copy(&self) -> (Rc<Self>, HashMap<u64, Rc<Mount>>) {
        let mut copies = HashMap::new();
        let namespace = Self::default();
        for mount in self.all() {
            let copy = Mount::new(
                Rc::clone(&mount.file_system),
                Rc::clone(&mount.root),
                &mount.source,
                mount.flags(),
            );
            namespace.by_id.borrow_mut().insert(copy.id, Rc::clone(&copy));
            copies.insert(mount.id, copy);
        }
        for mount in self.all() {
            let Some(copy) = copies.get(&mount.id) else { continue };
            let Some(place) = mount.place() else { continue };
            let Some(parent) = copies.get(&place.mount.id) else { continue };
            let place = Location { mount: Rc::clone(parent), dentry: place.dentry };
            place.dentry.add_mount();
            namespace.by_place.borrow_mut().insert(place_of(&place), copy.id);
            *copy.place.borrow_mut() = Some(place);
        }
        let root = self.root.borrow().as_ref().and_then(|root| copies.get(&root.id).cloned());
        *namespace.root.borrow_mut() = root;
        (Rc::new(namespace), copies)
    }
}
