//! The kernel process's end of the line to the porter: asks for what leaves, takes what arrives.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::{Rc, Weak};

use egress::protocol::{self, Answer, NAME_SERVER, Request, Transport};
use egress::special::Block;
use host_sys::rustix::io::Errno as HostErrno;
use host_sys::rustix::net::SendFlags;
use kernel_core::host_events::Watch;
use kernel_core::supervisor;
use kernel_core::wait::{Observer, PollEvents, Registration, WaitQueue};
use kernel_sockets::blocked::Blocked;
use kernel_sockets::egress::{Egress, Flow, Meter, Passage, Protocol, Reply};
use kernel_sockets::{Network, publish};
use linux_abi::{Errno, SysResult};
use sandbox_spec::{ConnectionKind, ConnectionRecord, Reason, Verdict};

/// The most questions without an answer at one time.
const MAX_PENDING: usize = 1024;

/// The line to the porter.
pub struct Border {
    me: Weak<Self>,
    network: Weak<Network>,
    // Before the descriptor that it watches, so that it is dropped first.
    _watch: (Watch, Registration),
    line: OwnedFd,
    /// Loopback addresses that mean the host's.
    routes: Vec<(Block, Option<u16>)>,
    pending: RefCell<HashMap<u64, Reply<Passage>>>,
    open: RefCell<HashMap<u64, Weak<Meter>>>,
    /// What the porter has not taken yet: its length is bounded by that of the other two.
    unsent: RefCell<VecDeque<Request>>,
    next_id: Cell<u64>,
    is_cut: Cell<bool>,
}

impl Border {
    /// Uses this line to the porter.
    pub fn new(
        network: &Rc<Network>,
        events: &kernel_core::host_events::HostEvents,
        line: OwnedFd,
        routes: Vec<(Block, Option<u16>)>,
    ) -> SysResult<Rc<Self>> {
        let queue = WaitQueue::new();
        let watch = events.watch(line.as_fd(), queue.clone())?;
        Ok(Rc::new_cyclic(|me: &Weak<Self>| {
            let observer: Weak<Self> = Weak::clone(me);
            let registration = queue.observe(PollEvents::all(), observer);
            Self {
                me: Weak::clone(me),
                network: Rc::downgrade(network),
                _watch: (watch, registration),
                line,
                routes,
                pending: RefCell::default(),
                open: RefCell::default(),
                unsent: RefCell::default(),
                next_id: Cell::new(1),
                is_cut: Cell::new(false),
            }
        }))
    }

    /// The sandbox is over: tells how much went through what is still open.
    pub fn finish(&self) {
        let open = self.open.take();
        open.values().filter_map(Weak::upgrade).for_each(|meter| meter.end());
        // The porter reads to the end, so this waits for what it has to do before.
        while let Some(request) = self.unsent.borrow_mut().pop_front() {
            if protocol::send(self.line.as_fd(), &request, None, SendFlags::empty()).is_err() {
                return;
            }
        }
    }

    fn send(&self, request: Request) {
        self.unsent.borrow_mut().push_back(request);
        self.flush();
    }

    fn flush(&self) {
        let mut unsent = self.unsent.borrow_mut();
        while let Some(request) = unsent.front() {
            match protocol::send(self.line.as_fd(), request, None, SendFlags::DONTWAIT) {
                Ok(()) => {
                    unsent.pop_front();
                }
                Err(HostErrno::AGAIN) => return,
                Err(_) => {
                    self.is_cut.set(true);
                    return unsent.clear();
                }
            }
        }
    }

    /// Takes what the porter says.
    fn listen(&self) {
        loop {
            match protocol::receive::<Answer>(self.line.as_fd()) {
                Ok(Some((answer, descriptor))) => self.take(answer, descriptor),
                Err(HostErrno::AGAIN) => return,
                Ok(None) | Err(_) => return self.cut(),
            }
        }
    }

    fn take(&self, answer: Answer, descriptor: Option<OwnedFd>) {
        match answer {
            Answer::Connected { id } => {
                let passage = descriptor.ok_or(Errno::EIO).map(|socket| self.passage(id, socket));
                self.reply(id, passage);
            }
            Answer::Refused { id, errno } => {
                self.reply(id, Err(Errno::from_code(errno).unwrap_or(Errno::EIO)));
            }
            Answer::Arrived { id, guest, from } => {
                let (Some(socket), Some(network)) = (descriptor, self.network.upgrade()) else {
                    return;
                };
                // Refused if nobody listens: the host's client sees that.
                let _ = publish::deliver(&network, guest, from, self.passage(id, socket));
            }
        }
    }

    fn passage(&self, id: u64, socket: OwnedFd) -> Passage {
        let me = Weak::clone(&self.me);
        let meter = Meter::new(Box::new(move |sent, received| {
            if let Some(border) = me.upgrade() {
                border.open.borrow_mut().remove(&id);
                border.send(Request::Closed { id, sent, received });
            }
        }));
        self.open.borrow_mut().insert(id, Rc::downgrade(&meter));
        Passage { socket, meter }
    }

    fn reply(&self, id: u64, result: SysResult<Passage>) {
        let reply = self.pending.borrow_mut().remove(&id);
        if let Some(reply) = reply {
            reply(result);
        }
    }

    /// The porter is gone: nothing leaves any more.
    fn cut(&self) {
        self.is_cut.set(true);
        for reply in self.pending.take().into_values() {
            reply(Err(Errno::ENETUNREACH));
        }
    }
}

/// Whether something is the place at which a cloud hands out the keys of the machine.
pub fn is_metadata(blocked: &Blocked) -> bool {
    offline_record(blocked.clone()).metadata_service().is_some()
}

/// The record of what was wanted where nothing may leave.
pub fn offline_record(blocked: Blocked) -> ConnectionRecord {
    let (kind, name, address) = match blocked {
        Blocked::Name(name) => (ConnectionKind::Dns, Some(name), None),
        Blocked::Flow(supervisor::Transport::Tcp, to) => (ConnectionKind::Tcp, None, Some(to)),
        Blocked::Flow(supervisor::Transport::Udp, to) => (ConnectionKind::Udp, None, Some(to)),
    };
    ConnectionRecord {
        kind,
        name,
        address,
        verdict: Verdict::Denied,
        reason: Reason::Offline,
        times: 1,
        bytes_sent: 0,
        bytes_received: 0,
    }
}

impl Observer for Border {
    fn notify(&self, _events: PollEvents) {
        self.flush();
        self.listen();
    }
}

impl Egress for Border {
    fn connect(&self, flow: Flow, reply: Reply<Passage>) {
        if self.is_cut.get() {
            return reply(Err(Errno::ENETUNREACH));
        }
        if self.pending.borrow().len() >= MAX_PENDING {
            return reply(Err(Errno::ENOBUFS));
        }
        let id = self.next_id.replace(self.next_id.get() + 1);
        let transport = match flow.protocol {
            Protocol::Tcp => Transport::Tcp,
            Protocol::Udp => Transport::Udp,
        };
        self.pending.borrow_mut().insert(id, reply);
        self.send(Request::Connect { id, transport, to: flow.to });
    }

    fn leads_to_host(&self, to: SocketAddr) -> bool {
        let ip = to.ip().to_canonical();
        self.routes
            .iter()
            .any(|(block, port)| block.contains(ip) && port.is_none_or(|port| port == to.port()))
    }

    fn is_name_server(&self, to: SocketAddr) -> bool {
        to == NAME_SERVER
    }
}
