//! System V message queues. See msgop(2).

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use kernel_core::credentials::{Credentials, cap};
use kernel_core::ledger::{ALLOCATION, Charge, Kind};
use kernel_core::wait::{PollEvents, WaitQueue};
use linux_abi::events::sysv::{IPC_NOWAIT, MSG_COPY, MSG_EXCEPT, MSG_NOERROR, MsqidDs};
use linux_abi::{Errno, Pid, SysResult};

use super::permission::{Guarded, Permission, Want};
use super::semaphores::seconds;
use super::table::IpcTable;

/// How long a message may be.
pub const MSGMAX: usize = 8192;
/// How many bytes a queue may hold, unless somebody privileged says more.
pub const MSGMNB: usize = 16_384;
/// How many queues there may be.
pub const MSGMNI: usize = 32_000;
/// How many bytes all queues may hold, with something for each message.
const MAX_TOTAL: usize = 64 << 20;
/// What a message is counted as beyond its bytes.
const MESSAGE_COST: usize = 64;

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its type, which is positive.
    pub kind: i64,
    /// Its bytes.
    pub text: Vec<u8>,
}

/// Which message a receiver wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    First,
    OfKind(i64),
    NotOfKind(i64),
    LowestUpTo(i64),
}

impl Wanted {
    fn new(kind: i64, flags: u32) -> Self {
        match kind {
            0 => Self::First,
            ..0 => Self::LowestUpTo(kind.checked_neg().unwrap_or(i64::MAX)),
            _ if flags & MSG_EXCEPT != 0 => Self::NotOfKind(kind),
            _ => Self::OfKind(kind),
        }
    }

    fn find(self, messages: &VecDeque<Message>) -> Option<usize> {
        match self {
            Self::First => (!messages.is_empty()).then_some(0),
            Self::OfKind(kind) => messages.iter().position(|message| message.kind == kind),
            Self::NotOfKind(kind) => messages.iter().position(|message| message.kind != kind),
            Self::LowestUpTo(limit) => messages
                .iter()
                .enumerate()
                .filter(|(_, message)| message.kind <= limit)
                // The first of equals wins.
                .min_by_key(|(_, message)| message.kind)
                .map(|(index, _)| index),
        }
    }
}

/// A message queue.
pub struct MessageQueue {
    permission: Cell<Permission>,
    messages: RefCell<VecDeque<Message>>,
    n_bytes: Cell<usize>,
    max_bytes: Cell<usize>,
    is_removed: Cell<bool>,
    last: Cell<Last>,
    queue: WaitQueue,
    /// For itself and its messages.
    charge: RefCell<Charge>,
}

/// Who did what when.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    sent: i64,
    received: i64,
    changed: i64,
    sender: u32,
    receiver: u32,
}

impl Guarded for MessageQueue {
    fn permission(&self) -> &Cell<Permission> {
        &self.permission
    }
}

impl MessageQueue {
    fn new(permission: Permission) -> SysResult<Self> {
        let charge = Charge::of::<Self>(Kind::Queues).map_err(|_| Errno::ENOMEM)?;
        Ok(Self {
            charge: RefCell::new(charge),
            permission: Cell::new(permission),
            messages: RefCell::default(),
            n_bytes: Cell::new(0),
            max_bytes: Cell::new(MSGMNB),
            is_removed: Cell::new(false),
            last: Cell::new(Last { changed: seconds(), ..Last::default() }),
            queue: WaitQueue::new(),
        })
    }

    /// What it takes with so many messages and bytes in it.
    fn memory(n_messages: usize, n_bytes: usize) -> u64 {
        let messages = n_messages as u64 * (size_of::<Message>() as u64 + ALLOCATION);
        size_of::<Self>() as u64 + ALLOCATION + messages + n_bytes as u64
    }

    /// What to wait on: `OUT` for room, `IN` for messages.
    pub fn wait_queue(&self) -> &WaitQueue {
        &self.queue
    }

    fn recount(&self) {
        let (n_messages, n_bytes) = self.n_messages();
        self.charge.borrow_mut().force(Self::memory(n_messages, n_bytes));
    }

    fn has_room(&self, n_bytes: usize) -> bool {
        self.n_bytes.get() + n_bytes <= self.max_bytes.get()
            && self.messages.borrow().len() < self.max_bytes.get()
    }

    /// How many messages and bytes are in it.
    pub fn n_messages(&self) -> (usize, usize) {
        (self.messages.borrow().len(), self.n_bytes.get())
    }

    /// Owner, times and contents, as `IPC_STAT` shows them.
    pub fn show(&self, id: u32) -> MsqidDs {
        let last = self.last.get();
        MsqidDs {
            perm: self.permission.get().show(id),
            stime: last.sent,
            rtime: last.received,
            ctime: last.changed,
            cbytes: self.n_bytes.get() as u64,
            qnum: self.messages.borrow().len() as u64,
            qbytes: self.max_bytes.get() as u64,
            lspid: last.sender,
            lrpid: last.receiver,
            ..MsqidDs::default()
        }
    }
}

/// All message queues.
pub struct MessageQueues {
    table: IpcTable<MessageQueue>,
    total: Cell<usize>,
}

impl Default for MessageQueues {
    fn default() -> Self {
        Self { table: IpcTable::new(MSGMNI), total: Cell::new(0) }
    }
}

impl MessageQueues {
    /// The queues by id.
    pub fn table(&self) -> &IpcTable<MessageQueue> {
        &self.table
    }

    /// Finds or makes a queue (`msgget`).
    pub fn get(&self, key: i32, flags: u32, who: &Credentials) -> SysResult<u32> {
        let make = || MessageQueue::new(Permission::new(key, flags, who));
        self.table.get_or_make(key, flags, who, |_| Ok(()), make)
    }

    /// The queue with this id, if `who` may use it so.
    pub fn open(&self, id: u32, who: &Credentials, want: Want) -> SysResult<Rc<MessageQueue>> {
        let queue = self.table.find(id)?;
        queue.permission.get().check(who, want)?;
        Ok(queue)
    }

    /// Puts a message in. `EAGAIN` if there is no room; `EIDRM` if the queue is gone since it was
    /// opened.
    pub fn send(&self, queue: &MessageQueue, message: &Message, pid: Pid) -> SysResult<()> {
        if queue.is_removed.get() {
            return Err(Errno::EIDRM);
        }
        let n_bytes = message.text.len();
        if !queue.has_room(n_bytes) {
            return Err(Errno::EAGAIN);
        }
        if self.total.get() + n_bytes + MESSAGE_COST > MAX_TOTAL {
            return Err(Errno::ENOMEM);
        }
        let (n_before, bytes_before) = queue.n_messages();
        let memory = MessageQueue::memory(n_before + 1, bytes_before + n_bytes);
        queue.charge.borrow_mut().resize(memory).map_err(|_| Errno::ENOMEM)?;
        queue.messages.borrow_mut().push_back(message.clone());
        queue.n_bytes.set(queue.n_bytes.get() + n_bytes);
        self.total.set(self.total.get() + n_bytes + MESSAGE_COST);
        queue.last.set(Last { sent: seconds(), sender: pid.0, ..queue.last.get() });
        queue.queue.wake(PollEvents::IN);
        Ok(())
    }

    /// Takes a message of this kind out (or copies it) for a receiver with `room` bytes. `EAGAIN`
    /// if there is none; `EIDRM` if the queue is gone since it was opened.
    pub fn receive(
        &self,
        queue: &MessageQueue,
        kind: i64,
        room: usize,
        flags: u32,
        pid: Pid,
    ) -> SysResult<Message> {
        if queue.is_removed.get() {
            return Err(Errno::EIDRM);
        }
        let is_copy = flags & MSG_COPY != 0;
        let mut messages = queue.messages.borrow_mut();
        let index = match is_copy {
            true => usize::try_from(kind).ok().filter(|&index| index < messages.len()),
            false => Wanted::new(kind, flags).find(&messages),
        };
        let index = index.ok_or(Errno::EAGAIN)?;
        let n_bytes = messages.get(index).map_or(0, |message| message.text.len());
        if n_bytes > room && flags & MSG_NOERROR == 0 {
            return Err(Errno::E2BIG);
        }
        if n_bytes > room && is_copy {
            return Err(Errno::EINVAL);
        }
        if is_copy {
            return messages.get(index).cloned().ok_or(Errno::EAGAIN);
        }
        let mut message = messages.remove(index).ok_or(Errno::EAGAIN)?;
        drop(messages);
        queue.n_bytes.set(queue.n_bytes.get() - n_bytes);
        queue.recount();
        self.total.set(self.total.get() - n_bytes - MESSAGE_COST);
        queue.last.set(Last { received: seconds(), receiver: pid.0, ..queue.last.get() });
        queue.queue.wake(PollEvents::OUT);
        message.text.truncate(room);
        Ok(message)
    }

    /// Whether the flags of `msgrcv` fit together.
    pub fn check_flags(flags: u32) -> SysResult<()> {
        let copies = flags & MSG_COPY != 0;
        if copies && (flags & MSG_EXCEPT != 0 || flags & IPC_NOWAIT == 0) {
            return Err(Errno::EINVAL);
        }
        Ok(())
    }

    /// Changes owner, mode and size (`IPC_SET`).
    pub fn change(&self, id: u32, from: &MsqidDs, who: &Credentials) -> SysResult<()> {
        let queue = self.table.find(id)?;
        let mut permission = queue.permission.get();
        permission.check_control(who)?;
        let max_bytes = usize::try_from(from.qbytes).map_err(|_| Errno::EINVAL)?;
        if max_bytes > MSGMNB && !who.has(cap::SYS_RESOURCE) {
            return Err(Errno::EPERM);
        }
        permission.update(&from.perm)?;
        queue.permission.set(permission);
        queue.max_bytes.set(max_bytes.min(MAX_TOTAL));
        queue.last.set(Last { changed: seconds(), ..queue.last.get() });
        // There may be more room now, and a receiver may have lost its right to wait.
        queue.queue.wake(PollEvents::IN | PollEvents::OUT);
        Ok(())
    }

    /// Removes a queue (`IPC_RMID`). Whoever waits gets `EIDRM`.
    pub fn remove(&self, id: u32, who: &Credentials) -> SysResult<()> {
        let queue = self.table.find(id)?;
        queue.permission.get().check_control(who)?;
        self.table.remove(id)?;
        queue.is_removed.set(true);
        let (n_messages, n_bytes) = queue.n_messages();
        self.total.set(self.total.get() - n_bytes - n_messages * MESSAGE_COST);
        queue.messages.borrow_mut().clear();
        queue.n_bytes.set(0);
        queue.recount();
        queue.queue.wake(PollEvents::IN | PollEvents::OUT);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use linux_abi::events::sysv::IPC_PRIVATE;

    use super::*;

    const ME: Pid = Pid(3);

    fn message(kind: i64, text: &[u8]) -> Message {
        Message { kind, text: text.to_vec() }
    }

    fn setup() -> (MessageQueues, u32, Rc<MessageQueue>, Credentials) {
        let all = MessageQueues::default();
        let who = Credentials::of_user(0, 0);
        let id = all.get(IPC_PRIVATE, 0o600, &who).unwrap();
        let queue = all.open(id, &who, Want::WRITE).unwrap();
        (all, id, queue, who)
    }

    #[test]
    fn a_receiver_chooses_by_kind() {
        let (all, _, queue, _) = setup();
        for kind in [5, 3, 4, 3] {
            all.send(&queue, &message(kind, &[u8::try_from(kind).unwrap()]), ME).unwrap();
        }
        let receive = |kind, flags| all.receive(&queue, kind, 10, flags, ME).map(|m| m.kind);
        assert_eq!(receive(4, MSG_COPY), Err(Errno::EAGAIN));
        assert_eq!(receive(2, MSG_COPY), Ok(4));
        assert_eq!(receive(-2, 0), Err(Errno::EAGAIN));
        assert_eq!(receive(-4, 0), Ok(3));
        assert_eq!(receive(3, MSG_EXCEPT), Ok(5));
        assert_eq!(receive(3, 0), Ok(3));
        assert_eq!(receive(0, 0), Ok(4));
        assert_eq!(queue.n_messages(), (0, 0));
    }

    #[test]
    fn long_messages_are_refused_or_cut() {
        let (all, _, queue, _) = setup();
        all.send(&queue, &message(1, b"hello"), ME).unwrap();
        assert_eq!(all.receive(&queue, 0, 4, 0, ME), Err(Errno::E2BIG));
        assert_eq!(all.receive(&queue, 0, 4, MSG_NOERROR, ME), Ok(message(1, b"hell")));
    }

    #[test]
    fn a_queue_fills_up_and_goes() {
        let (all, id, queue, who) = setup();
        let half = message(1, &[0; 8192]);
        assert_eq!(all.send(&queue, &half, ME), Ok(()));
        assert_eq!(all.send(&queue, &half, ME), Ok(()));
        assert_eq!(all.send(&queue, &message(1, b"x"), ME), Err(Errno::EAGAIN));
        assert_eq!(all.send(&queue, &message(1, b""), ME), Ok(()));
        all.remove(id, &who).unwrap();
        assert_eq!(all.send(&queue, &half, ME), Err(Errno::EIDRM));
        assert_eq!(all.total.get(), 0);
    }
}
