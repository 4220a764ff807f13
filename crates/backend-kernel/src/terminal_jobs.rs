//! The terminal that a sandbox was started on, as far as its starter has to do with it: who has its
//! keys, and whether the guest was stopped.

use std::cell::{Cell, OnceCell, RefCell};
use std::io::PipeReader;
use std::os::unix::net::UnixStream;
use std::rc::{Rc, Weak};
use std::time::Instant;

use kernel_core::timers;
use kernel_core::wait::{Observer, PollEvents, Registration};
use kernel_tasks::Kernel;
use kernel_terminals::Terminal;
use kernel_terminals::keyboard::Keyboard;
use sandbox::QuitPresses;

use crate::control::{self, Ending, News, Refusal};
use crate::kernel_process::io_step;

/// `SIGHUP`, `SIGINT`, `SIGQUIT`, `SIGUSR1`, `SIGUSR2`, `SIGTERM`, `SIGTSTP`, `SIGTTIN` and
/// `SIGTTOU`: what reaches the kernel process only because it is in the starter's process group. The
/// starter has got it as well.
pub const OF_THE_STARTER: [u8; 9] = [1, 2, 3, 10, 12, 15, 20, 21, 22];

/// The keyboard of the starter's terminal, if there is one.
pub fn keyboard(
    answers: Option<PipeReader>,
    starter: &UnixStream,
    kernel: &Rc<Kernel>,
    because: &Rc<Cell<Option<Ending>>>,
) -> Result<Option<Keyboard>, Refusal> {
    let Some(answers) = answers else { return Ok(None) };
    let starter = starter.try_clone().map_err(io_step("copy a descriptor"))?;
    // A starter that cannot be told is gone, and everything ends.
    let ask = move || _ = control::send(&starter, &News::KeysWanted);
    let (kernel, because) = (Rc::downgrade(kernel), Rc::clone(because));
    let presses = RefCell::new(QuitPresses::default());
    let quit = move || {
        if !presses.borrow_mut().press(Instant::now()) {
            return;
        }
        let Some(kernel) = kernel.upgrade() else { return };
        because.set(Some(Ending::Killed));
        let timers = Rc::clone(&kernel);
        timers.timers.at(timers::now(), move || kernel.kill_all());
    };
    Ok(Some(Keyboard::new(answers.into(), ask, quit)))
}

/// Tells the starter when the first process was stopped, as a shell would be told.
pub struct JobWatch {
    kernel: Weak<Kernel>,
    starter: UnixStream,
    is_stopped: Cell<bool>,
    registration: OnceCell<Registration>,
}

impl JobWatch {
    /// From now on, if the guest is on a terminal: elsewhere nobody would continue it.
    pub fn of(
        terminal: Option<&Rc<Terminal>>,
        kernel: &Rc<Kernel>,
        starter: &UnixStream,
    ) -> Result<Option<Rc<Self>>, Refusal> {
        if terminal.is_none() {
            return Ok(None);
        }
        let starter = starter.try_clone().map_err(io_step("copy a descriptor"))?;
        let watch = Rc::new(Self {
            kernel: Rc::downgrade(kernel),
            starter,
            is_stopped: Cell::default(),
            registration: OnceCell::new(),
        });
        // The parent of the first process, which stands in for the shell.
        if let Ok(parent) = kernel.init() {
            let this: Weak<Self> = Rc::downgrade(&watch);
            let registration = parent.child_events().observe(PollEvents::IN, this);
            let _ = watch.registration.set(registration);
        }
        Ok(Some(watch))
    }
}

impl Observer for JobWatch {
    fn notify(&self, _events: PollEvents) {
        let first = self.kernel.upgrade().and_then(|kernel| kernel.first());
        let is_stopped = first.is_some_and(|first| first.is_stopped() && !first.is_dead());
        if self.is_stopped.replace(is_stopped) != is_stopped && is_stopped {
            // A starter that cannot be told is gone, and everything ends.
            let _ = control::send(&self.starter, &News::Stopped);
        }
    }
}
