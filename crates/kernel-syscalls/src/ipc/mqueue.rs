//! `mq_open(2)`, `mq_unlink(2)`, `mq_timedsend(2)`, `mq_timedreceive(2)`, `mq_notify(2)`,
//! `mq_getsetattr(2)`.
//!
//! A queue is a descriptor, so closing and waiting for it is that of any file.

use std::rc::Rc;

use kernel_core::memory::{CString, UserPtr};
use kernel_core::timers::{Instant, now, real_time};
use kernel_core::wait::PollEvents;
use kernel_events::ipc::mqueue::{
    Deliver, Happening, Message, MqFile, Notification, OpenQueue, PosixQueue,
};
use kernel_files::OpenFile;
use kernel_sockets::Socket;
use kernel_sockets::netlink::NetlinkSocket;
use kernel_tasks::{Thread, signals};
use linux_abi::events::mqueue::{
    MQ_PRIO_MAX, MqAttr, NOTIFY_COOKIE_LEN, NOTIFY_REMOVED, NOTIFY_WOKENUP,
};
use linux_abi::files::OpenFlags;
use linux_abi::signals::{SigInfo, Sigevent, Signal, code, notify};
use linux_abi::tasks::rlimit;
use linux_abi::time::Timespec;
use linux_abi::{Errno, Fd, Restart, SysResult, WaitResult};

/// Opens a queue, and makes it if that is asked for.
pub(crate) fn mq_open(
    thread: &Rc<Thread>,
    name: UserPtr<CString>,
    flags: u32,
    mode: u32,
    attributes: UserPtr<MqAttr>,
) -> SysResult<Fd> {
    let memory = thread.memory();
    let attributes = match attributes.non_null() {
        Some(attributes) => Some(attributes.read(&memory)?),
        None => None,
    };
    let name = name.read_path(&memory)?;
    let flags = OpenFlags::from_bits_truncate(flags);
    let how = OpenQueue {
        name: &name,
        flags,
        mode: mode & !thread.fs().umask(),
        attributes,
        byte_limit: thread.process().limit(rlimit::MSGQUEUE)?.current,
    };
    let file = thread.ipc().posix_queues.open(&how, &thread.credentials())?;
    thread.add_file(file, flags.contains(OpenFlags::CLOEXEC))
}

/// Takes the name of a queue away.
pub(crate) fn mq_unlink(thread: &Rc<Thread>, name: UserPtr<CString>) -> SysResult<()> {
    let name = name.read_path(&thread.memory())?;
    thread.ipc().posix_queues.unlink(&name, &thread.credentials())
}

/// Sends a message; waits for room until a time of day.
pub(crate) async fn mq_timedsend(
    thread: Rc<Thread>,
    fd: Fd,
    text: UserPtr<u8>,
    length: u64,
    priority: u32,
    timeout: UserPtr<Timespec>,
) -> WaitResult<()> {
    let deadline = deadline_of(&thread, timeout)?;
    if priority >= MQ_PRIO_MAX {
        return Err(Errno::EINVAL.into());
    }
    let file = thread.file(fd)?;
    let queue = queue_of(&file)?;
    if !file.flags().can_write() {
        return Err(Errno::EBADF.into());
    }
    if length > queue.max_size() {
        return Err(Errno::EMSGSIZE.into());
    }
    let length = usize::try_from(length).map_err(|_| Errno::EMSGSIZE)?;
    let text = text.read_many(&thread.memory(), length)?;
    let (pid, uid) = (thread.process().pid, thread.credentials().uid);
    let attempt = || queue.send(Message { priority, text: text.clone() }, pid, uid);
    retry(&thread, &file, PollEvents::OUT, deadline, attempt).await
}

/// Receives the most urgent message; waits for one until a time of day.
pub(crate) async fn mq_timedreceive(
    thread: Rc<Thread>,
    fd: Fd,
    buffer: UserPtr<u8>,
    length: u64,
    priority: UserPtr<u32>,
    timeout: UserPtr<Timespec>,
) -> WaitResult<usize> {
    let deadline = deadline_of(&thread, timeout)?;
    let file = thread.file(fd)?;
    let queue = queue_of(&file)?;
    if !file.flags().can_read() {
        return Err(Errno::EBADF.into());
    }
    if length < queue.max_size() {
        return Err(Errno::EMSGSIZE.into());
    }
    let waiting = queue.wait_as_receiver();
    let received = retry(&thread, &file, PollEvents::IN, deadline, || queue.receive()).await;
    drop(waiting);
    let message = received?;
    let memory = thread.memory();
    priority.write_if_wanted(&memory, &message.priority)?;
    if !message.text.is_empty() {
        buffer.write_many(&memory, &message.text)?;
    }
    Ok(message.text.len())
}

/// Asks to be told when a message comes into the empty queue, or asks no more.
pub(crate) fn mq_notify(thread: &Rc<Thread>, fd: Fd, event: UserPtr<Sigevent>) -> SysResult<()> {
    let wish = match event.non_null() {
        Some(event) => Some(wish_of(thread, &event.read(&thread.memory())?)?),
        None => None,
    };
    let file = thread.file(fd)?;
    let queue = queue_of(&file)?;
    let pid = thread.process().pid;
    let Some((signal, deliver)) = wish else {
        queue.cancel_notification(pid);
        return Ok(());
    };
    queue.request_notification(Notification { pid, signal, file: file.id(), deliver })
}

/// How the caller wants to be told, and the number that the queue's file shows.
fn wish_of(thread: &Rc<Thread>, event: &Sigevent) -> SysResult<(u32, Option<Deliver>)> {
    match event.notify {
        notify::NONE => Ok((0, None)),
        notify::SIGNAL if event.signal == 0 => Ok((0, None)),
        notify::SIGNAL => {
            let number = u32::try_from(event.signal).map_err(|_| Errno::EINVAL)?;
            let signal = Signal::new(number).ok_or(Errno::EINVAL)?;
            Ok((number, Some(by_signal(thread, signal, event.value))))
        }
        notify::THREAD => Ok((0, Some(by_socket(thread, event)?))),
        _ => Err(Errno::EINVAL),
    }
}

fn by_signal(thread: &Rc<Thread>, signal: Signal, value: u64) -> Deliver {
    let process = Rc::downgrade(thread.process());
    Box::new(move |happening| {
        let Happening::Message { sender, uid } = happening else { return };
        let info = SigInfo::from_process(signal, code::SI_MESGQ, sender, uid);
        if let Some(process) = process.upgrade() {
            // Only a real-time signal at its limit gets lost.
            let _ = signals::send_to_process(&process, signal, info.with_value(value));
        }
    })
}

/// What the C library makes `SIGEV_THREAD` of: the signal is the descriptor of a netlink socket,
/// and the value points to what that socket gets, with a last byte that says what happened.
fn by_socket(thread: &Rc<Thread>, event: &Sigevent) -> SysResult<Deliver> {
    let cookie = UserPtr::<[u8; NOTIFY_COOKIE_LEN]>::new(event.value).read(&thread.memory())?;
    let file = thread.file(Fd(event.signal))?;
    let socket = file.ops_as::<Socket>().ok_or(Errno::ENOTSOCK)?;
    if !socket.ops().as_any().is::<NetlinkSocket>() {
        return Err(Errno::EINVAL);
    }
    Ok(Box::new(move |happening| {
        let [kept @ .., _] = cookie;
        let word = match happening {
            Happening::Message { .. } => NOTIFY_WOKENUP,
            Happening::Removed => NOTIFY_REMOVED,
        };
        let ops = file.ops_as::<Socket>().map(Socket::ops);
        if let Some(socket) = ops.and_then(|ops| ops.as_any().downcast_ref::<NetlinkSocket>()) {
            socket.tell([&kept[..], &[word]].concat());
        }
    }))
}

/// Says how a queue is, and makes it wait or not.
pub(crate) fn mq_getsetattr(
    thread: &Rc<Thread>,
    fd: Fd,
    new: UserPtr<MqAttr>,
    old: UserPtr<MqAttr>,
) -> SysResult<()> {
    let nonblock = i64::from(OpenFlags::NONBLOCK.bits());
    let memory = thread.memory();
    let new = match new.non_null() {
        Some(new) => Some(new.read(&memory)?),
        None => None,
    };
    if new.is_some_and(|new| new.flags & !nonblock != 0) {
        return Err(Errno::EINVAL);
    }
    let file = thread.file(fd)?;
    let before = queue_of(&file)?.attributes(file.flags());
    if let Some(new) = new {
        let mut flags = file.flags();
        flags.set(OpenFlags::NONBLOCK, new.flags != 0);
        file.set_flags(flags);
    }
    old.write_if_wanted(&memory, &before)
}

fn queue_of(file: &OpenFile) -> SysResult<&Rc<PosixQueue>> {
    file.ops_as::<MqFile>().map(MqFile::queue).ok_or(Errno::EBADF)
}

/// When to give up: the guest gives a time of day.
fn deadline_of(thread: &Rc<Thread>, timeout: UserPtr<Timespec>) -> SysResult<Option<Instant>> {
    let Some(timeout) = timeout.non_null() else { return Ok(None) };
    let nanos = timeout.read(&thread.memory())?.to_nanos().ok_or(Errno::EINVAL)?;
    Ok(Some(now().after(nanos.saturating_sub(real_time()))))
}

/// Tries until there is a message or room. Unlike other calls with a time-out, these can be run
/// again after a signal, because their time is a time of day.
async fn retry<T>(
    thread: &Rc<Thread>,
    file: &OpenFile,
    events: PollEvents,
    deadline: Option<Instant>,
    attempt: impl Fn() -> SysResult<T>,
) -> WaitResult<T> {
    loop {
        match attempt() {
            Err(Errno::EAGAIN) if !file.is_nonblocking() => {}
            result => return Ok(result?),
        }
        let queue = file.ops().queue().ok_or(Errno::EBADF)?;
        let wait = queue.wait(events);
        if thread.interruptible_until(Restart::IfAsked, deadline, wait).await?.is_none() {
            return Err(Errno::ETIMEDOUT.into());
        }
    }
}
