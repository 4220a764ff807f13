//! The settings of a line: `TCGETS` and its relatives.

use kernel_core::memory::{UserMemory, UserPtr};
use linux_abi::SysResult;
use linux_abi::terminals::{
    ControlModes, InputModes, LocalModes, PacketStatus, TERMIOS_BYTES, Termio, Termios, cc,
};
use zerocopy::IntoBytes;

use super::Terminal;

/// Which structure a request moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// `struct termios`.
    Termios,
    /// `struct termios2`, with the speeds.
    Termios2,
    /// `struct termio`, the old one.
    Termio,
}

impl Terminal {
    pub(super) fn write_modes(
        &self,
        memory: &dyn UserMemory,
        address: u64,
        layout: Layout,
    ) -> SysResult<u64> {
        let termios = *self.discipline.borrow().termios();
        match layout {
            Layout::Termios2 => memory.write(address, termios.as_bytes())?,
            Layout::Termios => {
                memory
                    .write(address, termios.as_bytes().get(..TERMIOS_BYTES).unwrap_or_default())?;
            }
            Layout::Termio => memory.write(address, to_old(&termios).as_bytes())?,
        }
        Ok(0)
    }

    /// Takes the new settings in. `flush` throws away what was typed first (`TCSETSF`).
    pub(super) fn read_modes(
        &self,
        memory: &dyn UserMemory,
        address: u64,
        layout: Layout,
        flush: bool,
    ) -> SysResult<u64> {
        let old = *self.discipline.borrow().termios();
        let mut new = old;
        match layout {
            Layout::Termios2 => new = UserPtr::<Termios>::new(address).read(memory)?,
            Layout::Termios => {
                let bytes = new.as_mut_bytes().get_mut(..TERMIOS_BYTES).unwrap_or_default();
                memory.read(address, bytes)?;
                set_speeds(&mut new);
            }
            Layout::Termio => {
                apply_old(&mut new, &UserPtr::<Termio>::new(address).read(memory)?);
                set_speeds(&mut new);
            }
        }
        // Before it is answered: what is typed next is treated as the program wants it.
        if new != old {
            self.driver.input_wanted();
        }
        if flush {
            self.flush_input();
            self.driver.tell(PacketStatus::FLUSHREAD);
        }
        self.set_modes(old, new);
        Ok(0)
    }

    fn set_modes(&self, old: Termios, mut new: Termios) {
        // A pseudo terminal has eight bits and no parity, whatever is asked for.
        let line = ControlModes::from_bits_retain(new.cflag) - ControlModes::PARENB;
        new.cflag = (line | ControlModes::CSIZE | ControlModes::CREAD).bits();
        let was_stopped = self.discipline.borrow().is_stopped();
        self.discipline.borrow_mut().set_termios(new);
        self.tell_mode_change(&old, &new);
        self.tell_flow(was_stopped);
        // Whoever waits for a line may have one now, and the other way round.
        self.process_input();
        self.queue.wake(self.ready());
    }

    fn tell_mode_change(&self, old: &Termios, new: &Termios) {
        if (old.local() ^ new.local()).contains(LocalModes::EXTPROC) {
            self.driver.tell(PacketStatus::IOCTL);
        }
        if has_usual_flow_keys(old) != has_usual_flow_keys(new) {
            let usual = has_usual_flow_keys(new);
            self.driver.tell(if usual { PacketStatus::DOSTOP } else { PacketStatus::NOSTOP });
        }
    }
}

fn has_usual_flow_keys(termios: &Termios) -> bool {
    termios.input().contains(InputModes::IXON)
        && termios.key(cc::VSTOP) == 0o23
        && termios.key(cc::VSTART) == 0o21
}

/// The speeds that the bits of the control modes stand for.
fn set_speeds(termios: &mut Termios) {
    const SPEEDS: [u32; 16] =
        [0, 50, 75, 110, 134, 150, 200, 300, 600, 1200, 1800, 2400, 4800, 9600, 19200, 38400];
    const FAST: [u32; 16] = [
        0, 57600, 115_200, 230_400, 460_800, 500_000, 576_000, 921_600, 1_000_000, 1_152_000,
        1_500_000, 2_000_000, 2_500_000, 3_000_000, 3_500_000, 4_000_000,
    ];
    let table = if termios.cflag & ControlModes::CBAUDEX.bits() == 0 { &SPEEDS } else { &FAST };
    let speed = table.get((termios.cflag & 0o17) as usize).copied().unwrap_or(0);
    let is_other = termios.cflag & ControlModes::CBAUD.bits() == ControlModes::CBAUDEX.bits();
    if !is_other {
        termios.ospeed = speed;
        termios.ispeed = speed;
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the old structure has the lower halves")]
fn to_old(termios: &Termios) -> Termio {
    let mut cc = [0; 8];
    for (old, new) in cc.iter_mut().zip(termios.cc) {
        *old = new;
    }
    Termio {
        iflag: termios.iflag as u16,
        oflag: termios.oflag as u16,
        cflag: termios.cflag as u16,
        lflag: termios.lflag as u16,
        line: termios.line,
        cc,
        padding: 0,
    }
}

fn apply_old(termios: &mut Termios, old: &Termio) {
    let lower = |new: &mut u32, old: u16| *new = *new & 0xffff_0000 | u32::from(old);
    lower(&mut termios.iflag, old.iflag);
    lower(&mut termios.oflag, old.oflag);
    lower(&mut termios.cflag, old.cflag);
    lower(&mut termios.lflag, old.lflag);
    for (new, old) in termios.cc.iter_mut().zip(old.cc) {
        *new = old;
    }
}
