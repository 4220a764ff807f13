//! The terminal that the sandbox itself was started on.
//!
//! As long as no guest wants its keys it stays as it was: the host edits lines, `^C` is a signal to
//! whoever started the sandbox, who passes it on, and what is typed is for the shell that comes
//! after. From then on it is in raw mode, and our line discipline does all that. Only the starter
//! can see who is in the foreground, and changes the mode: see [`Keyboard`].

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::{Rc, Weak};
use std::time::Duration;

use host_sys::rustix::event::{PollFd, PollFlags, Timespec};
use host_sys::rustix::fs::OFlags;
use host_sys::{errno_of, open_again, rustix};
use kernel_core::host_events::{HostEvents, Watch};
use kernel_core::wait::{Observer, PollEvents, Registration, WaitQueue};
use linux_abi::terminals::{PacketStatus, WindowSize};
use linux_abi::{Errno, SysResult};

use crate::driver::Driver;
use crate::keyboard::{Keyboard, Keys};
use crate::terminal::Terminal;

/// How much output waits for a host terminal that is slower than the guest.
const OUTPUT_LIMIT: usize = 64 << 10;

/// How much is written to the host at a time: a terminal that says it is ready takes this much.
const WRITE_CHUNK: usize = 256;

/// How much is read from the host at a time.
const READ_CHUNK: usize = 4096;

/// The driver of a host terminal.
pub(crate) struct HostLine {
    host: OwnedFd,
    keyboard: Keyboard,
    /// The keys are ours: the host's terminal is raw.
    has_keys: Cell<bool>,
    /// How many of the next bytes the typist has seen.
    n_shown: Cell<usize>,
    output: RefCell<VecDeque<u8>>,
    /// The host may have input that was not read. Its events tell of changes only.
    may_have_input: Cell<bool>,
    is_reading: Cell<bool>,
    terminal: RefCell<Weak<Terminal>>,
    watches: RefCell<Vec<(Watch, Registration)>>,
    answers: RefCell<Option<Rc<Answers>>>,
}

/// Hears of what the starter says about the keys.
struct Answers(Weak<HostLine>);

impl Observer for Answers {
    fn notify(&self, _events: PollEvents) {
        if let Some(line) = self.0.upgrade() {
            line.take_answers();
        }
    }
}

impl HostLine {
    pub(crate) fn new(host: OwnedFd, keyboard: Keyboard) -> Rc<Self> {
        Rc::new(Self {
            host: reopen(&host).unwrap_or(host),
            keyboard,
            has_keys: Cell::default(),
            n_shown: Cell::default(),
            output: RefCell::default(),
            may_have_input: Cell::new(true),
            is_reading: Cell::default(),
            terminal: RefCell::default(),
            watches: RefCell::default(),
            answers: RefCell::default(),
        })
    }

    /// Connects the two directions: `terminal` has this line as its driver.
    pub(crate) fn connect(
        self: &Rc<Self>,
        terminal: &Rc<Terminal>,
        events: &HostEvents,
    ) -> SysResult {
        *self.terminal.borrow_mut() = Rc::downgrade(terminal);
        terminal.resize(self.size()?);
        let queue = WaitQueue::new();
        let watch = events.watch(self.host.as_fd(), queue.clone())?;
        let this: Weak<Self> = Rc::downgrade(self);
        let registration = queue.observe(PollEvents::READABLE | PollEvents::WRITABLE, this);
        self.watches.borrow_mut().push((watch, registration));
        let queue = WaitQueue::new();
        let watch = events.watch(self.keyboard.as_fd(), queue.clone())?;
        let answers = Rc::new(Answers(Rc::downgrade(self)));
        let observer: Weak<Answers> = Rc::downgrade(&answers);
        let registration = queue.observe(PollEvents::READABLE, observer);
        self.watches.borrow_mut().push((watch, registration));
        *self.answers.borrow_mut() = Some(answers);
        Ok(())
    }

    /// Does what the starter has said about the keys.
    fn take_answers(&self) {
        while let Some(keys) = self.keyboard.answer(Duration::ZERO) {
            self.note(keys);
        }
        self.read_host();
    }

    fn note(&self, keys: Keys) {
        match keys {
            Keys::Ours { n_shown } => {
                self.has_keys.set(true);
                self.n_shown.set(n_shown);
                self.may_have_input.set(true);
            }
            Keys::NotNow => self.has_keys.set(false),
        }
    }

    fn size(&self) -> SysResult<WindowSize> {
        let size = rustix::termios::tcgetwinsize(&self.host).map_err(errno_of)?;
        Ok(WindowSize {
            rows: size.ws_row,
            columns: size.ws_col,
            width: size.ws_xpixel,
            height: size.ws_ypixel,
        })
    }

    /// Brings what the host has to the terminal, as far as that has room.
    fn read_host(&self) {
        let Some(terminal) = self.terminal.borrow().upgrade() else { return };
        // Feeding the terminal may make room, which would come back here.
        if !self.has_keys.get() || self.is_reading.replace(true) {
            return;
        }
        let mut bytes = [0; READ_CHUNK];
        while self.may_have_input.get() {
            let room = terminal.input_room().min(READ_CHUNK);
            let Some(buffer) = bytes.get_mut(..room).filter(|buffer| !buffer.is_empty()) else {
                break;
            };
            match self
                .is_ready(PollFlags::IN)
                .and_then(|()| rustix::io::read(&self.host, &mut *buffer))
            {
                Ok(n) if n > 0 => self.take_in(&terminal, buffer.get(..n).unwrap_or_default()),
                Err(rustix::io::Errno::AGAIN) => self.may_have_input.set(false),
                Err(rustix::io::Errno::INTR) => {}
                // Somebody else has the foreground, until the starter says otherwise.
                Err(rustix::io::Errno::IO) if !self.is_hung_up() => {
                    self.has_keys.set(false);
                    break;
                }
                // Nothing, or an error: the host's terminal is gone.
                Ok(_) | Err(_) => {
                    self.may_have_input.set(false);
                    terminal.hang_up();
                }
            }
        }
        self.is_reading.set(false);
    }

    /// Gives the terminal what was typed, without echo what was shown when it was typed.
    fn take_in(&self, terminal: &Terminal, bytes: &[u8]) {
        self.keyboard.note(bytes);
        let n_shown = self.n_shown.get().min(bytes.len());
        self.n_shown.set(self.n_shown.get() - n_shown);
        let (shown, new) = bytes.split_at_checked(n_shown).unwrap_or((bytes, &[]));
        if !shown.is_empty() {
            terminal.feed_shown(shown);
        }
        if !new.is_empty() {
            terminal.feed(new);
        }
    }

    /// Whether the host's terminal is gone.
    fn is_hung_up(&self) -> bool {
        self.is_ready(PollFlags::empty()).is_ok()
    }

    /// `AGAIN` unless the host is ready. Asked each time, because the open file may be one that
    /// blocks: it is shared with whoever started the sandbox, so that its flags are not ours.
    fn is_ready(&self, what: PollFlags) -> rustix::io::Result<()> {
        let mut wanted = [PollFd::new(&self.host, what)];
        match rustix::event::poll(&mut wanted, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
            Ok(0) => Err(rustix::io::Errno::AGAIN),
            Ok(_) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    /// Waits until the host takes output, but not for longer than this.
    fn wait_for_room(&self, patience: Duration) {
        let mut wanted = [PollFd::new(&self.host, PollFlags::OUT)];
        if let Ok(patience) = Timespec::try_from(patience) {
            // Whether it does is found out by writing.
            let _ = rustix::event::poll(&mut wanted, Some(&patience));
        }
    }

    /// Shows what waits, as far as the host takes it.
    fn write_host(&self) -> SysResult {
        let mut output = self.output.borrow_mut();
        while !output.is_empty() {
            let (front, _) = output.as_slices();
            let front = front.get(..WRITE_CHUNK).unwrap_or(front);
            match self.is_ready(PollFlags::OUT).and_then(|()| rustix::io::write(&self.host, front))
            {
                Ok(n) => drop(output.drain(..n)),
                Err(rustix::io::Errno::AGAIN) => break,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => {
                    output.clear();
                    return Err(Errno::EIO);
                }
            }
        }
        Ok(())
    }
}

/// The same terminal as an open file of our own, which does not block.
fn reopen(host: &OwnedFd) -> Option<OwnedFd> {
    open_again(host, OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOCTTY).ok()
}

impl Observer for HostLine {
    fn notify(&self, events: PollEvents) {
        if events.intersects(PollEvents::WRITABLE) && !self.output.borrow().is_empty() {
            // A host terminal that cannot be written is gone; reading finds out.
            let _ = self.write_host();
            if let Some(terminal) = self.terminal.borrow().upgrade() {
                terminal.output_drained();
            }
        }
        if events.intersects(PollEvents::READABLE | PollEvents::ALWAYS) {
            self.may_have_input.set(true);
            self.read_host();
        }
    }
}

impl Driver for HostLine {
    fn room(&self) -> usize {
        OUTPUT_LIMIT.saturating_sub(self.output.borrow().len())
    }

    fn put(&self, bytes: &[u8]) -> SysResult<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.output.borrow_mut().extend(bytes);
        self.write_host()
    }

    fn show(&self, patience: Duration) -> bool {
        // What cannot be shown, because the host's terminal is gone, is thrown away there.
        let _ = self.write_host();
        if !self.output.borrow().is_empty() {
            self.wait_for_room(patience);
            let _ = self.write_host();
        }
        self.output.borrow().is_empty()
    }

    fn flush_output(&self) {
        self.output.borrow_mut().clear();
        let _ = rustix::termios::tcflush(&self.host, rustix::termios::QueueSelector::OFlush);
    }

    fn tell(&self, _status: PacketStatus) {}

    fn flush_input(&self) {
        let _ = rustix::termios::tcflush(&self.host, rustix::termios::QueueSelector::IFlush);
    }

    fn input_wanted(&self) {
        if !self.has_keys.get()
            && let Some(keys) = self.keyboard.ask()
        {
            self.note(keys);
            self.read_host();
        }
    }

    fn processes_output(&self) -> bool {
        !self.has_keys.get()
    }

    fn input_drained(&self) {
        if self.may_have_input.get() {
            self.read_host();
        }
    }

    fn users_changed(&self, _n_open: usize) {}
}
