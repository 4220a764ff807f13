//! Tells those who watch what happens to files.
//!
//! Everything that changes a file calls in here. Most sandboxes watch nothing, and then each call
//! is one comparison.

use std::cell::{Cell, RefCell};
use std::rc::Weak;

use crate::inode::Inode;
use crate::lending;
use crate::metadata::FileKind;
use crate::mount::Location;
use crate::open_file::OpenFile;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of inotify(7)")]
pub enum Event {
    Access,
    Modify,
    Attrib,
    CloseWrite,
    CloseNoWrite,
    Open,
    MovedFrom(u32),
    MovedTo(u32),
    Create,
    Delete,
    DeleteSelf,
    MoveSelf,
}

/// The bit that says that the event is about a directory.
pub const IS_DIRECTORY: u32 = 0x4000_0000;
/// The bit that says that the event came through an open file whose name is gone, and in a watch
/// that it does not want to hear of such.
pub(crate) const EXCLUDES_UNLINKED: u32 = 0x0400_0000;

impl Event {
    /// The bit of this event.
    pub const fn mask(self) -> u32 {
        match self {
            Self::Access => 0x1,
            Self::Modify => 0x2,
            Self::Attrib => 0x4,
            Self::CloseWrite => 0x8,
            Self::CloseNoWrite => 0x10,
            Self::Open => 0x20,
            Self::MovedFrom(_) => 0x40,
            Self::MovedTo(_) => 0x80,
            Self::Create => 0x100,
            Self::Delete => 0x200,
            Self::DeleteSelf => 0x400,
            Self::MoveSelf => 0x800,
        }
    }

    /// What ties it to another event of the same `rename`.
    pub(crate) const fn cookie(self) -> u32 {
        match self {
            Self::MovedFrom(cookie) | Self::MovedTo(cookie) => cookie,
            _ => 0,
        }
    }
}

/// One who watches inodes.
pub(crate) trait Watcher {
    /// Something happened to the inode of watch `number`, or to `name` in it.
    fn happened(&self, number: i32, event: Event, flags: u32, name: &[u8]);
}

/// Those who watch an inode, with the numbers of their watches; hangs on it.
#[derive(Default)]
pub(crate) struct Watchers {
    list: RefCell<Vec<(Weak<dyn Watcher>, i32)>>,
}

impl Watchers {
    /// `watcher` watches `inode` from now on.
    pub(crate) fn add(inode: &dyn Inode, watcher: Weak<dyn Watcher>, number: i32) {
        let watchers = inode.attachments().get_or_attach(Self::default);
        watchers.list.borrow_mut().push((watcher, number));
        N_WATCHES.set(N_WATCHES.get().saturating_add(1));
        // Who watches is told of every read.
        lending::take_all_back();
    }

    /// Ends a watch that was added.
    pub(crate) fn remove(inode: &dyn Inode, watcher: &Weak<dyn Watcher>, number: i32) {
        N_WATCHES.set(N_WATCHES.get().saturating_sub(1));
        let attachments = inode.attachments();
        let Some(watchers) = attachments.get::<Self>() else { return };
        let mut list = watchers.list.borrow_mut();
        list.retain(|(other, its)| *its != number || !other.ptr_eq(watcher));
        let is_last = list.is_empty();
        drop(list);
        if is_last {
            attachments.remove::<Self>();
        }
    }

    /// The number of a watcher's watch of `inode`.
    pub(crate) fn find(inode: &dyn Inode, watcher: &Weak<dyn Watcher>) -> Option<i32> {
        let watchers = inode.attachments().get::<Self>()?;
        let list = watchers.list.borrow();
        list.iter().find(|(other, _)| other.ptr_eq(watcher)).map(|(_, number)| *number)
    }
}

thread_local! {
    static N_WATCHES: Cell<usize> = const { Cell::new(0) };
    static NEXT_COOKIE: Cell<u32> = const { Cell::new(1) };
}

/// Whether anybody watches anything.
pub fn is_watched() -> bool {
    N_WATCHES.get() > 0
}

/// A number that ties the two events of a `rename` together.
pub fn next_cookie() -> u32 {
    let cookie = NEXT_COOKIE.get();
    NEXT_COOKIE.set(cookie.wrapping_add(1).max(1));
    cookie
}

fn flags_of(is_directory: bool) -> u32 {
    if is_directory { IS_DIRECTORY } else { 0 }
}

fn send(inode: &dyn Inode, event: Event, name: &[u8], flags: u32) {
    let Some(watchers) = inode.attachments().get::<Watchers>() else { return };
    let list = watchers.list.borrow().clone();
    for (watcher, number) in list {
        if let Some(watcher) = watcher.upgrade() {
            watcher.happened(number, event, flags, name);
        }
    }
}

/// Something happened to a file at a known place: tells those who watch it or its directory, which
/// hears of it also when the name is gone.
pub fn at(location: &Location, event: Event) {
    if is_watched() {
        tell(location, event, 0);
    }
}

fn tell(location: &Location, event: Event, flags: u32) {
    let Ok(inode) = location.inode() else { return };
    let flags = flags | flags_of(inode.kind() == FileKind::Directory);
    if let Some(parent) = location.dentry.parent()
        && let Ok(directory) = parent.inode()
    {
        send(&**directory, event, &location.dentry.name(), flags);
    }
    send(&**inode, event, b"", flags);
}

/// Something happened through an open file.
pub fn of_file(file: &OpenFile, event: Event) {
    if is_watched()
        && let Some(location) = file.location()
    {
        let is_gone = location.dentry.is_unlinked();
        tell(location, event, if is_gone { EXCLUDES_UNLINKED } else { 0 });
    }
}

/// Something happened to a name in a directory.
pub fn in_directory(directory: &dyn Inode, event: Event, name: &[u8], is_directory: bool) {
    if is_watched() {
        send(directory, event, name, flags_of(is_directory));
    }
}

/// Something happened to a file itself, whatever its names.
pub fn of_inode(inode: &dyn Inode, event: Event) {
    if is_watched() {
        send(inode, event, b"", 0);
    }
}
