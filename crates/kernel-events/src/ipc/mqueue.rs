//! POSIX message queues by name. See mq_overview(7).

mod queue;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use kernel_core::credentials::{Credentials, cap};
use kernel_files::OpenFile;
use linux_abi::events::mqueue::MqAttr;
use linux_abi::files::OpenFlags;
use linux_abi::{Errno, SysResult};

pub use queue::{Deliver, Happening, Message, MqFile, Notification, PosixQueue};

/// How many queues there may be, and how many for the privileged.
const MAX_QUEUES: usize = 256;
const MAX_QUEUES_PRIVILEGED: usize = 1024;
/// How many messages a queue may have, and how many for the privileged.
const MAX_MESSAGES: i64 = 10;
const MAX_MESSAGES_PRIVILEGED: i64 = 65_536;
/// How long a message may be, and how long for the privileged.
const MAX_SIZE: i64 = 8192;
const MAX_SIZE_PRIVILEGED: i64 = 16 << 20;
/// What a message is counted as beyond its bytes.
const MESSAGE_COST: u64 = 96;
/// How long a name may be.
const NAME_MAX: usize = 255;

/// How a queue shall be opened.
pub struct OpenQueue<'a> {
    /// Its name, without the slash.
    pub name: &'a [u8],
    /// Access mode, `O_CREAT`, `O_EXCL`, `O_NONBLOCK`.
    pub flags: OpenFlags,
    /// The mode of a queue that is made, `umask` already taken off.
    pub mode: u32,
    /// The size of a queue that is made.
    pub attributes: Option<MqAttr>,
    /// `RLIMIT_MSGQUEUE`.
    pub byte_limit: u64,
}

/// The queues that have names.
#[derive(Default)]
pub struct PosixQueues {
    by_name: RefCell<HashMap<Vec<u8>, Rc<PosixQueue>>>,
    /// What the queues of each user are counted as. Shared with the queues, which give it back.
    charged: Rc<RefCell<HashMap<u32, u64>>>,
    next_inode: Cell<u64>,
}

impl PosixQueues {
    /// Opens a queue (`mq_open`).
    pub fn open(&self, how: &OpenQueue<'_>, who: &Credentials) -> SysResult<Rc<OpenFile>> {
        check_name(how.name)?;
        let found = self.by_name.borrow().get(how.name).cloned();
        let queue = match found {
            Some(_) if how.flags.contains(OpenFlags::CREAT | OpenFlags::EXCL) => {
                return Err(Errno::EEXIST);
            }
            Some(queue) => {
                if how.flags.bits() & OpenFlags::ACCESS_MODE == OpenFlags::ACCESS_MODE {
                    return Err(Errno::EINVAL);
                }
                queue.check_access(who, how.flags)?;
                queue
            }
            None if !how.flags.contains(OpenFlags::CREAT) => return Err(Errno::ENOENT),
            None => self.make(how, who)?,
        };
        let kept = OpenFlags::NONBLOCK | OpenFlags::WRONLY | OpenFlags::RDWR;
        Ok(OpenFile::new(Rc::new(MqFile::new(queue)), how.flags & kept))
    }

    fn make(&self, how: &OpenQueue<'_>, who: &Credentials) -> SysResult<Rc<PosixQueue>> {
        let is_privileged = who.has(cap::SYS_RESOURCE);
        let n_queues = self.by_name.borrow().len();
        let limit = if is_privileged { MAX_QUEUES_PRIVILEGED } else { MAX_QUEUES };
        if n_queues >= limit {
            return Err(Errno::ENOSPC);
        }
        let (max_messages, max_size) = size_of_new(how.attributes, is_privileged)?;
        let cost = max_size
            .checked_add(MESSAGE_COST)
            .and_then(|each| each.checked_mul(max_messages))
            .ok_or(Errno::EOVERFLOW)?;
        {
            let mut charged = self.charged.borrow_mut();
            let sum = charged.entry(who.fsuid).or_default();
            *sum =
                sum.checked_add(cost).filter(|&all| all <= how.byte_limit).ok_or(Errno::EMFILE)?;
        }
        let inode = self.next_inode.get() + 1;
        self.next_inode.set(inode);
        let charge = queue::Charge { all: Rc::clone(&self.charged), uid: who.fsuid, cost };
        let size = queue::Size { max_messages, max_size };
        let queue = Rc::new(PosixQueue::new(inode, size, how.mode, who, charge));
        self.by_name.borrow_mut().insert(how.name.to_vec(), Rc::clone(&queue));
        Ok(queue)
    }

    /// Takes a name away (`mq_unlink`). Who has the queue open keeps it.
    pub fn unlink(&self, name: &[u8], who: &Credentials) -> SysResult<()> {
        check_name(name)?;
        let queue = self.by_name.borrow().get(name).cloned().ok_or(Errno::ENOENT)?;
        // As in a directory with the sticky bit.
        if queue.owner() != who.fsuid && !who.has(cap::FOWNER) {
            return Err(Errno::EPERM);
        }
        let removed = self.by_name.borrow_mut().remove(name);
        drop(removed);
        Ok(())
    }
}

fn check_name(name: &[u8]) -> SysResult<()> {
    match name {
        b"" => Err(Errno::ENOENT),
        b"." | b".." => Err(Errno::EACCES),
        _ if name.contains(&b'/') => Err(Errno::EACCES),
        _ if name.len() > NAME_MAX => Err(Errno::ENAMETOOLONG),
        _ => Ok(()),
    }
}

fn size_of_new(attributes: Option<MqAttr>, is_privileged: bool) -> SysResult<(u64, u64)> {
    let Some(MqAttr { maxmsg, msgsize, .. }) = attributes else {
        return Ok((MAX_MESSAGES.cast_unsigned(), MAX_SIZE.cast_unsigned()));
    };
    let (max_messages, max_size) = match is_privileged {
        true => (MAX_MESSAGES_PRIVILEGED, MAX_SIZE_PRIVILEGED),
        false => (MAX_MESSAGES, MAX_SIZE),
    };
    if !(1..=max_messages).contains(&maxmsg) || !(1..=max_size).contains(&msgsize) {
        return Err(Errno::EINVAL);
    }
    Ok((maxmsg.cast_unsigned(), msgsize.cast_unsigned()))
}

#[cfg(test)]
mod tests {
    use linux_abi::Pid;

    use super::*;

    const ME: Pid = Pid(4);

    fn how(name: &[u8], flags: OpenFlags) -> OpenQueue<'_> {
        let attributes = MqAttr { maxmsg: 2, msgsize: 8, ..MqAttr::default() };
        let attributes = Some(attributes);
        OpenQueue { name, flags, mode: 0o600, attributes, byte_limit: 819_200 }
    }

    fn queue_of(file: &OpenFile) -> &Rc<PosixQueue> {
        file.ops_as::<MqFile>().unwrap().queue()
    }

    #[test]
    fn the_most_urgent_and_oldest_message_comes_first() {
        let (all, who) = (PosixQueues::default(), Credentials::of_user(1, 1));
        let file = all.open(&how(b"q", OpenFlags::CREAT | OpenFlags::RDWR), &who).unwrap();
        let queue = queue_of(&file);
        let message = |priority, text: &[u8]| Message { priority, text: text.to_vec() };
        assert_eq!(queue.receive(), Err(Errno::EAGAIN));
        queue.send(message(1, b"low"), ME, 1).unwrap();
        queue.send(message(9, b"high"), ME, 1).unwrap();
        assert_eq!(queue.send(message(5, b"full"), ME, 1), Err(Errno::EAGAIN));
        assert_eq!(queue.receive(), Ok(message(9, b"high")));
        queue.send(message(1, b"lower"), ME, 1).unwrap();
        assert_eq!(queue.receive(), Ok(message(1, b"low")));
        assert_eq!(queue.receive(), Ok(message(1, b"lower")));
    }

    #[test]
    fn names_are_found_until_they_are_taken_away() {
        let (all, who) = (PosixQueues::default(), Credentials::of_user(1, 1));
        let other = Credentials::of_user(2, 2);
        let make = OpenFlags::CREAT | OpenFlags::RDWR;
        assert_eq!(all.open(&how(b"q", OpenFlags::empty()), &who).err(), Some(Errno::ENOENT));
        let file = all.open(&how(b"q", make), &who).unwrap();
        assert_eq!(all.open(&how(b"q", make | OpenFlags::EXCL), &who).err(), Some(Errno::EEXIST));
        assert_eq!(all.open(&how(b"q", OpenFlags::empty()), &other).err(), Some(Errno::EACCES));
        assert_eq!(all.open(&how(b"a/b", make), &who).err(), Some(Errno::EACCES));
        assert_eq!(all.unlink(b"q", &other), Err(Errno::EPERM));
        assert_eq!(all.unlink(b"q", &who), Ok(()));
        assert_eq!(all.unlink(b"q", &who), Err(Errno::ENOENT));
        assert!(*all.charged.borrow().get(&1).unwrap() > 0);
        drop(file);
        assert_eq!(all.charged.borrow().get(&1), None);
    }

    #[test]
    fn users_are_limited() {
        let (all, who) = (PosixQueues::default(), Credentials::of_user(1, 1));
        let mut too_large = how(b"q", OpenFlags::CREAT | OpenFlags::RDWR);
        too_large.byte_limit = 100;
        assert_eq!(all.open(&too_large, &who).err(), Some(Errno::EMFILE));
        too_large.attributes = Some(MqAttr { maxmsg: 11, msgsize: 1, ..MqAttr::default() });
        assert_eq!(all.open(&too_large, &who).err(), Some(Errno::EINVAL));
    }

    #[test]
    fn one_notification_for_the_first_message_into_an_empty_queue() {
        let (all, who) = (PosixQueues::default(), Credentials::of_user(1, 1));
        let file = all.open(&how(b"q", OpenFlags::CREAT | OpenFlags::RDWR), &who).unwrap();
        let queue = queue_of(&file);
        let told = Rc::new(Cell::new(0));
        let count = Rc::clone(&told);
        let notification = Notification {
            pid: ME,
            signal: 10,
            file: file.id(),
            deliver: Some(Box::new(move |_| count.set(count.get() + 1))),
        };
        queue.request_notification(notification).unwrap();
        let another = Notification { pid: Pid(9), signal: 0, file: 0, deliver: None };
        assert_eq!(queue.request_notification(another), Err(Errno::EBUSY));
        let message = || Message { priority: 0, text: Vec::new() };
        queue.send(message(), ME, 1).unwrap();
        queue.send(message(), ME, 1).unwrap();
        assert_eq!(told.get(), 1);
    }
}
