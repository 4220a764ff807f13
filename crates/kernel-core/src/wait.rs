//! Waiting for something to become ready.
//!
//! Everything that can be waited for owns one [`WaitQueue`]. The pattern of a waiter is: try; if
//! it would block, `queue.wait(events).await`; try again. The kernel is single-threaded, so
//! nothing can happen between the try and the registration.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker};

use slab::Slab;
use smallvec::SmallVec;

bitflags::bitflags! {
    /// Readiness, in the bits of `poll(2)` and `epoll(7)`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct PollEvents: u32 {
        /// There is data to read.
        const IN = 0x001;
        /// There is urgent data to read.
        const PRI = 0x002;
        /// Writing is possible.
        const OUT = 0x004;
        /// An error condition.
        const ERR = 0x008;
        /// Hang-up.
        const HUP = 0x010;
        /// The descriptor is not open (`poll` only).
        const NVAL = 0x020;
        /// The same as `IN` for all files we have.
        const RDNORM = 0x040;
        /// Priority band data can be read.
        const RDBAND = 0x080;
        /// The same as `OUT`.
        const WRNORM = 0x100;
        /// Priority data may be written.
        const WRBAND = 0x200;
        /// Unused by Linux, accepted.
        const MSG = 0x400;
        /// The peer closed its writing half.
        const RDHUP = 0x2000;
    }
}

impl PollEvents {
    /// Readable, in both spellings.
    pub const READABLE: Self = Self::IN.union(Self::RDNORM);
    /// Writable, in both spellings.
    pub const WRITABLE: Self = Self::OUT.union(Self::WRNORM);
    /// What a waiter learns whether it asked or not.
    pub const ALWAYS: Self = Self::ERR.union(Self::HUP);
}

/// Somebody who is told of every wake-up, without being a waiting task (an epoll item).
pub trait Observer {
    /// `events` may have become ready. Must not wait, and must not wake the queue it observes.
    fn notify(&self, events: PollEvents);
}

enum Watcher {
    Task { waker: Waker, exclusive: bool, woken: bool },
    Observer(Weak<dyn Observer>),
}

struct Entry {
    interest: PollEvents,
    order: u64,
    watcher: Watcher,
}

#[derive(Default)]
struct Entries {
    slab: Slab<Entry>,
    next_order: u64,
}

/// So many waiters are woken without allocating.
const FEW: usize = 4;

/// The waiters of one object. Cloning makes another handle to the same queue.
#[derive(Clone, Default)]
pub struct WaitQueue {
    entries: Rc<RefCell<Entries>>,
}

impl WaitQueue {
    /// An empty queue.
    pub fn new() -> Self {
        Self::default()
    }

    /// Wakes everyone who is interested in any of `events` (and always for errors and hang-up).
    pub fn wake(&self, events: PollEvents) {
        self.wake_some(events, usize::MAX);
    }

    /// Like [`wake`](Self::wake), but of the exclusive waiters only the oldest.
    pub fn wake_one(&self, events: PollEvents) {
        self.wake_some(events, 1);
    }

    fn wake_some(&self, events: PollEvents, mut n_exclusive: usize) {
        // Observers run without the borrow: they may add or remove entries elsewhere.
        let mut observers = SmallVec::<[Weak<dyn Observer>; FEW]>::new();
        {
            let mut entries = self.entries.borrow_mut();
            if entries.slab.is_empty() {
                return;
            }
            let mut due: SmallVec<[(u64, usize); FEW]> = entries
                .slab
                .iter()
                .filter(|(_, entry)| (entry.interest | PollEvents::ALWAYS).intersects(events))
                .map(|(key, entry)| (entry.order, key))
                .collect();
            due.sort_unstable();
            for (_, key) in due {
                match entries.slab.get_mut(key).map(|entry| &mut entry.watcher) {
                    Some(Watcher::Task { waker, exclusive, woken }) => {
                        if *exclusive && !*woken {
                            if n_exclusive == 0 {
                                continue;
                            }
                            n_exclusive -= 1;
                        }
                        *woken = true;
                        waker.wake_by_ref();
                    }
                    Some(Watcher::Observer(observer)) => observers.push(observer.clone()),
                    None => {}
                }
            }
        }
        for observer in observers {
            if let Some(observer) = observer.upgrade() {
                observer.notify(events);
            }
        }
    }

    /// Whether nobody waits or observes.
    pub fn is_empty(&self) -> bool {
        self.entries.borrow().slab.is_empty()
    }

    /// Completes at the next wake-up for one of `interest`.
    pub fn wait(&self, interest: PollEvents) -> Wait {
        Wait { queue: self.clone(), interest, exclusive: false, registration: None }
    }

    /// Like [`wait`](Self::wait), but [`wake_one`](Self::wake_one) wakes only one such waiter.
    pub fn wait_exclusive(&self, interest: PollEvents) -> Wait {
        Wait { queue: self.clone(), interest, exclusive: true, registration: None }
    }

    /// Registers a waker until the result is dropped. For those who wait on many queues at once.
    #[must_use = "dropping the registration ends it"]
    pub fn register(&self, interest: PollEvents, waker: &Waker) -> Registration {
        self.add(interest, Watcher::Task { waker: waker.clone(), exclusive: false, woken: false })
    }

    /// Registers an observer until the result is dropped.
    #[must_use = "dropping the registration ends it"]
    pub fn observe(&self, interest: PollEvents, observer: Weak<dyn Observer>) -> Registration {
        self.add(interest, Watcher::Observer(observer))
    }

    fn add(&self, interest: PollEvents, watcher: Watcher) -> Registration {
        let mut entries = self.entries.borrow_mut();
        let order = entries.next_order;
        entries.next_order += 1;
        let key = entries.slab.insert(Entry { interest, order, watcher });
        Registration { queue: self.clone(), key }
    }
}

/// A place in a queue; dropping it leaves the queue.
pub struct Registration {
    queue: WaitQueue,
    key: usize,
}

impl Registration {
    fn was_woken(&self) -> bool {
        let entries = self.queue.entries.borrow();
        matches!(
            entries.slab.get(self.key),
            Some(Entry { watcher: Watcher::Task { woken: true, .. }, .. })
        )
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // The entry is there for as long as its registration is: only this line removes it.
        self.queue.entries.borrow_mut().slab.try_remove(self.key);
    }
}

/// The future of [`WaitQueue::wait`].
pub struct Wait {
    queue: WaitQueue,
    interest: PollEvents,
    exclusive: bool,
    registration: Option<Registration>,
}

impl Future for Wait {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        match &self.registration {
            Some(registration) if registration.was_woken() => Poll::Ready(()),
            Some(_) => Poll::Pending,
            None => {
                let watcher = Watcher::Task {
                    waker: context.waker().clone(),
                    exclusive: self.exclusive,
                    woken: false,
                };
                self.registration = Some(self.queue.add(self.interest, watcher));
                Poll::Pending
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    #[derive(Default)]
    struct Counter(AtomicUsize);
    impl Wake for Counter {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn wakes_only_the_interested() {
        let queue = WaitQueue::new();
        let count = Arc::new(Counter::default());
        let waker = Waker::from(Arc::clone(&count));
        let _reader = queue.register(PollEvents::IN, &waker);
        queue.wake(PollEvents::OUT);
        assert_eq!(count.0.load(Ordering::Relaxed), 0);
        queue.wake(PollEvents::IN);
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        queue.wake(PollEvents::HUP);
        assert_eq!(count.0.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn wake_one_wakes_the_oldest_exclusive_waiter_only() {
        let queue = WaitQueue::new();
        let count = Arc::new(Counter::default());
        let waker = Waker::from(Arc::clone(&count));
        let mut context = Context::from_waker(&waker);
        let mut first = queue.wait_exclusive(PollEvents::IN);
        let mut second = queue.wait_exclusive(PollEvents::IN);
        assert!(Pin::new(&mut first).poll(&mut context).is_pending());
        assert!(Pin::new(&mut second).poll(&mut context).is_pending());
        queue.wake_one(PollEvents::IN);
        assert!(Pin::new(&mut first).poll(&mut context).is_ready());
        assert!(Pin::new(&mut second).poll(&mut context).is_pending());
    }

    #[test]
    fn dropping_a_wait_leaves_the_queue() {
        let queue = WaitQueue::new();
        let waker = Waker::noop();
        let mut wait = queue.wait(PollEvents::IN);
        assert!(Pin::new(&mut wait).poll(&mut Context::from_waker(waker)).is_pending());
        assert!(!queue.is_empty());
        drop(wait);
        assert!(queue.is_empty());
    }
}
