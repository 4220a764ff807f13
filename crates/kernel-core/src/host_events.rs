//! Readiness of host descriptors: standard streams, sockets that leave the sandbox, eventfds.
//!
//! The event loop sleeps in one host `epoll`. Whoever owns a host descriptor has it watched, and
//! its queue is woken when the host says that something changed.

use std::cell::RefCell;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;

use host_sys::errno_of;
use host_sys::rustix::event::epoll;
use linux_abi::SysResult;
use slab::Slab;

use crate::wait::{PollEvents, WaitQueue};

struct Inner {
    epoll: OwnedFd,
    watched: RefCell<Slab<WaitQueue>>,
}

/// The host descriptors that are watched. Cloning makes another handle to the same set.
#[derive(Clone)]
pub struct HostEvents {
    inner: Rc<Inner>,
}

impl HostEvents {
    /// An empty set.
    pub fn new() -> SysResult<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(errno_of)?;
        Ok(Self { inner: Rc::new(Inner { epoll, watched: RefCell::default() }) })
    }

    /// Wakes `queue` whenever the readiness of `host` changes, until the result is dropped. The
    /// caller must drop the result before it closes the descriptor. `EPERM` for files that are
    /// always ready.
    pub fn watch(&self, host: BorrowedFd<'_>, queue: WaitQueue) -> SysResult<Watch> {
        let key = self.inner.watched.borrow_mut().insert(queue);
        let events = epoll::EventFlags::IN
            | epoll::EventFlags::OUT
            | epoll::EventFlags::PRI
            | epoll::EventFlags::RDHUP
            | epoll::EventFlags::ET;
        let data = epoll::EventData::new_u64(key as u64);
        let added =
            host.try_clone_to_owned().map_err(|_| linux_abi::Errno::EMFILE).and_then(|own| {
                epoll::add(&self.inner.epoll, &own, data, events).map_err(errno_of)?;
                Ok(own)
            });
        match added {
            Ok(own) => Ok(Watch { set: self.clone(), key, host: own }),
            Err(errno) => {
                self.inner.watched.borrow_mut().try_remove(key);
                Err(errno)
            }
        }
    }

    /// The host `epoll`, for the event loop to sleep in.
    pub fn epoll(&self) -> BorrowedFd<'_> {
        self.inner.epoll.as_fd()
    }

    /// The event loop got this event from the host: wakes whoever watches.
    pub fn dispatch(&self, data: u64, events: u32) {
        let Ok(key) = usize::try_from(data) else { return };
        let queue = self.inner.watched.borrow().get(key).cloned();
        if let Some(queue) = queue {
            queue.wake(PollEvents::from_bits_truncate(events));
        }
    }
}

/// A watched host descriptor; dropping it ends the watch.
pub struct Watch {
    set: HostEvents,
    key: usize,
    /// The set's own descriptor of the watched file, so that the watch never names a number that
    /// was closed and used again.
    host: OwnedFd,
}

impl Watch {
    /// What events of this descriptor carry.
    pub fn data(&self) -> u64 {
        self.key as u64
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // Fails only if the descriptor is not in the set, which is what is wanted.
        let _ = epoll::delete(&self.set.inner.epoll, &self.host);
        self.set.inner.watched.borrow_mut().try_remove(self.key);
    }
}
