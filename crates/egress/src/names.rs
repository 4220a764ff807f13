//! The name server that guests see.
//!
//! A guest's socket that talks to it is one end of a pair of host sockets; the other end is here.
//! Names that are allowed are looked up by the host's own resolver, in threads, because that
//! waits.

use std::collections::HashMap;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use host_sys::LookupError;
use host_sys::rustix::event::{EventfdFlags, eventfd};
use host_sys::rustix::io::Errno;
use host_sys::rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair,
};
use host_sys::rustix::{self};
use sandbox_spec::{ConnectionKind, Reason, Verdict};

use crate::dns::{self, MAX_MESSAGE, Outcome, Query};
use crate::ledger::Ledger;
use crate::policy::{Decision, Policy};
use crate::protocol::Transport;
use crate::special::canonical;
use crate::ties::Ties;

/// Looks a name up. May wait.
pub type Lookup = fn(&str) -> Result<Vec<IpAddr>, LookupError>;

/// The most sockets that ask at one time.
const MAX_CLIENTS: usize = 256;
/// The most questions that wait for an answer.
const MAX_WAITING: usize = 512;
/// How many names are looked up at one time.
const N_WORKERS: usize = 4;
/// The most addresses that a guest is told.
const MAX_ADDRESSES: usize = 16;
/// How long a lookup is used again: programs ask for both kinds of addresses, one after the other.
const FRESH: Duration = Duration::from_secs(10);
/// The most lookups that are kept.
const MAX_FRESH: usize = 256;
/// How many messages of one socket are taken at a time.
const BATCH: usize = 16;

struct Client {
    socket: OwnedFd,
    transport: Transport,
    /// What has come of a TCP message, its length in front.
    unread: Vec<u8>,
}

struct Waiting {
    client: u64,
    query: Query,
}

type Found = (String, Result<Vec<IpAddr>, LookupError>);

/// What the name server needs of the porter.
pub struct Context<'a> {
    /// The rules.
    pub policy: &'a Policy,
    /// Where answers are remembered.
    pub ties: &'a mut Ties,
    /// Where decisions are noted.
    pub ledger: &'a mut Ledger,
}

/// The name server of a sandbox.
pub struct NameServer {
    clients: HashMap<u64, Client>,
    next_client: u64,
    lookup: Lookup,
    /// Names that are being looked up, and who waits for them.
    waiting: HashMap<String, Vec<Waiting>>,
    n_waiting: usize,
    fresh: HashMap<String, (Instant, Result<Vec<IpAddr>, LookupError>)>,
    /// Where names go to be looked up; there are no threads before the first.
    work: Option<Sender<String>>,
    found: (Sender<Found>, Receiver<Found>),
    bell: OwnedFd,
}

impl NameServer {
    /// A name server that looks names up like this.
    pub fn new(lookup: Lookup) -> rustix::io::Result<Self> {
        Ok(Self {
            clients: HashMap::new(),
            next_client: 0,
            lookup,
            waiting: HashMap::new(),
            n_waiting: 0,
            fresh: HashMap::new(),
            work: None,
            found: channel(),
            bell: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        })
    }

    /// A socket for a guest that wants to ask.
    pub fn open(&mut self, transport: Transport) -> rustix::io::Result<OwnedFd> {
        if self.clients.len() >= MAX_CLIENTS {
            return Err(Errno::NOBUFS);
        }
        // Packets, not datagrams: they also tell when the other end is gone.
        let kind = match transport {
            Transport::Tcp => SocketType::STREAM,
            Transport::Udp => SocketType::SEQPACKET,
        };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (ours, theirs) = socketpair(AddressFamily::UNIX, kind, flags, None)?;
        let client = Client { socket: ours, transport, unread: Vec::new() };
        self.clients.insert(self.next_client, client);
        self.next_client += 1;
        Ok(theirs)
    }

    /// The sockets to be watched, with the numbers by which they are known.
    pub fn sockets(&self) -> impl Iterator<Item = (u64, BorrowedFd<'_>)> {
        self.clients.iter().map(|(id, client)| (*id, client.socket.as_fd()))
    }

    /// Readable when [`collect`](Self::collect) has something to do.
    pub fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    /// Takes what has come from a guest's socket.
    pub fn serve(&mut self, id: u64, context: &mut Context<'_>) {
        for _ in 0..BATCH {
            let Some(client) = self.clients.get_mut(&id) else { return };
            let mut bytes = [0; MAX_MESSAGE];
            let n = match recv(&client.socket, &mut bytes[..], RecvFlags::DONTWAIT) {
                Ok((0, _)) => {
                    self.clients.remove(&id);
                    return;
                }
                Ok((n, _)) => n.min(bytes.len()),
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return,
                Err(_) => {
                    self.clients.remove(&id);
                    return;
                }
            };
            let bytes = bytes.get(..n).unwrap_or_default();
            if client.transport == Transport::Udp {
                self.ask(id, bytes, context);
                continue;
            }
            client.unread.extend(bytes);
            if !self.take_messages(id, context) {
                self.clients.remove(&id);
                return;
            }
        }
    }

    /// Takes the whole messages of a TCP connection. Returns whether it may go on.
    fn take_messages(&mut self, id: u64, context: &mut Context<'_>) -> bool {
        loop {
            let Some(client) = self.clients.get_mut(&id) else { return true };
            let [high, low, ..] = *client.unread.as_slice() else { return true };
            let end = 2 + usize::from(u16::from_be_bytes([high, low]));
            if end > 2 + MAX_MESSAGE {
                return false;
            }
            let Some(message) = client.unread.get(2..end).map(<[u8]>::to_vec) else { return true };
            client.unread.drain(..end);
            self.ask(id, &message, context);
        }
    }

    fn ask(&mut self, client: u64, message: &[u8], context: &mut Context<'_>) {
        let Some(query) = dns::parse(message) else { return };
        let decision = context.policy.decide_name(&query.name);
        context.ledger.decided(ConnectionKind::Dns, None, &decision, None);
        if !decision.is_allowed() {
            return self.answer(client, &query, &Outcome::Blocked);
        }
        if !query.wants_addresses() {
            return self.answer(client, &query, &Outcome::Addresses(Vec::new()));
        }
        let given = context.policy.given_addresses(&query.name);
        if !given.is_empty() {
            let outcome = outcome(&query.name, Ok(given), context);
            return self.answer(client, &query, &outcome);
        }
        let now = Instant::now();
        if let Some((at, found)) = self.fresh.get(&query.name)
            && now.duration_since(*at) < FRESH
        {
            let outcome = outcome(&query.name, found.clone(), context);
            return self.answer(client, &query, &outcome);
        }
        if self.n_waiting >= MAX_WAITING {
            return self.answer(client, &query, &Outcome::Failed);
        }
        self.look_up(client, query);
    }

    fn look_up(&mut self, client: u64, query: Query) {
        let name = query.name.clone();
        let waiting = self.waiting.entry(name.clone()).or_default();
        waiting.push(Waiting { client, query });
        self.n_waiting += 1;
        if waiting.len() > 1 {
            return;
        }
        let work = self.work.take().or_else(|| self.start_workers());
        let is_on_its_way = work.as_ref().is_some_and(|work| work.send(name.clone()).is_ok());
        self.work = work;
        if !is_on_its_way {
            self.tell(&name, &Outcome::Failed);
        }
    }

    fn start_workers(&self) -> Option<Sender<String>> {
        let (work, names) = channel::<String>();
        let names = Arc::new(Mutex::new(names));
        for _ in 0..N_WORKERS {
            let (names, found, lookup) = (Arc::clone(&names), self.found.0.clone(), self.lookup);
            let bell = self.bell.try_clone().ok()?;
            let body = move || {
                loop {
                    let Ok(name) = names.lock().map(|names| names.recv()) else { return };
                    let Ok(name) = name else { return };
                    let addresses = lookup(&name);
                    if found.send((name, addresses)).is_err() {
                        return;
                    }
                    // Full only if it is rung already.
                    let _ = rustix::io::write(&bell, &1u64.to_ne_bytes());
                }
            };
            std::thread::Builder::new().name(String::from("lookup")).spawn(body).ok()?;
        }
        Some(work)
    }

    /// Answers those whose names were found.
    pub fn collect(&mut self, context: &mut Context<'_>) {
        // Empty only if somebody was faster.
        let _ = rustix::io::read(&self.bell, &mut [0; 8]);
        while let Ok((name, found)) = self.found.1.try_recv() {
            if self.fresh.len() >= MAX_FRESH {
                self.fresh.clear();
            }
            self.fresh.insert(name.clone(), (Instant::now(), found.clone()));
            let outcome = outcome(&name, found, context);
            self.tell(&name, &outcome);
        }
    }

    fn tell(&mut self, name: &str, outcome: &Outcome) {
        let waiting = self.waiting.remove(name).unwrap_or_default();
        self.n_waiting = self.n_waiting.saturating_sub(waiting.len());
        for Waiting { client, query } in waiting {
            self.answer(client, &query, outcome);
        }
    }

    /// Sends an answer, if whoever asked is still there and takes it.
    fn answer(&mut self, id: u64, query: &Query, outcome: &Outcome) {
        let Some(client) = self.clients.get(&id) else { return };
        let message = match client.transport {
            Transport::Udp => query.answer(outcome, query.udp_size()),
            Transport::Tcp => {
                let answer = query.answer(outcome, MAX_MESSAGE);
                let length = u16::try_from(answer.len()).unwrap_or(u16::MAX);
                [&length.to_be_bytes()[..], &answer].concat()
            }
        };
        let sent = send(&client.socket, &message, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
        // A piece of a TCP message is worse than none.
        if client.transport == Transport::Tcp && sent.is_ok_and(|n| n < message.len()) {
            self.clients.remove(&id);
        }
    }
}

/// What the guest is told, and what of it is remembered.
fn outcome(
    name: &str,
    found: Result<Vec<IpAddr>, LookupError>,
    context: &mut Context<'_>,
) -> Outcome {
    let mut addresses = match found {
        Ok(addresses) => addresses,
        Err(LookupError::NotFound) => return Outcome::NoSuchName,
        Err(LookupError::Failed) => return Outcome::Failed,
    };
    addresses.truncate(MAX_ADDRESSES);
    let (usable, private): (Vec<IpAddr>, Vec<IpAddr>) =
        addresses.into_iter().partition(|address| context.policy.may_tell(name, *address));
    if usable.is_empty() {
        for address in &private {
            let decision = Decision {
                verdict: Verdict::Denied,
                reason: Reason::PrivateAddress,
                name: Some(name.to_owned()),
            };
            let address = Some((*address, 0).into());
            context.ledger.decided(ConnectionKind::Dns, address, &decision, None);
        }
        return if private.is_empty() { Outcome::NoSuchName } else { Outcome::Blocked };
    }
    let now = Instant::now();
    for address in &usable {
        context.ties.add(name, canonical(*address), now);
    }
    Outcome::Addresses(usable)
}
