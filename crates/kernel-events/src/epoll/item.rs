//! One watched file.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use kernel_core::ledger::{ALLOCATION, Charge, Kind};
use kernel_core::wait::{Observer, PollEvents, Registration, WaitQueue};
use kernel_files::{OpenFile, ReleaseObserver};
use linux_abi::events::{EpollEvent, epoll};
use linux_abi::{Errno, Fd, SysResult};

use super::{Epoll, MAX_WATCHES};

thread_local! {
    /// How many items there are. The kernel of a sandbox is one thread.
    static N_WATCHES: Cell<usize> = const { Cell::new(0) };
}

/// A file in an epoll.
pub(super) struct Item {
    epoll: Weak<Epoll>,
    file: Weak<OpenFile>,
    key: (Fd, u64),
    /// The file changes with the time, or by the host, and not by calls alone.
    pub(super) is_moved_otherwise: bool,
    /// `EPOLL*`, errors and hang-up always among them, unless the item is disabled.
    events: Cell<u32>,
    data: Cell<u64>,
    /// The place in the ready list, if it is there.
    pub(super) place: Cell<Option<u64>>,
    registration: RefCell<Option<Registration>>,
    this: Weak<Self>,
    _charge: Charge,
}

/// What an item takes, with its places in the tables of the epoll and of the file.
const ITEM_BYTES: u64 = size_of::<Item>() as u64 + 4 * ALLOCATION;

impl Item {
    /// An item that does not observe its file yet. `ENOSPC` if there are too many.
    pub(super) fn new(
        epoll: &Weak<Epoll>,
        fd: Fd,
        file: &Rc<OpenFile>,
        event: EpollEvent,
    ) -> SysResult<Rc<Self>> {
        if N_WATCHES.get() >= MAX_WATCHES {
            return Err(Errno::ENOSPC);
        }
        let charge = Charge::new(Kind::OpenFiles, ITEM_BYTES).map_err(|_| Errno::ENOMEM)?;
        N_WATCHES.set(N_WATCHES.get() + 1);
        let item = Rc::new_cyclic(|this| Self {
            epoll: Weak::clone(epoll),
            file: Rc::downgrade(file),
            key: (fd, file.id()),
            is_moved_otherwise: !file.ops().is_moved_by_calls(),
            events: Cell::new(0),
            data: Cell::new(0),
            place: Cell::new(None),
            registration: RefCell::new(None),
            this: Weak::clone(this),
            _charge: charge,
        });
        item.set(event);
        file.observe_release(Weak::<Self>::clone(&item.this));
        if let Some(nested) = file.ops_as::<Epoll>() {
            nested.parents.borrow_mut().push(Weak::clone(epoll));
        }
        Ok(item)
    }

    pub(super) fn key(&self) -> (Fd, u64) {
        self.key
    }

    pub(super) fn data(&self) -> u64 {
        self.data.get()
    }

    pub(super) fn event(&self) -> EpollEvent {
        EpollEvent { events: self.events.get(), data: self.data.get() }
    }

    pub(super) fn set(&self, event: EpollEvent) {
        self.events.set(event.events | PollEvents::ALWAYS.bits());
        self.data.set(event.data);
    }

    /// Registers with the file's queue for what the item is set to.
    pub(super) fn observe(&self, queue: &WaitQueue) {
        let interest = PollEvents::from_bits_truncate(self.events.get());
        let registration = queue.observe(interest, Weak::<Self>::clone(&self.this));
        *self.registration.borrow_mut() = Some(registration);
    }

    pub(super) fn is_exclusive(&self) -> bool {
        self.events.get() & epoll::EXCLUSIVE != 0
    }

    pub(super) fn is_one_shot(&self) -> bool {
        self.events.get() & epoll::ONESHOT != 0
    }

    pub(super) fn is_edge_triggered(&self) -> bool {
        self.events.get() & epoll::EDGE != 0
    }

    /// Whether its event is told again and again until a call takes it away.
    pub(super) fn repeats(&self) -> bool {
        let is_moved_by_calls = |file: Rc<OpenFile>| file.ops().is_moved_by_calls();
        !self.is_one_shot()
            && !self.is_edge_triggered()
            && self.file.upgrade().is_some_and(is_moved_by_calls)
    }

    /// Tells of nothing more until the item is set again.
    pub(super) fn disable(&self) {
        self.events.set(self.events.get() & epoll::PRIVATE_BITS);
    }

    /// What is ready of what is asked for.
    pub(super) fn poll(&self) -> PollEvents {
        let asked = PollEvents::from_bits_truncate(self.events.get());
        match self.file.upgrade() {
            Some(file) if !asked.is_empty() => file.ops().poll(&file) & asked,
            _ => PollEvents::empty(),
        }
    }

    /// The open file that is watched.
    pub(super) fn file(&self) -> Option<Rc<OpenFile>> {
        self.file.upgrade()
    }
}

impl Observer for Item {
    fn notify(&self, events: PollEvents) {
        // A disabled item asks for nothing, not even errors.
        if self.events.get() & events.bits() == 0 {
            return;
        }
        if let (Some(epoll), Some(item)) = (self.epoll.upgrade(), self.this.upgrade()) {
            epoll.make_ready(&item);
        }
    }
}

impl ReleaseObserver for Item {
    fn released(&self) {
        if let (Some(epoll), Some(item)) = (self.epoll.upgrade(), self.this.upgrade()) {
            epoll.remove(&item);
        }
    }
}

impl Drop for Item {
    fn drop(&mut self) {
        N_WATCHES.set(N_WATCHES.get() - 1);
        let Some(file) = self.file.upgrade() else { return };
        let this: Weak<dyn ReleaseObserver> = Weak::<Self>::clone(&self.this);
        file.forget_release(&this);
        if let Some(nested) = file.ops_as::<Epoll>() {
            let mut parents = nested.parents.borrow_mut();
            if let Some(index) = parents.iter().position(|parent| parent.ptr_eq(&self.epoll)) {
                parents.swap_remove(index);
            }
        }
    }
}
