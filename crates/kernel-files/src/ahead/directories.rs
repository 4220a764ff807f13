//! Lists the directory that will most likely be listed next.
//!
//! Programs that go through a tree list a directory, and then its subdirectories in that order,
//! each with everything beneath it. What was found out ahead is kept as every [listing](listings)
//! is: whoever lists the directory then asks whether it is still the same.

#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use kernel_core::moment;

use super::{ENOUGH, MOST, PENALTY};
use crate::dentry::Dentry;
use crate::listings;

/// A directory that stores more than this is not listed ahead.
const MAX_STORED: u64 = 64 << 10;
/// No more than this is listed ahead.
const MAX_AHEAD: usize = 32 << 10;
/// How deep a walk is followed.
const MAX_LEVELS: usize = 32;
/// The names of subdirectories that are remembered of one directory.
const MAX_NAMES: usize = 8 << 10;

/// A directory of the walk, and those of its subdirectories that were not listed yet.
struct Level {
    directory: Weak<Dentry>,
    /// Each ends with a zero byte.
    names: Vec<u8>,
    /// Where the next one begins.
    at: usize,
}

impl Level {
    fn next_name(&self) -> Option<&[u8]> {
        self.names.get(self.at..)?.split(|&byte| byte == 0).next().filter(|name| !name.is_empty())
    }

    /// This subdirectory has been listed: those after it are next.
    fn pass(&mut self, name: &[u8]) {
        let before = self.at;
        while let Some(next) = self.next_name() {
            let is_this = next == name;
            self.at += next.len() + 1;
            if is_this {
                return;
            }
        }
        self.at = before;
    }
}

#[derive(Default)]
struct Walk {
    /// From the top to the directory that was listed last.
    levels: Vec<Level>,
    /// How many guesses were right of late.
    credit: u8,
}

thread_local! {
    /// The kernel has one thread, so this is one per sandbox.
    static WALK: RefCell<Walk> = RefCell::default();
    /// Whether there is something to be listed.
    static IS_WANTED: Cell<bool> = const { Cell::new(false) };
}

/// A directory was listed from its start, with these names in the form of `getdents64`: guesses
/// which one comes next.
pub(crate) fn listed(directory: &Rc<Dentry>, packed: &[u8]) {
    WALK.with_borrow_mut(|walk| {
        walk.enter(directory);
        let names = listings::directories_in(packed, MAX_NAMES);
        if !names.is_empty() {
            if walk.levels.len() == MAX_LEVELS {
                walk.levels.remove(0);
            }
            walk.levels.push(Level { directory: Rc::downgrade(directory), names, at: 0 });
        }
        IS_WANTED.set(walk.credit >= ENOUGH && walk.next().is_some());
    });
}

/// Lists ahead, if there is something to be listed. Called when nobody waits for the kernel.
#[inline]
pub(super) fn list() {
    if IS_WANTED.replace(false) {
        let next = WALK.with_borrow_mut(|walk| {
            let (directory, name) = walk.next()?;
            Some((directory.upgrade()?, Rc::<[u8]>::from(name)))
        });
        if let Some((directory, name)) = next {
            list_in(&directory, &name);
        }
    }
}

#[cold]
fn list_in(parent: &Rc<Dentry>, name: &[u8]) {
    // What is found out now is not of the call before.
    moment::pass();
    let Ok(dentry) = parent.child(name) else { return };
    // Another file system hides what is there.
    let Some(inode) = dentry.inode_if_any().filter(|_| !dentry.is_mount_point()) else { return };
    let Some(directory) = inode.directory() else { return };
    if directory.stored_size().is_some_and(|size| size <= MAX_STORED) {
        directory.learn_names();
        listings::refresh(&**inode, directory, MAX_AHEAD);
    }
}

impl Walk {
    /// The directory that is expected to be listed next: its parent and its name there.
    fn next(&mut self) -> Option<(&Weak<Dentry>, &[u8])> {
        while self.levels.last()?.next_name().is_none() {
            self.levels.pop();
        }
        let level = self.levels.last()?;
        Some((&level.directory, level.next_name()?))
    }

    /// A directory has been listed: goes to the level that it is in, or starts anew.
    fn enter(&mut self, directory: &Rc<Dentry>) {
        let (parent, name) = (directory.parent(), directory.name());
        let parent = parent.as_ref().map_or(std::ptr::null(), Rc::as_ptr);
        let guess = self.next().map(|(guess, next)| guess.as_ptr() == parent && *next == *name);
        match guess {
            Some(true) => self.credit = (self.credit + 1).min(MOST),
            Some(false) => self.credit = self.credit.saturating_sub(PENALTY),
            None => {}
        }
        let level = self.levels.iter().rposition(|level| level.directory.as_ptr() == parent);
        self.levels.truncate(level.map_or(0, |level| level + 1));
        if let Some(level) = self.levels.last_mut() {
            level.pass(&name);
        }
    }
}
