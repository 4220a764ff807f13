//! Contexts of Linux's asynchronous input and output (`io_setup`).
//!
//! As on Linux with buffered files, a request is done when it is submitted; what a context keeps is
//! the results that nobody has fetched, and the requests that wait for a descriptor to be ready.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use kernel_core::wait::{PollEvents, WaitQueue};
use kernel_files::OpenFile;
use linux_abi::events::aio::IoEvent;
use linux_abi::{Errno, SysResult};

use crate::eventfd::EventFd;

/// How many contexts a process may have.
const MAX_CONTEXTS: usize = 128;

/// How many requests one context may have under way (Linux: `fs.aio-max-nr` for all of them).
pub const MAX_REQUESTS: u32 = 65_536;

/// How far apart the numbers of contexts are.
const STEP: u64 = 8;

/// A request that waits until a file is ready.
pub struct WaitingPoll {
    /// Its address in the guest, which names it.
    pub object: u64,
    /// What the result carries.
    pub data: u64,
    /// The file.
    pub file: Rc<OpenFile>,
    /// What it waits for.
    pub asked: PollEvents,
    /// The eventfd that is told.
    pub tells: Option<Rc<OpenFile>>,
}

/// One context.
pub struct AioContext {
    max_requests: usize,
    results: RefCell<VecDeque<IoEvent>>,
    polls: RefCell<Vec<WaitingPoll>>,
    is_destroyed: Cell<bool>,
    /// Woken when there is a result, or the context is gone.
    pub queue: WaitQueue,
}

impl AioContext {
    /// Whether the context is gone.
    pub fn is_destroyed(&self) -> bool {
        self.is_destroyed.get()
    }

    /// `EAGAIN` if as many requests are under way as were asked for.
    pub fn check_room(&self) -> SysResult<()> {
        let n = self.results.borrow().len() + self.polls.borrow().len();
        if n < self.max_requests { Ok(()) } else { Err(Errno::EAGAIN) }
    }

    /// Adds a result, and tells the eventfd.
    pub fn complete(&self, event: IoEvent, tells: Option<&OpenFile>) {
        self.results.borrow_mut().push_back(event);
        if let Some(counter) = tells.and_then(|file| file.ops().as_any().downcast_ref::<EventFd>())
        {
            counter.signal(1);
        }
        self.queue.wake(PollEvents::IN);
    }

    /// Adds a request that waits.
    pub fn add_poll(&self, poll: WaitingPoll) {
        self.polls.borrow_mut().push(poll);
        self.look_at_polls();
    }

    /// Turns requests whose files are ready into results.
    pub fn look_at_polls(&self) {
        let mut waiting = Vec::new();
        let polls = std::mem::take(&mut *self.polls.borrow_mut());
        for poll in polls {
            let ready = poll.file.ops().poll(&poll.file) & poll.asked;
            if ready.is_empty() {
                waiting.push(poll);
                continue;
            }
            let result = i64::from(ready.bits());
            let event = IoEvent { data: poll.data, object: poll.object, result, result2: 0 };
            self.complete(event, poll.tells.as_deref());
        }
        self.polls.borrow_mut().extend(waiting);
    }

    /// The files of requests that wait, and what for.
    pub fn polled(&self) -> Vec<(Rc<OpenFile>, PollEvents)> {
        let polls = self.polls.borrow();
        polls.iter().map(|poll| (Rc::clone(&poll.file), poll.asked)).collect()
    }

    /// Gives a waiting request up; `EINVAL` if there is none at this address. Its result comes as
    /// any other.
    pub fn cancel(&self, object: u64) -> SysResult<()> {
        let mut polls = self.polls.borrow_mut();
        let index = polls.iter().position(|poll| poll.object == object).ok_or(Errno::EINVAL)?;
        let poll = polls.remove(index);
        drop(polls);
        let event = IoEvent { data: poll.data, object, result: 0, result2: 0 };
        self.complete(event, poll.tells.as_deref());
        Ok(())
    }

    /// How many results there are.
    pub fn n_results(&self) -> usize {
        self.results.borrow().len()
    }

    /// Takes up to `max` results, the oldest first.
    pub fn take_results(&self, max: usize) -> Vec<IoEvent> {
        let mut results = self.results.borrow_mut();
        let n = results.len().min(max);
        results.drain(..n).collect()
    }

    /// Puts results back that the guest's memory did not take.
    pub fn put_back(&self, events: Vec<IoEvent>) {
        let mut results = self.results.borrow_mut();
        for event in events.into_iter().rev() {
            results.push_front(event);
        }
    }

    fn destroy(&self) {
        self.is_destroyed.set(true);
        self.polls.borrow_mut().clear();
        self.queue.wake(PollEvents::all());
    }
}

/// The contexts of a process.
#[derive(Default)]
pub struct AioContexts {
    contexts: RefCell<BTreeMap<u64, Rc<AioContext>>>,
}

impl AioContexts {
    /// Makes a context and returns its number, which is an address at or below `readable`:
    /// libraries look there, before they call, for a ring that Linux may have mapped.
    pub fn setup(&self, max_requests: u32, readable: u64) -> SysResult<u64> {
        let mut contexts = self.contexts.borrow_mut();
        if contexts.len() >= MAX_CONTEXTS || max_requests > MAX_REQUESTS {
            return Err(Errno::EAGAIN);
        }
        let number = (0..=MAX_CONTEXTS as u64)
            .map(|index| (readable & !7).saturating_sub(index * STEP).max(STEP))
            .find(|number| !contexts.contains_key(number))
            .ok_or(Errno::EAGAIN)?;
        let context = AioContext {
            max_requests: usize::try_from(max_requests).map_err(|_| Errno::EINVAL)?,
            results: RefCell::default(),
            polls: RefCell::default(),
            is_destroyed: Cell::new(false),
            queue: WaitQueue::new(),
        };
        contexts.insert(number, Rc::new(context));
        Ok(number)
    }

    /// The context with this number; `EINVAL` if there is none.
    pub fn find(&self, number: u64) -> SysResult<Rc<AioContext>> {
        self.contexts.borrow().get(&number).cloned().ok_or(Errno::EINVAL)
    }

    /// Ends a context; whoever waits for its results is told.
    pub fn destroy(&self, number: u64) -> SysResult<()> {
        let context = self.contexts.borrow_mut().remove(&number).ok_or(Errno::EINVAL)?;
        context.destroy();
        Ok(())
    }

    /// Ends all contexts, as `execve` and the end of a process do.
    pub fn destroy_all(&self) {
        let contexts = std::mem::take(&mut *self.contexts.borrow_mut());
        contexts.values().for_each(|context| context.destroy());
    }
}
