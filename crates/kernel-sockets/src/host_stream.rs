//! A TCP connection that leaves the sandbox, or came from outside: a socket of the host.

use std::cell::{Cell, RefCell};
use std::os::fd::{AsFd, OwnedFd};
use std::rc::{Rc, Weak};
use std::time::Duration;

use host_sys::errno_of;
use host_sys::rustix::event::{PollFd, PollFlags, Timespec, poll};
use host_sys::rustix::io::ioctl_fionread;
use host_sys::rustix::net::{self, sockopt};
use kernel_core::host_events::Watch;
use kernel_core::io::{Sink, Source};
use kernel_core::wait::{Observer, PollEvents, Registration, WaitQueue};
use linux_abi::sockets::{Linger, MessageFlags};
use linux_abi::{Errno, SysResult};

use crate::Network;
use crate::egress::{Meter, Passage};

/// How much is copied at a time, and may wait here when the host takes less.
const CHUNK: usize = 64 << 10;

/// Whether a host's connection is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Connected {
    NotYet,
    Yes,
    Failed(Errno),
}

/// A connection of the host.
pub(crate) struct HostStream {
    me: Weak<Self>,
    // Before the descriptor that it watches, so that it is dropped first.
    _watch: Watch,
    _registration: RefCell<Option<Registration>>,
    host: OwnedFd,
    network: Rc<Network>,
    /// Who waits for the guest's socket.
    queue: WaitQueue,
    /// Data that the guest has sent and the host has not taken.
    unsent: RefCell<Vec<u8>>,
    ends_after_unsent: Cell<bool>,
    meter: Rc<Meter>,
}

impl HostStream {
    /// Drives a passage, and wakes `queue` when something changes.
    pub(crate) fn new(
        network: &Rc<Network>,
        passage: Passage,
        queue: WaitQueue,
    ) -> SysResult<Rc<Self>> {
        let events = network.host_events().ok_or(Errno::ENETUNREACH)?;
        let Passage { socket: host, meter } = passage;
        let host_queue = WaitQueue::new();
        let watch = events.watch(host.as_fd(), host_queue.clone())?;
        let stream = Rc::new_cyclic(|me| Self {
            me: Weak::clone(me),
            _watch: watch,
            _registration: RefCell::default(),
            host,
            network: Rc::clone(network),
            queue,
            unsent: RefCell::default(),
            ends_after_unsent: Cell::new(false),
            meter,
        });
        let observer: Weak<Self> = Rc::downgrade(&stream);
        let registration = host_queue.observe(PollEvents::all(), observer);
        *stream._registration.borrow_mut() = Some(registration);
        Ok(stream)
    }

    /// Whether the connection is made.
    pub(crate) fn check_connected(&self) -> Connected {
        let ready = self.host_readiness();
        if !ready.intersects(PollEvents::OUT | PollEvents::ALWAYS) {
            return Connected::NotYet;
        }
        match sockopt::socket_error(&self.host) {
            Ok(Ok(())) if ready.contains(PollEvents::OUT) => Connected::Yes,
            Ok(Ok(())) => Connected::Failed(Errno::ECONNREFUSED),
            Ok(Err(error)) | Err(error) => Connected::Failed(errno_of(error)),
        }
    }

    fn host_readiness(&self) -> PollEvents {
        let wanted = PollFlags::IN | PollFlags::OUT | PollFlags::PRI | PollFlags::RDHUP;
        let mut fds = [PollFd::new(&self.host, wanted)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        match poll(&mut fds, Some(&now)) {
            Ok(_) => {
                let [fd] = &fds;
                PollEvents::from_bits_truncate(fd.revents().bits().into())
            }
            Err(_) => PollEvents::empty(),
        }
    }

    /// What is ready for the guest.
    pub(crate) fn readiness(&self) -> PollEvents {
        self.flush();
        let host = self.host_readiness();
        let mut ready = host & !(PollEvents::OUT | PollEvents::IN);
        if host.contains(PollEvents::IN) {
            ready |= PollEvents::READABLE;
        }
        if host.contains(PollEvents::OUT) && self.unsent.borrow().is_empty() {
            ready |= PollEvents::WRITABLE;
        }
        ready
    }

    /// Sends what waits here.
    fn flush(&self) {
        let mut unsent = self.unsent.borrow_mut();
        while !unsent.is_empty() {
            match net::send(&self.host, &unsent, net::SendFlags::NOSIGNAL) {
                Ok(n) => {
                    let n = n.min(unsent.len());
                    unsent.drain(..n);
                }
                Err(error) if errno_of(error) == Errno::EAGAIN => return,
                // The connection is broken; whoever sends next is told.
                Err(_) => unsent.clear(),
            }
        }
        if self.ends_after_unsent.take() {
            // Fails only if the connection is gone, which is what was wanted.
            let _ = net::shutdown(&self.host, net::Shutdown::Write);
        }
    }

    pub(crate) fn send(&self, source: &mut dyn Source, flags: MessageFlags) -> SysResult<usize> {
        self.flush();
        if !self.unsent.borrow().is_empty() {
            return Err(Errno::EAGAIN);
        }
        // Looked at before the data is taken, because what was taken cannot be given back.
        if !self.host_readiness().intersects(PollEvents::OUT | PollEvents::ALWAYS) {
            return Err(Errno::EAGAIN);
        }
        let mut bytes = vec![0; source.remaining().min(CHUNK)];
        let n_taken = source.take(&mut bytes)?;
        bytes.truncate(n_taken);
        let mut host_flags = net::SendFlags::NOSIGNAL;
        host_flags.set(net::SendFlags::OOB, flags.contains(MessageFlags::OOB));
        let n_sent = match net::send(&self.host, &bytes, host_flags) {
            Ok(n) => n,
            Err(error) => match errno_of(error) {
                Errno::EAGAIN => 0,
                errno => return Err(errno),
            },
        };
        *self.unsent.borrow_mut() = bytes.split_off(n_sent.min(bytes.len()));
        self.meter.count_sent(n_taken);
        Ok(n_taken)
    }

    pub(crate) fn receive(&self, sink: &mut dyn Sink, flags: MessageFlags) -> SysResult<usize> {
        if sink.remaining() == 0 {
            return Ok(0);
        }
        let peculiar = MessageFlags::PEEK | MessageFlags::OOB | MessageFlags::TRUNC;
        let n = if flags.intersects(peculiar) {
            let bits = (flags & peculiar).bits();
            let mut bytes = vec![0; sink.remaining().min(CHUNK)];
            let flags = net::RecvFlags::from_bits_retain(bits);
            let (n, _) = net::recv(&self.host, bytes.as_mut_slice(), flags).map_err(errno_of)?;
            sink.put(bytes.get(..n).unwrap_or_default())?
        } else {
            sink.put_from_host(self.host.as_fd(), None, usize::MAX)?
        };
        if !flags.contains(MessageFlags::PEEK) {
            self.meter.count_received(n);
        }
        Ok(n)
    }

    /// How many bytes there are to read.
    pub(crate) fn n_readable(&self) -> usize {
        ioctl_fionread(&self.host).ok().and_then(|n| usize::try_from(n).ok()).unwrap_or(0)
    }

    /// The guest will send nothing more.
    pub(crate) fn shutdown_sending(&self) {
        self.ends_after_unsent.set(true);
        self.flush();
    }

    /// The guest has closed its socket. Data that the host has not taken is still sent.
    pub(crate) fn close(&self, linger: Linger) {
        if linger.on != 0 && linger.seconds == 0 {
            self.unsent.borrow_mut().clear();
            // Only decides how the connection ends.
            let _ = sockopt::set_socket_linger(&self.host, Some(Duration::ZERO));
        }
        self.flush();
        if !self.unsent.borrow().is_empty()
            && let Some(me) = self.me.upgrade()
        {
            self.network.linger(me);
        }
    }

    /// Whether everything was sent.
    pub(crate) fn is_flushed(&self) -> bool {
        self.unsent.borrow().is_empty()
    }
}

impl Observer for HostStream {
    fn notify(&self, events: PollEvents) {
        self.flush();
        self.queue.wake(events | PollEvents::READABLE | PollEvents::WRITABLE);
        self.network.stop_lingering();
    }
}
