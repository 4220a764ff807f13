//! Contexts of Linux's asynchronous input and output (`io_setup`).
//!
//! As on Linux with buffered files, a request is done when it is submitted; what a context keeps is
//! the results that nobody has fetched, and the requests that wait for a descriptor to be ready.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::{Rc, Weak};

use kernel_core::timers::{self, Timers};
use kernel_core::wait::{Observer, PollEvents, Registration, WaitQueue};
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
pub struct PollRequest {
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

/// A [`PollRequest`] under way. It is told of what happens to its file and looks at it soon after,
/// when whoever changed the file is done.
struct WaitingPoll {
    id: u64,
    request: PollRequest,
    context: Weak<AioContext>,
    registration: RefCell<Option<Registration>>,
    will_look: Cell<bool>,
    this: Weak<WaitingPoll>,
}

impl WaitingPoll {
    /// What of that which it waits for has come.
    fn ready(&self) -> PollEvents {
        let PollRequest { file, asked, .. } = &self.request;
        file.ops().poll(file) & *asked
    }

    fn result(&self, result: u32) -> IoEvent {
        let PollRequest { object, data, .. } = self.request;
        IoEvent { data, object, result: i64::from(result), result2: 0 }
    }
}

impl Observer for WaitingPoll {
    fn notify(&self, _events: PollEvents) {
        let Some(context) = self.context.upgrade() else { return };
        if self.will_look.replace(true) {
            return;
        }
        let this = self.this.clone();
        context.timers.at(timers::now(), move || {
            let Some(poll) = this.upgrade() else { return };
            poll.will_look.set(false);
            if let Some(context) = poll.context.upgrade() {
                context.look_at(&poll);
            }
        });
    }
}

/// One context.
pub struct AioContext {
    max_requests: usize,
    results: RefCell<VecDeque<IoEvent>>,
    polls: RefCell<BTreeMap<u64, Rc<WaitingPoll>>>,
    last_poll: Cell<u64>,
    is_destroyed: Cell<bool>,
    timers: Timers,
    this: Weak<AioContext>,
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
    pub fn add_poll(&self, request: PollRequest) {
        let id = self.last_poll.get() + 1;
        self.last_poll.set(id);
        let poll = Rc::new_cyclic(|this| WaitingPoll {
            id,
            request,
            context: self.this.clone(),
            registration: RefCell::default(),
            will_look: Cell::new(false),
            this: this.clone(),
        });
        self.polls.borrow_mut().insert(id, Rc::clone(&poll));
        if let Some(queue) = poll.request.file.ops().queue() {
            let this: Weak<dyn Observer> = poll.this.clone();
            let registration = queue.observe(poll.request.asked, this);
            poll.registration.replace(Some(registration));
        }
        self.look_at(&poll);
    }

    /// Turns a request into a result if its file is ready.
    fn look_at(&self, poll: &WaitingPoll) {
        let ready = poll.ready();
        if !ready.is_empty() && self.polls.borrow_mut().remove(&poll.id).is_some() {
            self.complete(poll.result(ready.bits()), poll.request.tells.as_deref());
        }
    }

    /// Gives a waiting request up; `EINVAL` if there is none at this address. Its result comes as
    /// any other.
    pub fn cancel(&self, object: u64) -> SysResult<()> {
        let is_it = |poll: &&Rc<WaitingPoll>| poll.request.object == object;
        let poll = self.polls.borrow().values().find(is_it).cloned().ok_or(Errno::EINVAL)?;
        self.polls.borrow_mut().remove(&poll.id);
        self.complete(poll.result(0), poll.request.tells.as_deref());
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
        drop(self.polls.take());
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
    pub fn setup(&self, max_requests: u32, readable: u64, timers: &Timers) -> SysResult<u64> {
        let mut contexts = self.contexts.borrow_mut();
        if contexts.len() >= MAX_CONTEXTS || max_requests > MAX_REQUESTS {
            return Err(Errno::EAGAIN);
        }
        let number = (0..=MAX_CONTEXTS as u64)
            .map(|index| (readable & !7).saturating_sub(index * STEP).max(STEP))
            .find(|number| !contexts.contains_key(number))
            .ok_or(Errno::EAGAIN)?;
        let max_requests = usize::try_from(max_requests).map_err(|_| Errno::EINVAL)?;
        let context = Rc::new_cyclic(|this| AioContext {
            max_requests,
            results: RefCell::default(),
            polls: RefCell::default(),
            last_poll: Cell::new(0),
            is_destroyed: Cell::new(false),
            timers: timers.clone(),
            this: this.clone(),
            queue: WaitQueue::new(),
        });
        contexts.insert(number, context);
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
