//! One host process, its channel, and its threads.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use channel_abi::image::TRAMPOLINES_SIZE;
use channel_abi::layout::{FILE_CACHE, MAX_LENT, SHIM_BASE, SHIM_END, SLEEP_WORDS};
use channel_abi::lent;
use guest_process::channel::{Closed, Piece};
use guest_process::{Channel, HostProcess, Reply};
use kernel_core::executor::Slot;
use kernel_core::wait::WaitQueue;
use kernel_files::lending::{self, Lender};
use kernel_files::{MappedFile, host_memory};
use kernel_syscalls::handler::Answer;
use kernel_tasks::{Process, Thread};
use linux_abi::Pid;
use std::sync::atomic::Ordering::SeqCst;

use super::advice::Advice;

/// A host process and its channel.
pub struct Space {
    /// Its number, for the bell.
    pub number: usize,
    /// Its shared memory.
    pub channel: Channel,
    /// The process itself.
    pub host: HostProcess,
    /// What is known of its threads, by slot.
    pub seats: RefCell<Vec<Rc<Seat>>>,
    /// Set when the process is to end, or has ended: its requests count no more.
    pub is_retired: Cell<bool>,
    /// The descriptors of the program that it is to run, sent when the call that started it is
    /// over.
    pub program: RefCell<Option<Vec<Rc<OwnedFd>>>>,
    /// When to end it by force, if it has not ended by itself.
    pub kill_at: Cell<Option<kernel_core::timers::Instant>>,
    /// The number of the last message with descriptors.
    pub messages: Cell<u64>,
    /// Which files the shim keeps open, by place: their ids.
    pub file_cache: RefCell<[Option<u64>; FILE_CACHE]>,
    /// The next place of the cache to be used.
    pub next_file: Cell<usize>,
    /// What is lent to the process.
    pub lending: Lending,
    /// More than one guest process has lived here (`CLONE_VM`).
    pub is_shared: Cell<bool>,
    /// Where the trampolines of its interpreter are; 0 for none.
    pub trampolines: Cell<u64>,
    /// Where its copies trap.
    pub advice: Advice,
    /// How often it was copied since a program was started: a copy of a copy is in the second one.
    pub generation: Cell<u32>,
}

/// What a process may use without asking.
#[derive(Default)]
pub struct Lending {
    /// The descriptor table that all of its threads have; `None` until something is lent.
    table: Cell<Option<u64>>,
    /// Its threads have different tables: nothing is lent any more.
    is_over: Cell<bool>,
    /// It has been remembered as one who lends.
    is_remembered: Cell<bool>,
    /// The number of the last loan.
    number: Cell<u32>,
    /// Descriptors for which something is lent, or was: a bit each.
    lent: [Cell<u64>; MAX_LENT / 64],
}

/// A thread's seat in a space.
pub struct Seat {
    /// For whom the host thread works. During `vfork` that is the child.
    pub thread: RefCell<Option<Rc<Thread>>>,
    /// By which the call is polled again.
    pub executor: Cell<Option<Slot>>,
    /// A request is being answered.
    pub is_busy: Cell<bool>,
    /// The call waits here.
    pub is_parked: Cell<bool>,
    /// The call under way, while it waits.
    pub answer: RefCell<Option<Answer>>,
    /// What came with the request.
    pub pieces: Cell<[Piece; 6]>,
    /// The reply in the making: lengths, action, details.
    pub reply: Cell<Reply>,
    /// What the guest says it has closed, with this request.
    pub says_closed: Cell<Closed>,
    /// What of that was closed last. It is said again, and must not be closed again.
    pub last_closed: Cell<Closed>,
    /// The request, for the trace: number and arguments.
    pub request: Cell<(u32, [u64; 6])>,
    /// Files of the cache that the thread may be using: it was told of them in its last reply.
    pub using_file: Cell<Option<usize>>,
    /// The parent of the `vfork` child that this thread plays.
    pub vfork_parent: RefCell<Option<Rc<Thread>>>,
    /// What the processor said of the last fault: trap number, error code, address.
    pub trap: Cell<[u64; 3]>,
    /// The thread that the last reply told the shim to make.
    pub prepared: RefCell<Option<Rc<Thread>>>,
    /// Whom the last reply asked the thread to wake. If its process is killed before it does, it
    /// is for us to do.
    pub wakes: Cell<Option<u16>>,
    /// The thread slept when the last reply came, and has asked for nothing since.
    pub was_woken: Cell<bool>,
    /// The `vfork` child is gone: the host thread shall be the parent again.
    pub must_leave: Cell<bool>,
    /// Its guest thread is gone: the host thread ends with its next request.
    pub must_exit: Cell<bool>,
    /// A tracer has the thread write to its own memory, meanwhile the call waits on.
    pub poke: Cell<Poke>,
    /// Woken when that is done.
    pub poked: WaitQueue,
}

/// How far a tracer's write to read-only memory has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Poke {
    /// There is none.
    #[default]
    None,
    /// The shim was told.
    Asked,
    /// The shim has answered.
    Done(i64),
}

impl Seat {
    /// Whether the host thread works for this guest process, or did before a `vfork`.
    pub fn serves(&self, pid: Pid) -> bool {
        let is = |thread: &Option<Rc<Thread>>| {
            thread.as_ref().is_some_and(|thread| thread.process().pid == pid)
        };
        is(&self.thread.borrow()) || is(&self.vfork_parent.borrow())
    }

    fn new() -> Self {
        Self {
            thread: RefCell::default(),
            executor: Cell::default(),
            is_busy: Cell::default(),
            is_parked: Cell::default(),
            answer: RefCell::default(),
            pieces: Cell::new([Piece::default(); 6]),
            reply: Cell::default(),
            says_closed: Cell::default(),
            last_closed: Cell::default(),
            request: Cell::new((0, [0; 6])),
            using_file: Cell::default(),
            vfork_parent: RefCell::default(),
            trap: Cell::default(),
            prepared: RefCell::default(),
            wakes: Cell::default(),
            was_woken: Cell::default(),
            must_leave: Cell::default(),
            must_exit: Cell::default(),
            poke: Cell::default(),
            poked: WaitQueue::new(),
        }
    }
}

impl Space {
    /// A host process that talks through `channel`.
    pub fn new(number: usize, channel: Channel, host: HostProcess) -> Self {
        Self {
            number,
            channel,
            host,
            seats: RefCell::default(),
            is_retired: Cell::default(),
            program: RefCell::default(),
            kill_at: Cell::default(),
            messages: Cell::default(),
            file_cache: RefCell::default(),
            next_file: Cell::default(),
            lending: Lending::default(),
            is_shared: Cell::default(),
            trampolines: Cell::default(),
            advice: Advice::default(),
            generation: Cell::default(),
        }
    }

    /// What of its memory is not the guest's: the shim, and trampolines that came with a program.
    pub fn hidden_ranges(&self) -> Vec<Range<u64>> {
        let start = self.trampolines.get();
        let trampolines = (start != 0).then_some(start..start + TRAMPOLINES_SIZE);
        [Some(SHIM_BASE..SHIM_END), trampolines].into_iter().flatten().collect()
    }

    /// Lends something for a descriptor. Returns the word that says so.
    pub fn lend(self: &Rc<Self>, fd: u32, what: u32) -> Option<u32> {
        let word = self.channel.header().lent.get(fd as usize)?;
        let number = self.lending.number.get().wrapping_add(1);
        self.lending.number.set(number);
        let value = what | number << lent::NUMBER_SHIFT;
        self.remember_lending();
        if let Some(bits) = self.lending.lent.get(fd as usize / 64) {
            bits.set(bits.get() | 1 << (fd % 64));
        }
        word.store(value, SeqCst);
        Some(value)
    }

    /// Something is lent or allowed: has it taken back when that is needed.
    pub fn remember_lending(self: &Rc<Self>) {
        if !self.lending.is_remembered.replace(true) {
            let lender: Rc<dyn Lender> = Rc::<Self>::clone(self);
            lending::remember(Rc::downgrade(&lender));
        }
    }

    /// No file may be closed without a request, unless it is allowed anew.
    pub fn forbid_later_close(&self) {
        for index in 0..self.seats.borrow().len() {
            self.channel.slot(index).allowance.fetch_add(1, SeqCst);
        }
    }

    /// Lends nothing any more.
    pub fn stop_lending(&self) {
        self.lending.is_over.set(true);
        self.take_all_back();
    }

    /// The seat of a slot, made when it is first asked for.
    pub fn seat(&self, index: usize) -> Rc<Seat> {
        let mut seats = self.seats.borrow_mut();
        while seats.len() <= index {
            seats.push(Rc::new(Seat::new()));
        }
        // The loop above made it.
        seats.get(index).map_or_else(|| Rc::new(Seat::new()), Rc::clone)
    }

    /// The seat of a slot, if it was ever used.
    pub fn known_seat(&self, index: usize) -> Option<Rc<Seat>> {
        self.seats.borrow().get(index).cloned()
    }

    /// Makes a slot ready for a thread.
    pub fn prepare_slot(&self, index: usize) {
        self.channel.reset_slot(index);
        if let Some(seat) = self.known_seat(index) {
            seat.last_closed.take();
        }
        self.introduce_slot(index);
    }

    /// The guest process that it runs.
    pub fn guest_process(&self) -> Option<Rc<Process>> {
        let seats = self.seats.borrow();
        seats.iter().find_map(|seat| Some(Rc::clone(seat.thread.borrow().as_ref()?.process())))
    }

    /// Tells a slot which one it is. All else in it may be what its thread has said already.
    pub fn introduce_slot(&self, index: usize) {
        let slot = self.channel.slot(index);
        slot.space.store(u32::try_from(self.number).unwrap_or(0), SeqCst);
        slot.index.store(u32::try_from(index).unwrap_or(0), SeqCst);
        slot.sleep_word.store(self.sleep_word(index), SeqCst);
    }

    /// The word of the bell that the thread in a slot sleeps on.
    pub fn sleep_word(&self, index: usize) -> u32 {
        // Neighbouring threads get different words; whoever shares one is woken for nothing.
        let word = (self.number * 67 + index) % SLEEP_WORDS;
        u32::try_from(word).unwrap_or(0)
    }

    /// The number for the next message with descriptors.
    pub fn next_message(&self) -> u64 {
        let number = self.messages.get() + 1;
        self.messages.set(number);
        number
    }

    /// Where a file is in the shim's cache, and whether it has to be sent. `None` if every place
    /// may be in use by a thread right now.
    pub fn place_file(&self, file: &MappedFile) -> Option<(usize, bool)> {
        let mut cache = self.file_cache.borrow_mut();
        if let Some(place) = cache.iter().position(|id| *id == Some(file.id)) {
            return Some((place, false));
        }
        let in_use: Vec<usize> =
            self.seats.borrow().iter().filter_map(|seat| seat.using_file.get()).collect();
        let next = self.next_file.get();
        let places = || (next..next + FILE_CACHE).map(|place| place % FILE_CACHE);
        let mut free = places().filter(|place| !in_use.contains(place)).collect::<Vec<_>>();
        // First what is kept for nothing, of a file that is gone: that gives its memory back.
        let is_gone = |place: &usize| {
            cache.get(*place).copied().flatten().is_some_and(host_memory::is_left_behind)
        };
        free.sort_by_key(|place| !is_gone(place));
        let place = *free.first()?;
        self.next_file.set(place + 1);
        if let Some(id) = cache.get_mut(place) {
            *id = (!file.is_for_once).then_some(file.id);
        }
        Some((place, true))
    }
}

impl Lender for Space {
    fn serves(&self, table: u64) -> bool {
        let served = self.lending.table.get().unwrap_or(table);
        self.lending.table.set(Some(served));
        served == table && !self.lending.is_over.get()
    }

    fn is_over(&self) -> bool {
        self.is_retired.get()
    }

    fn take_back(&self, fd: u32) {
        if let Some(word) = self.channel.header().lent.get(fd as usize) {
            word.store(0, SeqCst);
        }
    }

    fn take_all_back(&self) {
        self.lending.is_remembered.set(false);
        self.forbid_later_close();
        for (group, bits) in (0..).zip(&self.lending.lent) {
            let mut bits = bits.take();
            while bits != 0 {
                self.take_back(group * 64 + bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
    }
}
