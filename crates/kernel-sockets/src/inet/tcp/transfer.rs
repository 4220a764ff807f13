//! Bytes of a TCP connection.

use kernel_core::io::{Sink, Source};
use kernel_core::wait::PollEvents;
use linux_abi::sockets::MessageFlags;
use linux_abi::{Errno, SysResult};

use super::{State, TcpSocket};
use crate::common::Shutdown;
use crate::options::Switches;
use crate::{Incoming, Outgoing, Received};

/// What each end adds to the room for data on its way, unless it was told how much.
const DEFAULT_HALF: usize = 256 << 10;

/// How much is thrown away at a time.
const SCRATCH: usize = 4 << 10;

impl TcpSocket {
    /// How many bytes may be on their way to `peer`.
    fn capacity_to(&self, peer: &Self) -> usize {
        let half = |lock: u32, given: usize, of: &Self| {
            if of.common.options.locked_buffers.get() & lock == 0 {
                DEFAULT_HALF
            } else {
                given / 2
            }
        };
        half(1, self.common.options.send_buffer.get(), self)
            + half(2, peer.common.options.receive_buffer.get(), peer)
    }

    /// Linux calls a stream writable while no more than two thirds of its room are used.
    fn is_writable_with(&self, peer: &Self, n_unread: usize) -> bool {
        n_unread.saturating_mul(3) <= self.capacity_to(peer).saturating_mul(2)
    }

    pub(super) fn is_writable(&self) -> bool {
        if self.host.borrow().is_some() {
            return false;
        }
        let peer = self.peer.borrow();
        peer.as_ref().is_none_or(|peer| self.is_writable_with(peer, peer.inbox.borrow().len()))
    }

    /// Whether as much has come as `SO_RCVLOWAT` asks for.
    pub(super) fn has_enough(&self) -> bool {
        let len = self.n_arrived();
        let wanted = self.common.options.receive_low_water.get().min(DEFAULT_HALF);
        len > 0 && len >= wanted
    }

    pub(super) fn send_bytes(&self, message: &mut Outgoing<'_>) -> SysResult<usize> {
        self.check_host_progress();
        let ended = self.common.shutdown().contains(Shutdown::SEND);
        match self.state.get() {
            State::Connecting if !ended => return Err(Errno::EAGAIN),
            State::Established if !ended && !self.common.has_error() => {}
            _ => return self.common.take_error().and(Err(Errno::EPIPE)),
        }
        if let Some(host) = &*self.host.borrow() {
            return host.send(message.source, message.flags);
        }
        let peer = self.peer.borrow().clone().ok_or(Errno::EPIPE)?;
        if message.source.remaining() == 0 {
            return Ok(0);
        }
        if peer.state.get() == State::Released {
            // The other end is closed. Linux learns so only by sending, so this one succeeds.
            // More than what fits on the way meets the answer, as a further call does.
            let n = throw_away(message.source, self.capacity_to(&peer))?;
            self.reset();
            peer.reset();
            return Ok(n);
        }
        let is_urgent = message.flags.contains(MessageFlags::OOB);
        let n = if is_urgent {
            self.send_urgent(&peer, message.source)?
        } else {
            self.push(&peer, message.source)?
        };
        self.common.network.counts.segments.add();
        let wants_more = self.is_corked.get() || message.flags.contains(MessageFlags::MORE);
        if wants_more && !is_urgent {
            peer.hold(n);
        } else {
            peer.let_arrive();
        }
        if peer.n_arrived() > 0 {
            peer.common.queue.wake(PollEvents::READABLE);
        }
        Ok(n)
    }

    fn push(&self, peer: &Self, source: &mut dyn Source) -> SysResult<usize> {
        let mut inbox = peer.inbox.borrow_mut();
        let room = self.capacity_to(peer).saturating_sub(inbox.len());
        if room == 0 {
            return Err(Errno::EAGAIN);
        }
        inbox.fill(source, room)
    }

    /// The last byte is urgent: it comes apart from the others, unless the receiver wants it with
    /// them.
    fn send_urgent(&self, peer: &Self, source: &mut dyn Source) -> SysResult<usize> {
        if peer.common.options.is_on(Switches::OOBINLINE) {
            return self.push(peer, source);
        }
        let before = source.remaining() - 1;
        let mut inbox = peer.inbox.borrow_mut();
        let room = self.capacity_to(peer).saturating_sub(inbox.len());
        if room < before {
            return Err(Errno::EAGAIN);
        }
        let n = inbox.fill(source, before)?;
        let mut byte = [0];
        if n < before || source.take(&mut byte)? == 0 {
            return Ok(n);
        }
        peer.urgent.set(Some((inbox.len(), byte[0])));
        drop(inbox);
        peer.common.queue.wake(PollEvents::PRI);
        Ok(n + 1)
    }

    pub(super) fn receive_bytes(&self, wanted: &mut Incoming<'_>) -> SysResult<Received> {
        self.check_host_progress();
        match self.state.get() {
            State::Listening | State::Released => return Err(Errno::ENOTCONN),
            State::Closed if !self.common.has_error() && self.common.shutdown().is_empty() => {
                return Err(Errno::ENOTCONN);
            }
            _ => {}
        }
        if let Some(host) = &*self.host.borrow()
            && self.state.get() == State::Established
        {
            return match host.receive(wanted.sink, wanted.flags) {
                Err(Errno::EAGAIN) if self.common.shutdown().contains(Shutdown::RECEIVE) => {
                    Ok(Received::default())
                }
                result => result.map(Received::bytes),
            };
        }
        if wanted.flags.contains(MessageFlags::OOB) {
            return self.receive_urgent(wanted);
        }
        if wanted.flags.contains(MessageFlags::ERRQUEUE) {
            return Err(Errno::EAGAIN);
        }
        let before = self.n_arrived();
        if before == 0 {
            return self.at_end();
        }
        if wanted.sink.remaining() == 0 {
            return Ok(Received::default());
        }
        let n = self.take(wanted, before)?;
        Ok(Received::bytes(n))
    }

    fn take(&self, wanted: &mut Incoming<'_>, before: usize) -> SysResult<usize> {
        // Reading stops before an urgent byte, so that its place in the stream can be seen.
        let max = match self.urgent.get() {
            Some((mark, _)) if mark > 0 => mark.min(before),
            _ => before,
        };
        if wanted.flags.contains(MessageFlags::PEEK | MessageFlags::TRUNC) {
            return Ok(before.min(max).min(wanted.sink.remaining()));
        }
        if wanted.flags.contains(MessageFlags::PEEK) {
            return self.peek(wanted.sink, max);
        }
        let n = if wanted.flags.contains(MessageFlags::TRUNC) {
            let n = before.min(max).min(wanted.sink.remaining());
            self.inbox.borrow_mut().discard(n);
            n
        } else {
            self.inbox.borrow_mut().drain(wanted.sink, max)?
        };
        if let Some((mark, byte)) = self.urgent.get() {
            self.urgent.set(Some((mark.saturating_sub(n), byte)));
        }
        let offset = &self.common.options.peek_offset;
        if offset.get() >= 0 {
            offset.set(offset.get().saturating_sub(i32::try_from(n).unwrap_or(0)).max(0));
        }
        let (now, later) = (before + self.held.get(), before + self.held.get() - n);
        if let Some(peer) = &*self.peer.borrow()
            && !peer.is_writable_with(self, now)
            && peer.is_writable_with(self, later)
        {
            peer.common.queue.wake(PollEvents::WRITABLE);
        }
        Ok(n)
    }

    fn peek(&self, sink: &mut dyn Sink, max: usize) -> SysResult<usize> {
        let offset = &self.common.options.peek_offset;
        let skip = usize::try_from(offset.get()).unwrap_or(0);
        let n = self.inbox.borrow().peek(skip, sink, max.saturating_sub(skip))?;
        if offset.get() >= 0 {
            offset.set(offset.get().saturating_add(i32::try_from(n).unwrap_or(0)));
        }
        Ok(n)
    }

    fn receive_urgent(&self, wanted: &mut Incoming<'_>) -> SysResult<Received> {
        let (_, byte) = self.urgent.get().ok_or(Errno::EINVAL)?;
        if self.common.options.is_on(Switches::OOBINLINE) {
            return Err(Errno::EINVAL);
        }
        let n = if wanted.sink.remaining() > 0 { wanted.sink.put(&[byte])? } else { 0 };
        if !wanted.flags.contains(MessageFlags::PEEK) {
            self.urgent.set(None);
        }
        Ok(Received { n_bytes: n, flags: MessageFlags::OOB, ..Received::default() })
    }

    /// What a read finds when there is no data.
    fn at_end(&self) -> SysResult<Received> {
        if self.has_fin.get() {
            return Ok(Received::default());
        }
        self.common.take_error()?;
        if self.common.shutdown().contains(Shutdown::RECEIVE) {
            return Ok(Received::default());
        }
        Err(Errno::EAGAIN)
    }
}

fn throw_away(source: &mut dyn Source, max: usize) -> SysResult<usize> {
    let mut scratch = [0; SCRATCH];
    let mut n = 0;
    while n < max {
        let wanted = source.remaining().min(SCRATCH).min(max - n);
        let piece = scratch.get_mut(..wanted).unwrap_or_default();
        match source.take(piece) {
            Ok(0) => break,
            Ok(taken) => n += taken,
            Err(errno) if n == 0 => return Err(errno),
            Err(_) => break,
        }
    }
    Ok(n)
}
