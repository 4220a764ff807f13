//! Data on its way between Unix sockets.

use std::cell::RefCell;
use std::rc::Rc;

use kernel_core::wait::PollEvents;
use kernel_files::OpenFile;
use linux_abi::sockets::{MessageFlags, Ucred, sock};
use linux_abi::{Errno, SysResult};

use super::UnixSocket;
use super::in_flight::Rights;
use super::name::{ParsedName, UnixName};
use super::packets::{Charge, Packet, PacketInbox};
use super::socket::{Inbox, State};
use super::stream::{Senders, StreamInbox};
use crate::common::Shutdown;
use crate::options::Switches;
use crate::{Caller, Control, Incoming, Outgoing, RawName, Received, SocketOps};

impl UnixSocket {
    /// Who sends, if anybody wants to know.
    fn sender(&self, to: &Self, message: &Outgoing<'_>) -> Option<Ucred> {
        if message.control.credentials.is_some() {
            return message.control.credentials;
        }
        let wanted = |socket: &Self| {
            socket.common().options.is_on(Switches::PASSCRED)
                || socket.common().options.is_on(Switches::PASSPIDFD)
        };
        if !wanted(self) && !wanted(to) && to.is_accepted.get() {
            return None;
        }
        message.caller.map(Caller::real_ucred).or_else(|| self.last_writer())
    }

    pub(super) fn send_stream(&self, message: &mut Outgoing<'_>) -> SysResult<usize> {
        if message.flags.contains(MessageFlags::OOB) {
            return Err(Errno::EOPNOTSUPP);
        }
        if message.name.is_some() {
            let connected = self.state.get() == State::Connected;
            return Err(if connected { Errno::EISCONN } else { Errno::EOPNOTSUPP });
        }
        let peer = self.peer.borrow().clone().ok_or(Errno::ENOTCONN)?;
        if self.common().shutdown().contains(Shutdown::SEND)
            || peer.common().shutdown().contains(Shutdown::RECEIVE)
            || peer.state.get() == State::Released
        {
            return Err(Errno::EPIPE);
        }
        self.common().take_error()?;
        if message.source.remaining() == 0 {
            return Ok(0);
        }
        let Inbox::Stream(inbox) = &peer.inbox else { return Err(Errno::EINVAL) };
        let room = self.common().options.send_buffer.get().saturating_sub(inbox.borrow().len());
        if room == 0 {
            return Err(Errno::EAGAIN);
        }
        let sender = self.sender(&peer, message);
        let files = std::mem::take(&mut message.control.files);
        let mut rights = Rights::new(&self.common().network, message.caller, files)?;
        let n = inbox.borrow_mut().push(message.source, room, sender, &mut rights)?;
        peer.common().queue.wake(PollEvents::READABLE);
        Ok(n)
    }

    pub(super) fn send_packet(&self, message: &mut Outgoing<'_>) -> SysResult<usize> {
        if self.common().kind == sock::SEQPACKET {
            self.common().take_error()?;
            if self.state.get() != State::Connected {
                return Err(Errno::ENOTCONN);
            }
            message.name = None;
        }
        if message.flags.contains(MessageFlags::OOB) {
            return Err(Errno::EOPNOTSUPP);
        }
        self.autobind_if_needed()?;
        let named = match message.name {
            Some(name) => match UnixName::parse(name)? {
                ParsedName::Name(name) => Some(name),
                ParsedName::Choose => return Err(Errno::EINVAL),
            },
            None if self.peer.borrow().is_none() => return Err(Errno::ENOTCONN),
            None => None,
        };
        let len = message.source.remaining();
        let buffer = self.common().options.send_buffer.get();
        if len > buffer.saturating_sub(32) {
            return Err(Errno::EMSGSIZE);
        }
        self.common().take_error()?;
        if self.common().shutdown().contains(Shutdown::SEND) {
            return Err(Errno::EPIPE);
        }
        if self.n_charged() >= buffer {
            return Err(Errno::EAGAIN);
        }
        let other = match (named, message.caller) {
            (Some(name), Some(caller)) => self.find(caller, &name)?,
            _ => self.peer.borrow().clone().ok_or(Errno::ENOTCONN)?,
        };
        self.deliver(&other, len, message)
    }

    fn deliver(
        &self,
        other: &Rc<Self>,
        len: usize,
        message: &mut Outgoing<'_>,
    ) -> SysResult<usize> {
        if !self.is_connection_based() && !other.takes_datagrams_of(self) {
            return Err(Errno::EPERM);
        }
        if other.state.get() == State::Released {
            if !self.is_connection_based() {
                *self.peer.borrow_mut() = None;
                self.state.set(State::Idle);
                return Err(Errno::ECONNREFUSED);
            }
            return Err(Errno::EPIPE);
        }
        if other.common().shutdown().contains(Shutdown::RECEIVE) {
            return Err(Errno::EPIPE);
        }
        if !self.is_mutual_with(other) && other.is_full() {
            other.add_waiting_sender(self);
            return Err(Errno::EAGAIN);
        }
        let Inbox::Packets(inbox) = &other.inbox else { return Err(Errno::EPROTOTYPE) };
        let charge = Charge::new(&self.me.upgrade().ok_or(Errno::EINVAL)?, len)?;
        let mut data = Vec::new();
        data.try_reserve_exact(len).map_err(|_| Errno::ENOMEM)?;
        data.resize(len, 0);
        if len > 0 && message.source.take(&mut data)? < len {
            return Err(Errno::EFAULT);
        }
        inbox.borrow_mut().reserve()?;
        let files = std::mem::take(&mut message.control.files);
        let packet = Packet {
            data,
            name: self.name.borrow().as_ref().map(|name| UnixName::encode(Some(name))),
            sender: self.sender(other, message),
            rights: Rights::new(&self.common().network, message.caller, files)?,
            charge,
        };
        inbox.borrow_mut().push(packet);
        other.common().queue.wake(PollEvents::READABLE);
        Ok(len)
    }

    pub(super) fn is_mutual_with(&self, other: &Self) -> bool {
        other.peer.borrow().as_ref().is_some_and(|peer| std::ptr::eq(&raw const **peer, self))
    }

    /// What a read finds when there is no data.
    fn at_end(&self, flags: MessageFlags) -> SysResult<Received> {
        self.common().take_error()?;
        // A datagram socket that is shut down says so only to those who would wait.
        let tells = self.is_connection_based() || !flags.contains(MessageFlags::DONTWAIT);
        let ended = self.common().shutdown().contains(Shutdown::RECEIVE) && tells;
        if ended { Ok(Received::default()) } else { Err(Errno::EAGAIN) }
    }

    pub(super) fn receive_stream(
        &self,
        inbox: &RefCell<StreamInbox>,
        wanted: &mut Incoming<'_>,
    ) -> SysResult<Received> {
        if self.state.get() != State::Connected {
            return Err(Errno::EINVAL);
        }
        if wanted.flags.contains(MessageFlags::OOB) {
            return Err(Errno::EOPNOTSUPP);
        }
        let options = &self.common().options;
        let senders =
            if options.is_on(Switches::PASSCRED) { Senders::Matter } else { Senders::DoNotMatter };
        let peek_offset = usize::try_from(options.peek_offset.get());
        let before = inbox.borrow().len();
        if before == 0 {
            return self.at_end(wanted.flags);
        }
        let part = if wanted.flags.contains(MessageFlags::PEEK) {
            let skip = peek_offset.unwrap_or(0);
            if skip >= before {
                return self.at_end(wanted.flags);
            }
            inbox.borrow().peek(wanted.sink, senders, skip)?
        } else {
            inbox.borrow_mut().take(wanted.sink, senders)?
        };
        let n_bytes = part.n_bytes;
        if wanted.flags.contains(MessageFlags::PEEK) {
            self.move_peek_offset(n_bytes, 0);
        } else {
            self.move_peek_offset(0, n_bytes);
            if let Some(peer) = &*self.peer.borrow() {
                peer.wake_if_writable_again(before, before - n_bytes);
            }
        }
        Ok(Received {
            n_bytes,
            flags: MessageFlags::empty(),
            name: self.name_of_peer(),
            control: self.control(part.sender, part.files),
        })
    }

    fn name_of_peer(&self) -> Option<RawName> {
        let peer = self.peer.borrow();
        let name = peer.as_ref()?.name.borrow();
        name.as_ref().map(|name| UnixName::encode(Some(name)))
    }

    /// `SO_PEEK_OFF` moves on with what is looked at, and back with what is taken.
    fn move_peek_offset(&self, forward: usize, backward: usize) {
        let cell = &self.common().options.peek_offset;
        if cell.get() < 0 {
            return;
        }
        let as_number = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
        cell.set(
            cell.get()
                .saturating_add(as_number(forward))
                .saturating_sub(as_number(backward))
                .max(0),
        );
    }

    pub(super) fn receive_packet(
        &self,
        inbox: &RefCell<PacketInbox>,
        wanted: &mut Incoming<'_>,
    ) -> SysResult<Received> {
        if self.common().kind == sock::SEQPACKET && self.state.get() != State::Connected {
            return Err(Errno::ENOTCONN);
        }
        if wanted.flags.contains(MessageFlags::OOB) {
            return Err(Errno::EOPNOTSUPP);
        }
        let peeks = wanted.flags.contains(MessageFlags::PEEK);
        let skip = usize::try_from(self.common().options.peek_offset.get()).unwrap_or(0);
        let received = inbox.borrow_mut().receive(wanted, if peeks { skip } else { 0 });
        let part = match received {
            Ok(part) => part,
            Err(Errno::EAGAIN) => return self.at_end(wanted.flags),
            Err(errno) => return Err(errno),
        };
        if !peeks {
            self.move_peek_offset(0, part.real_len);
            drop(part.spent);
            self.wake_waiting_senders();
        }
        let n_bytes = part.copied?;
        if peeks {
            self.move_peek_offset(n_bytes, 0);
        }
        let mut flags = MessageFlags::empty();
        flags.set(MessageFlags::TRUNC, n_bytes < part.real_len);
        let wants_real = wanted.flags.contains(MessageFlags::TRUNC);
        Ok(Received {
            n_bytes: if wants_real { part.real_len } else { n_bytes },
            flags,
            name: part.name,
            control: self.control(part.sender, part.files),
        })
    }

    fn control(&self, sender: Option<Ucred>, files: Vec<Rc<OpenFile>>) -> Vec<Control> {
        let mut control = Vec::new();
        if self.common().options.is_on(Switches::PASSCRED) {
            control.push(Control::Credentials(sender.unwrap_or(Ucred::UNKNOWN)));
        }
        if !files.is_empty() {
            control.push(Control::Files(files));
        }
        control
    }
}
