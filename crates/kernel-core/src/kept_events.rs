//! What guests may remember of an answer about readiness, and when they must ask again.
//!
//! A program that asks an epoll twice, while nothing has happened, gets one answer. The shim keeps
//! it for as long as a count stands still that the kernel moves, and shows, at once when the answer
//! could be another one:
//!
//! - *nothing is ready* stays true until a file says otherwise to its epoll, which is what epolls
//!   live by;
//! - *these are ready* may cease to be true without a word from the file. So it holds only while
//!   the kernel does nothing but answer questions: any other call, timer or news of the host
//!   [may have taken](may_be_taken) readiness away.
//!
//! The count moves only if an answer that ends with it may have been kept.

use std::cell::{Cell, RefCell};

/// Shows the count to guests.
type Board = Box<dyn Fn(u64)>;

thread_local! {
    // From 1 on: 0 in a guest means that nothing is kept.
    static COUNT: Cell<u64> = const { Cell::new(1) };
    static N_TAKEN: Cell<u64> = const { Cell::new(0) };
    static TELLS_OF_READY: Cell<bool> = const { Cell::new(false) };
    static HOLDS_AT: Cell<Option<u64>> = const { Cell::new(None) };
    static BOARD: RefCell<Option<Board>> = const { RefCell::new(None) };
}

/// What an answer said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// Nothing is ready.
    Nothing,
    /// Something is.
    Ready,
}

/// Has the count shown to guests with `board`, from now on.
pub fn show_on(board: impl Fn(u64) + 'static) {
    board(COUNT.get());
    BOARD.set(Some(Box::new(board)));
}

/// An epoll of which an answer may have been kept has changed.
pub fn changed() {
    let count = COUNT.get() + 1;
    COUNT.set(count);
    BOARD.with_borrow(|board| {
        if let Some(board) = board {
            board(count);
        }
    });
}

/// Something happened by which a file may have ceased to be ready.
pub fn may_be_taken() {
    N_TAKEN.set(N_TAKEN.get() + 1);
    if TELLS_OF_READY.replace(false) {
        changed();
    }
}

/// How often that was.
pub fn n_taken() -> u64 {
    N_TAKEN.get()
}

/// A call begins or goes on: what was said of others is not about it.
pub fn begin() {
    HOLDS_AT.set(None);
}

/// The answer of the call under way holds until the count moves.
pub fn keep(said: Said) {
    if said == Said::Ready {
        TELLS_OF_READY.set(true);
    }
    HOLDS_AT.set(Some(COUNT.get()));
}

/// The count for which the answer of the call under way holds, if it may be kept.
pub fn holds_at() -> Option<u64> {
    HOLDS_AT.take()
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;

    #[test]
    fn what_is_ready_holds_until_something_happens() {
        let shown = Rc::new(Cell::new(0));
        let board = Rc::clone(&shown);
        show_on(move |count| board.set(count));
        begin();
        keep(Said::Ready);
        let at = holds_at();
        assert_eq!(at, Some(shown.get()));
        assert_eq!(holds_at(), None);
        may_be_taken();
        assert_ne!(at, Some(shown.get()));
    }

    #[test]
    fn the_count_stands_still_if_nobody_kept_what_it_ends() {
        let count = || {
            keep(Said::Nothing);
            holds_at()
        };
        let before = count();
        may_be_taken();
        assert_eq!(count(), before);
        changed();
        assert_ne!(count(), before);
    }
}
