//! Tells those who watch what happens to files.
//!
//! Everything that changes a file calls in here. Most sandboxes watch nothing, and then each call
//! is one comparison.

use std::cell::{Cell, RefCell};
use std::rc::Weak;

use crate::inode::Inode;
use crate::inotify::Inotify;
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

    const fn cookie(self) -> u32 {
        match self {
            Self::MovedFrom(cookie) | Self::MovedTo(cookie) => cookie,
            _ => 0,
        }
    }
}

/// Those who watch an inode; hangs on it.
#[derive(Default)]
pub(crate) struct Watchers {
    pub(crate) list: RefCell<Vec<(Weak<Inotify>, i32)>>,
}

thread_local! {
    static N_WATCHES: Cell<usize> = const { Cell::new(0) };
    static NEXT_COOKIE: Cell<u32> = const { Cell::new(1) };
}

pub(crate) fn count_watch(change: isize) {
    N_WATCHES.set(N_WATCHES.get().saturating_add_signed(change));
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

fn send(inode: &dyn Inode, event: Event, name: &[u8], is_directory: bool) {
    let Some(watchers) = inode.attachments().get::<Watchers>() else { return };
    let directory = if is_directory { IS_DIRECTORY } else { 0 };
    let list = watchers.list.borrow().clone();
    for (inotify, watch) in list {
        if let Some(inotify) = inotify.upgrade() {
            inotify.happened(watch, event.mask(), directory, event.cookie(), name);
        }
    }
}

/// Something happened to a file at a known place: tells those who watch it or its directory.
pub fn at(location: &Location, event: Event) {
    if !is_watched() {
        return;
    }
    let Ok(inode) = location.inode() else { return };
    let is_directory = inode.kind() == FileKind::Directory;
    if let Some(parent) = location.dentry.parent()
        && !location.dentry.is_unlinked()
        && let Ok(directory) = parent.inode()
    {
        send(&**directory, event, &location.dentry.name(), is_directory);
    }
    send(&**inode, event, b"", is_directory);
}

/// Something happened through an open file.
pub fn of_file(file: &OpenFile, event: Event) {
    if is_watched()
        && let Some(location) = file.location()
    {
        at(location, event);
    }
}

/// Something happened to a name in a directory.
pub fn in_directory(directory: &dyn Inode, event: Event, name: &[u8], is_directory: bool) {
    if is_watched() {
        send(directory, event, name, is_directory);
    }
}

/// Something happened to a file itself, whatever its names.
pub fn of_inode(inode: &dyn Inode, event: Event) {
    if is_watched() {
        send(inode, event, b"", false);
    }
}
