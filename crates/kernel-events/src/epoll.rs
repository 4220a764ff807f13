//! Watching many files at once. See epoll(7).
//!
//! An [`Epoll`] has an [`Item`] per watched file. The item observes the file's queue, and goes to
//! the end of the ready list when the file says that something changed. A wait looks at the ready
//! list only, so its cost does not grow with the number of watched files. Level and edge triggering
//! differ in one thing: after an event was handed out, a level-triggered item goes back to the end
//! of the list, to be looked at again next time.

mod item;
mod keeping;
mod nesting;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::rc::{Rc, Weak};

use kernel_core::wait::{PollEvents, WaitQueue};
use kernel_files::open_file::SeekTo;
use kernel_files::{FileOps, OpenFile};
use linux_abi::events::{EpollEvent, epoll};
use linux_abi::files::OpenFlags;
use linux_abi::{Errno, Fd, SysResult};

use smallvec::SmallVec;

use item::Item;
use keeping::Keeping;

/// How many files the epolls of a sandbox watch at most (Linux: `fs.epoll.max_user_watches`).
const MAX_WATCHES: usize = 1 << 20;

/// So many events are handed out without allocating.
const FEW: usize = 8;

/// What may accompany `EPOLLEXCLUSIVE`.
const ALLOWED_WITH_EXCLUSIVE: u32 = PollEvents::IN.bits()
    | PollEvents::OUT.bits()
    | PollEvents::ALWAYS.bits()
    | epoll::WAKEUP
    | epoll::EDGE
    | epoll::EXCLUSIVE;

/// An epoll instance.
pub struct Epoll {
    /// By descriptor number and open file, because a number may come to name another file while
    /// the first is still open under a second number.
    items: RefCell<HashMap<(Fd, u64), Rc<Item>>>,
    /// Items that may be ready, by place. A new place is always at the end.
    ready: RefCell<BTreeMap<u64, Rc<Item>>>,
    next_place: Cell<u64>,
    queue: WaitQueue,
    keeping: Keeping,
    /// How many items watch what changes with the time or by the host.
    n_moved_otherwise: Cell<usize>,
    /// The epolls that watch this one, once per item.
    parents: RefCell<Vec<Weak<Epoll>>>,
    this: Weak<Self>,
}

impl Epoll {
    /// An open epoll that watches nothing.
    pub fn open() -> Rc<OpenFile> {
        let ops = Rc::new_cyclic(|this| Self {
            items: RefCell::default(),
            ready: RefCell::default(),
            next_place: Cell::new(0),
            queue: WaitQueue::new(),
            keeping: Keeping::default(),
            n_moved_otherwise: Cell::new(0),
            parents: RefCell::default(),
            this: Weak::clone(this),
        });
        OpenFile::new(ops, OpenFlags::RDWR)
    }

    /// Starts to watch a file (`EPOLL_CTL_ADD`).
    pub fn add(&self, fd: Fd, file: &Rc<OpenFile>, event: EpollEvent) -> SysResult<()> {
        let queue = file.ops().queue().ok_or(Errno::EPERM)?;
        let nested: Option<&Self> = file.ops_as();
        let is_exclusive = event.events & epoll::EXCLUSIVE != 0;
        if is_exclusive && (nested.is_some() || event.events & !ALLOWED_WITH_EXCLUSIVE != 0) {
            return Err(Errno::EINVAL);
        }
        if let Some(nested) = nested {
            nesting::check(self, nested)?;
        }
        if self.items.borrow().contains_key(&(fd, file.id())) {
            return Err(Errno::EEXIST);
        }
        let item = Item::new(&self.this, fd, file, event)?;
        item.observe(&queue);
        self.items.borrow_mut().insert((fd, file.id()), Rc::clone(&item));
        if item.is_moved_otherwise {
            self.n_moved_otherwise.set(self.n_moved_otherwise.get() + 1);
        }
        self.keeping.end();
        if !item.poll().is_empty() {
            self.make_ready(&item);
        }
        Ok(())
    }

    /// Changes what a file is watched for (`EPOLL_CTL_MOD`).
    pub fn modify(&self, fd: Fd, file: &Rc<OpenFile>, event: EpollEvent) -> SysResult<()> {
        if event.events & epoll::EXCLUSIVE != 0 {
            return Err(Errno::EINVAL);
        }
        let item = self.item(fd, file)?;
        if item.is_exclusive() {
            return Err(Errno::EINVAL);
        }
        let queue = file.ops().queue().ok_or(Errno::EPERM)?;
        item.set(event);
        item.observe(&queue);
        self.keeping.end();
        if !item.poll().is_empty() {
            self.make_ready(&item);
        }
        Ok(())
    }

    /// Stops to watch a file (`EPOLL_CTL_DEL`).
    pub fn delete(&self, fd: Fd, file: &Rc<OpenFile>) -> SysResult<()> {
        let item = self.item(fd, file)?;
        self.remove(&item);
        Ok(())
    }

    fn item(&self, fd: Fd, file: &Rc<OpenFile>) -> SysResult<Rc<Item>> {
        self.items.borrow().get(&(fd, file.id())).cloned().ok_or(Errno::ENOENT)
    }

    fn remove(&self, item: &Rc<Item>) {
        self.keeping.end();
        let removed = self.items.borrow_mut().remove(&item.key());
        if removed.is_some() && item.is_moved_otherwise {
            self.n_moved_otherwise.set(self.n_moved_otherwise.get() - 1);
        }
        let was_ready = item.place.take().and_then(|at| self.ready.borrow_mut().remove(&at));
        // Only now, without a borrow: what an item leaves behind it removes elsewhere.
        drop((removed, was_ready));
    }

    /// Puts an item at the end of the ready list, and wakes one who waits.
    fn make_ready(&self, item: &Rc<Item>) {
        self.keeping.end();
        if item.place.get().is_none() {
            let place = self.next_place.get();
            self.next_place.set(place + 1);
            item.place.set(Some(place));
            self.ready.borrow_mut().insert(place, Rc::clone(item));
        }
        self.queue.wake_one(PollEvents::READABLE);
    }

    /// Collects up to `max` events that are to be handed out, oldest first. The caller hands them
    /// out and then [settles](Self::settle).
    pub fn harvest(&self, max: usize) -> Harvest {
        let mut harvest = Harvest { events: SmallVec::new(), items: SmallVec::new() };
        let end = self.next_place.get();
        while harvest.events.len() < max {
            let Some((place, item)) = self.take_ready(end) else { break };
            let events = item.poll();
            if !events.is_empty() {
                harvest.events.push(EpollEvent { events: events.bits(), data: item.data() });
                harvest.items.push((place, item));
            }
        }
        harvest
    }

    fn take_ready(&self, end: u64) -> Option<(u64, Rc<Item>)> {
        let mut ready = self.ready.borrow_mut();
        let first = ready.first_entry().filter(|first| *first.key() < end)?;
        let (place, item) = first.remove_entry();
        item.place.set(None);
        Some((place, item))
    }

    /// Concludes a wait of which the first `n_delivered` events have reached the guest. The others
    /// go back to where they were.
    pub fn settle(&self, harvest: Harvest, n_delivered: usize) {
        let would_repeat = n_delivered > 0
            && n_delivered == harvest.items.len()
            && harvest.items.iter().all(|(_, item)| item.repeats());
        for (index, (place, item)) in harvest.items.into_iter().enumerate() {
            let place = if index >= n_delivered {
                place
            } else if item.is_one_shot() {
                item.disable();
                continue;
            } else if item.is_edge_triggered() {
                continue;
            } else {
                self.next_place.replace(self.next_place.get() + 1)
            };
            item.place.set(Some(place));
            self.ready.borrow_mut().insert(place, item);
        }
        // What else is ready would come first next time.
        if would_repeat && self.ready.borrow().len() == n_delivered {
            self.keeping.told_of_ready();
        }
    }

    /// A wait that was not to take time found nothing.
    pub fn told_of_nothing(&self) {
        if self.ready.borrow().is_empty() && self.n_moved_otherwise.get() == 0 {
            self.keeping.told_of_nothing();
        }
    }

    /// Whether a wait may find something.
    pub fn may_be_ready(&self) -> bool {
        !self.ready.borrow().is_empty()
    }

    /// Wakes the next waiter if there is something left for it. Whoever waits exclusively calls
    /// this when it leaves, for whatever reason, so that no wake-up is lost with it.
    pub fn pass_on(&self) {
        if self.may_be_ready() {
            self.queue.wake_one(PollEvents::READABLE);
        }
    }

    /// The queue that is woken when something may be ready.
    pub fn wait_queue(&self) -> &WaitQueue {
        &self.queue
    }
}

/// Events on their way to a guest.
pub struct Harvest {
    /// The events, in order.
    pub events: SmallVec<[EpollEvent; FEW]>,
    items: SmallVec<[(u64, Rc<Item>); FEW]>,
}

impl FileOps for Epoll {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn poll(&self, _file: &OpenFile) -> PollEvents {
        let end = self.next_place.get();
        // What turns out not to be ready leaves the list; the first that is ready is the answer.
        while let Some((place, item)) = self.take_ready(end) {
            if !item.poll().is_empty() {
                item.place.set(Some(place));
                self.ready.borrow_mut().insert(place, item);
                return PollEvents::READABLE;
            }
        }
        PollEvents::empty()
    }

    fn queue(&self) -> Option<WaitQueue> {
        Some(self.queue.clone())
    }

    fn seek(&self, file: &OpenFile, _to: SeekTo) -> SysResult<u64> {
        Ok(file.offset())
    }

    fn describe(&self) -> String {
        String::from("anon_inode:[eventpoll]")
    }

    fn fdinfo(&self) -> String {
        let mut text = String::new();
        for item in self.items.borrow().values() {
            let (fd, EpollEvent { events, data }) = (item.key().0.0, item.event());
            // Writing to a string does not fail.
            let _ = writeln!(text, "tfd: {fd:8} events: {events:8x} data: {data:16x}");
        }
        text
    }
}
