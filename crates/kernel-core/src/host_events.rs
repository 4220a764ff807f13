//! Readiness of host descriptors: standard streams, sockets that leave the sandbox, eventfds.
//!
//! The event loop sleeps in one host `epoll`. Whoever owns a host descriptor has it watched, and
//! its queue is woken when the host says that something changed.

use std::cell::RefCell;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;

use host_sys::errno_of;
use host_sys::rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
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
        let events = epoll::EventFlags::IN
            | epoll::EventFlags::OUT
            | epoll::EventFlags::PRI
            | epoll::EventFlags::RDHUP
            | epoll::EventFlags::ET;
        self.add(host, queue, events)
    }

    /// Like [`watch`](Self::watch), but wakes `queue` once for each time that
    /// [`Watch::wake_once`] asks for it.
    pub fn watch_on_demand(&self, host: BorrowedFd<'_>, queue: WaitQueue) -> SysResult<Watch> {
        self.add(host, queue, epoll::EventFlags::ONESHOT)
    }

    fn add(
        &self,
        host: BorrowedFd<'_>,
        queue: WaitQueue,
        events: epoll::EventFlags,
    ) -> SysResult<Watch> {
        let key = self.inner.watched.borrow_mut().insert(queue);
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

/// What [`Watch::wake_once`] waits for.
const ONCE: epoll::EventFlags =
    epoll::EventFlags::IN.union(epoll::EventFlags::OUT).union(epoll::EventFlags::ONESHOT);

/// What the host says of a descriptor now.
pub fn readiness(host: BorrowedFd<'_>) -> PollEvents {
    let wanted = PollFlags::IN | PollFlags::OUT | PollFlags::PRI | PollFlags::RDHUP;
    let mut polled = [PollFd::from_borrowed_fd(host, wanted)];
    let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
    match poll(&mut polled, Some(&zero)) {
        Ok(_) => {
            let [polled] = &polled;
            PollEvents::from_bits_truncate(polled.revents().bits().into())
        }
        Err(_) => PollEvents::ERR,
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

    /// Has the queue woken once, as soon as the descriptor can be read or written, or is so now.
    pub fn wake_once(&self) {
        self.change(ONCE);
    }

    /// Takes [`wake_once`](Self::wake_once) back.
    pub fn do_not_wake(&self) {
        self.change(epoll::EventFlags::ONESHOT);
    }

    fn change(&self, events: epoll::EventFlags) {
        let data = epoll::EventData::new_u64(self.data());
        // What was added can be changed: that needs nothing of the host.
        let _ = epoll::modify(&self.set.inner.epoll, &self.host, data, events);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // Fails only if the descriptor is not in the set, which is what is wanted.
        let _ = epoll::delete(&self.set.inner.epoll, &self.host);
        self.set.inner.watched.borrow_mut().try_remove(self.key);
    }
}
