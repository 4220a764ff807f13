//! TCP.
//!
//! A connection inside the sandbox is two [`TcpSocket`]s that know each other; each owns the queue
//! of the bytes that it will receive. A connection that leaves is a socket of the host.

mod connect;
mod cork;
mod options;
#[cfg(test)]
mod tests;
mod transfer;

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::{Rc, Weak};

use kernel_core::landlock::net as landlock;
use kernel_core::timers::TimerKey;
use kernel_core::wait::PollEvents;
use kernel_files::Ioctl;
use linux_abi::sockets::inet::ipproto;
use linux_abi::sockets::{SOMAXCONN, sock};
use linux_abi::{Errno, SysResult};

use super::Identity;
use super::time_wait::{HoldKey, Parted};
use crate::byte_queue::ByteQueue;
use crate::common::Shutdown;
use crate::host_stream::HostStream;
use crate::socket::Patience;
use crate::{Caller, Common, Incoming, Network, Outgoing, RawName, Received, SocketOps};

/// What a TCP socket is doing, as far as anybody can see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Closed,
    Listening,
    /// Waits for a place in a backlog, or for the host.
    Connecting,
    Established,
    /// Both ends are done with each other, or one has reset the connection.
    Finished,
    Released,
}

/// Who ended a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// Nobody yet.
    NotYet,
    /// This end, which keeps the port for some time.
    Here,
    /// The other end.
    There,
    /// It broke.
    Reset,
}

/// Connections to a listener.
#[derive(Default)]
pub(super) struct Backlog {
    maximum: usize,
    /// Made, and not yet accepted.
    ready: VecDeque<Rc<TcpSocket>>,
    /// Not made, because there were too many; in Linux they would send another SYN.
    held_up: VecDeque<Weak<TcpSocket>>,
}

/// A TCP socket.
pub struct TcpSocket {
    pub(super) me: Weak<Self>,
    common: Common,
    /// Where it is.
    pub identity: Identity,
    state: Cell<State>,
    inbox: RefCell<ByteQueue>,
    /// How many bytes at the end of the inbox have not come yet, and when they come at last.
    held: Cell<usize>,
    held_until: Cell<Option<TimerKey>>,
    /// Holds bytes back for whole segments (`TCP_CORK`).
    is_corked: Cell<bool>,
    /// Cleared on release, so that two ends do not keep each other.
    peer: RefCell<Option<Rc<Self>>>,
    /// The connection leaves the sandbox, or came from outside.
    host: RefCell<Option<Rc<HostStream>>>,
    backlog: RefCell<Backlog>,
    /// `connect` has begun and not yet told how it ended.
    is_connecting: Cell<bool>,
    /// The port was chosen by `bind`, and is kept when a connection fails.
    is_bound: Cell<bool>,
    /// The peer has sent all that it will send.
    has_fin: Cell<bool>,
    ending: Cell<Ending>,
    /// The port is held for the connection, which is over.
    hold: Cell<Option<HoldKey>>,
    /// An urgent byte, and how many bytes come before it.
    urgent: Cell<Option<(usize, u8)>>,
    place: Cell<usize>,
}

impl TcpSocket {
    /// A new socket of `AF_INET` or `AF_INET6`.
    pub fn new(network: &Rc<Network>, domain: u16) -> Rc<Self> {
        let protocol = u16::try_from(ipproto::TCP).unwrap_or(0);
        let socket = Rc::new_cyclic(|me| Self {
            me: Weak::clone(me),
            common: Common::new(network, domain, sock::STREAM, protocol),
            identity: Identity::default(),
            state: Cell::new(State::Closed),
            inbox: RefCell::default(),
            held: Cell::new(0),
            held_until: Cell::new(None),
            is_corked: Cell::new(false),
            peer: RefCell::default(),
            host: RefCell::default(),
            backlog: RefCell::default(),
            is_connecting: Cell::new(false),
            is_bound: Cell::new(false),
            has_fin: Cell::new(false),
            ending: Cell::new(Ending::NotYet),
            hold: Cell::new(None),
            urgent: Cell::new(None),
            place: Cell::new(0),
        });
        options::set_initial_buffers(&socket.common);
        let weak: Weak<Self> = Rc::downgrade(&socket);
        socket.place.set(network.enlist(weak));
        socket
    }

    /// The number that `/proc/net/tcp` shows for the state, and the lengths of the two queues.
    pub fn shown_state(&self) -> (u8, usize, usize) {
        let received = match self.state.get() {
            State::Listening => self.backlog.borrow().ready.len(),
            _ => self.n_arrived(),
        };
        let sent = self.peer.borrow().as_ref().map_or(0, |peer| peer.inbox.borrow().len());
        (self.state_number(), sent, received)
    }

    fn state_number(&self) -> u8 {
        let shutdown = self.common.shutdown();
        match self.state.get() {
            State::Established if self.has_fin.get() => 8,
            State::Established if shutdown.contains(Shutdown::SEND) => 5,
            State::Established => 1,
            State::Connecting => 2,
            State::Listening => 10,
            State::Closed | State::Finished | State::Released => 7,
        }
    }

    /// The peer will send nothing more.
    fn receive_fin(&self) {
        if let Some(hold) = self.hold.take() {
            self.hold.set(self.common.network.tcp_ports.hold_again(hold));
        }
        self.let_arrive();
        self.has_fin.set(true);
        self.end_by(Ending::There);
        self.common.add_shutdown(Shutdown::RECEIVE);
        self.finish_if_done();
    }

    /// Both ends have said that they are done: nothing is left of the connection.
    fn finish_if_done(&self) {
        if self.has_fin.get()
            && self.common.shutdown() == Shutdown::all()
            && self.state.get() == State::Established
        {
            self.state.set(State::Finished);
        }
    }

    /// The first to end a connection is the one who counts.
    fn end_by(&self, ending: Ending) {
        if self.ending.get() == Ending::NotYet {
            self.ending.set(ending);
        }
    }

    /// The peer has reset the connection.
    fn reset(&self) {
        if let Some(hold) = self.hold.take() {
            self.common.network.tcp_ports.end_hold(hold);
        }
        if self.state.get() != State::Established {
            return;
        }
        self.common.network.counts.resets.add();
        let errno = if self.has_fin.get() { Errno::EPIPE } else { Errno::ECONNRESET };
        self.fail(errno);
    }

    /// Ends the connection with an error.
    fn fail(&self, errno: Errno) {
        self.state.set(State::Finished);
        self.ending.set(Ending::Reset);
        self.common.add_shutdown(Shutdown::all());
        self.common.set_error(errno);
    }

    fn is_connected(&self) -> bool {
        self.state.get() == State::Established
    }

    /// Leaves the peer: with a reset if data was lost or the guest wants it so.
    fn leave_peer(&self) {
        let Some(peer) = self.peer.take() else { return };
        if !self.is_connected() && self.state.get() != State::Finished {
            return;
        }
        let linger = self.common.options.linger.get();
        if !self.inbox.borrow().is_empty() || (linger.on != 0 && linger.seconds == 0) {
            if self.is_connected() {
                self.ending.set(Ending::Reset);
            }
            peer.reset();
        } else {
            self.end_by(Ending::Here);
            peer.receive_fin();
        }
    }

    fn stop_listening(&self) {
        if let Some(key) = self.identity.binding.get() {
            self.common.network.tcp_ports.stop_receiving(key);
        }
        let backlog = self.backlog.take();
        for connection in backlog.ready {
            if let Some(peer) = connection.peer.take() {
                peer.reset();
            }
            connection.release();
        }
        for waiting in backlog.held_up.iter().filter_map(Weak::upgrade) {
            waiting.refuse();
        }
    }

    /// Gives the port back, or has it held if this end closed first.
    fn part_with_port(&self) {
        let parted = |local, remote| Parted {
            local,
            remote,
            family: self.common.domain,
            is_closed: self.has_fin.get(),
        };
        let ends = self.identity.local.get().zip(self.identity.remote.get());
        match (self.ending.get(), ends, self.identity.binding.get()) {
            (Ending::Here, Some((local, remote)), Some(key)) => {
                self.identity.binding.set(None);
                let hold = self.common.network.tcp_ports.hold(key, parted(local, remote));
                self.hold.set(Some(hold));
            }
            _ => self.release_port(),
        }
    }

    fn release_port(&self) {
        if let Some(key) = self.identity.binding.take() {
            self.common.network.tcp_ports.release(key);
        }
    }
}

impl SocketOps for TcpSocket {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn common(&self) -> &Common {
        &self.common
    }

    fn bind(&self, caller: &dyn Caller, name: &[u8]) -> SysResult<()> {
        let local = self.identity.parse_local(&self.common, name)?;
        if local.ip().is_multicast() || self.common.network.interfaces.is_broadcast(local.ip()) {
            return Err(Errno::EADDRNOTAVAIL);
        }
        if self.state.get() != State::Closed {
            return Err(Errno::EINVAL);
        }
        if let Some(domain) = &caller.credentials().landlock {
            domain.check_port(local.port(), landlock::BIND_TCP)?;
        }
        self.identity.bind(&self.common, &self.common.network.tcp_ports, caller, local)?;
        self.is_bound.set(true);
        Ok(())
    }

    fn listen(&self, caller: &dyn Caller, backlog: u32) -> SysResult<()> {
        self.start_listening(caller, backlog.min(SOMAXCONN))
    }

    fn accept(&self) -> SysResult<Rc<dyn SocketOps>> {
        self.accept_next().map(|socket| -> Rc<dyn SocketOps> { socket })
    }

    fn connect(&self, caller: &dyn Caller, name: &[u8], patience: Patience) -> SysResult<()> {
        self.connect_to(caller, name, patience)
    }

    fn local_name(&self) -> SysResult<RawName> {
        Ok(self.identity.local_name(self.common.domain))
    }

    fn peer_name(&self) -> SysResult<RawName> {
        self.check_host_progress();
        if !self.is_connected() {
            return Err(Errno::ENOTCONN);
        }
        self.identity.peer_name(self.common.domain)
    }

    fn accepted_name(&self) -> SysResult<RawName> {
        self.identity.peer_name(self.common.domain)
    }

    fn send(&self, message: &mut Outgoing<'_>) -> SysResult<usize> {
        self.send_bytes(message)
    }

    fn receive(&self, wanted: &mut Incoming<'_>) -> SysResult<Received> {
        self.receive_bytes(wanted)
    }

    fn shutdown(&self, how: Shutdown) -> SysResult<()> {
        match self.state.get() {
            State::Closed | State::Finished | State::Released => {
                self.common.queue.wake(PollEvents::all());
                return Err(Errno::ENOTCONN);
            }
            State::Listening => {
                if how.contains(Shutdown::RECEIVE) {
                    self.state.set(State::Closed);
                    self.stop_listening();
                    self.common.queue.wake(PollEvents::all());
                }
                return Ok(());
            }
            State::Connecting | State::Established => {}
        }
        let newly_ended =
            how.contains(Shutdown::SEND) && !self.common.shutdown().contains(Shutdown::SEND);
        self.common.add_shutdown(how);
        if newly_ended {
            if let Some(host) = &*self.host.borrow() {
                host.shutdown_sending();
            }
            let peer = self.peer.borrow().clone();
            if let Some(peer) = peer {
                self.end_by(Ending::Here);
                peer.receive_fin();
            }
        }
        self.finish_if_done();
        Ok(())
    }

    fn poll(&self) -> PollEvents {
        self.check_host_progress();
        let state = self.state.get();
        if state == State::Listening {
            let is_ready = !self.backlog.borrow().ready.is_empty();
            return if is_ready { PollEvents::READABLE } else { PollEvents::empty() };
        }
        let mut ready = PollEvents::empty();
        let shutdown = self.common.shutdown();
        ready.set(PollEvents::ERR, self.common.has_error());
        let is_closed = matches!(state, State::Closed | State::Finished | State::Released);
        ready.set(PollEvents::HUP, shutdown == Shutdown::all() || is_closed);
        if shutdown.contains(Shutdown::RECEIVE) {
            ready |= PollEvents::READABLE | PollEvents::RDHUP;
        }
        if state == State::Connecting {
            return ready;
        }
        if self.has_enough() {
            ready |= PollEvents::READABLE;
        }
        if shutdown.contains(Shutdown::SEND) || self.is_writable() {
            ready |= PollEvents::WRITABLE;
        }
        ready.set(PollEvents::PRI, self.urgent.get().is_some());
        if let Some(host) = &*self.host.borrow() {
            ready |= host.readiness();
        }
        ready
    }

    fn is_moved_by_calls(&self) -> bool {
        self.host.borrow().is_none()
    }

    fn get_option(&self, level: i32, name: i32) -> SysResult<Vec<u8>> {
        self.check_host_progress();
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
        let was_listening = self.state.get() == State::Listening;
        self.common.network.delist(self.place.get());
        self.leave_peer();
        self.state.set(State::Released);
        if was_listening {
            self.stop_listening();
        }
        self.part_with_port();
        if let Some(host) = self.host.take() {
            host.close(self.common.options.linger.get());
        }
        self.let_arrive();
        self.inbox.borrow_mut().clear();
        self.common.queue.wake(PollEvents::HUP);
    }

    fn is_stream(&self) -> bool {
        true
    }
}
