//! The border of the sandbox: whom to ask for a connection that leaves it.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use linux_abi::SysResult;

/// What is wanted to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The protocol.
    pub protocol: Protocol,
    /// Where it goes.
    pub to: SocketAddr,
}

/// A protocol that may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

impl Flow {
    /// A TCP connection to `to`.
    pub fn tcp(to: SocketAddr) -> Self {
        Self { protocol: Protocol::Tcp, to }
    }

    /// Datagrams to `to`.
    pub fn udp(to: SocketAddr) -> Self {
        Self { protocol: Protocol::Udp, to }
    }
}

/// A socket of the host that a guest's socket speaks through, non-blocking.
pub struct Passage {
    /// The socket: connected, or about to be.
    pub socket: OwnedFd,
    /// What goes through it.
    pub meter: Rc<Meter>,
}

/// Counts what goes through a passage, and tells so when it ends.
pub struct Meter {
    n_sent: Cell<u64>,
    n_received: Cell<u64>,
    ended: RefCell<Option<Ended>>,
}

/// Hears how many bytes were sent and received.
pub type Ended = Box<dyn FnOnce(u64, u64)>;

impl Meter {
    /// A meter that tells `ended`.
    pub fn new(ended: Ended) -> Rc<Self> {
        let ended = RefCell::new(Some(ended));
        Rc::new(Self { n_sent: Cell::new(0), n_received: Cell::new(0), ended })
    }

    /// So many bytes were sent.
    pub fn count_sent(&self, n: usize) {
        self.n_sent.set(self.n_sent.get() + n as u64);
    }

    /// So many bytes were received.
    pub fn count_received(&self, n: usize) {
        self.n_received.set(self.n_received.get() + n as u64);
    }

    /// Nothing more will be counted. Told once.
    pub fn end(&self) {
        let ended = self.ended.borrow_mut().take();
        if let Some(ended) = ended {
            ended(self.n_sent.get(), self.n_received.get());
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.end();
    }
}

/// Where an answer goes. It may be given at once, or later, on the kernel's thread.
pub type Reply<T> = Box<dyn FnOnce(SysResult<T>)>;

/// Whom to ask for what leaves the sandbox. It asks somebody outside, who decides.
pub trait Egress {
    /// Asks for a passage for `flow`. What is denied is `EACCES`.
    fn connect(&self, flow: Flow, reply: Reply<Passage>);

    /// Whether what is sent to this loopback address, where nobody inside listens, is meant for
    /// the host. This decides nothing: the host's side does, when it is asked.
    fn leads_to_host(&self, to: SocketAddr) -> bool;

    /// Whether this is the sandbox's own name server, to which everybody may talk.
    fn is_name_server(&self, to: SocketAddr) -> bool;
}
