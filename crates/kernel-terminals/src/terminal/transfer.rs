//! Reading, writing and typing.

use kernel_core::io::{Sink, Source};
use kernel_core::timers::now;
use kernel_core::wait::PollEvents;
use linux_abi::terminals::cc;
use linux_abi::{Errno, SysResult};

use super::{BACKLOG_LIMIT, Terminal};
use crate::discipline::Reaction;

/// How much of a write is processed at a time.
const WRITE_CHUNK: usize = 4096;

/// The unit of `VTIME`.
const TENTH_OF_A_SECOND: u64 = 100_000_000;

impl Terminal {
    /// How much can be typed now.
    pub(crate) fn input_room(&self) -> usize {
        BACKLOG_LIMIT.saturating_sub(self.backlog.borrow().len())
    }

    /// Bytes were typed. Takes as many as there is room for; returns how many.
    pub(crate) fn feed(&self, bytes: &[u8]) -> usize {
        let n = bytes.len().min(self.input_room());
        self.backlog.borrow_mut().extend(bytes.iter().take(n));
        self.read_deadline.set(None);
        self.process_input();
        n
    }

    /// Bytes were typed that the typist has seen already: like [`feed`](Self::feed), without echo.
    pub(crate) fn feed_shown(&self, bytes: &[u8]) -> usize {
        self.discipline.borrow_mut().set_muted(true);
        let n = self.feed(bytes);
        self.discipline.borrow_mut().set_muted(false);
        n
    }

    /// Brings typed bytes through the line discipline as far as it has room.
    pub(super) fn process_input(&self) {
        let had_room = self.write_room() > 0;
        // Echo on its way to the screen, which a signal key behind it still throws away.
        let mut screen = Vec::new();
        while let Some((reaction, was_stopped)) = self.process_until_reaction() {
            self.tell_flow(was_stopped);
            match reaction {
                Some(Reaction::Signal(key)) => {
                    if key.flush {
                        screen.clear();
                    }
                    self.press(key);
                }
                Some(Reaction::Start) => screen.extend(self.take_echo(screen.len())),
                None => {}
            }
        }
        screen.extend(self.take_echo(screen.len()));
        // A driver that fails is about to hang up; there is nobody to tell here.
        let _ = self.driver.put(&screen);
        if !had_room && self.write_room() > 0 {
            self.queue.wake(PollEvents::WRITABLE);
        }
        if self.discipline.borrow().readable() > 0 {
            self.queue.wake(PollEvents::READABLE);
        }
    }

    /// Goes on until a byte needs something done outside. Returns what, and whether output was
    /// held before the byte.
    fn process_until_reaction(&self) -> Option<(Option<Reaction>, bool)> {
        let mut discipline = self.discipline.borrow_mut();
        let mut backlog = self.backlog.borrow_mut();
        while discipline.has_room() {
            let byte = backlog.pop_front()?;
            let was_stopped = discipline.is_stopped();
            let reaction = discipline.receive(byte);
            if reaction.is_some() || discipline.is_stopped() != was_stopped {
                return Some((reaction, was_stopped));
            }
        }
        None
    }

    /// Puts out the echo that waits, as far as there is room.
    pub(super) fn put_echo(&self) {
        // As above.
        let _ = self.driver.put(&self.take_echo(0));
    }

    /// Takes the echo that may be put out now, with `n_taken` bytes on their way already.
    fn take_echo(&self, n_taken: usize) -> Vec<u8> {
        let mut discipline = self.discipline.borrow_mut();
        if discipline.is_stopped() || !discipline.has_echo() {
            return Vec::new();
        }
        discipline.take_echo(self.driver.room().saturating_sub(n_taken))
    }

    /// A read begins: the time that `VTIME` allows starts anew.
    pub(super) fn begin_read(&self) {
        self.read_deadline.set(None);
    }

    pub(super) fn read(&self, sink: &mut dyn Sink, nonblocking: bool) -> SysResult<usize> {
        if sink.remaining() == 0 {
            return Ok(0);
        }
        if self.discipline.borrow().readable() == 0 {
            self.driver.input_wanted();
        }
        if self.must_wait(sink.remaining(), nonblocking)? {
            return Err(Errno::EAGAIN);
        }
        self.read_deadline.set(None);
        let n = self.discipline.borrow_mut().take(sink)?;
        if !self.backlog.borrow().is_empty() {
            self.process_input();
        }
        self.driver.input_drained();
        Ok(n)
    }

    /// Whether there is too little to answer a read of `wanted` bytes now.
    fn must_wait(&self, wanted: usize, nonblocking: bool) -> SysResult<bool> {
        let discipline = self.discipline.borrow();
        let readable = discipline.readable();
        if discipline.is_canonical() {
            return Ok(readable == 0);
        }
        let min = usize::from(discipline.termios().key(cc::VMIN));
        let time = u64::from(discipline.termios().key(cc::VTIME)) * TENTH_OF_A_SECOND;
        drop(discipline);
        if readable >= min.min(wanted).max(1) {
            return Ok(false);
        }
        if min == 0 && time == 0 {
            return Ok(false);
        }
        if nonblocking {
            return Ok(readable == 0);
        }
        // With `VMIN` the clock runs only between bytes, so it starts with the first.
        let clock_runs = time > 0 && (min == 0 || readable > 0);
        Ok(!(clock_runs && self.is_time_up(time)))
    }

    /// Whether the read that is under way has waited long enough. Sets an alarm if not.
    fn is_time_up(&self, time: u64) -> bool {
        let now = now();
        match self.read_deadline.get() {
            Some(deadline) if deadline <= now => true,
            Some(_) => false,
            None => {
                let deadline = now.after(time);
                self.read_deadline.set(Some(deadline));
                let queue = self.queue.clone();
                self.timers.at(deadline, move || queue.wake(PollEvents::READABLE));
                false
            }
        }
    }

    /// How many bytes of a program's output are certain to find room.
    pub(super) fn write_room(&self) -> usize {
        let discipline = self.discipline.borrow();
        if discipline.is_stopped() || discipline.has_echo() {
            return 0;
        }
        self.driver.room() / discipline.worst_growth()
    }

    pub(super) fn write(&self, source: &mut dyn Source) -> SysResult<usize> {
        if source.remaining() == 0 {
            return Ok(0);
        }
        self.put_echo();
        let mut written = 0;
        while source.remaining() > 0 {
            let n = self.write_room().min(source.remaining()).min(WRITE_CHUNK);
            if n == 0 {
                break;
            }
            let mut bytes = vec![0; n];
            let taken = match source.take(&mut bytes) {
                Ok(taken) => taken,
                Err(errno) if written == 0 => return Err(errno),
                Err(_) => break,
            };
            let mut screen = Vec::with_capacity(taken);
            {
                let mut discipline = self.discipline.borrow_mut();
                for &byte in bytes.iter().take(taken) {
                    discipline.process(byte, &mut screen);
                }
            }
            if self.driver.processes_output() {
                bytes.truncate(taken);
                screen = bytes;
            }
            self.driver.put(&screen)?;
            written += taken;
        }
        if written == 0 { Err(Errno::EAGAIN) } else { Ok(written) }
    }

    pub(super) fn ready(&self) -> PollEvents {
        let mut ready = PollEvents::empty();
        if self.discipline.borrow().is_ready_to_read() {
            ready |= PollEvents::READABLE;
        } else {
            self.driver.input_wanted();
        }
        if self.write_room() > 0 {
            ready |= PollEvents::WRITABLE;
        }
        ready
    }
}
