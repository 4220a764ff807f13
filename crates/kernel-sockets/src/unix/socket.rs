//! A Unix socket.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use kernel_core::wait::PollEvents;
use kernel_files::{Ioctl, Location, OpenFile};
use linux_abi::sockets::{Ucred, af, sock};
use linux_abi::{Errno, SysResult};

use super::connections::{Backlog, MAX_DATAGRAMS};
use super::name::UnixName;
use super::options;
use super::packets::PacketInbox;
use super::stream::StreamInbox;
use crate::common::Shutdown;
use crate::socket::Patience;
use crate::{Caller, Common, Incoming, Network, Outgoing, RawName, Received, SocketOps};

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

    pub(super) fn is_connection_based(&self) -> bool {
        self.common.kind != sock::DGRAM
    }

    pub(super) fn n_charged(&self) -> usize {
        self.n_charged.get()
    }

    pub(super) fn last_writer(&self) -> Option<Ucred> {
        self.last_writer.get()
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

    pub(super) fn wake_if_writable_again(&self, before: usize, after: usize) {
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
    pub(super) fn is_full(&self) -> bool {
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

    fn is_moved_by_calls(&self) -> bool {
        true
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
