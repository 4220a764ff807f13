//! The keys of the terminal that the sandbox was started on, and who has them.
//!
//! A terminal belongs to the job in its foreground. Which one that is cannot be seen from the
//! kernel process, whose process ids are others than the host's: its starter is asked, and says it
//! again when the shell has stopped and continued the job.

use std::cell::Cell;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use host_sys::rustix;
use host_sys::rustix::event::{PollFd, PollFlags, Timespec};

/// How long a program waits for the starter's first answer. It comes at once, unless somebody has
/// stopped the starter.
const PATIENCE: Duration = Duration::from_secs(1);

/// Ctrl-\, with which whoever sits at the keyboard gets out of a program that does not end.
const QUIT_KEY: u8 = 0x1c;

/// What the starter says about the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// They are the guest's: the terminal is raw. So many bytes that wait were shown when they
    /// were typed.
    Ours {
        /// How many bytes.
        n_shown: usize,
    },
    /// They are somebody else's.
    NotNow,
}

impl Keys {
    /// How many bytes a message has.
    pub const SIZE: usize = 8;

    /// As a message.
    pub fn to_bytes(self) -> [u8; Self::SIZE] {
        match self {
            Self::Ours { n_shown } => (n_shown as u64).to_le_bytes(),
            Self::NotNow => u64::MAX.to_le_bytes(),
        }
    }

    /// From a message.
    pub fn from_bytes(bytes: [u8; Self::SIZE]) -> Self {
        match u64::from_le_bytes(bytes) {
            u64::MAX => Self::NotNow,
            n => Self::Ours { n_shown: usize::try_from(n).unwrap_or(0) },
        }
    }
}

/// The way to the starter.
pub struct Keyboard {
    answers: OwnedFd,
    ask: Box<dyn Fn()>,
    quit: Box<dyn Fn()>,
    was_asked: Cell<bool>,
}

impl Keyboard {
    /// `ask` asks the starter, whose [messages](Keys) come from `answers`; `quit` is called
    /// whenever Ctrl-\ was pressed, whatever that means to programs.
    pub fn new(answers: OwnedFd, ask: impl Fn() + 'static, quit: impl Fn() + 'static) -> Self {
        Self { answers, ask: Box::new(ask), quit: Box::new(quit), was_asked: Cell::default() }
    }

    /// Asks for the keys, the first time: the starter does not forget. What it says at once.
    pub(crate) fn ask(&self) -> Option<Keys> {
        if self.was_asked.replace(true) {
            return None;
        }
        (self.ask)();
        self.answer(PATIENCE)
    }

    /// The next message, if there is one within this time.
    pub(crate) fn answer(&self, patience: Duration) -> Option<Keys> {
        let patience = Timespec::try_from(patience).ok()?;
        let mut wanted = [PollFd::new(&self.answers, PollFlags::IN)];
        // An interruption counts as no answer: it comes later.
        let n = rustix::event::poll(&mut wanted, Some(&patience)).ok()?;
        let [answers] = wanted;
        if n == 0 || !answers.revents().contains(PollFlags::IN) {
            return None;
        }
        // The writer writes whole messages, which are less than a pipe keeps together.
        let mut bytes = [0; Keys::SIZE];
        let n = rustix::io::read(&self.answers, &mut bytes).ok()?;
        (n == Keys::SIZE).then(|| Keys::from_bytes(bytes))
    }

    /// These keys were pressed.
    pub(crate) fn note(&self, bytes: &[u8]) {
        for _ in bytes.iter().filter(|byte| **byte == QUIT_KEY) {
            (self.quit)();
        }
    }
}

impl AsFd for Keyboard {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.answers.as_fd()
    }
}
