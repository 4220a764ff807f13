//! A terminal as programs see it.

mod control;
mod file;
mod modes;
mod session;
mod transfer;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use kernel_core::timers::{Instant, Timers};
use kernel_core::wait::{PollEvents, WaitQueue};
use kernel_files::Inode;
use linux_abi::Pid;
use linux_abi::signals::Signal;
use linux_abi::terminals::{PacketStatus, WindowSize};

use crate::discipline::{Discipline, SignalKey};
use crate::driver::Driver;
use crate::job_control::JobControl;

pub(crate) use control::{Flush, flow, needs_foreground};
pub use file::TerminalFile;
pub(crate) use session::Side;

/// How much input waits in front of a full line discipline before the sender has to wait.
const BACKLOG_LIMIT: usize = 9728;

/// The major device number of the slaves of pseudo terminals.
pub const SLAVE_MAJOR: u32 = 136;

/// A terminal: a line discipline between programs and a driver.
pub struct Terminal {
    index: u32,
    discipline: RefCell<Discipline>,
    /// Input for which the line discipline has no room.
    backlog: RefCell<VecDeque<u8>>,
    driver: Rc<dyn Driver>,
    jobs: Rc<dyn JobControl>,
    timers: Timers,
    queue: WaitQueue,
    size: Cell<WindowSize>,
    session: Cell<Option<Pid>>,
    foreground: Cell<Option<Pid>>,
    is_exclusive: Cell<bool>,
    /// How often it was hung up. Files that were opened before are dead.
    n_hang_ups: Cell<u32>,
    n_open: Cell<usize>,
    /// When the read that is under way gives up (`VTIME`).
    read_deadline: Cell<Option<Instant>>,
    /// Its node in `/dev/pts`.
    node: OnceCell<Rc<dyn Inode>>,
}

impl Terminal {
    /// The terminal `/dev/pts/<index>` in front of `driver`.
    pub(crate) fn new(
        index: u32,
        driver: Rc<dyn Driver>,
        jobs: Rc<dyn JobControl>,
        timers: Timers,
    ) -> Rc<Self> {
        Rc::new(Self {
            index,
            discipline: RefCell::default(),
            backlog: RefCell::default(),
            driver,
            jobs,
            timers,
            queue: WaitQueue::new(),
            size: Cell::default(),
            session: Cell::default(),
            foreground: Cell::default(),
            is_exclusive: Cell::default(),
            n_hang_ups: Cell::default(),
            n_open: Cell::default(),
            read_deadline: Cell::default(),
            node: OnceCell::new(),
        })
    }

    /// Its number among the pseudo terminals.
    pub fn index(&self) -> u32 {
        self.index
    }

    pub(crate) fn set_node(&self, node: Rc<dyn Inode>) {
        // Set once, when the terminal gets its name.
        let _ = self.node.set(node);
    }

    /// Its name without `/dev/`, as `ps` shows it.
    pub fn name(&self) -> String {
        format!("pts/{}", self.index)
    }

    /// Its device number as `/proc/<pid>/stat` shows it.
    pub fn device(&self) -> u32 {
        let minor = self.index;
        (minor & 0xff) | SLAVE_MAJOR << 8 | (minor & !0xff) << 12
    }

    /// The session whose controlling terminal it is.
    pub fn session(&self) -> Option<Pid> {
        self.session.get()
    }

    /// The process group that may read and gets the signals of keys.
    pub fn foreground(&self) -> Option<Pid> {
        self.foreground.get()
    }

    /// An open file comes (`1`) or goes (`-1`).
    fn count_open(&self, change: isize) {
        self.n_open.set(self.n_open.get().saturating_add_signed(change));
        self.driver.users_changed(self.n_open.get());
    }

    /// Whether only an administrator may open it once more (`TIOCEXCL`).
    pub(crate) fn is_exclusive(&self) -> bool {
        self.is_exclusive.get()
    }

    /// The window size.
    pub fn size(&self) -> WindowSize {
        self.size.get()
    }

    /// Changes the window size; tells the foreground group if that is news.
    pub fn resize(&self, size: WindowSize) {
        if self.size.replace(size) != size {
            self.signal_foreground(Signal::SIGWINCH);
        }
    }

    pub(crate) fn signal_foreground(&self, signal: Signal) {
        if let Some(group) = self.foreground.get() {
            self.jobs.signal_group(group, signal);
        }
    }

    /// Does what a signal key asks for.
    fn press(&self, key: SignalKey) {
        self.signal_foreground(key.signal);
        if key.flush {
            self.driver.flush_output();
            self.driver.tell(PacketStatus::FLUSHREAD);
        }
    }

    /// Tells the other side if output was held or let go since `was_stopped`.
    fn tell_flow(&self, was_stopped: bool) {
        let is_stopped = self.discipline.borrow().is_stopped();
        if is_stopped != was_stopped {
            let status = if is_stopped { PacketStatus::STOP } else { PacketStatus::START };
            self.driver.tell(status);
        }
    }

    /// The driver has room again: puts out what waits and wakes writers.
    pub(crate) fn output_drained(&self) {
        self.put_echo();
        if self.write_room() > 0 {
            self.queue.wake(PollEvents::WRITABLE);
        }
    }

    /// Has the driver show what it has taken, for which it waits so long at most. Returns whether
    /// everything is shown. For the time when nobody writes any more.
    pub fn show(&self, patience: Duration) -> bool {
        self.put_echo();
        self.driver.show(patience)
    }

    /// The line is gone: every open file is dead, the session has no terminal any more.
    pub fn hang_up(&self) {
        self.n_hang_ups.set(self.n_hang_ups.get().wrapping_add(1));
        self.flush_input();
        if let Some(session) = self.session.take() {
            self.jobs.signal_session_leader(session, Signal::SIGHUP);
            self.jobs.signal_session_leader(session, Signal::SIGCONT);
            self.jobs.set_controlling_terminal(session, None);
        }
        self.foreground.set(None);
        self.queue.wake(PollEvents::all());
    }

    /// Throws away what was typed and has not reached the line discipline.
    pub(crate) fn flush_backlog(&self) {
        self.backlog.borrow_mut().clear();
        self.driver.input_drained();
    }

    /// Throws away what was typed and not read.
    pub(crate) fn flush_input(&self) {
        self.backlog.borrow_mut().clear();
        self.discipline.borrow_mut().flush_input();
        self.driver.flush_input();
        self.driver.input_drained();
    }
}
