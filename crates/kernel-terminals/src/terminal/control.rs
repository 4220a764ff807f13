//! `ioctl` on terminals.

use std::rc::Rc;

use kernel_core::credentials::cap;
use kernel_core::memory::UserPtr;
use kernel_files::{Ioctl, OpenFile};
use linux_abi::terminals::{ControlModes, PacketStatus, WindowSize, cc, request};
use linux_abi::{Errno, SysResult};

use super::Terminal;
use super::modes::Layout;
use super::session::Side;

/// Arguments of `TCFLSH`.
mod flush {
    pub(super) const INPUT: u64 = 0;
    pub(super) const OUTPUT: u64 = 1;
    pub(super) const BOTH: u64 = 2;
}

/// Arguments of `TCXONC`.
pub(crate) mod flow {
    pub(crate) const OUTPUT_OFF: u64 = 0;
    pub(crate) const OUTPUT_ON: u64 = 1;
    pub(crate) const INPUT_OFF: u64 = 2;
    pub(crate) const INPUT_ON: u64 = 3;
}

/// What `TCFLSH` throws away.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flush {
    pub(crate) input: bool,
    pub(crate) output: bool,
}

impl Flush {
    pub(crate) fn from_guest(argument: u64) -> SysResult<Self> {
        match argument {
            flush::INPUT => Ok(Self { input: true, output: false }),
            flush::OUTPUT => Ok(Self { input: false, output: true }),
            flush::BOTH => Ok(Self { input: true, output: true }),
            _ => Err(Errno::EINVAL),
        }
    }
}

/// Whether a request changes the terminal, so that background jobs are stopped first.
pub(crate) fn needs_foreground(command: u32) -> bool {
    matches!(
        command,
        request::TCSETS
            | request::TCSETSW
            | request::TCSETSF
            | request::TCSETS2
            | request::TCSETSW2
            | request::TCSETSF2
            | request::TCSETA
            | request::TCSETAW
            | request::TCSETAF
            | request::TIOCSSOFTCAR
            | request::TCFLSH
            | request::TCXONC
            | request::TCSBRK
            | request::TCSBRKP
            | request::TIOCSBRK
            | request::TIOCCBRK
            | request::TIOCSETD
            | request::TIOCSPGRP
    )
}

impl Terminal {
    /// A request through the terminal itself.
    pub(super) fn control_slave(
        self: &Rc<Self>,
        file: &OpenFile,
        ioctl: &Ioctl<'_>,
    ) -> SysResult<u64> {
        match ioctl.command {
            request::TIOCEXCL => self.is_exclusive.set(true),
            request::TIOCNXCL => self.is_exclusive.set(false),
            request::TIOCGEXCL => return self.write_number(ioctl, self.is_exclusive.get().into()),
            request::TIOCSCTTY => return self.set_controlling(ioctl, file.flags().can_read()),
            request::TIOCNOTTY => return self.give_up(ioctl.caller),
            request::FIONREAD => {
                let n = self.discipline.borrow().n_readable_bytes();
                return self.write_number(ioctl, u32::try_from(n).unwrap_or(u32::MAX));
            }
            request::TCFLSH => self.flush(Flush::from_guest(ioctl.argument)?),
            request::TCXONC => return self.control_flow(ioctl.argument),
            request::TIOCVHANGUP => {
                if !self.jobs.caller(ioctl.caller)?.credentials.has(cap::SYS_ADMIN) {
                    return Err(Errno::EPERM);
                }
                self.hang_up();
            }
            request::TIOCGDEV => return self.write_number(ioctl, self.device()),
            _ => return self.control(ioctl, Side::Slave),
        }
        Ok(0)
    }

    /// A request that means the same through the terminal and through its master.
    pub(crate) fn control(&self, ioctl: &Ioctl<'_>, side: Side) -> SysResult<u64> {
        if let Some(answer) = self.control_modes(ioctl) {
            return answer;
        }
        match ioctl.command {
            request::TIOCGWINSZ => {
                UserPtr::<WindowSize>::new(ioctl.argument).write(ioctl.memory, &self.size.get())?;
            }
            request::TIOCSWINSZ => {
                self.resize(UserPtr::<WindowSize>::new(ioctl.argument).read(ioctl.memory)?);
            }
            request::TIOCGPGRP => return self.read_foreground(ioctl, side),
            request::TIOCSPGRP => return self.set_foreground(ioctl),
            request::TIOCGSID => return self.read_session(ioctl, side),
            // Output is where it belongs as soon as it is written: there is never anything to wait
            // for, and no line to break.
            request::TIOCOUTQ => return self.write_number(ioctl, 0),
            request::TCSBRK | request::TCSBRKP | request::TIOCSBRK | request::TIOCCBRK => {}
            // Typing for others is how programs break out of their terminal.
            request::TIOCSTI => return Err(Errno::EIO),
            request::TIOCGETD => return self.write_number(ioctl, 0),
            request::TIOCSETD => {
                let wanted = UserPtr::<u32>::new(ioctl.argument).read(ioctl.memory)?;
                return if wanted == 0 { Ok(0) } else { Err(Errno::EINVAL) };
            }
            _ => return Err(Errno::ENOTTY),
        }
        Ok(0)
    }

    fn control_modes(&self, ioctl: &Ioctl<'_>) -> Option<SysResult<u64>> {
        let read = |layout| self.write_modes(ioctl.memory, ioctl.argument, layout);
        let set = |layout, flush| self.read_modes(ioctl.memory, ioctl.argument, layout, flush);
        Some(match ioctl.command {
            request::TCGETS => read(Layout::Termios),
            request::TCGETS2 => read(Layout::Termios2),
            request::TCGETA => read(Layout::Termio),
            request::TCSETS | request::TCSETSW => set(Layout::Termios, false),
            request::TCSETSF => set(Layout::Termios, true),
            request::TCSETS2 | request::TCSETSW2 => set(Layout::Termios2, false),
            request::TCSETSF2 => set(Layout::Termios2, true),
            request::TCSETA | request::TCSETAW => set(Layout::Termio, false),
            request::TCSETAF => set(Layout::Termio, true),
            request::TIOCGSOFTCAR => {
                let line = self.discipline.borrow().termios().cflag;
                self.write_number(ioctl, (line & ControlModes::CLOCAL.bits() != 0).into())
            }
            request::TIOCSSOFTCAR => self.set_soft_carrier(ioctl),
            _ => return None,
        })
    }

    fn set_soft_carrier(&self, ioctl: &Ioctl<'_>) -> SysResult<u64> {
        let wanted = UserPtr::<u32>::new(ioctl.argument).read(ioctl.memory)?;
        let mut discipline = self.discipline.borrow_mut();
        let mut termios = *discipline.termios();
        let mut line = ControlModes::from_bits_retain(termios.cflag);
        line.set(ControlModes::CLOCAL, wanted != 0);
        termios.cflag = line.bits();
        discipline.set_termios(termios);
        Ok(0)
    }

    pub(crate) fn write_number(&self, ioctl: &Ioctl<'_>, number: u32) -> SysResult<u64> {
        UserPtr::<u32>::new(ioctl.argument).write(ioctl.memory, &number)?;
        Ok(0)
    }

    fn flush(&self, what: Flush) {
        if what.input {
            self.flush_input();
            self.driver.tell(PacketStatus::FLUSHREAD);
        }
        if what.output {
            self.driver.flush_output();
        }
    }

    fn control_flow(&self, argument: u64) -> SysResult<u64> {
        let was_stopped = self.discipline.borrow().is_stopped();
        let key = |place| self.discipline.borrow().termios().key(place);
        match argument {
            flow::OUTPUT_OFF => self.discipline.borrow_mut().stop_by_request(),
            flow::OUTPUT_ON => self.discipline.borrow_mut().start_by_request(),
            flow::INPUT_OFF => self.send_key(key(cc::VSTOP))?,
            flow::INPUT_ON => self.send_key(key(cc::VSTART))?,
            _ => return Err(Errno::EINVAL),
        }
        self.tell_flow(was_stopped);
        self.output_drained();
        Ok(0)
    }

    /// Sends a flow control character to the other side, out of turn.
    fn send_key(&self, key: u8) -> SysResult {
        if key == 0 || self.driver.room() == 0 { Ok(()) } else { self.driver.put(&[key]) }
    }
}
