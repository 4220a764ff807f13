//! Another program in the same process.

use std::rc::Rc;

use kernel_core::credentials::Credentials;
use kernel_core::wait::PollEvents;
use kernel_files::text_busy::InUse;
use linux_abi::SysResult;
use linux_abi::signals::Signal;

use super::Thread;
use crate::machine::Image;
use crate::process::{Flags, Program};
use crate::ptrace::AllowedTracer;

/// What `execve` has found and made.
pub struct NewProgram {
    /// The program, ready to be mapped.
    pub image: Image,
    /// What `/proc` tells of it.
    pub program: Program,
    /// The right to run the file.
    pub in_use: InUse,
    /// The name of the thread from now on.
    pub name: Vec<u8>,
    /// Who the thread is from now on.
    pub credentials: Rc<Credentials>,
    /// The file's bits changed who the thread is, or the file cannot be read: others may not look
    /// inside.
    pub is_secret: bool,
}

impl Thread {
    /// Replaces the program. All other threads of the process end. The host process of the old
    /// program goes away when it reads the reply of the call that is under way.
    ///
    /// If this fails nothing has changed.
    pub fn exec(self: &Rc<Self>, new: NewProgram) -> SysResult<()> {
        let old = self.machine();
        let machine = old.exec(new.image)?;
        let process = Rc::clone(&self.process);
        process.charge_own_time();
        process.set_flag(Flags::IN_PARENTS_MEMORY, false);
        self.end_other_threads();
        let old_id = self.tid();
        self.take_leader_id();

        machine.set_signal_mask(old.signal_mask());
        *self.machine.borrow_mut() = machine;
        self.waits_for.set(Default::default());
        drop(self.take_continuation());

        self.unshare_files();
        self.unshare_fs();
        let closed = self.files().borrow_mut().remove_close_on_exec();
        let table = self.files().borrow().id();
        for file in closed {
            // Errors of the last write-back have nobody to go to.
            let _ = kernel_files::descriptors::close(&file, table);
        }

        self.kernel.namespaces.process_executed(process.pid);
        process.timers.delete_posix();
        process.aio.destroy_all();
        process.signals.reset_caught();
        process.set_exit_signal(Some(Signal::SIGCHLD));
        process.set_flag(Flags::EXECUTED, true);
        process.set_flag(Flags::DUMPABLE, !new.is_secret);
        process.set_program(Rc::new(new.program));
        process.set_executable_in_use(Some(Rc::new(new.in_use)));
        self.set_name(&new.name);
        if new.is_secret {
            self.set_parent_death_signal(None);
        }
        *self.credentials.borrow_mut() = new.credentials;
        self.machine().attach(self);
        self.program_was_replaced(old_id.0);
        self.publish();
        process.set_flag(Flags::HOLDS_PARENT, false);
        process.left_memory().wake(PollEvents::IN);
        Ok(())
    }

    fn end_other_threads(self: &Rc<Self>) {
        for other in self.process.threads() {
            if Rc::ptr_eq(&other, self) {
                continue;
            }
            let machine = other.machine();
            other.leave();
            machine.kill_thread();
        }
    }

    /// The thread that calls `execve` becomes the first thread of its process.
    fn take_leader_id(self: &Rc<Self>) {
        let (old, new) = (self.tid(), self.process.pid);
        if old == new {
            return;
        }
        // As on Linux, what the former first thread has allowed goes with it.
        self.process.allow_tracer(AllowedTracer::Nobody);
        self.process.remove_thread(old);
        self.kernel.ids.forget_thread(old);
        self.tid.set(new);
        self.kernel.ids.name_thread(new, self);
        self.process.add_thread(self);
        self.process.thread_ended.wake(PollEvents::READABLE); // whoever had the old id is gone
    }
}
