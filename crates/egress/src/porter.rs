//! The porter's loop.

use std::io::Write;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use host_sys::rustix::event::{PollFd, PollFlags, poll};
use host_sys::rustix::io::Errno;
use host_sys::rustix::net::{
    AddressFamily, SendFlags, SocketFlags, SocketType, acceptfrom_with, connect, socket_with,
    sockopt,
};
use host_sys::rustix::{self};
use sandbox_spec::{ConnectionKind, EgressRules, Reason, Verdict};

use crate::audit_log::AuditLog;
use crate::ledger::Ledger;
use crate::names::{Context, Lookup, NameServer};
use crate::policy::{Decision, Policy};
use crate::protocol::{self, Answer, NAME_SERVER, Request, Transport};
use crate::ties::Ties;

#[cfg(test)]
mod tests;

/// How many messages, or connections, are taken at a time, so that others get their turn.
const BATCH: usize = 64;

/// The ids of connections from outside: those that the kernel process chooses are smaller.
const FIRST_ARRIVED: u64 = 1 << 63;

/// What a porter needs.
pub struct Duty {
    /// The rules.
    pub rules: EgressRules,
    /// How names are looked up.
    pub lookup: Lookup,
    /// The line to the kernel process. Its end is the end of the sandbox.
    pub kernel: OwnedFd,
    /// Listening sockets, and the ports inside that they lead to.
    pub published: Vec<(OwnedFd, u16)>,
    /// The audit log.
    pub audit: Option<AuditLog>,
}

/// Serves a sandbox to its end, and then writes the account of it to `report`, as JSON.
pub fn run(duty: Duty, mut report: UnixStream) -> rustix::io::Result<()> {
    let mut porter = Porter {
        policy: Policy::new(duty.rules),
        ties: Ties::default(),
        ledger: Ledger::new(duty.audit),
        names: NameServer::new(duty.lookup)?,
        kernel: duty.kernel,
        published: duty.published,
        next_arrived: FIRST_ARRIVED,
    };
    while porter.turn()? {}
    let records = serde_json::to_vec(&porter.ledger.finish()).unwrap_or_default();
    // Nobody reads it if the starter is gone.
    let _ = report.write_all(&records);
    Ok(())
}

struct Porter {
    policy: Policy,
    ties: Ties,
    ledger: Ledger,
    names: NameServer,
    kernel: OwnedFd,
    published: Vec<(OwnedFd, u16)>,
    next_arrived: u64,
}

/// Whose descriptor is ready.
#[derive(Clone, Copy)]
enum Ready {
    Kernel,
    Lookups,
    Published(usize),
    Client(u64),
}

impl Porter {
    /// Waits, and does what there is to do. Returns whether the sandbox is still there.
    fn turn(&mut self) -> rustix::io::Result<bool> {
        for ready in self.wait()? {
            match ready {
                Ready::Kernel => {
                    if !self.obey()? {
                        return Ok(false);
                    }
                }
                Ready::Lookups | Ready::Client(_) => {
                    let (policy, ties) = (&self.policy, &mut self.ties);
                    let context = &mut Context { policy, ties, ledger: &mut self.ledger };
                    match ready {
                        Ready::Client(id) => self.names.serve(id, context),
                        _ => self.names.collect(context),
                    }
                }
                Ready::Published(index) => self.accept(index)?,
            }
        }
        Ok(true)
    }

    fn wait(&self) -> rustix::io::Result<Vec<Ready>> {
        let mut who = vec![Ready::Kernel, Ready::Lookups];
        let mut fds = vec![watch(self.kernel.as_fd()), watch(self.names.bell())];
        for (index, (socket, _)) in self.published.iter().enumerate() {
            who.push(Ready::Published(index));
            fds.push(watch(socket.as_fd()));
        }
        for (id, socket) in self.names.sockets() {
            who.push(Ready::Client(id));
            fds.push(watch(socket));
        }
        rustix::io::retry_on_intr(|| poll(&mut fds, None))?;
        let ready = who.into_iter().zip(&fds).filter(|(_, fd)| !fd.revents().is_empty());
        Ok(ready.map(|(who, _)| who).collect())
    }

    /// Takes what the kernel process asks for. Returns whether it is still there.
    fn obey(&mut self) -> rustix::io::Result<bool> {
        for _ in 0..BATCH {
            match protocol::receive::<Request>(self.kernel.as_fd()) {
                Ok(Some((Request::Connect { id, transport, to }, _))) => {
                    self.connect(id, transport, to)?;
                }
                Ok(Some((Request::Closed { id, sent, received }, _))) => {
                    self.ledger.closed(id, sent, received);
                }
                Ok(None) | Err(Errno::CONNRESET) => return Ok(false),
                Err(Errno::AGAIN) => return Ok(true),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn connect(&mut self, id: u64, transport: Transport, to: SocketAddr) -> rustix::io::Result<()> {
        let to = plain(to);
        if to == NAME_SERVER {
            let socket = self.names.open(transport);
            return self.hand_over(id, socket);
        }
        let kind = match transport {
            Transport::Tcp => ConnectionKind::Tcp,
            Transport::Udp => ConnectionKind::Udp,
        };
        let decision = self.policy.decide(to, &self.ties, Instant::now());
        self.ledger.decided(kind, Some(to), &decision, Some(id));
        if !decision.is_allowed() {
            return self.hand_over(id, Err(Errno::ACCESS));
        }
        let socket = host_socket(transport, to);
        if socket.is_err() {
            self.ledger.closed(id, 0, 0);
        }
        self.hand_over(id, socket)
    }

    /// Gives the kernel process what it asked for.
    fn hand_over(&self, id: u64, socket: rustix::io::Result<OwnedFd>) -> rustix::io::Result<()> {
        let error = match socket {
            Ok(socket) => match self.send(&Answer::Connected { id }, Some(socket.as_fd())) {
                // Too many descriptors are on their way.
                Err(Errno::TOOMANYREFS) => Errno::NOBUFS,
                result => return result,
            },
            Err(error) => error,
        };
        self.send(&Answer::Refused { id, errno: error.raw_os_error() }, None)
    }

    fn send(&self, answer: &Answer, descriptor: Option<BorrowedFd<'_>>) -> rustix::io::Result<()> {
        match protocol::send(self.kernel.as_fd(), answer, descriptor, SendFlags::empty()) {
            // The sandbox has ended, which is seen next.
            Err(Errno::PIPE | Errno::CONNRESET) => Ok(()),
            result => result,
        }
    }

    /// Takes connections to a published port.
    fn accept(&mut self, index: usize) -> rustix::io::Result<()> {
        for _ in 0..BATCH {
            let Some((socket, guest)) = self.published.get(index) else { return Ok(()) };
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let Ok((connection, from)) = acceptfrom_with(socket, flags) else { return Ok(()) };
            let Some(from) = from.and_then(|from| SocketAddr::try_from(from).ok()) else {
                continue;
            };
            let _ = sockopt::set_tcp_nodelay(&connection, true);
            let (guest, id) = (*guest, self.next_arrived);
            self.next_arrived += 1;
            let decision =
                Decision { verdict: Verdict::Allowed, reason: Reason::PublishedPort, name: None };
            self.ledger.decided(ConnectionKind::Published, Some(from), &decision, Some(id));
            let answer = Answer::Arrived { id, guest, from };
            match self.send(&answer, Some(connection.as_fd())) {
                Err(Errno::TOOMANYREFS) => self.ledger.closed(id, 0, 0),
                result => result?,
            }
        }
        Ok(())
    }
}

fn watch(fd: BorrowedFd<'_>) -> PollFd<'_> {
    PollFd::from_borrowed_fd(fd, PollFlags::IN)
}

/// The address without what only this machine understands, and an IPv4 address as such.
fn plain(to: SocketAddr) -> SocketAddr {
    SocketAddr::new(to.ip().to_canonical(), to.port())
}

/// A socket of the host's that is connected to `to`, or about to be.
fn host_socket(transport: Transport, to: SocketAddr) -> rustix::io::Result<OwnedFd> {
    let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let kind = match transport {
        Transport::Tcp => SocketType::STREAM,
        Transport::Udp => SocketType::DGRAM,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, kind, flags, None)?;
    if transport == Transport::Tcp {
        // The guest's kernel has put small pieces together already, if the guest wanted it.
        let _ = sockopt::set_tcp_nodelay(&socket, true);
    }
    match connect(&socket, &to) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(error) => Err(error),
    }
}
