//! `F_NOTIFY`, which is older than inotify: a directory whose changes are told by a signal.

use std::cell::Cell;
use std::rc::{Rc, Weak};

use crate::inode::Inode;
use crate::notify::{Event, Watcher, Watchers};

/// What a directory is watched for: the `DN_*` bits.
pub mod change {
    /// A file in it was read.
    pub const ACCESS: u32 = 1;
    /// A file in it was written or truncated.
    pub const MODIFY: u32 = 2;
    /// A file came into it.
    pub const CREATE: u32 = 4;
    /// A file left it.
    pub const DELETE: u32 = 8;
    /// A file in it got another name in it.
    pub const RENAME: u32 = 0x10;
    /// Attributes of a file in it changed.
    pub const ATTRIB: u32 = 0x20;
    /// Not only the first change is told.
    pub const MULTISHOT: u32 = 0x8000_0000;
}

/// Each has one watch, of this number.
const WATCH: i32 = 0;

/// The watch of one directory; ends when it is dropped.
pub struct Dnotify {
    directory: Rc<dyn Inode>,
    /// Bits of [`change`].
    wanted: Cell<u32>,
    /// The last file that moved away, which may be about to get another name here.
    last_moved: Cell<Option<u32>>,
    tell: Box<dyn Fn()>,
    this: Weak<Dnotify>,
}

impl Dnotify {
    /// Calls `tell` after each of the `wanted` changes in `directory`.
    pub fn new(directory: &Rc<dyn Inode>, wanted: u32, tell: impl Fn() + 'static) -> Rc<Self> {
        let watch = Rc::new_cyclic(|this| Self {
            directory: Rc::clone(directory),
            wanted: Cell::new(wanted),
            last_moved: Cell::new(None),
            tell: Box::new(tell),
            this: this.clone(),
        });
        let this: Weak<dyn Watcher> = watch.this.clone();
        Watchers::add(&**directory, this, WATCH);
        watch
    }

    /// Watches for these changes too.
    pub fn add(&self, wanted: u32) {
        self.wanted.set(self.wanted.get() | wanted);
    }

    /// Which changes an event is.
    fn changes(&self, event: Event) -> u32 {
        match event {
            Event::Access => change::ACCESS,
            Event::Modify => change::MODIFY,
            Event::Attrib => change::ATTRIB,
            Event::Create => change::CREATE,
            Event::Delete => change::DELETE,
            Event::MovedFrom(cookie) => {
                self.last_moved.set(Some(cookie));
                change::DELETE
            }
            Event::MovedTo(cookie) if self.last_moved.take() == Some(cookie) => {
                change::CREATE | change::RENAME
            }
            Event::MovedTo(_) => change::CREATE,
            _ => 0,
        }
    }
}

impl Watcher for Dnotify {
    fn happened(&self, _number: i32, event: Event, _flags: u32, name: &[u8]) {
        // What happens to the directory itself is not told.
        if name.is_empty() || self.changes(event) & self.wanted.get() == 0 {
            return;
        }
        if self.wanted.get() & change::MULTISHOT == 0 {
            self.wanted.set(0);
        }
        (self.tell)();
    }
}

impl Drop for Dnotify {
    fn drop(&mut self) {
        let this: Weak<dyn Watcher> = self.this.clone();
        Watchers::remove(&*self.directory, &this, WATCH);
    }
}
