//! A Unix socket.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use kernel_core::wait::PollEvents;
use kernel_files::{Ioctl, Location, OpenFile};
use linux_abi::sockets::{MessageFlags, Ucred, af, sock};
use linux_abi::{Errno, SysResult};

use super::connections::{Backlog, MAX_DATAGRAMS};
use super::in_flight::Rights;
use super::name::{ParsedName, UnixName};
use super::options;
use super::packets::{Charge, Packet, PacketInbox};
use super::stream::{Senders, StreamInbox};
use crate::common::Shutdown;
use crate::options::Switches;
use crate::socket::Patience;
use crate::{Caller, Common, Control, Incoming, Network, Outgoing, RawName, Received, SocketOps};

/// What a socket is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Idle,
    Listening,
    Connected,
    Released,
}

/// Who is at the other end, as it was when the connection was made.
#[derive(Clone, Debug)]
pub(super) struct Identity {
    pub(super) ucred: Ucred,
    pub(super) groups: Rc<[u32]>,
}

impl Identity {
    pub(super) fn of(caller: &dyn Caller) -> Self {
        Self { ucred: caller.ucred(), groups: Rc::clone(&caller.credentials().groups) }
    }
}

/// What a socket has received.
pub(super) enum Inbox {
    Stream(RefCell<StreamInbox>),
    Packets(RefCell<PacketInbox>),
}

/// A Unix socket of any type.
pub struct UnixSocket {
    pub(super) me: Weak<Self>,
    common: Common,
    pub(super) state: Cell<State>,
    pub(super) inbox: Inbox,
    pub(super) name: RefCell<Option<UnixName>>,
    /// Where the name is in the tree of files. Held, because the inode tells who is bound to it.
    pub(super) node: RefCell<Option<Location>>,
    /// Cleared on release, so that two ends do not keep each other.
    pub(super) peer: RefCell<Option<Rc<Self>>>,
    pub(super) peer_identity: RefCell<Option<Identity>>,
    /// Who called `listen`.
    pub(super) identity: RefCell<Option<Identity>>,
    pub(super) backlog: RefCell<Backlog>,
    /// Whether somebody has a descriptor of it; an end that waits to be accepted has none.
    pub(super) is_accepted: Cell<bool>,
    /// What of the send buffer is in packets that nobody has received.
    n_charged: Cell<usize>,
    /// Sockets that found this one full, to be told when it is not.
    waiting_senders: RefCell<Vec<Weak<Self>>>,
    /// Who last came to `write`.
    last_writer: Cell<Option<Ucred>>,
    place: Cell<usize>,
}

impl UnixSocket {
    /// A new socket of type `kind`; `ESOCKTNOSUPPORT` for types that there are not.
    pub fn new(network: &Rc<Network>, kind: u32) -> SysResult<Rc<Self>> {
        // Linux takes `SOCK_RAW` for `SOCK_DGRAM`.
        let kind = if kind == sock::RAW { sock::DGRAM } else { kind };
        let inbox = match kind {
            sock::STREAM => Inbox::Stream(RefCell::default()),
            sock::DGRAM | sock::SEQPACKET => Inbox::Packets(RefCell::default()),
            _ => return Err(Errno::ESOCKTNOSUPPORT),
        };
        let socket = Rc::new_cyclic(|me| Self {
            me: Weak::clone(me),
            common: Common::new(network, af::UNIX, kind, 0),
            state: Cell::new(State::Idle),
            inbox,
            name: RefCell::default(),
            node: RefCell::default(),
            peer: RefCell::default(),
            peer_identity: RefCell::default(),
            identity: RefCell::default(),
            backlog: RefCell::default(),
            is_accepted: Cell::new(true),
            n_charged: Cell::new(0),
            waiting_senders: RefCell::default(),
            last_writer: Cell::new(None),
            place: Cell::new(0),
        });
        let weak: Weak<Self> = Rc::downgrade(&socket);
        socket.place.set(network.enlist(weak));
        Ok(socket)
    }

    /// Whether it listens, and whether it is connected, for `/proc/net/unix`.
    pub fn shown_state(&self) -> (bool, bool) {
        (self.state.get() == State::Listening, self.state.get() == State::Connected)
    }

    /// Its name, for `/proc/net/unix`: an abstract one starts with `@`.
    pub fn shown_name(&self) -> Option<Vec<u8>> {
        match &*self.name.borrow() {
            Some(UnixName::Path(path)) => Some(path.clone()),
            Some(UnixName::Abstract(name)) => {
                let shown = name.iter().map(|&byte| if byte == 0 { b'@' } else { byte });
                Some(std::iter::once(b'@').chain(shown).collect())
            }
            None => None,
        }
    }

    fn is_connection_based(&self) -> bool {
        self.common.kind != sock::DGRAM
    }

    pub(super) fn charge(&self, n_bytes: usize) {
        self.n_charged.set(self.n_charged.get() + n_bytes);
    }

    pub(super) fn uncharge(&self, n_bytes: usize) {
        let before = self.n_charged.get();
        self.n_charged.set(before.saturating_sub(n_bytes));
        self.wake_if_writable_again(before, before.saturating_sub(n_bytes));
    }

    /// What was sent and not yet received, in the measure of the send buffer.
    pub(super) fn n_unread(&self) -> usize {
        match &self.inbox {
            Inbox::Packets(_) => self.n_charged.get(),
            Inbox::Stream(_) => match self.peer.borrow().as_deref().map(|peer| &peer.inbox) {
                Some(Inbox::Stream(inbox)) => inbox.borrow().len(),
                _ => 0,
            },
        }
    }

    /// Linux calls a Unix socket writable while no more than a quarter of its buffer is in use.
    fn is_writable_with(&self, n_unread: usize) -> bool {
        n_unread.saturating_mul(4) <= self.common.options.send_buffer.get()
    }

    fn wake_if_writable_again(&self, before: usize, after: usize) {
        if !self.is_writable_with(before) && self.is_writable_with(after) {
            self.common.queue.wake(PollEvents::WRITABLE | PollEvents::WRBAND);
        }
    }

    pub(super) fn add_waiting_sender(&self, sender: &Self) {
        let mut waiting = self.waiting_senders.borrow_mut();
        if !waiting.iter().any(|other| Weak::ptr_eq(other, &sender.me)) {
            waiting.push(Weak::clone(&sender.me));
        }
    }

    pub(super) fn wake_waiting_senders(&self) {
        if self.waiting_senders.borrow().is_empty() {
            return;
        }
        for sender in self.waiting_senders.take().iter().filter_map(Weak::upgrade) {
            sender.common.queue.wake(PollEvents::WRITABLE | PollEvents::WRBAND);
        }
    }

    /// Whether a datagram socket has as many packets as it takes.
    fn is_full(&self) -> bool {
        match &self.inbox {
            Inbox::Packets(inbox) => inbox.borrow().n_packets() > MAX_DATAGRAMS,
            Inbox::Stream(_) => false,
        }
    }

    fn has_data(&self) -> bool {
        match &self.inbox {
            Inbox::Stream(inbox) => !inbox.borrow().is_empty(),
            Inbox::Packets(inbox) => !inbox.borrow().is_empty(),
        }
    }

    /// Throws away what was received.
    pub(super) fn empty(&self) {
        // Dropped outside of the borrow: what is thrown away may hold sockets.
        match &self.inbox {
            Inbox::Stream(inbox) => drop(inbox.take()),
            Inbox::Packets(inbox) => drop(inbox.take()),
        }
        let waiting: Vec<Rc<Self>> = self.backlog.borrow().waiting.iter().cloned().collect();
        for embryo in waiting {
            embryo.empty();
        }
    }

    /// Shows every open file that waits to be received here, also by ends that wait to be accepted.
    pub(super) fn for_each_waiting_file(&self, visit: &mut dyn FnMut(&Rc<OpenFile>)) {
        match &self.inbox {
            Inbox::Stream(inbox) => inbox.borrow().files().for_each(&mut *visit),
            Inbox::Packets(inbox) => inbox.borrow().files().for_each(&mut *visit),
        }
        for embryo in &self.backlog.borrow().waiting {
            embryo.for_each_waiting_file(visit);
        }
    }

    /// Who sends, if anybody wants to know.
    fn sender(&self, to: &Self, message: &Outgoing<'_>) -> Option<Ucred> {
        if message.control.credentials.is_some() {
            return message.control.credentials;
        }
        let wanted = |socket: &Self| {
            socket.common.options.is_on(Switches::PASSCRED)
                || socket.common.options.is_on(Switches::PASSPIDFD)
        };
        if !wanted(self) && !wanted(to) && to.is_accepted.get() {
            return None;
        }
        message.caller.map(Caller::real_ucred).or_else(|| self.last_writer.get())
    }

    fn send_stream(&self, message: &mut Outgoing<'_>) -> SysResult<usize> {
        if message.flags.contains(MessageFlags::OOB) {
            return Err(Errno::EOPNOTSUPP);
        }
        if message.name.is_some() {
            let connected = self.state.get() == State::Connected;
            return Err(if connected { Errno::EISCONN } else { Errno::EOPNOTSUPP });
        }
        let peer = self.peer.borrow().clone().ok_or(Errno::ENOTCONN)?;
        if self.common.shutdown().contains(Shutdown::SEND)
            || peer.common.shutdown().contains(Shutdown::RECEIVE)
            || peer.state.get() == State::Released
        {
            return Err(Errno::EPIPE);
        }
        self.common.take_error()?;
        if message.source.remaining() == 0 {
            return Ok(0);
        }
        let Inbox::Stream(inbox) = &peer.inbox else { return Err(Errno::EINVAL) };
        let room = self.common.options.send_buffer.get().saturating_sub(inbox.borrow().len());
        if room == 0 {
            return Err(Errno::EAGAIN);
        }
        let sender = self.sender(&peer, message);
        let files = std::mem::take(&mut message.control.files);
        let mut rights = Rights::new(&self.common.network, message.caller, files)?;
        let n = inbox.borrow_mut().push(message.source, room, sender, &mut rights)?;
        peer.common.queue.wake(PollEvents::READABLE);
        Ok(n)
    }

    fn send_packet(&self, message: &mut Outgoing<'_>) -> SysResult<usize> {
        if self.common.kind == sock::SEQPACKET {
            self.common.take_error()?;
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
        let buffer = self.common.options.send_buffer.get();
        if len > buffer.saturating_sub(32) {
            return Err(Errno::EMSGSIZE);
        }
        self.common.take_error()?;
        if self.common.shutdown().contains(Shutdown::SEND) {
            return Err(Errno::EPIPE);
        }
        if self.n_charged.get() >= buffer {
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
        if other.common.shutdown().contains(Shutdown::RECEIVE) {
            return Err(Errno::EPIPE);
        }
        if !self.is_mutual_with(other) && other.is_full() {
            other.add_waiting_sender(self);
            return Err(Errno::EAGAIN);
        }
        let Inbox::Packets(inbox) = &other.inbox else { return Err(Errno::EPROTOTYPE) };
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
            rights: Rights::new(&self.common.network, message.caller, files)?,
            charge: Charge::new(&self.me.upgrade().ok_or(Errno::EINVAL)?, len),
        };
        inbox.borrow_mut().push(packet);
        other.common.queue.wake(PollEvents::READABLE);
        Ok(len)
    }

    fn is_mutual_with(&self, other: &Self) -> bool {
        other.peer.borrow().as_ref().is_some_and(|peer| std::ptr::eq(&raw const **peer, self))
    }

    /// What a read finds when there is no data.
    fn at_end(&self, flags: MessageFlags) -> SysResult<Received> {
        self.common.take_error()?;
        // A datagram socket that is shut down says so only to those who would wait.
        let tells = self.is_connection_based() || !flags.contains(MessageFlags::DONTWAIT);
        let ended = self.common.shutdown().contains(Shutdown::RECEIVE) && tells;
        if ended { Ok(Received::default()) } else { Err(Errno::EAGAIN) }
    }

    fn receive_stream(
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
        let options = &self.common.options;
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
        let cell = &self.common.options.peek_offset;
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

    fn receive_packet(
        &self,
        inbox: &RefCell<PacketInbox>,
        wanted: &mut Incoming<'_>,
    ) -> SysResult<Received> {
        if self.common.kind == sock::SEQPACKET && self.state.get() != State::Connected {
            return Err(Errno::ENOTCONN);
        }
        if wanted.flags.contains(MessageFlags::OOB) {
            return Err(Errno::EOPNOTSUPP);
        }
        let peeks = wanted.flags.contains(MessageFlags::PEEK);
        let skip = usize::try_from(self.common.options.peek_offset.get()).unwrap_or(0);
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
        flags.set(MessageFlags::EOR, self.common.kind == sock::SEQPACKET);
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
        if self.common.options.is_on(Switches::PASSCRED) {
            control.push(Control::Credentials(sender.unwrap_or(Ucred::UNKNOWN)));
        }
        if !files.is_empty() {
            control.push(Control::Files(files));
        }
        control
    }

    /// Tells the other end of a connection that this one is gone.
    fn leave_peer(&self) {
        let Some(peer) = self.peer.take() else { return };
        if !self.is_connection_based() {
            return;
        }
        let lost_data = self.has_data() || !self.is_accepted.get();
        peer.common.add_shutdown(Shutdown::all());
        if lost_data {
            peer.common.set_error(Errno::ECONNRESET);
        }
    }
}

impl SocketOps for UnixSocket {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn common(&self) -> &Common {
        &self.common
    }

    fn bind(&self, caller: &dyn Caller, name: &[u8]) -> SysResult<()> {
        self.bind_to(caller, name)
    }

    fn listen(&self, caller: &dyn Caller, backlog: u32) -> SysResult<()> {
        self.start_listening(caller, backlog)
    }

    fn accept(&self) -> SysResult<Rc<dyn SocketOps>> {
        self.accept_next().map(|socket| -> Rc<dyn SocketOps> { socket })
    }

    fn connect(&self, caller: &dyn Caller, name: &[u8], _patience: Patience) -> SysResult<()> {
        self.connect_to(caller, name)
    }

    fn local_name(&self) -> SysResult<RawName> {
        Ok(UnixName::encode(self.name.borrow().as_ref()))
    }

    fn peer_name(&self) -> SysResult<RawName> {
        let peer = self.peer.borrow();
        let peer = peer.as_ref().ok_or(Errno::ENOTCONN)?;
        Ok(UnixName::encode(peer.name.borrow().as_ref()))
    }

    fn send(&self, message: &mut Outgoing<'_>) -> SysResult<usize> {
        match &self.inbox {
            Inbox::Packets(_) => self.send_packet(message),
            Inbox::Stream(_) => self.send_stream(message),
        }
    }

    fn receive(&self, wanted: &mut Incoming<'_>) -> SysResult<Received> {
        match &self.inbox {
            Inbox::Stream(inbox) => self.receive_stream(inbox, wanted),
            Inbox::Packets(inbox) => self.receive_packet(inbox, wanted),
        }
    }

    fn shutdown(&self, how: Shutdown) -> SysResult<()> {
        self.common.add_shutdown(how);
        if self.is_connection_based()
            && let Some(peer) = &*self.peer.borrow()
        {
            peer.common.add_shutdown(how.mirrored());
        }
        Ok(())
    }

    fn poll(&self) -> PollEvents {
        let mut ready = PollEvents::empty();
        let shutdown = self.common.shutdown();
        ready.set(PollEvents::ERR, self.common.has_error());
        if shutdown.contains(Shutdown::RECEIVE) {
            ready |= PollEvents::RDHUP | PollEvents::READABLE;
        }
        let state = self.state.get();
        let unconnected = self.is_connection_based() && state == State::Idle;
        ready.set(PollEvents::HUP, shutdown == Shutdown::all() || unconnected);
        if state == State::Listening {
            if !self.backlog.borrow().waiting.is_empty() {
                ready |= PollEvents::READABLE;
            }
            return ready;
        }
        if self.has_data() {
            ready |= PollEvents::READABLE;
        }
        if self.is_writable_with(self.n_unread()) && !self.is_held_up_by_peer() {
            ready |= PollEvents::WRITABLE | PollEvents::WRBAND;
        }
        ready
    }

    fn get_option(&self, level: i32, name: i32) -> SysResult<Vec<u8>> {
        options::get(self, level, name)
    }

    fn set_option(
        &self,
        caller: &dyn Caller,
        level: i32,
        name: i32,
        value: &[u8],
    ) -> SysResult<()> {
        options::set(self, caller, level, name, value)
    }

    fn ioctl(&self, ioctl: &Ioctl<'_>) -> SysResult<u64> {
        options::ioctl(self, ioctl)
    }

    fn release(&self) {
        self.state.set(State::Released);
        self.common.network.delist(self.place.get());
        self.unbind();
        self.leave_peer();
        let waiting = std::mem::take(&mut self.backlog.borrow_mut().waiting);
        for embryo in waiting {
            embryo.release();
        }
        self.empty();
        self.common.queue.wake(PollEvents::HUP);
        self.wake_waiting_senders();
    }

    fn is_stream(&self) -> bool {
        self.common.kind == sock::STREAM
    }

    fn note_writer(&self, caller: &dyn Any) {
        self.last_writer.set((self.common.network.identify)(caller));
    }
}

impl UnixSocket {
    /// Whether the socket that datagrams go to is full.
    fn is_held_up_by_peer(&self) -> bool {
        if self.is_connection_based() {
            return false;
        }
        let peer = self.peer.borrow();
        let Some(peer) = peer.as_ref() else { return false };
        let held_up = !self.is_mutual_with(peer) && peer.is_full();
        if held_up {
            peer.add_waiting_sender(self);
        }
        held_up
    }
}
