//! Host files that stay open after their last use, because they will likely be opened again.
//!
//! A descriptor saves the host's walk to the file, which is half of what opening it costs. Files that
//! never change stay for good, as long as there is room; a tree that is larger than that, gone through
//! again and again, finds a part of itself here rather than nothing. Others are
//! [closed soon](crate::late_closes), but for those that could not be opened again.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use crate::late_closes;

/// How many files stay open for a short while.
const MAX_RECENT: usize = 128;

/// How many files stay open for good.
const MAX_KEPT: usize = 32 << 10;

/// So many descriptors are left for everything else, and a quarter of the rest.
const SPARE: u64 = 1024;

/// When there is no room left, one file in so many takes the place of another.
const REPLACING: usize = 8;

/// What may be done with a file once it is not recent any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Afterwards {
    /// It never changes, so it may stay open.
    Keep,
    /// It cannot be opened again, and must not stay open for good: it may be removed, and takes room
    /// on the host's disk as long as it is open.
    Close,
}

#[derive(Default)]
struct RecentFiles {
    recent: VecDeque<(Rc<OwnedFd>, Afterwards)>,
    kept: Vec<Rc<OwnedFd>>,
    /// How many may be kept, once that is known.
    room: Option<usize>,
    /// How many files came when there was no room.
    n_late: usize,
}

thread_local! {
    /// The kernel has one thread, so these are those of the sandbox.
    static FILES: RefCell<RecentFiles> = RefCell::default();
}

/// A file was opened.
pub(super) fn add(file: &Rc<OwnedFd>, afterwards: Afterwards) {
    FILES.with_borrow_mut(|files| files.add(Rc::clone(file), afterwards));
}

/// Closes all that nobody uses.
pub(super) fn close_all() {
    FILES.with_borrow_mut(|files| {
        files.recent.clear();
        files.kept.clear();
    });
}

/// Finds out how many files may be kept. To be called before the filter of the kernel process is
/// there.
pub(super) fn prepare() {
    let share = host_sys::file_limit().saturating_sub(SPARE) / 4;
    let room =
        usize::try_from(share).map_or(MAX_KEPT, |share| share.saturating_mul(3).min(MAX_KEPT));
    FILES.with_borrow_mut(|files| files.room = Some(room));
}

impl RecentFiles {
    fn add(&mut self, file: Rc<OwnedFd>, afterwards: Afterwards) {
        self.recent.push_back((file, afterwards));
        if self.recent.len() > MAX_RECENT {
            match self.recent.pop_front() {
                Some((oldest, Afterwards::Keep)) => self.keep(oldest),
                Some((oldest, Afterwards::Close)) => late_closes::let_go(oldest),
                None => {}
            }
        }
    }

    fn keep(&mut self, file: Rc<OwnedFd>) {
        let room = self.room.unwrap_or(0);
        if self.kept.len() < room {
            self.kept.push(file);
            return;
        }
        self.n_late = self.n_late.wrapping_add(1);
        if self.n_late.is_multiple_of(REPLACING)
            && let Some(other) = self.kept.get_mut((self.n_late / REPLACING) % room.max(1))
        {
            late_closes::let_go(std::mem::replace(other, file));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Rc<OwnedFd> {
        Rc::new(std::fs::File::open("/dev/null").unwrap().into())
    }

    #[test]
    fn what_changes_is_closed_and_what_does_not_stays_while_there_is_room() {
        let mut files = RecentFiles { room: Some(10), ..Default::default() };
        let changing = file();
        files.add(Rc::clone(&changing), Afterwards::Close);
        let others: Vec<_> = (0..MAX_RECENT + 20).map(|_| file()).collect();
        for other in &others {
            files.add(Rc::clone(other), Afterwards::Keep);
        }
        assert_eq!(Rc::strong_count(&changing), 1);
        assert_eq!(files.kept.len(), 10);
        assert_eq!(files.recent.len(), MAX_RECENT);
        let n_replaced = others.iter().take(10).filter(|it| Rc::strong_count(it) == 1).count();
        assert_eq!(n_replaced, 10 / REPLACING, "a few make room for others");
    }
}
