//! Reads the file that will most likely be opened next, while the kernel has nothing else to do,
//! and [lists](directories) the directory that will most likely be listed next.
//!
//! Programs that go through a tree list a directory and then open its files in the order of the
//! list. Between two of them the guest is busy with the first, and the kernel waits; it opens and
//! reads the second one meanwhile. Only files that never change are read ahead, and only while the
//! guesses are right. Who may open a file is decided when it is opened, as for any other.

pub(crate) mod directories;
#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use crate::dentry::Dentry;
use crate::inode::Inode;
use crate::mount::Location;

/// The longest file that is read ahead.
const MAX_AHEAD: usize = 48 << 10;
/// So many guesses have to be right before one is acted upon.
const ENOUGH: u8 = 2;
/// More right guesses than this are not counted.
const MOST: u8 = 4;
/// What a wrong guess costs.
const PENALTY: u8 = 2;

/// A file that may be opened next: its directory and its name there.
struct Guess {
    directory: Weak<Dentry>,
    name: Rc<[u8]>,
}

#[derive(Default)]
struct Ahead {
    guess: Option<Guess>,
    /// How many guesses were right of late.
    credit: u8,
    /// Whose content was read.
    inode: Option<Weak<dyn Inode>>,
    length: usize,
    buffer: Vec<u8>,
}

thread_local! {
    /// The kernel has one thread, so this is one per sandbox.
    static AHEAD: RefCell<Ahead> = RefCell::default();
    /// Whether there is something to be read.
    static IS_WANTED: Cell<bool> = const { Cell::new(false) };
}

/// A file that never changes was opened for reading: guesses which one comes next.
pub fn opened(location: &Location) {
    let Some(directory) = location.dentry.parent() else { return };
    let name = location.dentry.name();
    let names = directory.inode_if_any().and_then(|inode| inode.directory());
    let next = names.and_then(|names| names.file_after(&name));
    AHEAD.with_borrow_mut(|ahead| {
        if let Some(guess) = &ahead.guess
            && guess.directory.as_ptr() == Rc::as_ptr(&directory)
        {
            ahead.credit = match guess.name == name {
                true => (ahead.credit + 1).min(MOST),
                false => ahead.credit.saturating_sub(PENALTY),
            };
        }
        ahead.guess = next.map(|name| Guess { directory: Rc::downgrade(&directory), name });
        IS_WANTED.set(ahead.guess.is_some() && ahead.credit >= ENOUGH);
    });
}

/// Reads and lists ahead, if there is something to be read or listed. Called when nobody waits for
/// the kernel.
#[inline]
pub fn read() {
    if IS_WANTED.replace(false) {
        AHEAD.with_borrow_mut(Ahead::read);
    }
    directories::list();
}

impl Ahead {
    #[cold]
    fn read(&mut self) {
        self.inode = None;
        let Some(guess) = &self.guess else { return };
        let Some(directory) = guess.directory.upgrade() else { return };
        let Ok(dentry) = directory.child(&guess.name) else { return };
        let Some(inode) = dentry.inode_if_any() else { return };
        let Some(content) = inode.content().filter(|_| inode.is_frozen()) else { return };
        let size = content.size().ok().and_then(|size| usize::try_from(size).ok());
        let Some(size) = size.filter(|&size| size <= MAX_AHEAD) else { return };
        self.buffer.resize(MAX_AHEAD, 0);
        if let Some(buffer) = self.buffer.get_mut(..size)
            && content.read_if_warm(buffer)
        {
            self.length = size;
            self.inode = Some(Rc::downgrade(inode));
        }
    }
}

/// Runs `run` on the content of a file, if it was read ahead and has not been copied since.
pub fn with_content<T>(inode: &Rc<dyn Inode>, run: impl FnOnce(&[u8]) -> T) -> Option<T> {
    AHEAD.with_borrow(|ahead| {
        let read = ahead.inode.as_ref().and_then(Weak::upgrade);
        let is_this = read.is_some_and(|read| Rc::ptr_eq(&read, inode) && inode.is_frozen());
        is_this.then(|| ahead.buffer.get(..ahead.length).map(run)).flatten()
    })
}
