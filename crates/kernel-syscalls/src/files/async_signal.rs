//! Signals that tell of readiness: `O_ASYNC`, `F_SETOWN`, `F_SETSIG`.
//!
//! The observer of a file hangs on the open file itself, so that both go together.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use kernel_core::credentials::Credentials;
use kernel_core::wait::{Observer, PollEvents, Registration};
use kernel_files::{FileKind, OpenFile};
use kernel_tasks::signals::{send_to_process, send_to_thread};
use kernel_tasks::{Kernel, Process, Thread};
use linux_abi::files::{OpenFlags, owner};
use linux_abi::signals::{SigInfo, Signal, code};
use linux_abi::{Fd, Pid};

/// `si_code` and `si_band`.
type Reason = (i32, i64);

/// What is said of a change in a directory.
pub(super) const MESSAGE: Reason = (code::POLL_MSG, 0x441);

/// Whom an open file tells of readiness, and how.
#[derive(Default)]
pub(super) struct Ownership {
    /// Whether the number is that of a thread, a process or a group.
    pub(super) kind: Cell<i32>,
    /// The number; zero is nobody.
    pub(super) id: Cell<i32>,
    /// The signal; zero is `SIGIO` without details.
    pub(super) signal: Cell<i32>,
    /// Real and effective user of whoever named the owner.
    pub(super) named_by: Cell<(u32, u32)>,
}

impl Ownership {
    /// That of an open file.
    pub(super) fn of(file: &OpenFile) -> Rc<Self> {
        file.attachments().get_or_attach(Self::default)
    }

    /// Whether whoever named the owner could have sent it a signal.
    fn may_signal(&self, target: &Credentials) -> bool {
        let (uid, euid) = self.named_by.get();
        euid == 0 || [target.uid, target.suid].iter().any(|&id| id == uid || id == euid)
    }

    /// Sends the owner its signal.
    pub(super) fn tell(&self, kernel: &Kernel, fd: Fd, reason: Reason) {
        let Ok(id) = u32::try_from(self.id.get()) else { return };
        let id = Pid(id);
        match self.kind.get() {
            owner::TID => {
                let thread = kernel.ids.thread(id);
                if let Some(thread) = thread.filter(|thread| self.may_signal(&thread.credentials()))
                {
                    self.send(fd, reason, |signal, info| send_to_thread(&thread, signal, info));
                }
            }
            owner::PGRP => {
                for member in kernel.ids.group(id).map_or_else(Vec::new, |group| group.members()) {
                    self.tell_process(&member, fd, reason);
                }
            }
            _ => {
                if let Some(process) = kernel.ids.process(id) {
                    self.tell_process(&process, fd, reason);
                }
            }
        }
    }

    fn tell_process(&self, process: &Rc<Process>, fd: Fd, reason: Reason) {
        let thread = process.any_thread();
        if thread.is_some_and(|thread| self.may_signal(&thread.credentials())) {
            self.send(fd, reason, |signal, info| send_to_process(process, signal, info));
        }
    }

    /// Sends the chosen signal with details, and plain `SIGIO` if none is chosen or there is no
    /// room for it in the queue.
    fn send(
        &self,
        fd: Fd,
        (code, band): Reason,
        send: impl Fn(Signal, SigInfo) -> linux_abi::SysResult<()>,
    ) {
        let chosen = u32::try_from(self.signal.get()).ok().and_then(Signal::new);
        if let Some(signal) = chosen
            && send(signal, SigInfo::poll(signal, code, band, fd.0)).is_ok()
        {
            return;
        }
        // The queue of a standard signal has room for one, which is enough.
        let _ = send(Signal::SIGIO, SigInfo::kernel(Signal::SIGIO));
    }
}

/// `si_code` and `si_band` for what has become ready.
fn reason(events: PollEvents) -> Reason {
    let writable = PollEvents::WRITABLE | PollEvents::WRBAND;
    let (code, band) = if events.intersects(PollEvents::READABLE) {
        (code::POLL_IN, PollEvents::READABLE)
    } else if events.intersects(PollEvents::WRITABLE) {
        (code::POLL_OUT, writable)
    } else if events.intersects(PollEvents::PRI) {
        (code::POLL_PRI, PollEvents::PRI | PollEvents::RDBAND)
    } else if events.intersects(PollEvents::HUP | PollEvents::RDHUP) {
        (code::POLL_HUP, PollEvents::HUP | PollEvents::ERR)
    } else {
        (code::POLL_ERR, PollEvents::ERR)
    };
    (code, band.bits().into())
}

/// Watches one open file with `O_ASYNC`.
struct Watch {
    kernel: Weak<Kernel>,
    ownership: Rc<Ownership>,
    /// The descriptor by which the flag was set, which signals name.
    fd: Fd,
    registration: RefCell<Option<Registration>>,
}

impl Observer for Watch {
    fn notify(&self, events: PollEvents) {
        if let Some(kernel) = self.kernel.upgrade() {
            self.ownership.tell(&kernel, self.fd, reason(events));
        }
    }
}

/// The status flags of `file` have been set by way of `fd`: starts or stops its signals.
pub(super) fn flags_changed(thread: &Thread, file: &OpenFile, fd: Fd, old: OpenFlags) {
    let is_on = file.flags().contains(OpenFlags::ASYNC);
    if is_on == old.contains(OpenFlags::ASYNC) {
        return;
    }
    file.attachments().remove::<Watch>();
    // Other kinds of files keep the flag, and send nothing.
    let kind = file.metadata().map(|metadata| metadata.kind());
    let sends = matches!(kind, Ok(FileKind::Socket | FileKind::Fifo | FileKind::CharacterDevice));
    let Some(queue) = file.ops().queue().filter(|_| is_on && sends) else { return };
    let watch = Rc::new(Watch {
        kernel: Rc::downgrade(thread.kernel()),
        ownership: Ownership::of(file),
        fd,
        registration: RefCell::new(None),
    });
    let observer: Weak<dyn Observer> = Rc::downgrade(&(Rc::clone(&watch) as Rc<dyn Observer>));
    let registration = queue.observe(PollEvents::all(), observer);
    watch.registration.replace(Some(registration));
    file.attachments().set(watch);
}
