//! The signal mask of a thread, which lives in memory that its shim shares with the kernel.

use std::future::Future;

use linux_abi::signals::SigSet;
use linux_abi::{Errno, Interrupted, WaitResult};

use crate::Thread;

impl Thread {
    /// Which signals are blocked now.
    pub fn mask(&self) -> SigSet {
        SigSet(self.machine().signal_mask()).without(SigSet::UNBLOCKABLE)
    }

    /// Replaces the mask.
    pub fn set_mask(&self, mask: SigSet) {
        self.machine().set_signal_mask(mask.without(SigSet::UNBLOCKABLE).0);
    }

    /// Runs a call under another mask, as `ppoll`, `pselect`, `epoll_pwait` and `sigsuspend` do.
    ///
    /// If a signal ends the call, also one that answers it with `EINTR` for good, the mask stays
    /// until that signal is delivered: its handler runs under it, and returns to the old one. In
    /// all other cases the old one is back at once.
    pub async fn with_mask<T>(
        &self,
        mask: Option<SigSet>,
        call: impl Future<Output = WaitResult<T>>,
    ) -> WaitResult<T> {
        let Some(mask) = mask else { return call.await };
        self.saved_mask.set(Some(self.mask()));
        self.set_mask(mask);
        let result = call.await;
        if !matches!(result, Err(Interrupted::Signal(_) | Interrupted::Errno(Errno::EINTR))) {
            self.restore_mask();
        }
        result
    }

    /// Puts the mask back that a temporary one has replaced.
    pub(crate) fn restore_mask(&self) {
        if let Some(mask) = self.saved_mask.take() {
            self.set_mask(mask);
        }
    }
}
