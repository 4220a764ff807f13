//! Pseudo terminals: a terminal whose keyboard and screen are a file, the master.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::{Rc, Weak};

use kernel_core::io::{Sink, Source};
use kernel_core::memory::UserPtr;
use kernel_core::wait::{PollEvents, WaitQueue};
use kernel_files::{FileOps, Intent, Ioctl, OpenFile};
use linux_abi::files::OpenFlags;
use linux_abi::signals::Signal;
use linux_abi::terminals::{PacketStatus, request};
use linux_abi::{Errno, SysResult, WaitResult};

use crate::driver::Driver;
use crate::terminal::{Flush, Side, Terminal, flow, needs_foreground};
use crate::terminals::Registry;

/// The most that one read of a master gives, and that a flush leaves (what Linux has brought as
/// far as the master's own line discipline).
const READ_LIMIT: usize = 4095;

/// How much output waits for the master before the writer has to wait.
const OUTPUT_LIMIT: usize = READ_LIMIT + 9728;

/// How much of a master's write is taken at a time.
const WRITE_CHUNK: usize = 4096;

/// Whether anybody has the slave open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Users {
    /// Nobody yet: a master waits for the first.
    NotYet,
    Some,
    /// Nobody any more.
    Gone,
}

/// What the slave has written and the master has not read.
pub(crate) struct MasterSide {
    output: RefCell<VecDeque<u8>>,
    queue: WaitQueue,
    users: Cell<Users>,
    is_packet_mode: Cell<bool>,
    status: Cell<PacketStatus>,
    is_closed: Cell<bool>,
}

impl MasterSide {
    pub(crate) fn new() -> Rc<Self> {
        Rc::new(Self {
            output: RefCell::default(),
            queue: WaitQueue::new(),
            users: Cell::new(Users::NotYet),
            is_packet_mode: Cell::default(),
            status: Cell::default(),
            is_closed: Cell::default(),
        })
    }

    fn has_status(&self) -> bool {
        self.is_packet_mode.get() && !self.status.get().is_empty()
    }
}

impl Driver for MasterSide {
    fn room(&self) -> usize {
        OUTPUT_LIMIT.saturating_sub(self.output.borrow().len())
    }

    fn put(&self, bytes: &[u8]) -> SysResult<()> {
        if self.is_closed.get() {
            return Err(Errno::EIO);
        }
        if !bytes.is_empty() {
            self.output.borrow_mut().extend(bytes);
            self.queue.wake(PollEvents::READABLE);
        }
        Ok(())
    }

    fn flush_output(&self) {
        self.output.borrow_mut().truncate(READ_LIMIT);
        self.tell(PacketStatus::FLUSHWRITE);
    }

    fn tell(&self, status: PacketStatus) {
        if !self.is_packet_mode.get() {
            return;
        }
        let opposite = match status {
            PacketStatus::STOP => PacketStatus::START,
            PacketStatus::START => PacketStatus::STOP,
            PacketStatus::DOSTOP => PacketStatus::NOSTOP,
            PacketStatus::NOSTOP => PacketStatus::DOSTOP,
            _ => PacketStatus::empty(),
        };
        self.status.set((self.status.get() - opposite) | status);
        self.queue.wake(PollEvents::READABLE | PollEvents::PRI);
    }

    fn flush_input(&self) {}

    fn input_drained(&self) {
        self.queue.wake(PollEvents::WRITABLE);
    }

    fn users_changed(&self, n_open: usize) {
        let users = if n_open == 0 { Users::Gone } else { Users::Some };
        if self.users.replace(users) != users {
            self.queue.wake(PollEvents::all());
        }
    }
}

/// What is behind a descriptor of `/dev/ptmx`.
pub struct MasterFile {
    side: Rc<MasterSide>,
    terminal: Rc<Terminal>,
    is_locked: Rc<Cell<bool>>,
    is_exclusive: Cell<bool>,
    /// Output of the master is held (`TCOOFF`).
    is_held: Cell<bool>,
    registry: Weak<Registry>,
}

impl MasterFile {
    pub(crate) fn new(
        side: Rc<MasterSide>,
        terminal: Rc<Terminal>,
        is_locked: Rc<Cell<bool>>,
        registry: Weak<Registry>,
    ) -> Rc<Self> {
        let (is_exclusive, is_held) = (Cell::default(), Cell::default());
        Rc::new(Self { side, terminal, is_locked, is_exclusive, is_held, registry })
    }

    /// The terminal that it is the master of.
    pub fn terminal(&self) -> &Rc<Terminal> {
        &self.terminal
    }

    fn write_room(&self) -> usize {
        if self.is_held.get() { 0 } else { self.terminal.input_room() }
    }

    fn flush(&self, what: Flush) {
        if what.input {
            self.side.output.borrow_mut().clear();
            self.terminal.output_drained();
        }
        if what.output {
            self.terminal.flush_backlog();
        }
    }

    fn control_flow(&self, argument: u64) -> SysResult<u64> {
        match argument {
            flow::OUTPUT_OFF => self.is_held.set(true),
            flow::OUTPUT_ON => {
                self.is_held.set(false);
                self.side.queue.wake(PollEvents::WRITABLE);
            }
            // The master's own settings never change, so these are `^S` and `^Q`.
            flow::INPUT_OFF => _ = self.terminal.feed(&[0o23]),
            flow::INPUT_ON => _ = self.terminal.feed(&[0o21]),
            _ => return Err(Errno::EINVAL),
        }
        Ok(0)
    }

    fn set_packet_mode(&self, ioctl: &Ioctl<'_>) -> SysResult<u64> {
        let on = UserPtr::<u32>::new(ioctl.argument).read(ioctl.memory)? != 0;
        if on && !self.side.is_packet_mode.get() {
            self.side.status.set(PacketStatus::empty());
        }
        self.side.is_packet_mode.set(on);
        Ok(0)
    }

    fn send_signal(&self, argument: u64) -> SysResult<u64> {
        let number = u32::try_from(argument).map_err(|_| Errno::EINVAL)?;
        self.terminal.signal_foreground(Signal::new(number).ok_or(Errno::EINVAL)?);
        Ok(0)
    }

    /// `TIOCGPTPEER`: opens the slave without a path.
    fn open_peer(&self, ioctl: &Ioctl<'_>) -> SysResult<u64> {
        let bits = u32::try_from(ioctl.argument).map_err(|_| Errno::EINVAL)?;
        let flags = OpenFlags::from_bits_truncate(bits);
        let registry = self.registry.upgrade().ok_or(Errno::EIO)?;
        let ops = registry.open_slave(self.terminal.index(), flags, ioctl.caller)?;
        let kept = flags - OpenFlags::CLOEXEC - OpenFlags::NOCTTY;
        let file = OpenFile::new(ops, kept | OpenFlags::LARGEFILE);
        let fd = registry.jobs.add_file(ioctl.caller, file, flags.contains(OpenFlags::CLOEXEC))?;
        u64::try_from(fd.0).map_err(|_| Errno::EMFILE)
    }
}

impl FileOps for MasterFile {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn admit(&self, _file: &OpenFile, caller: &dyn Any, intent: Intent) -> WaitResult {
        match intent {
            // These three are about the master's own line, which is nobody's controlling one.
            Intent::Control(request::TCFLSH | request::TCXONC | request::TIOCSETD) => Ok(()),
            Intent::Control(command) if needs_foreground(command) => {
                self.terminal.check_foreground(caller, Signal::SIGTTOU)
            }
            _ => Ok(()),
        }
    }

    fn read(&self, _file: &OpenFile, sink: &mut dyn Sink, _offset: u64) -> SysResult<usize> {
        if sink.remaining() == 0 {
            return Ok(0);
        }
        if self.side.has_status() {
            let status = self.side.status.replace(PacketStatus::empty());
            return sink.put(&[status.bits()]);
        }
        let mut bytes = Vec::new();
        if self.side.is_packet_mode.get() {
            bytes.push(0);
        }
        let n_header = bytes.len();
        {
            let output = self.side.output.borrow();
            if output.is_empty() {
                let is_gone = self.side.users.get() == Users::Gone;
                return Err(if is_gone { Errno::EIO } else { Errno::EAGAIN });
            }
            let n = (sink.remaining() - n_header).min(READ_LIMIT);
            bytes.extend(output.iter().take(n));
        }
        let n = sink.put(&bytes)?;
        self.side.output.borrow_mut().drain(..n.saturating_sub(n_header));
        self.terminal.output_drained();
        Ok(n)
    }

    fn write(&self, _file: &OpenFile, source: &mut dyn Source, _offset: u64) -> SysResult<usize> {
        if source.remaining() == 0 {
            return Ok(0);
        }
        let mut written = 0;
        while source.remaining() > 0 {
            let n = self.write_room().min(source.remaining()).min(WRITE_CHUNK);
            if n == 0 {
                break;
            }
            let mut bytes = vec![0; n];
            match source.take(&mut bytes) {
                Ok(taken) => {
                    bytes.truncate(taken);
                    written += self.terminal.feed(&bytes);
                }
                Err(errno) if written == 0 => return Err(errno),
                Err(_) => break,
            }
        }
        if written == 0 { Err(Errno::EAGAIN) } else { Ok(written) }
    }

    fn is_stream(&self) -> bool {
        true
    }

    fn poll(&self, _file: &OpenFile) -> PollEvents {
        let mut ready = PollEvents::empty();
        if !self.side.output.borrow().is_empty() {
            ready |= PollEvents::READABLE;
        }
        if self.side.has_status() {
            ready |= PollEvents::READABLE | PollEvents::PRI;
        }
        if self.write_room() > 0 {
            ready |= PollEvents::WRITABLE;
        }
        if self.side.users.get() == Users::Gone {
            ready |= PollEvents::HUP;
        }
        ready
    }

    fn queue(&self) -> Option<WaitQueue> {
        Some(self.side.queue.clone())
    }

    fn ioctl(&self, _file: &OpenFile, ioctl: &Ioctl<'_>) -> SysResult<u64> {
        let number = |number: u32| self.terminal.write_number(ioctl, number);
        match ioctl.command {
            request::TIOCGPTN => number(self.terminal.index()),
            request::TIOCSPTLCK => {
                self.is_locked.set(UserPtr::<u32>::new(ioctl.argument).read(ioctl.memory)? != 0);
                Ok(0)
            }
            request::TIOCGPTLCK => number(self.is_locked.get().into()),
            request::TIOCPKT => self.set_packet_mode(ioctl),
            request::TIOCGPKT => number(self.side.is_packet_mode.get().into()),
            request::TIOCSIG => self.send_signal(ioctl.argument),
            request::TIOCGPTPEER => self.open_peer(ioctl),
            request::TIOCEXCL | request::TIOCNXCL => {
                self.is_exclusive.set(ioctl.command == request::TIOCEXCL);
                Ok(0)
            }
            request::TIOCGEXCL => number(self.is_exclusive.get().into()),
            request::FIONREAD => {
                let n = self.side.output.borrow().len().min(READ_LIMIT);
                number(u32::try_from(n).unwrap_or(u32::MAX))
            }
            request::TCFLSH => {
                self.flush(Flush::from_guest(ioctl.argument)?);
                Ok(0)
            }
            request::TCXONC => self.control_flow(ioctl.argument),
            _ => self.terminal.control(ioctl, Side::Master),
        }
    }

    fn release(&self, _file: &OpenFile) {
        self.side.is_closed.set(true);
        if let Some(registry) = self.registry.upgrade() {
            registry.remove(self.terminal.index());
        }
        self.terminal.hang_up();
    }

    fn describe(&self) -> String {
        String::from("/dev/ptmx")
    }
}
