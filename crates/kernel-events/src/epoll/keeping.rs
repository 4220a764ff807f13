//! Whether a caller may keep what a wait has told it: see [`kernel_core::kept_events`].
//!
//! Only what is told a second time in a row is to be kept. A server that waits, reads, writes and
//! waits again never comes so far, and pays nothing for those that poll.

use std::cell::Cell;

use kernel_core::kept_events::{self, Said};

/// What was told last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Nothing,
    /// With what may have been [taken away](kept_events::n_taken) until then.
    Ready(u64),
}

/// What an epoll knows of its last answer.
#[derive(Default)]
pub(super) struct Keeping {
    /// The last answer, if nothing in the epoll has changed since.
    told: Cell<Option<Told>>,
    /// Somebody may have kept it.
    is_kept: Cell<bool>,
}

impl Keeping {
    /// Something changed by which the next answer may be another one.
    pub(super) fn end(&self) {
        self.told.set(None);
        if self.is_kept.replace(false) {
            kept_events::changed();
        }
    }

    /// Everything that is ready was told, and would be again.
    pub(super) fn told_of_ready(&self) {
        self.tell(Told::Ready(kept_events::n_taken()), Said::Ready);
    }

    /// Nothing was ready, and the caller did not want to wait.
    pub(super) fn told_of_nothing(&self) {
        self.tell(Told::Nothing, Said::Nothing);
    }

    fn tell(&self, told: Told, said: Said) {
        if self.told.replace(Some(told)) == Some(told) {
            self.is_kept.set(true);
            kept_events::keep(said);
        }
    }
}
