//! How TCP sockets find each other: `listen`, `accept`, `connect`.

use std::net::{IpAddr, SocketAddr};
use std::rc::{Rc, Weak};

use kernel_core::landlock::net as landlock;
use kernel_core::supervisor::Transport;
use kernel_core::wait::PollEvents;
use linux_abi::sockets::af;
use linux_abi::{Errno, SysResult};

use super::{Ending, State, TcpSocket, options};
use crate::common::check_room;
use crate::egress::{Flow, Passage, Reply};
use crate::host_stream::{Connected, HostStream};
use crate::inet::{address, interfaces};
use crate::socket::Patience;
use crate::{Caller, SocketOps};

/// How many connections may wait for a place in one backlog.
const MAX_HELD_UP: usize = 4096;

impl TcpSocket {
    pub(super) fn start_listening(&self, caller: &dyn Caller, backlog: u32) -> SysResult<()> {
        match self.state.get() {
            State::Listening => {
                self.backlog.borrow_mut().maximum = backlog as usize;
                return Ok(());
            }
            State::Closed => {}
            _ => return Err(Errno::EINVAL),
        }
        let ports = &self.common.network.tcp_ports;
        if self.identity.binding.get().is_none() {
            let any = SocketAddr::new(address::unspecified(self.common.domain), 0);
            self.identity.bind(&self.common, ports, caller, any)?;
        }
        let key = self.identity.binding.get().ok_or(Errno::EADDRINUSE)?;
        ports.receive(key, Weak::clone(&self.me), true)?;
        self.backlog.borrow_mut().maximum = backlog as usize;
        self.common.reset_shutdown();
        self.state.set(State::Listening);
        Ok(())
    }

    pub(super) fn accept_next(&self) -> SysResult<Rc<Self>> {
        if self.state.get() != State::Listening {
            return Err(Errno::EINVAL);
        }
        let accepted = self.backlog.borrow_mut().ready.pop_front().ok_or(Errno::EAGAIN)?;
        self.admit_held_up();
        Ok(accepted)
    }

    /// There is a place in the backlog for somebody who waits for one.
    fn admit_held_up(&self) {
        loop {
            let next = self.backlog.borrow_mut().held_up.pop_front();
            match next.map(|waiting| waiting.upgrade()) {
                None => return,
                Some(Some(waiting)) if waiting.state.get() == State::Connecting => {
                    waiting.join(self);
                    return;
                }
                Some(_) => {}
            }
        }
    }

    pub(super) fn connect_to(
        &self,
        caller: &dyn Caller,
        name: &[u8],
        patience: Patience,
    ) -> SysResult<()> {
        if address::family(name)? == af::UNSPEC {
            self.disconnect();
            return Ok(());
        }
        self.check_host_progress();
        if self.is_connecting.get() {
            return self.connect_again();
        }
        if self.state.get() != State::Closed {
            return Err(Errno::EISCONN);
        }
        if address::family(name)? != self.common.domain {
            return Err(Errno::EAFNOSUPPORT);
        }
        let remote = self.identity.parse_remote(&self.common, name)?;
        let remote = SocketAddr::new(interfaces::destination(remote.ip()), remote.port());
        if let Some(domain) = &caller.credentials().landlock {
            domain.check_port(remote.port(), landlock::CONNECT_TCP)?;
        }
        self.common.take_error()?;
        if self.stays_inside(remote) {
            self.connect_inside(caller, remote)?;
        } else {
            self.connect_outside(caller, remote)?;
        }
        self.is_connecting.set(true);
        match (patience, self.state.get()) {
            (Patience::Never, _) | (_, State::Connecting) => Err(Errno::EINPROGRESS),
            _ => self.connect_again(),
        }
    }

    /// Whether a connection to `remote` is one between guests. One to a loopback address where
    /// nobody listens may be meant for the host.
    fn stays_inside(&self, remote: SocketAddr) -> bool {
        let network = &self.common.network;
        let leads_out = remote.ip().is_loopback()
            && network.egress().is_some_and(|egress| egress.leads_to_host(remote))
            && network.tcp_ports.find(remote.ip(), remote.port()).is_none();
        network.interfaces.is_local(remote.ip()) && !leads_out
    }

    /// How the connection that was begun went.
    fn connect_again(&self) -> SysResult<()> {
        match self.state.get() {
            State::Connecting => Err(Errno::EALREADY),
            State::Established => {
                self.is_connecting.set(false);
                Ok(())
            }
            _ => {
                let error = self.common.take_error().err().unwrap_or(Errno::ECONNABORTED);
                self.disconnect();
                Err(error)
            }
        }
    }

    /// Forgets the connection; the socket can be used anew.
    fn disconnect(&self) {
        if self.state.get() == State::Listening {
            self.stop_listening();
        }
        if let Some(peer) = self.peer.take() {
            peer.reset();
        }
        self.host.take();
        self.let_arrive();
        self.inbox.borrow_mut().clear();
        self.state.set(State::Closed);
        self.is_connecting.set(false);
        self.has_fin.set(false);
        self.ending.set(Ending::NotYet);
        self.common.reset_shutdown();
        self.identity.remote.set(None);
        if !self.is_bound.get() {
            self.release_port();
            self.identity.local.set(None);
        }
    }

    /// The connection could not be made.
    pub(super) fn refuse(&self) {
        self.common.network.counts.failed_opens.add();
        self.fail(Errno::ECONNREFUSED);
    }

    /// Gives a connection its own address, and a port if it has none.
    fn bind_for(&self, caller: &dyn Caller, source: IpAddr) -> SysResult<()> {
        let ports = &self.common.network.tcp_ports;
        if self.identity.binding.get().is_none() {
            let local = SocketAddr::new(source, 0);
            self.identity
                .bind(&self.common, ports, caller, local)
                .map_err(|_| Errno::EADDRNOTAVAIL)?;
        }
        if let Some(local) = self.identity.local.get()
            && local.ip().is_unspecified()
        {
            self.identity.local.set(Some(SocketAddr::new(source, local.port())));
        }
        Ok(())
    }

    fn connect_inside(&self, caller: &dyn Caller, remote: SocketAddr) -> SysResult<()> {
        self.bind_for(caller, interfaces::source_for(remote.ip()))?;
        self.identity.remote.set(Some(remote));
        let Some(listener) = self.common.network.tcp_ports.find(remote.ip(), remote.port()) else {
            self.refuse();
            return Ok(());
        };
        let is_full = {
            let backlog = listener.backlog.borrow();
            backlog.ready.len() > backlog.maximum
        };
        if !is_full {
            check_room(1)?;
            self.join(&listener);
            return Ok(());
        }
        let mut backlog = listener.backlog.borrow_mut();
        if backlog.held_up.len() >= MAX_HELD_UP {
            drop(backlog);
            self.refuse();
            return Ok(());
        }
        self.state.set(State::Connecting);
        backlog.held_up.push_back(Weak::clone(&self.me));
        Ok(())
    }

    /// Makes the other end of a connection and lets it wait to be accepted.
    fn join(&self, listener: &Self) {
        let (Some(me), Some(remote)) = (self.me.upgrade(), self.identity.remote.get()) else {
            return;
        };
        let other = listener.new_connection(remote, self.identity.local.get());
        *other.peer.borrow_mut() = Some(me);
        *self.peer.borrow_mut() = Some(Rc::clone(&other));
        self.become_established();
        listener.add_ready(other);
    }

    fn become_established(&self) {
        self.common.network.counts.active_opens.add();
        self.state.set(State::Established);
        self.common.reset_shutdown();
        options::grow_buffers(&self.common);
        self.common.queue.wake(PollEvents::WRITABLE);
    }

    /// An end of a connection to this listener.
    fn new_connection(&self, local: SocketAddr, remote: Option<SocketAddr>) -> Rc<Self> {
        let other = Self::new(&self.common.network, self.common.domain);
        other.common.options.inherit(&self.common.options);
        other.common.owner.set(self.common.owner.get());
        other.identity.copy_from(&self.identity);
        other.identity.local.set(Some(local));
        other.identity.remote.set(remote);
        let key = self.common.network.tcp_ports.join(
            other.identity.bound(local.ip()),
            local.port(),
            self.identity.binding.get(),
        );
        other.identity.binding.set(Some(key));
        self.common.network.counts.passive_opens.add();
        other.state.set(State::Established);
        options::grow_buffers(&other.common);
        other
    }

    fn add_ready(&self, connection: Rc<Self>) {
        self.backlog.borrow_mut().ready.push_back(connection);
        self.common.queue.wake_one(PollEvents::READABLE);
    }

    /// Asks for a connection that leaves the sandbox.
    fn connect_outside(&self, caller: &dyn Caller, remote: SocketAddr) -> SysResult<()> {
        let network = &self.common.network;
        let egress = network.egress_for(Transport::Tcp, remote)?;
        self.bind_for(caller, network.outward_source(remote.ip())?)?;
        self.identity.remote.set(Some(remote));
        self.state.set(State::Connecting);
        let me = Weak::clone(&self.me);
        let reply: Reply<Passage> = Box::new(move |result| {
            if let Some(socket) = me.upgrade() {
                socket.host_answered(result);
            }
        });
        egress.connect(Flow::tcp(remote), reply);
        Ok(())
    }

    fn host_answered(&self, result: SysResult<Passage>) {
        if self.state.get() != State::Connecting {
            return;
        }
        let stream = result.and_then(|passage| {
            HostStream::new(&self.common.network, passage, self.common.queue.clone())
        });
        match stream {
            Ok(stream) => {
                *self.host.borrow_mut() = Some(stream);
                self.check_host_progress();
            }
            Err(errno) => self.fail(errno),
        }
    }

    /// Looks whether the host's connection is made.
    pub(super) fn check_host_progress(&self) {
        if self.state.get() != State::Connecting {
            return;
        }
        let progress = self.host.borrow().as_ref().map(|host| host.check_connected());
        match progress {
            None | Some(Connected::NotYet) => {}
            Some(Connected::Yes) => self.become_established(),
            Some(Connected::Failed(errno)) => self.fail(errno),
        }
    }

    /// A connection from outside, for the guest that listens on `local`. `ECONNREFUSED` if none
    /// does, or if it has too many.
    pub fn deliver_from_host(
        network: &Rc<crate::Network>,
        local: SocketAddr,
        remote: SocketAddr,
        passage: Passage,
    ) -> SysResult<()> {
        let listener = network.tcp_ports.find(local.ip(), local.port());
        let listener = listener.ok_or(Errno::ECONNREFUSED)?;
        check_room(1)?;
        let is_full = {
            let backlog = listener.backlog.borrow();
            backlog.ready.len() > backlog.maximum
        };
        if is_full {
            return Err(Errno::ECONNREFUSED);
        }
        let connection = listener.new_connection(local, Some(remote));
        let queue = connection.common().queue.clone();
        let stream =
            HostStream::new(network, passage, queue).inspect_err(|_| connection.release())?;
        *connection.host.borrow_mut() = Some(stream);
        listener.add_ready(connection);
        Ok(())
    }
}
