//! The end of a thread.

use std::cell::RefCell;
use std::rc::Rc;

use kernel_core::wait::PollEvents;
use kernel_events::futex::mark_locks;
use kernel_files::FdTable;
use linux_abi::signals::SigSet;
use linux_abi::tasks::ExitStatus;

use super::Thread;

impl Thread {
    /// Ends this thread, as `exit` does. The last thread takes the process with it.
    pub fn exit(self: &Rc<Self>, status: ExitStatus) {
        if self.has_exited() {
            return;
        }
        self.exit_status.set(status);
        if self.process.n_threads() == 1 {
            self.process.exit(status);
            return;
        }
        self.leave();
        self.machine().kill_thread();
        self.process.thread_left(self.tid());
        // A signal that this thread was to take needs another taker.
        let mut waiting = self.process.signals.pending();
        while let Some(signal) = waiting.lowest() {
            waiting = waiting.without(SigSet::of(signal));
            self.process.kick_one(signal);
        }
    }

    /// Gives back what a thread has: its id, its queue, its share of the descriptors.
    pub(crate) fn leave(self: &Rc<Self>) {
        if self.exited.replace(true) {
            return;
        }
        self.abandon_locks();
        self.process.remove_thread(self.tid());
        self.kernel.ids.forget_thread(self.tid());
        self.kernel.uncharge_task();
        self.process.cgroup().uncharge_thread();
        self.pending.discard(SigSet(u64::MAX), &self.kernel.queued_signals);
        self.leave_tree();
        drop(self.take_continuation());
        self.leave_tracing();
        self.process.ended_io.set(self.process.ended_io.get().plus(self.io_account()));
        self.process.thread_ended.wake(PollEvents::READABLE);
        let files = std::mem::take(&mut *self.files.borrow_mut());
        close_if_last(&files);
    }
}

impl Thread {
    /// Gives back the locks of a thread that is killed. One that ends by itself has done so.
    fn abandon_locks(&self) {
        let list = self.machine().robust_list();
        if list == 0 || !mark_locks(&self.memory(), list, self.tid()) {
            return;
        }
        // Only the host knows who sleeps on which word, so all look again.
        for process in self.kernel.ids.processes() {
            for thread in process.threads() {
                thread.machine().kick();
            }
        }
    }

    /// Lets go of its place in the tree, so that what it was in can be unmounted.
    fn leave_tree(&self) {
        let first = self.kernel.first().and_then(|process| process.any_thread());
        if let Some(nowhere) = first.and_then(|thread| thread.fs().at_top().ok()) {
            self.set_fs(nowhere);
        }
    }
}

/// Closes every descriptor of a table that nobody else uses.
pub(crate) fn close_if_last(files: &Rc<RefCell<FdTable>>) {
    if Rc::strong_count(files) > 1 {
        return;
    }
    let open = files.borrow_mut().remove_all();
    let id = files.borrow().id();
    for file in open {
        // As `close` at exit: errors of the last write-back have nobody to go to.
        let _ = kernel_files::descriptors::close(&file, id);
    }
}
