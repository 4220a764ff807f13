//! One POSIX message queue, and what an open file of it can do.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::rc::Rc;

use kernel_core::credentials::{Credentials, cap};
use kernel_core::io::Sink;
use kernel_core::ledger::{self, Kind};
use kernel_core::wait::{PollEvents, WaitQueue};
use kernel_files::{FileKind, FileOps, Metadata, OpenFile};
use linux_abi::events::mqueue::MqAttr;
use linux_abi::files::OpenFlags;
use linux_abi::{Errno, Pid, SysResult};

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Higher is more urgent.
    pub priority: u32,
    /// Its bytes.
    pub text: Vec<u8>,
}

/// How many messages of which length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub(super) max_messages: u64,
    pub(super) max_size: u64,
}

/// What a queue is counted as, given back when the queue is gone.
pub(super) struct Charge {
    pub(super) all: Rc<RefCell<HashMap<u32, u64>>>,
    pub(super) uid: u32,
    pub(super) cost: u64,
}

impl Drop for Charge {
    fn drop(&mut self) {
        let mut all = self.all.borrow_mut();
        if let Some(sum) = all.get_mut(&self.uid) {
            *sum = sum.saturating_sub(self.cost);
            if *sum == 0 {
                all.remove(&self.uid);
            }
        }
    }
}

/// What becomes of the wish to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// A message came.
    Message {
        /// The process that sent it.
        sender: Pid,
        /// Its user.
        uid: u32,
    },
    /// The wish was taken back, or its file was closed.
    Removed,
}

/// How somebody is told.
pub type Deliver = Box<dyn FnOnce(Happening)>;

/// Who wants to be told when a message comes into the empty queue.
pub struct Notification {
    /// The process.
    pub pid: Pid,
    /// The signal, as the queue's file shows it.
    pub signal: u32,
    /// The open file it was asked for with; it goes with that.
    pub file: u64,
    /// How it is told; `None` if it only wants to have the place.
    pub deliver: Option<Deliver>,
}

/// A queue.
pub struct PosixQueue {
    size: Size,
    messages: RefCell<BTreeMap<u32, VecDeque<Vec<u8>>>>,
    n_messages: Cell<u64>,
    n_bytes: Cell<u64>,
    n_receivers_waiting: Cell<usize>,
    notification: RefCell<Option<Notification>>,
    metadata: Metadata,
    queue: WaitQueue,
    _charge: Charge,
    /// For its messages.
    memory: RefCell<ledger::Charge>,
}

/// What a message takes.
fn memory_of(text: &[u8]) -> u64 {
    (text.len() + size_of::<Vec<u8>>()) as u64 + 2 * ledger::ALLOCATION
}

impl PosixQueue {
    pub(super) fn new(
        inode: u64,
        size: Size,
        mode: u32,
        who: &Credentials,
        charge: Charge,
    ) -> Self {
        let anonymous = Metadata::anonymous(FileKind::Regular, inode);
        let mode = FileKind::Regular.mode_bits() | mode & 0o777;
        Self {
            size,
            messages: RefCell::default(),
            n_messages: Cell::new(0),
            n_bytes: Cell::new(0),
            n_receivers_waiting: Cell::new(0),
            notification: RefCell::default(),
            metadata: Metadata { mode, uid: who.fsuid, gid: who.fsgid, size: 80, ..anonymous },
            queue: WaitQueue::new(),
            _charge: charge,
            memory: RefCell::new(ledger::Charge::none(Kind::Queues)),
        }
    }

    /// The owner's user id.
    pub fn owner(&self) -> u32 {
        self.metadata.uid
    }

    pub(super) fn check_access(&self, who: &Credentials, flags: OpenFlags) -> SysResult<()> {
        let Metadata { mode, uid, gid, .. } = self.metadata;
        let granted = if who.fsuid == uid {
            mode >> 6
        } else if who.in_group(gid) {
            mode >> 3
        } else {
            mode
        };
        let wanted = u32::from(flags.can_read()) << 2 | u32::from(flags.can_write()) << 1;
        if wanted & !granted & 0o7 == 0 || who.has(cap::DAC_OVERRIDE) {
            Ok(())
        } else {
            Err(Errno::EACCES)
        }
    }

    /// How long a message may be.
    pub fn max_size(&self) -> u64 {
        self.size.max_size
    }

    /// The attributes, for an open file with these flags.
    pub fn attributes(&self, flags: OpenFlags) -> MqAttr {
        MqAttr {
            flags: (flags & OpenFlags::NONBLOCK).bits().into(),
            maxmsg: self.size.max_messages.cast_signed(),
            msgsize: self.size.max_size.cast_signed(),
            curmsgs: self.n_messages.get().cast_signed(),
            reserved: [0; 4],
        }
    }

    /// Puts a message in; `EAGAIN` if there is no room. Its length was checked.
    pub fn send(&self, message: Message, sender: Pid, uid: u32) -> SysResult<()> {
        if self.n_messages.get() >= self.size.max_messages {
            return Err(Errno::EAGAIN);
        }
        let memory = self.memory.borrow().bytes() + memory_of(&message.text);
        self.memory.borrow_mut().resize(memory).map_err(|_| Errno::ENOMEM)?;
        let was_empty = self.n_messages.get() == 0;
        self.n_messages.set(self.n_messages.get() + 1);
        self.n_bytes.set(self.n_bytes.get() + message.text.len() as u64);
        self.messages.borrow_mut().entry(message.priority).or_default().push_back(message.text);
        self.queue.wake(PollEvents::READABLE);
        if was_empty && self.n_receivers_waiting.get() == 0 {
            let notification = self.notification.take();
            if let Some(deliver) = notification.and_then(|notification| notification.deliver) {
                deliver(Happening::Message { sender, uid });
            }
        }
        Ok(())
    }

    /// Takes the most urgent message out; `EAGAIN` if there is none.
    pub fn receive(&self) -> SysResult<Message> {
        let message = {
            let mut messages = self.messages.borrow_mut();
            let mut most_urgent = messages.last_entry().ok_or(Errno::EAGAIN)?;
            let priority = *most_urgent.key();
            let text = most_urgent.get_mut().pop_front().ok_or(Errno::EAGAIN)?;
            if most_urgent.get().is_empty() {
                most_urgent.remove();
            }
            Message { priority, text }
        };
        self.n_messages.set(self.n_messages.get() - 1);
        self.n_bytes.set(self.n_bytes.get() - message.text.len() as u64);
        let left = self.memory.borrow().bytes().saturating_sub(memory_of(&message.text));
        self.memory.borrow_mut().force(left);
        self.queue.wake(PollEvents::WRITABLE);
        Ok(message)
    }

    /// Says that somebody waits for a message, until the result is dropped: then nobody else is
    /// notified of it.
    pub fn wait_as_receiver(self: &Rc<Self>) -> WaitingReceiver {
        self.n_receivers_waiting.set(self.n_receivers_waiting.get() + 1);
        WaitingReceiver(Rc::clone(self))
    }

    /// Asks to be told of the next message into the empty queue. `EBUSY` if somebody has.
    pub fn request_notification(&self, notification: Notification) -> SysResult<()> {
        let mut place = self.notification.borrow_mut();
        if place.is_some() {
            return Err(Errno::EBUSY);
        }
        *place = Some(notification);
        Ok(())
    }

    /// The process does not want to be told any more.
    pub fn cancel_notification(&self, pid: Pid) {
        self.remove_notification(|notification| notification.pid == pid);
    }

    fn remove_notification(&self, is_it: impl Fn(&Notification) -> bool) {
        let removed = self.notification.borrow_mut().take_if(|notification| is_it(notification));
        if let Some(deliver) = removed.and_then(|notification| notification.deliver) {
            deliver(Happening::Removed);
        }
    }

    fn status(&self) -> String {
        let notification = self.notification.borrow();
        let (signal, pid) = notification.as_ref().map_or((0, 0), |one| (one.signal, one.pid.0));
        let n_bytes = self.n_bytes.get();
        format!("QSIZE:{n_bytes:<10} NOTIFY:{:<5} SIGNO:{signal:<5} NOTIFY_PID:{pid:<6}\n", 0)
    }
}

/// A receiver that waits.
pub struct WaitingReceiver(Rc<PosixQueue>);

impl Drop for WaitingReceiver {
    fn drop(&mut self) {
        self.0.n_receivers_waiting.set(self.0.n_receivers_waiting.get() - 1);
    }
}

/// What an open queue can do as a file. Reading shows its status; messages have calls of their
/// own.
pub struct MqFile {
    queue: Rc<PosixQueue>,
}

impl MqFile {
    pub(super) fn new(queue: Rc<PosixQueue>) -> Self {
        Self { queue }
    }

    /// The queue.
    pub fn queue(&self) -> &Rc<PosixQueue> {
        &self.queue
    }
}

impl FileOps for MqFile {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn metadata(&self) -> Metadata {
        self.queue.metadata
    }

    fn read(&self, _file: &OpenFile, sink: &mut dyn Sink, offset: u64) -> SysResult<usize> {
        let status = self.queue.status();
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        match status.as_bytes().get(offset..) {
            Some(rest) if !rest.is_empty() => sink.put(rest),
            _ => Ok(0),
        }
    }

    fn is_seekable(&self) -> bool {
        true
    }

    fn poll(&self, _file: &OpenFile) -> PollEvents {
        let n_messages = self.queue.n_messages.get();
        let mut events = PollEvents::empty();
        if n_messages > 0 {
            events |= PollEvents::READABLE;
        }
        if n_messages < self.queue.size.max_messages {
            events |= PollEvents::WRITABLE;
        }
        events
    }

    fn queue(&self) -> Option<WaitQueue> {
        Some(self.queue.queue.clone())
    }

    fn release(&self, file: &OpenFile) {
        self.queue.remove_notification(|notification| notification.file == file.id());
    }

    fn describe(&self) -> String {
        String::from("mqueue")
    }
}
