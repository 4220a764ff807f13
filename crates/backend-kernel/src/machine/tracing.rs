//! The state of a thread that is watched and asks the kernel something right now.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use channel_abi::layout::{MAX_STATE, STATE_OFFSET};
use channel_abi::resume;
use kernel_tasks::Machine;
use kernel_tasks::machine::UserRegisters;
use linux_abi::{Errno, SysResult};

use super::GuestMachine;
use crate::engine::space::Poke;

impl GuestMachine {
    pub(super) fn shown_registers(&self) -> UserRegisters {
        let mut registers = UserRegisters::default();
        for (to, from) in registers.0.iter_mut().zip(&self.slot().registers) {
            *to = from.load(Relaxed);
        }
        registers
    }

    pub(super) fn replace_registers(&self, registers: &UserRegisters) {
        for (to, from) in self.slot().registers.iter().zip(registers.0) {
            to.store(from, Relaxed);
        }
    }

    pub(super) fn shown_state(&self) -> Vec<u8> {
        let claimed = self.slot().state_size.load(Relaxed);
        let length = usize::try_from(claimed).unwrap_or(0).min(MAX_STATE);
        let mut bytes = vec![0; length];
        self.place.space.channel.read_data(self.place.index, STATE_OFFSET, &mut bytes);
        bytes
    }

    pub(super) fn replace_state(&self, state: &[u8]) {
        let state = state.get(..state.len().min(MAX_STATE)).unwrap_or_default();
        self.place.space.channel.write_data(self.place.index, STATE_OFFSET, state);
        self.slot().resume.fetch_or(resume::STATE_CHANGED, SeqCst);
    }

    /// Tells the shim of a thread that stands still to write a word.
    pub(super) fn ask_to_poke(&self, address: u64, word: u64) -> SysResult<()> {
        let engine = self.engine()?;
        let is_still = self.seat.is_busy.get() && self.seat.answer.borrow().is_some();
        if !is_still || self.seat.poke.get() == Poke::Asked {
            return Err(Errno::ESRCH);
        }
        let text = self.maps_text();
        let protection = protection_at(&String::from_utf8_lossy(&text), address);
        let protection = protection.ok_or(Errno::EFAULT)?;
        engine.ask_to_poke(&self.place, &self.seat, address, word, protection);
        Ok(())
    }
}

/// `PROT_*` of the mapping at an address, from the host's `maps`.
fn protection_at(maps: &str, address: u64) -> Option<u64> {
    let line = maps.lines().find_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let (start, end) =
            (u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?);
        (start..end).contains(&address).then_some(rest)
    })?;
    let bit =
        |letter: char, bit: u64| if line.get(..3)?.contains(letter) { Some(bit) } else { None };
    Some(bit('r', 1).unwrap_or(0) | bit('w', 2).unwrap_or(0) | bit('x', 4).unwrap_or(0))
}
