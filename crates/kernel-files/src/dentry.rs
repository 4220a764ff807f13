//! Names of files, and the memory of what directories said.
//!
//! A [`Dentry`] is one name in one directory. It never changes which inode it stands for: a name
//! that is created or removed gets a new dentry. A dentry without an inode remembers that there is
//! no such file. Dentries are a memory only: a file system can always be asked again, and those
//! that nobody uses are forgotten when there are too many.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::{Rc, Weak};

use kernel_core::facts;
use kernel_core::ledger::{self, ALLOCATION, Charge, Kind};
use kernel_core::moment::Moment;
use linux_abi::{Errno, SysResult};

use crate::inode::{Caching, Inode};
use crate::metadata::FileKind;
use crate::name_map::NameMap;
use crate::notify::{self, Event};

/// How many dentries are remembered before unused ones are forgotten.
const MAX_REMEMBERED: usize = 100_000;

/// At most one part in this many of the sandbox's memory is for dentries.
const MEMORY_PART: u64 = 16;

/// What a dentry takes, with its places in its parent's table and in the list of all, but for its name.
const DENTRY_BYTES: u64 = size_of::<Dentry>() as u64 + 4 * ALLOCATION;

/// How many dentries are looked at when one too many is made.
const SWEEP_STEPS: usize = 4;

/// A name of a file, or of none.
pub struct Dentry {
    place: RefCell<Place>,
    inode: Option<Rc<dyn Inode>>,
    children: RefCell<NameMap<Rc<Dentry>>>,
    /// How many mounts, of all namespaces, hide this dentry.
    n_mounts: Cell<u32>,
    /// The name is gone; the file may still be in use.
    is_unlinked: Cell<bool>,
    /// Whoever watches the file is told of its end when nobody uses it any more.
    tells_of_end: Cell<bool>,
    /// When the file system last said that it is there.
    seen: Cell<Moment>,
    /// Used since the sweep last came by.
    is_recent: Cell<bool>,
    _charge: Charge,
}

struct Place {
    name: Rc<[u8]>,
    parent: Option<Rc<Dentry>>,
}

thread_local! {
    /// Every remembered dentry, in the order in which the sweep looks at them. The kernel has one
    /// thread, so this is one list per sandbox.
    static REMEMBERED: RefCell<VecDeque<Weak<Dentry>>> = const { RefCell::new(VecDeque::new()) };
}

impl Dentry {
    /// The root of a file system.
    pub fn root(inode: Rc<dyn Inode>) -> Rc<Self> {
        Self::with(Rc::from(&b""[..]), None, Some(inode))
    }

    /// A file that has no place in any directory; `name` is what `/proc/self/fd` shows.
    pub fn detached(name: &[u8], inode: Rc<dyn Inode>) -> Rc<Self> {
        Self::with(Rc::from(name), None, Some(inode))
    }

    /// A file that was made in `parent` without a name (`O_TMPFILE`).
    pub fn unnamed(name: &[u8], parent: &Rc<Dentry>, inode: Rc<dyn Inode>) -> Rc<Self> {
        let dentry = Self::with(Rc::from(name), Some(Rc::clone(parent)), Some(inode));
        dentry.is_unlinked.set(true);
        dentry
    }

    fn with(name: Rc<[u8]>, parent: Option<Rc<Dentry>>, inode: Option<Rc<dyn Inode>>) -> Rc<Self> {
        // Never refused: those that nobody uses are forgotten when they take too much.
        let charge = Charge::forced(Kind::Dentries, DENTRY_BYTES + name.len() as u64);
        Rc::new(Self {
            _charge: charge,
            place: RefCell::new(Place { name, parent }),
            inode,
            children: RefCell::default(),
            n_mounts: Cell::new(0),
            is_unlinked: Cell::new(false),
            tells_of_end: Cell::new(false),
            seen: Cell::new(Moment::now()),
            is_recent: Cell::new(true),
        })
    }

    /// The file; `None` if there is none of this name.
    pub fn inode_if_any(&self) -> Option<&Rc<dyn Inode>> {
        self.inode.as_ref()
    }

    /// The file; `ENOENT` if there is none of this name.
    pub fn inode(&self) -> SysResult<&Rc<dyn Inode>> {
        self.inode.as_ref().ok_or(Errno::ENOENT)
    }

    /// The name; empty for the root of a file system.
    pub fn name(&self) -> Rc<[u8]> {
        Rc::clone(&self.place.borrow().name)
    }

    /// The directory it is in; `None` for the root of a file system.
    pub fn parent(&self) -> Option<Rc<Dentry>> {
        self.place.borrow().parent.clone()
    }

    /// Whether the name has been removed.
    pub fn is_unlinked(&self) -> bool {
        self.is_unlinked.get()
    }

    /// Whether any mount hides it.
    pub fn is_mount_point(&self) -> bool {
        self.n_mounts.get() > 0
    }

    /// One more mount hides it.
    pub(crate) fn add_mount(&self) {
        self.n_mounts.set(self.n_mounts.get() + 1);
    }

    /// One mount less hides it.
    pub(crate) fn remove_mount(&self) {
        self.n_mounts.set(self.n_mounts.get().saturating_sub(1));
    }

    /// Whether `other` is this dentry or beneath it.
    pub fn contains(&self, other: &Rc<Dentry>) -> bool {
        let mut at = Some(Rc::clone(other));
        while let Some(dentry) = at {
            if std::ptr::eq(&*dentry, self) {
                return true;
            }
            at = dentry.parent();
        }
        false
    }

    /// The child of this name: a dentry with or without an inode. `ENOTDIR` if this is no
    /// directory.
    pub fn child(self: &Rc<Self>, name: &[u8]) -> SysResult<Rc<Dentry>> {
        let directory = self.inode()?.directory().ok_or(Errno::ENOTDIR)?;
        let known = self.children.borrow().get(name).cloned();
        let caching = directory.caching();
        if caching != Caching::Stable {
            facts::came_from_outside();
        }
        if let Some(known) = known {
            if known.is_mount_point() || known.can_be_believed(caching) {
                known.is_recent.set(true);
                return Ok(known);
            }
            match (directory.lookup(name), &known.inode) {
                (Ok(now), Some(then)) if Rc::ptr_eq(&now, then) => {
                    known.seen.set(Moment::now());
                    return Ok(known);
                }
                (Ok(now), _) => return Ok(self.adopt(name, Some(now))),
                (Err(Errno::ENOENT), _) => {
                    self.forget(name);
                    return Ok(Self::with(Rc::from(name), Some(Rc::clone(self)), None));
                }
                (Err(errno), _) => return Err(errno),
            }
        }
        match directory.lookup(name) {
            Ok(inode) => Ok(self.adopt(name, Some(inode))),
            Err(Errno::ENOENT) if caching == Caching::Stable && !self.is_unlinked() => {
                Ok(self.adopt(name, None))
            }
            Err(Errno::ENOENT) => Ok(Self::with(Rc::from(name), Some(Rc::clone(self)), None)),
            Err(errno) => Err(errno),
        }
    }

    /// Whether anything is remembered of a name.
    pub fn knows(&self, name: &[u8]) -> bool {
        self.children.borrow().contains_key(name)
    }

    /// Whether this name need not be looked up again.
    fn can_be_believed(&self, caching: Caching) -> bool {
        match caching {
            Caching::Stable => true,
            Caching::Volatile => false,
            Caching::Brief(nanos) => match &self.inode {
                Some(inode) if inode.kind() == FileKind::Directory => {
                    self.seen.get().is_within(nanos)
                }
                Some(_) => self.seen.get().is_now(),
                None => false,
            },
        }
    }

    /// Remembers that `name` now stands for `inode`, in place of what was known before.
    pub fn adopt(self: &Rc<Self>, name: &[u8], inode: Option<Rc<dyn Inode>>) -> Rc<Dentry> {
        let name: Rc<[u8]> = Rc::from(name);
        let child = Self::with(Rc::clone(&name), Some(Rc::clone(self)), inode);
        self.children.borrow_mut().insert(name, Rc::clone(&child));
        remember(&child);
        child
    }

    /// Forgets what is known of `name`.
    pub fn forget(&self, name: &[u8]) {
        let forgotten = self.children.borrow_mut().remove(name);
        drop(forgotten);
    }

    /// The name of this dentry has been removed.
    pub fn unlinked(self: &Rc<Self>) {
        self.is_unlinked.set(true);
        self.leave_parent();
    }

    /// This was the last name of its file: those who watch it are told when it is no longer used.
    pub(crate) fn tell_of_end(&self) {
        self.tells_of_end.set(true);
    }

    /// This dentry now has another name, or is in another directory.
    pub fn moved(self: &Rc<Self>, new_parent: &Rc<Dentry>, new_name: &[u8]) {
        self.leave_parent();
        self.arrive(new_parent, new_name);
    }

    /// Two dentries have changed places.
    pub fn exchange(one: &Rc<Self>, other: &Rc<Self>) {
        let (one_parent, one_name) = (one.parent(), one.name());
        let (other_parent, other_name) = (other.parent(), other.name());
        one.leave_parent();
        other.leave_parent();
        if let (Some(one_parent), Some(other_parent)) = (one_parent, other_parent) {
            one.arrive(&other_parent, &other_name);
            other.arrive(&one_parent, &one_name);
        }
    }

    /// Takes this dentry out of what its parent remembers, if it is there.
    fn leave_parent(self: &Rc<Self>) {
        let Some(parent) = self.parent() else { return };
        let name = self.name();
        let is_known =
            parent.children.borrow().get(&name).is_some_and(|known| Rc::ptr_eq(known, self));
        if is_known {
            parent.forget(&name);
        }
    }

    fn arrive(self: &Rc<Self>, new_parent: &Rc<Dentry>, new_name: &[u8]) {
        let name: Rc<[u8]> = Rc::from(new_name);
        *self.place.borrow_mut() =
            Place { name: Rc::clone(&name), parent: Some(Rc::clone(new_parent)) };
        let replaced = new_parent.children.borrow_mut().insert(name, Rc::clone(self));
        drop(replaced);
    }

    /// Forgets everything beneath, as when a file system is unmounted. Without it, parents and
    /// children would keep each other.
    pub fn forget_children(&self) {
        let mut pending: Vec<Rc<Dentry>> =
            std::mem::take(&mut *self.children.borrow_mut()).into_values().collect();
        while let Some(dentry) = pending.pop() {
            pending.extend(std::mem::take(&mut *dentry.children.borrow_mut()).into_values());
        }
    }
}

impl Drop for Dentry {
    /// Lets go of the parents in a loop: a guest can make a chain of directories that is longer
    /// than the stack is deep.
    fn drop(&mut self) {
        if self.tells_of_end.get()
            && let Some(inode) = &self.inode
        {
            notify::of_inode(&**inode, Event::DeleteSelf);
        }
        let mut parent = self.place.get_mut().parent.take();
        while let Some(dentry) = parent {
            parent = match Rc::into_inner(dentry) {
                Some(mut dentry) => dentry.place.get_mut().parent.take(),
                None => None,
            };
        }
    }
}

/// Whether all dentries together take more than their part of the sandbox's memory, or nothing is left of it.
fn takes_too_much() -> bool {
    let is_large = |limit| ledger::held_by(Kind::Dentries) > limit / MEMORY_PART;
    ledger::limit().is_some_and(is_large) || ledger::room() == 0
}

/// Puts a new dentry on the list of those that the sweep may forget, and sweeps a little if the
/// list is long.
fn remember(dentry: &Rc<Dentry>) {
    REMEMBERED.with_borrow_mut(|list| list.push_back(Rc::downgrade(dentry)));
    for _ in 0..SWEEP_STEPS {
        let candidate = REMEMBERED.with_borrow_mut(|list| {
            if list.len() > MAX_REMEMBERED || takes_too_much() { list.pop_front() } else { None }
        });
        let Some(candidate) = candidate else { return };
        let Some(candidate) = candidate.upgrade() else { continue };
        // In use: by its parent's memory, by this function, and by somebody else.
        let is_used = Rc::strong_count(&candidate) > 2 || candidate.is_mount_point();
        if is_used || candidate.is_recent.replace(false) {
            REMEMBERED.with_borrow_mut(|list| list.push_back(Rc::downgrade(&candidate)));
        } else if let Some(parent) = candidate.parent() {
            parent.forget(&candidate.name());
        }
    }
}
