//! Runs the system calls that wait.
//!
//! Each guest thread has one [`Slot`] for its whole life, so that starting a call allocates
//! nothing but the future itself. A call is polled at once when it starts; most end there.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use slab::Slab;

/// A future that answers a system call, or a service of the kernel's own.
pub type Job = Pin<Box<dyn Future<Output = ()>>>;

/// Names a place that holds at most one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot(usize);

impl Slot {
    /// The number of the slot, as in the list of ready ones.
    pub fn number(self) -> usize {
        self.0
    }
}

/// What is called when a waker fires on another thread, so that a sleeping kernel gets up.
pub type Notify = Box<dyn Fn() + Send + Sync>;

struct Ready {
    slots: Mutex<Vec<usize>>,
    notify: Notify,
    home: std::thread::ThreadId,
}

struct SlotWaker {
    slot: usize,
    ready: Arc<Ready>,
}

impl Wake for SlotWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ready.slots.lock().unwrap_or_else(PoisonError::into_inner).push(self.slot);
        if std::thread::current().id() != self.ready.home {
            (self.ready.notify)();
        }
    }
}

struct Place {
    waker: Waker,
    job: Option<Job>,
}

/// The jobs that wait, and the list of those that may go on.
pub struct Executor {
    places: Slab<Place>,
    ready: Arc<Ready>,
    spare: Vec<usize>,
}

impl Executor {
    /// An executor for the calling thread; `notify` wakes this thread from others.
    pub fn new(notify: Notify) -> Self {
        let ready = Ready { slots: Mutex::default(), notify, home: std::thread::current().id() };
        Self { places: Slab::new(), ready: Arc::new(ready), spare: Vec::new() }
    }

    /// Reserves a slot.
    pub fn reserve(&mut self) -> Slot {
        let entry = self.places.vacant_entry();
        let slot = entry.key();
        let waker = Waker::from(Arc::new(SlotWaker { slot, ready: Arc::clone(&self.ready) }));
        entry.insert(Place { waker, job: None });
        Slot(slot)
    }

    /// Gives a slot back, dropping the job in it.
    pub fn release(&mut self, slot: Slot) -> Option<Job> {
        self.places.try_remove(slot.0).and_then(|place| place.job)
    }

    /// The waker of a slot: whoever calls it has the slot's job polled again.
    pub fn waker(&self, slot: Slot) -> Option<Waker> {
        self.places.get(slot.0).map(|place| place.waker.clone())
    }

    /// Puts a job that was polled once, and is not finished, into its slot.
    pub fn park(&mut self, slot: Slot, job: Job) {
        if let Some(place) = self.places.get_mut(slot.0) {
            place.job = Some(job);
        }
    }

    /// Takes the job out of a slot, to drop it outside of any borrow.
    pub fn take(&mut self, slot: Slot) -> Option<Job> {
        self.places.get_mut(slot.0).and_then(|place| place.job.take())
    }

    /// Whether any job may go on.
    pub fn has_ready(&self) -> bool {
        !self.ready.slots.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Takes the list of slots whose wakers fired. Hand it back with
    /// [`recycle`](Self::recycle).
    pub fn take_ready(&mut self) -> Vec<usize> {
        let mut slots = self.ready.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if slots.is_empty() {
            return Vec::new();
        }
        std::mem::replace(&mut slots, std::mem::take(&mut self.spare))
    }

    /// Gives the memory of a finished list back.
    pub fn recycle(&mut self, mut list: Vec<usize>) {
        list.clear();
        self.spare = list;
    }
}

/// Polls a job once with the waker of its slot. The executor must not be borrowed meanwhile,
/// because jobs start and end other jobs.
pub fn poll_job(job: &mut Job, waker: &Waker) -> Poll<()> {
    job.as_mut().poll(&mut Context::from_waker(waker))
}
