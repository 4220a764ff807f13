//! Signals to `belljar`, which are the guest's as long as there is one.

use std::io::PipeReader;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use host_sys::SignalDescriptor;
use host_sys::rustix::event::{PollFd, PollFlags, Timespec, poll};
use sandbox::{Control, QuitPresses};

use crate::failure::Failure;
use crate::keyboard::Keyboard;

const SIGHUP: u8 = 1;
pub const SIGINT: u8 = 2;
const SIGQUIT: u8 = 3;
const SIGUSR1: u8 = 10;
const SIGUSR2: u8 = 12;
pub const SIGPIPE: u8 = 13;
const SIGTERM: u8 = 15;
const SIGCONT: u8 = 18;
const SIGTSTP: u8 = 20;
const SIGWINCH: u8 = 28;

/// What reaches the guest instead of us.
const PASSED_ON: [u8; 9] =
    [SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGTERM, SIGCONT, SIGTSTP, SIGWINCH];

/// What asks a program to end.
pub const ENDING: [u8; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// How long a guest has to end after it was asked to.
const GRACE: Duration = Duration::from_secs(10);

/// Signals to this process, taken over from their default actions. There is no thread for them
/// while no guest runs, because a process with threads cannot start a sandbox.
pub struct Signals {
    descriptor: SignalDescriptor,
    /// The first signal that asked to end, or 0.
    asked_to_end: AtomicU8,
    /// What this process was started to ignore: the guest gets it, and ignores it as long as it
    /// likes to.
    ignored: Vec<u8>,
}

impl Signals {
    /// Takes the signals over. From here on they wait until somebody looks.
    pub fn take_over() -> Result<Self, Failure> {
        let descriptor = SignalDescriptor::new(&PASSED_ON)
            .and_then(|descriptor| descriptor.set_nonblocking().map(|()| descriptor))
            .map_err(|error| {
                Failure::new(format!("cannot receive signals: {error}")).code(Failure::CANNOT_START)
            })?;
        let ignored = host_sys::ignored_signals();
        Ok(Self { descriptor, asked_to_end: AtomicU8::new(0), ignored })
    }

    /// Fails if a signal asked us to end, so that everything is cleaned up on the way out.
    pub fn check(&self) -> Result<(), Failure> {
        while let Ok(signal) = self.descriptor.read() {
            self.note(signal);
        }
        match self.asked_to_end.load(Ordering::Relaxed) {
            0 => Ok(()),
            signal => Err(Failure::new("interrupted").code(signal.saturating_add(128))),
        }
    }

    /// Waits until a terminal can be read; fails if a signal asks us to end.
    pub fn wait_for_input(&self, input: BorrowedFd<'_>) -> Result<(), Failure> {
        loop {
            self.check()?;
            let mut wanted =
                [PollFd::new(&input, PollFlags::IN), PollFd::new(&self.descriptor, PollFlags::IN)];
            let polled = poll(&mut wanted, None);
            let [input, _] = wanted;
            if polled.is_err() || !input.revents().is_empty() {
                return self.check();
            }
        }
    }

    /// Lets signals go to the guest while `wait` waits for its end. A guest that was asked to end
    /// (`SIGTERM`) or whose terminal is gone (`SIGHUP`) is ended after a time of grace if it has
    /// not, so that nothing is left behind.
    pub fn while_running<T>(
        &self,
        control: Box<dyn Control>,
        wait: impl FnOnce() -> T,
    ) -> Result<T, Failure> {
        self.while_sharing(&Keyboard::none(), control, wait)
    }

    /// Like [`while_running`](Self::while_running), with a terminal that is shared with the guest.
    /// It is what it was when this returns.
    pub fn while_sharing<T>(
        &self,
        keyboard: &Keyboard,
        control: Box<dyn Control>,
        wait: impl FnOnce() -> T,
    ) -> Result<T, Failure> {
        let cannot = |error: std::io::Error| {
            Failure::new(format!("cannot pass signals on: {error}")).code(Failure::CANNOT_START)
        };
        // The reading end tells when the writing end, and with it the guest, is gone.
        let (ended, running) = std::io::pipe().map_err(cannot)?;
        std::thread::scope(|scope| {
            std::thread::Builder::new()
                .name("signals".into())
                .spawn_scoped(scope, move || self.pass_on(&*control, keyboard, &ended))
                .map_err(cannot)?;
            let result = wait();
            drop(running);
            keyboard.restore();
            Ok(result)
        })
    }

    fn pass_on(&self, control: &dyn Control, keyboard: &Keyboard, ended: &PipeReader) {
        let mut end_at: Option<Instant> = None;
        let mut quits = QuitPresses::default();
        loop {
            let mut wanted = [
                PollFd::new(&self.descriptor, PollFlags::IN),
                PollFd::from_borrowed_fd(ended.as_fd(), PollFlags::IN),
            ];
            let left = end_at.map(|at| at.saturating_duration_since(Instant::now()));
            let timeout = left.and_then(|left| Timespec::try_from(left).ok());
            // An interrupted wait is repeated; nothing else can fail here.
            let _ = poll(&mut wanted, timeout.as_ref());
            let [_, ended] = wanted;
            if !ended.revents().is_empty() {
                return;
            }
            if left.is_some_and(|left| left.is_zero()) {
                // Fails only if the sandbox is gone already.
                let _ = control.kill();
                end_at = None;
            }
            let mut terminal = keyboard.lock();
            while let Ok(signal) = self.descriptor.read() {
                self.note(signal);
                if signal == SIGCONT {
                    keyboard.go_on(&mut terminal, control);
                    continue;
                }
                let _ = control.signal(signal);
                if signal == SIGQUIT && quits.press(Instant::now()) {
                    let _ = control.kill();
                }
                if matches!(signal, SIGTERM | SIGHUP) && !self.ignored.contains(&signal) {
                    end_at = end_at.or_else(|| Instant::now().checked_add(GRACE));
                }
            }
        }
    }

    fn note(&self, signal: u8) {
        if ENDING.contains(&signal) && !self.ignored.contains(&signal) {
            // Only the first counts.
            let _ =
                self.asked_to_end.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Forgets that a signal asked to end: the guest has answered it.
    pub fn forget(&self) {
        self.asked_to_end.store(0, Ordering::Relaxed);
    }
}
