//! Waiting for the host's disk without keeping anybody else from going on.
//!
//! A sync of a host file takes as long as the disk does. The host is asked to do it by itself, and
//! tells a watched descriptor when it is done. Where the host has no such requests, the kernel
//! process waits, and with it everybody: the answer is right all the same.

use std::cell::{OnceCell, RefCell};
use std::future::poll_fn;
use std::os::fd::{AsFd, BorrowedFd};
use std::rc::{Rc, Weak};
use std::task::{Poll, Waker};

use host_sys::{SyncRequests, SyncWhat, errno_of, rustix};
use linux_abi::{Errno, SysResult};
use slab::Slab;

use crate::host_events::{HostEvents, Watch};
use crate::wait::{Observer, PollEvents, Registration, WaitQueue};

/// So many syncs are under way at a time. Others wait for their turn.
const MOST: u32 = 32;

/// `f_type` of files in the host's memory, of which nothing has to be waited for.
const TMPFS_MAGIC: i64 = 0x0102_1994;

/// One sync that the host works on.
enum Sync {
    /// Somebody waits for it.
    Awaited(Waker),
    /// Nobody does any more.
    Abandoned,
    /// It has ended.
    Ended(SysResult<()>),
}

struct Requests {
    host: SyncRequests,
    /// Those under way or with a result that nobody has taken yet.
    under_way: RefCell<Slab<Sync>>,
    /// Woken when there is room for another.
    room: WaitQueue,
}

impl Observer for Requests {
    fn notify(&self, _events: PollEvents) {
        self.host.take_ended(|tag, result| {
            let Ok(key) = usize::try_from(tag) else { return };
            let mut under_way = self.under_way.borrow_mut();
            match under_way.get_mut(key) {
                Some(sync @ Sync::Awaited(_)) => {
                    let ended = Sync::Ended(result.map_err(errno_of));
                    if let Sync::Awaited(waker) = std::mem::replace(sync, ended) {
                        waker.wake();
                    }
                }
                Some(Sync::Abandoned) => {
                    under_way.try_remove(key);
                    self.room.wake(PollEvents::OUT);
                }
                _ => {}
            }
        });
    }
}

/// A place among those under way. Dropping it before the end abandons the sync, which the host
/// then finishes for nobody.
struct Place<'a> {
    requests: &'a Requests,
    key: usize,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut under_way = self.requests.under_way.borrow_mut();
        match under_way.get_mut(self.key) {
            Some(sync @ Sync::Awaited(_)) => *sync = Sync::Abandoned,
            _ => {
                under_way.try_remove(self.key);
                drop(under_way);
                self.requests.room.wake(PollEvents::OUT);
            }
        }
    }
}

struct Ready {
    requests: Rc<Requests>,
    _told: Registration,
    _watch: Watch,
}

/// The disk of the host.
pub struct Disk {
    events: HostEvents,
    /// Made when it is first needed; `None` where the host does not have it.
    ready: OnceCell<Option<Ready>>,
}

impl Disk {
    /// Uses `events` to hear of what has ended.
    pub fn new(events: HostEvents) -> Self {
        Self { events, ready: OnceCell::new() }
    }

    fn requests(&self) -> Option<&Rc<Requests>> {
        self.ready.get_or_init(|| self.make_ready().ok()).as_ref().map(|ready| &ready.requests)
    }

    fn make_ready(&self) -> SysResult<Ready> {
        let host = SyncRequests::new(MOST).map_err(errno_of)?;
        let requests =
            Rc::new(Requests { host, under_way: RefCell::default(), room: WaitQueue::new() });
        let queue = WaitQueue::new();
        let watch = self.events.watch(requests.host.told(), queue.clone())?;
        let observer: Weak<dyn Observer> = Rc::downgrade(&(Rc::clone(&requests) as Rc<_>));
        let told = queue.observe(PollEvents::IN, observer);
        Ok(Ready { requests, _told: told, _watch: watch })
    }

    /// Brings a file to where it lasts, while others go on. Signals do not end it, as on Linux.
    pub async fn sync(&self, file: &impl AsFd, what: SyncWhat) -> SysResult<()> {
        let file = file.as_fd();
        if is_in_memory(file) {
            return sync_now(file);
        }
        let Some(requests) = self.requests() else { return sync_now(file) };
        while requests.under_way.borrow().len() >= MOST as usize {
            requests.room.wait(PollEvents::OUT).await;
        }
        let key = requests.under_way.borrow_mut().insert(Sync::Awaited(Waker::noop().clone()));
        let began = requests.host.begin(file, what, key as u64);
        if began.is_err() {
            requests.under_way.borrow_mut().try_remove(key);
            // Nothing was asked of the disk yet, so the plain call says what there is to say.
            return sync_now(file);
        }
        let place = Place { requests, key };
        poll_fn(|context| match requests.under_way.borrow_mut().get_mut(place.key) {
            Some(Sync::Awaited(waker)) => {
                waker.clone_from(context.waker());
                Poll::Pending
            }
            Some(Sync::Ended(result)) => Poll::Ready(*result),
            // Only `place` abandons or removes it.
            Some(Sync::Abandoned) | None => Poll::Ready(Err(Errno::EIO)),
        })
        .await
    }
}

/// Brings a file, with its metadata, to where it lasts, and waits for it.
pub fn sync_now(file: impl AsFd) -> SysResult<()> {
    rustix::fs::fsync(file).map_err(errno_of)
}

fn is_in_memory(file: BorrowedFd<'_>) -> bool {
    rustix::fs::fstatfs(file).is_ok_and(|status| status.f_type == TMPFS_MAGIC)
}
