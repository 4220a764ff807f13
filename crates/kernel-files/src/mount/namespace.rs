//! All mounts that one group of processes sees.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::{Rc, Weak};

use kernel_core::user_namespace::{UserNamespace, new_number};
use kernel_core::wait::{PollEvents, WaitQueue};
use linux_abi::{Errno, SysResult};

use super::tree::{self, Kinship, copy_with, relink, tree_of, unlink};
use super::{Location, Mount, NO_UNIQUE_ID};

/// How many mounts a namespace may have (Linux: `fs.mount-max`, which is larger).
pub(super) const MAX_MOUNTS: usize = 10_000;
/// How many mount namespaces a sandbox may have at a time.
const MAX_NAMESPACES: usize = 1024;
/// The number of the first one, as on Linux.
const INITIAL_NUMBER: u64 = 4_026_531_841;

thread_local!(static N_NAMESPACES: Cell<usize> = const { Cell::new(0) });

/// Which mount of a copy stands for which mount, by its number.
pub type Twins = HashMap<u64, Rc<Mount>>;

/// All mounts that one group of processes sees.
pub struct MountNamespace {
    /// What `/proc/<pid>/ns/mnt` shows.
    pub number: u64,
    /// The user namespace that it belongs to.
    pub owner: Rc<UserNamespace>,
    me: Weak<Self>,
    by_id: RefCell<BTreeMap<u64, Rc<Mount>>>,
    root: RefCell<Option<Rc<Mount>>>,
    /// How often it has changed.
    n_changes: Cell<u64>,
    changed: WaitQueue,
}

impl Drop for MountNamespace {
    fn drop(&mut self) {
        N_NAMESPACES.set(N_NAMESPACES.get().saturating_sub(1));
        // Parents and children hold each other.
        for mount in std::mem::take(self.by_id.get_mut()).into_values().rev() {
            unlink(&mount);
            mount.leave_groups();
        }
    }
}

impl MountNamespace {
    fn empty(number: u64, owner: &Rc<UserNamespace>) -> SysResult<Rc<Self>> {
        if N_NAMESPACES.get() >= MAX_NAMESPACES {
            return Err(Errno::ENOSPC);
        }
        N_NAMESPACES.set(N_NAMESPACES.get() + 1);
        Ok(Rc::new_cyclic(|me| Self {
            number,
            owner: Rc::clone(owner),
            me: Weak::clone(me),
            by_id: RefCell::default(),
            root: RefCell::default(),
            n_changes: Cell::new(0),
            changed: WaitQueue::new(),
        }))
    }

    /// The namespace that a sandbox starts with, whose tree starts with `root`.
    #[expect(clippy::missing_panics_doc, reason = "the first is never one too many")]
    #[expect(clippy::expect_used, reason = "the first is never one too many")]
    pub fn new(root: Rc<Mount>) -> Rc<Self> {
        let namespace =
            Self::empty(INITIAL_NUMBER, &UserNamespace::initial()).expect("room for the first");
        namespace.add(&root);
        *namespace.root.borrow_mut() = Some(root);
        namespace
    }

    /// The top of the tree.
    pub fn root(&self) -> SysResult<Location> {
        let root = self.root.borrow().as_ref().map(Rc::clone).ok_or(Errno::ENOENT)?;
        Ok(root.top().topmost())
    }

    /// Whether `mount` is the one that the tree starts with.
    pub fn starts_with(&self, mount: &Mount) -> bool {
        self.root.borrow().as_ref().is_some_and(|root| root.id == mount.id)
    }

    /// `location`, or the top of what is mounted there, or of what is mounted there in turn.
    pub fn topmost(&self, location: Location) -> Location {
        location.topmost()
    }

    /// Mounts `mount` at `location`, on top of what is mounted there already.
    pub fn mount(&self, mount: &Rc<Mount>, location: &Location) -> SysResult<()> {
        tree::attach(mount, location)
    }

    /// A mount is part of this namespace from now on.
    pub(super) fn add(&self, mount: &Rc<Mount>) {
        *mount.namespace.borrow_mut() = Weak::clone(&self.me);
        self.by_id.borrow_mut().insert(mount.id, Rc::clone(mount));
        self.note_change();
    }

    /// A mount is no part of this namespace any more.
    pub(super) fn remove(&self, mount: &Rc<Mount>) {
        *mount.namespace.borrow_mut() = Weak::new();
        let removed = self.by_id.borrow_mut().remove(&mount.id);
        drop(removed);
        self.note_change();
    }

    /// Something about its mounts has changed: readers of `/proc/<pid>/mounts` are told.
    pub fn note_change(&self) {
        self.n_changes.set(self.n_changes.get() + 1);
        self.changed.wake(PollEvents::PRI | PollEvents::ERR);
    }

    /// How often it has changed.
    pub fn n_changes(&self) -> u64 {
        self.n_changes.get()
    }

    /// Woken when it changes.
    pub fn changed(&self) -> &WaitQueue {
        &self.changed
    }

    /// All mounts, oldest first.
    pub fn all(&self) -> Vec<Rc<Mount>> {
        self.by_id.borrow().values().cloned().collect()
    }

    /// The one with this unique number.
    pub fn find(&self, unique_id: u64) -> Option<Rc<Mount>> {
        let id = unique_id.checked_sub(NO_UNIQUE_ID)?;
        self.by_id.borrow().get(&id).cloned()
    }

    /// How many there are.
    pub fn n_mounts(&self) -> usize {
        self.by_id.borrow().len()
    }

    /// Whether `mount` is part of this namespace.
    pub fn has(&self, mount: &Mount) -> bool {
        self.by_id.borrow().contains_key(&mount.id)
    }

    /// Whether `location` is in `mount` or in a mount beneath it.
    pub fn is_beneath(&self, location: &Location, mount: &Rc<Mount>) -> bool {
        tree::is_beneath(location, mount)
    }

    /// Makes another mount what `old_root` was, and puts that one at `old_place`, which is seen
    /// through the new one (`pivot_root`).
    pub fn change_root(&self, old_root: &Rc<Mount>, new_root: &Rc<Mount>, old_place: &Location) {
        let above = old_root.place();
        relink(new_root, None);
        relink(old_root, None);
        relink(new_root, above);
        if self.starts_with(old_root) {
            *self.root.borrow_mut() = Some(Rc::clone(new_root));
        }
        relink(old_root, Some(old_place.clone()));
        old_root.hand_lock_to(new_root);
        self.note_change();
    }

    /// A copy of this namespace for `owner` (`CLONE_NEWNS`), whose mounts hear of what happens
    /// here. The second part translates mounts of this namespace into the copy's.
    pub fn copy(&self, owner: &Rc<UserNamespace>) -> SysResult<(Rc<Self>, Twins)> {
        let old_root = self.root.borrow().as_ref().map(Rc::clone).ok_or(Errno::ENOENT)?;
        let namespace = Self::empty(new_number(), owner)?;
        let is_stranger = *owner != self.owner;
        let new_root = copy_with(&old_root, &old_root.root, &|old| {
            if is_stranger && old.is_shared() {
                Kinship::Of(0, old.group())
            } else {
                Kinship::Of(old.group(), old.master())
            }
        })?;
        let mut copies = HashMap::new();
        pair_up(&old_root, &new_root, &mut copies);
        for mount in tree_of(&new_root) {
            if is_stranger {
                mount.lock();
            }
            namespace.add(&mount);
        }
        new_root.is_locked.set(false);
        *namespace.root.borrow_mut() = Some(new_root);
        Ok((namespace, copies))
    }
}

/// Which mount of a copied tree stands for which of the old one.
fn pair_up(old: &Rc<Mount>, new: &Rc<Mount>, pairs: &mut Twins) {
    let mut pending = vec![(Rc::clone(old), Rc::clone(new))];
    while let Some((old, new)) = pending.pop() {
        for child in old.children() {
            let Some(place) = child.place() else { continue };
            if let Some(twin) = new.mounted_at(&place.dentry) {
                pending.push((child, twin));
            }
        }
        pairs.insert(old.id, new);
    }
}
