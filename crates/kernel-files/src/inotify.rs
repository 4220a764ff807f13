//! `inotify`: a queue of events of the files that it watches.

use std::any::Any;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::{Rc, Weak};

use kernel_core::io::Sink;
use kernel_core::ledger::{ALLOCATION, Charge, Kind};
use kernel_core::wait::{PollEvents, WaitQueue};
use linux_abi::files::{OpenFlags, ioctl};
use linux_abi::{Errno, SysResult};

use crate::inode::Inode;
use crate::notify::{EXCLUDES_UNLINKED, Event, IS_DIRECTORY, Watcher, Watchers};
use crate::open_file::{FileOps, Ioctl, OpenFile};

/// How many events wait before they are lost (Linux: `fs.inotify.max_queued_events`).
const MAX_EVENTS: usize = 16_384;
/// How many watches one instance may have (Linux: `fs.inotify.max_user_watches`).
const MAX_WATCHES: usize = 65_536;

const Q_OVERFLOW: u32 = 0x4000;
const IGNORED: u32 = 0x8000;
const ALL_EVENTS: u32 = 0xfff;
const ONESHOT: u32 = 0x8000_0000;
const MASK_ADD: u32 = 0x2000_0000;
const MASK_CREATE: u32 = 0x1000_0000;

/// The size of `struct inotify_event` without its name.
const HEADER: usize = 16;

/// What a watch takes, with the file's own note of it.
const WATCH_BYTES: u64 = 3 * ALLOCATION + 64;

#[derive(Clone, PartialEq, Eq)]
struct Record {
    watch: i32,
    mask: u32,
    cookie: u32,
    name: Box<[u8]>,
}

impl Record {
    /// Names are padded so that the next record is aligned.
    fn padded_name(&self) -> usize {
        if self.name.is_empty() { 0 } else { (self.name.len() + 1).next_multiple_of(HEADER) }
    }

    fn size(&self) -> usize {
        HEADER + self.padded_name()
    }

    /// What it takes while it waits.
    fn memory(&self) -> u64 {
        (size_of::<Self>() + self.name.len()) as u64 + ALLOCATION
    }

    fn encode(&self) -> Vec<u8> {
        let length = u32::try_from(self.padded_name()).unwrap_or(0);
        let mut bytes = Vec::with_capacity(self.size());
        bytes.extend_from_slice(&self.watch.to_le_bytes());
        bytes.extend_from_slice(&self.mask.to_le_bytes());
        bytes.extend_from_slice(&self.cookie.to_le_bytes());
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&self.name);
        bytes.resize(self.size(), 0);
        bytes
    }
}

struct Watch {
    inode: Rc<dyn Inode>,
    mask: u32,
}

struct State {
    watches: BTreeMap<i32, Watch>,
    last_watch: i32,
    events: VecDeque<Record>,
    /// Events were lost, and the last one in the queue says so.
    has_overflowed: bool,
    /// For the events.
    queued: Charge,
    /// For the watches.
    watching: Charge,
}

impl Default for State {
    fn default() -> Self {
        Self {
            watches: BTreeMap::new(),
            last_watch: 0,
            events: VecDeque::new(),
            has_overflowed: false,
            queued: Charge::none(Kind::Queues),
            watching: Charge::none(Kind::Queues),
        }
    }
}

/// An inotify instance.
pub struct Inotify {
    state: RefCell<State>,
    queue: WaitQueue,
    this: Weak<Inotify>,
}

impl Inotify {
    /// An instance without watches, as an open file.
    pub fn open(flags: OpenFlags) -> Rc<OpenFile> {
        let inotify = Rc::new_cyclic(|this| Self {
            state: RefCell::default(),
            queue: WaitQueue::new(),
            this: this.clone(),
        });
        OpenFile::new(inotify, flags & OpenFlags::NONBLOCK)
    }

    /// Watches a file for the events of `mask`, or changes what is watched. Returns the number of
    /// the watch.
    pub fn add(&self, inode: &Rc<dyn Inode>, mask: u32) -> SysResult<i32> {
        let mut state = self.state.borrow_mut();
        let wanted = mask & (ALL_EVENTS | ONESHOT | EXCLUDES_UNLINKED);
        let this: Weak<dyn Watcher> = self.this.clone();
        let known = Watchers::find(&**inode, &this);
        if let Some((number, watch)) =
            known.and_then(|number| Some((number, state.watches.get_mut(&number)?)))
        {
            if mask & MASK_CREATE != 0 {
                return Err(Errno::EEXIST);
            }
            watch.mask = if mask & MASK_ADD != 0 { watch.mask | wanted } else { wanted };
            return Ok(number);
        }
        if state.watches.len() >= MAX_WATCHES {
            return Err(Errno::ENOSPC);
        }
        let memory = (state.watches.len() as u64 + 1) * WATCH_BYTES;
        state.watching.resize(memory).map_err(|_| Errno::ENOSPC)?;
        state.last_watch = state.last_watch.checked_add(1).ok_or(Errno::ENOSPC)?;
        let number = state.last_watch;
        state.watches.insert(number, Watch { inode: Rc::clone(inode), mask: wanted });
        Watchers::add(&**inode, this, number);
        Ok(number)
    }

    /// Ends a watch; `EINVAL` if there is none of this number.
    pub fn remove(&self, number: i32) -> SysResult<()> {
        self.forget(number)?;
        self.push(Record { watch: number, mask: IGNORED, cookie: 0, name: Box::default() });
        Ok(())
    }

    fn forget(&self, number: i32) -> SysResult<()> {
        let mut state = self.state.borrow_mut();
        let watch = state.watches.remove(&number).ok_or(Errno::EINVAL)?;
        let memory = state.watches.len() as u64 * WATCH_BYTES;
        state.watching.force(memory);
        drop(state);
        let this: Weak<dyn Watcher> = self.this.clone();
        Watchers::remove(&*watch.inode, &this, number);
        Ok(())
    }

    fn push(&self, record: Record) {
        let mut state = self.state.borrow_mut();
        if state.events.back() == Some(&record) {
            return;
        }
        let memory = state.queued.bytes() + record.memory();
        if state.events.len() >= MAX_EVENTS || state.queued.resize(memory).is_err() {
            if !state.has_overflowed {
                state.has_overflowed = true;
                let name = Box::default();
                let lost = Record { watch: -1, mask: Q_OVERFLOW, cookie: 0, name };
                let memory = state.queued.bytes() + lost.memory();
                state.queued.force(memory);
                state.events.push_back(lost);
                drop(state);
                self.queue.wake(PollEvents::READABLE);
            }
            return;
        }
        state.has_overflowed = false;
        state.events.push_back(record);
        drop(state);
        self.queue.wake(PollEvents::READABLE);
    }
}

impl Watcher for Inotify {
    fn happened(&self, number: i32, event: Event, flags: u32, name: &[u8]) {
        let mask = self.state.borrow().watches.get(&number).map(|watch| watch.mask);
        let Some(mask) = mask else { return };
        if mask & flags & EXCLUDES_UNLINKED != 0 {
            return;
        }
        let is_wanted = mask & event.mask() != 0;
        if is_wanted {
            let mask = event.mask() | (flags & IS_DIRECTORY);
            self.push(Record { watch: number, mask, cookie: event.cookie(), name: name.into() });
        }
        if event == Event::DeleteSelf || (is_wanted && mask & ONESHOT != 0) {
            // The watch is known: it was found above.
            let _ = self.remove(number);
        }
    }
}

impl FileOps for Inotify {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn read(&self, _file: &OpenFile, sink: &mut dyn Sink, _offset: u64) -> SysResult<usize> {
        let mut state = self.state.borrow_mut();
        let first = state.events.front().ok_or(Errno::EAGAIN)?;
        if first.size() > sink.remaining() {
            return Err(Errno::EINVAL);
        }
        let mut n_read = 0;
        while let Some(record) = state.events.front() {
            if record.size() > sink.remaining() {
                break;
            }
            let bytes = record.encode();
            match sink.put(&bytes) {
                Ok(n) if n == bytes.len() => n_read += n,
                Ok(_) if n_read == 0 => return Err(Errno::EFAULT),
                Err(errno) if n_read == 0 => return Err(errno),
                _ => break,
            }
            let memory = record.memory();
            let left = state.queued.bytes().saturating_sub(memory);
            state.events.pop_front();
            state.queued.force(left);
        }
        Ok(n_read)
    }

    fn poll(&self, _file: &OpenFile) -> PollEvents {
        if self.state.borrow().events.is_empty() {
            PollEvents::empty()
        } else {
            PollEvents::READABLE
        }
    }

    fn queue(&self) -> Option<WaitQueue> {
        Some(self.queue.clone())
    }

    fn ioctl(&self, _file: &OpenFile, request: &Ioctl<'_>) -> SysResult<u64> {
        if request.command != ioctl::FIONREAD {
            return Err(Errno::ENOTTY);
        }
        let n: usize = self.state.borrow().events.iter().map(Record::size).sum();
        let n = i32::try_from(n).unwrap_or(i32::MAX);
        request.memory.write(request.argument, &n.to_le_bytes())?;
        Ok(0)
    }

    fn release(&self, _file: &OpenFile) {
        let numbers: Vec<i32> = self.state.borrow().watches.keys().copied().collect();
        for number in numbers {
            // Each was in the table a moment ago.
            let _ = self.forget(number);
        }
    }

    fn describe(&self) -> String {
        String::from("anon_inode:inotify")
    }

    fn fdinfo(&self) -> String {
        use std::fmt::Write;
        let mut lines = String::new();
        for (number, watch) in &self.state.borrow().watches {
            let Ok(metadata) = watch.inode.metadata() else { continue };
            let (inode, device) = (metadata.inode, metadata.device.encode());
            // Writing to a string does not fail.
            let _ = writeln!(
                lines,
                "inotify wd:{number:x} ino:{inode:x} sdev:{device:x} mask:{:x} ignored_mask:0",
                watch.mask
            );
        }
        lines
    }
}
