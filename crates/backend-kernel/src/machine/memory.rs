//! The memory of a guest: what travelled with the call, and else what the host copies.

use std::os::fd::BorrowedFd;

use host_sys::errno_of;
use kernel_core::memory::UserMemory;
use linux_abi::{Errno, SysResult};

use super::GuestMachine;

/// What the shim maps beside the guest, at most: the channel, and some room for stacks.
const SHIM_ADDRESS_SPACE: u64 = channel_abi::layout::CHANNEL_SIZE as u64 + (8 << 20);
/// What of that is private and writable.
const SHIM_DATA: u64 = 1 << 20;

impl UserMemory for GuestMachine {
    fn read_some(&self, address: u64, buffer: &mut [u8]) -> SysResult<usize> {
        if self.is_calling() {
            for piece in self.seat.pieces.get() {
                if let Some(offset) = inside(address, buffer.len(), piece.address, piece.length)
                    && piece.is_input
                    && self.place.space.channel.read_data(
                        self.place.index,
                        piece.offset + offset,
                        buffer,
                    )
                {
                    return Ok(buffer.len());
                }
            }
        }
        self.place.space.host.read_memory(address, buffer).map_err(|_| Errno::EFAULT)
    }

    fn read_string_part(&self, address: u64, buffer: &mut [u8]) -> SysResult<usize> {
        if self.is_calling() {
            for piece in self.seat.pieces.get() {
                let Some(offset) = inside(address, 1, piece.address, piece.length) else {
                    continue;
                };
                let n = buffer.len().min(piece.length - offset);
                let Some(part) = buffer.get_mut(..n) else { continue };
                if piece.is_input
                    && self.place.space.channel.read_data(
                        self.place.index,
                        piece.offset + offset,
                        part,
                    )
                    && part.contains(&0)
                {
                    return Ok(n);
                }
            }
        }
        self.read_some(address, buffer)
    }

    fn write_some(&self, address: u64, bytes: &[u8]) -> SysResult<usize> {
        if self.is_calling()
            && self
                .write_staged(address, bytes.len(), |offset| {
                    self.place
                        .space
                        .channel
                        .write_data(self.place.index, offset, bytes)
                        .then_some(bytes.len())
                })
                .is_some()
        {
            return Ok(bytes.len());
        }
        self.place.space.host.write_memory(address, bytes).map_err(|_| Errno::EFAULT)
    }

    fn write_from_host(
        &self,
        address: u64,
        file: BorrowedFd<'_>,
        offset: Option<u64>,
        max: usize,
    ) -> Option<SysResult<usize>> {
        if !self.is_calling() {
            return None;
        }
        // The start of a long buffer may be staged.
        let max = max.min(self.staged_room(address)?);
        let mut failure = None;
        let channel = &self.place.space.channel;
        let n = self.write_staged(address, max, |at| {
            match channel.read_file(self.place.index, at, max, file, offset) {
                Ok(n) => Some(n),
                Err(errno) => {
                    failure = Some(errno_of(errno));
                    Some(0)
                }
            }
        })?;
        Some(failure.map_or(Ok(n), Err))
    }
}

impl GuestMachine {
    /// How much from `address` on can be staged to be copied out.
    fn staged_room(&self, address: u64) -> Option<usize> {
        let pieces = self.seat.pieces.get();
        pieces.iter().filter(|piece| piece.is_output).find_map(|piece| {
            let offset = inside(address, 1, piece.address, piece.length)?;
            Some(piece.length - offset)
        })
    }

    /// Lets `put` write to the staged piece that holds this range, if there is one, and notes how
    /// much of the piece goes back to the guest.
    fn write_staged(
        &self,
        address: u64,
        length: usize,
        put: impl FnOnce(usize) -> Option<usize>,
    ) -> Option<usize> {
        let mut reply = self.seat.reply.get();
        let pieces = self.seat.pieces.get();
        for (piece, out) in pieces.iter().zip(&mut reply.out_lengths) {
            let Some(offset) = inside(address, length, piece.address, piece.length) else {
                continue;
            };
            // What lies between would go to the guest as well: leave that to the host.
            if !piece.is_output || offset > usize::from(*out) && !piece.is_input {
                continue;
            }
            let n = put(piece.offset + offset)?;
            let end = u16::try_from(offset + n).unwrap_or(u16::MAX);
            *out = (*out).max(end);
            self.seat.reply.set(reply);
            return Some(n);
        }
        None
    }
}

/// Where a range starts inside a piece, if it lies inside.
fn inside(address: u64, length: usize, piece: u64, piece_length: usize) -> Option<usize> {
    let offset = usize::try_from(address.checked_sub(piece)?).ok()?;
    (piece_length != 0 && offset.checked_add(length)? <= piece_length).then_some(offset)
}

impl GuestMachine {
    /// Has the host enforce the limits of the guest's memory.
    pub(super) fn limit_memory(&self, address_space: u64, data: u64) {
        use host_sys::rustix::process::{Resource, Rlimit, prlimit};
        let Some(pid) = self.place.space.host.pid() else { return };
        // The shim's own memory is not the guest's.
        let beside = |limit: u64, own: u64| (limit != u64::MAX).then(|| limit.saturating_add(own));
        for (resource, limit) in [
            (Resource::As, beside(address_space, SHIM_ADDRESS_SPACE)),
            (Resource::Data, beside(data, SHIM_DATA)),
        ] {
            // Fails only if the host's own limit is lower, which then holds.
            let _ = prlimit(Some(pid), resource, Rlimit { current: limit, maximum: None });
        }
    }
}
