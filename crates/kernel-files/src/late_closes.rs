//! Closes files of the host while nobody waits for the kernel.
//!
//! A close can take longer than an open: the host then finds the blocks of what was written, or
//! frees those of a file that has no name any more. No guest has to wait for that. The kernel closes
//! them while a guest is busy, and all of them before it sleeps: as long as one is open that was
//! written, nobody on the host can run it, and a removed one takes room on the disk.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::rc::Rc;

/// So many may wait; more are closed at once.
const MAX_WAITING: usize = 64;

/// So many stay open until the kernel sleeps: what was read is often opened again at once.
const KEPT_AWAKE: usize = 16;

thread_local! {
    /// The kernel has one thread, so these are those of the sandbox. Oldest first.
    static WAITING: RefCell<VecDeque<Rc<OwnedFd>>> = const { RefCell::new(VecDeque::new()) };
}

/// Lets go of a file. If nobody else uses it, it is closed a little later.
pub(crate) fn let_go(file: Rc<OwnedFd>) {
    if Rc::strong_count(&file) == 1 {
        add(file);
    }
}

/// Keeps a file open for a moment, in which somebody will likely use it.
pub(crate) fn hold(file: &Rc<OwnedFd>) {
    add(Rc::clone(file));
}

fn add(file: Rc<OwnedFd>) {
    let overdue = WAITING.with_borrow_mut(|waiting| {
        waiting.push_back(file);
        if waiting.len() > MAX_WAITING { waiting.pop_front() } else { None }
    });
    drop(overdue);
}

/// Closes the one that waits longest, if several do. Called when nobody waits for the kernel.
#[inline]
pub fn close_one() {
    let oldest = WAITING.with_borrow_mut(|waiting| {
        if waiting.len() > KEPT_AWAKE { waiting.pop_front() } else { None }
    });
    drop(oldest);
}

/// Closes all of them.
pub fn close_all() {
    let all = WAITING.with_borrow_mut(std::mem::take);
    drop(all);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Rc<OwnedFd> {
        Rc::new(std::fs::File::open("/dev/null").unwrap().into())
    }

    fn n_waiting() -> usize {
        WAITING.with_borrow(VecDeque::len)
    }

    #[test]
    fn what_nobody_uses_is_closed_later() {
        let (used, unused) = (file(), file());
        let is_open = Rc::downgrade(&unused);
        let_go(Rc::clone(&used));
        assert_eq!(n_waiting(), 0, "somebody else has it");
        let_go(unused);
        for _ in 1..KEPT_AWAKE {
            let_go(file());
        }
        close_one();
        assert!(is_open.upgrade().is_some(), "it may be opened again");
        let_go(file());
        close_one();
        assert!(is_open.upgrade().is_none());
        close_one();
        assert_eq!(n_waiting(), KEPT_AWAKE);
        close_all();
        assert_eq!(n_waiting(), 0);
    }

    #[test]
    fn not_too_many_wait() {
        let first = file();
        let is_open = Rc::downgrade(&first);
        let_go(first);
        for _ in 0..MAX_WAITING {
            let_go(file());
        }
        assert!(is_open.upgrade().is_none());
        assert_eq!(n_waiting(), MAX_WAITING);
        close_all();
        assert_eq!(n_waiting(), 0);
    }
}
