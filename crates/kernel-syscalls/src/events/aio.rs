//! `io_setup(2)`, `io_destroy(2)`, `io_submit(2)`, `io_getevents(2)`, `io_pgetevents(2)`,
//! `io_cancel(2)`.
//!
//! A request is done by the very functions of the calls that it stands for, while it is submitted;
//! its errors are results. Only what cannot be a request at all fails `io_submit`.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_core::wait::PollEvents;
use kernel_events::aio::{AioContext, PollRequest};
use kernel_events::eventfd::EventFd;
use kernel_files::OpenFile;
use kernel_tasks::Thread;
use linux_abi::events::aio::{FLAG_IOPRIO, FLAG_RESFD, IoEvent, Iocb, command};
use linux_abi::time::Timespec;
use linux_abi::{Errno, Fd, Interrupted, Restart, SysResult, WaitResult};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::wait_arguments::{Timeout, read_mask};
use crate::files;

/// Results that are handed over at a time.
const MAX_AT_ONCE: i64 = 4096;

/// Makes a context for `n` requests under way.
pub(crate) fn io_setup(thread: &Rc<Thread>, n: u32, context: UserPtr<u64>) -> SysResult<()> {
    let now = context.read(&thread.memory())?;
    if now != 0 || n == 0 {
        return Err(Errno::EINVAL);
    }
    let process = thread.process();
    // The arguments of the program: memory that is there for as long as the process.
    let readable = process.program().strings.first().copied().unwrap_or(0);
    let number = process.aio.setup(n, readable, &thread.kernel().timers)?;
    context.write(&thread.memory(), &number).inspect_err(|_| {
        // It was just made.
        let _ = process.aio.destroy(number);
    })
}

/// Ends a context.
pub(crate) fn io_destroy(thread: &Rc<Thread>, context: u64) -> SysResult<()> {
    thread.process().aio.destroy(context)
}

/// Submits requests. Says how many; fails only if the first one cannot be submitted.
pub(crate) async fn io_submit(
    thread: Rc<Thread>,
    context: u64,
    n: i64,
    requests: UserPtr<u64>,
) -> WaitResult<u64> {
    let found = thread.process().aio.find(context)?;
    let n = u64::try_from(n).map_err(|_| Errno::EINVAL)?;
    let mut n_done = 0;
    while n_done < n {
        match submit_one(&thread, &found, requests, n_done).await {
            Ok(()) => n_done += 1,
            Err(_) if n_done > 0 => break,
            Err(error) => return Err(error),
        }
    }
    Ok(n_done)
}

async fn submit_one(
    thread: &Rc<Thread>,
    context: &AioContext,
    requests: UserPtr<u64>,
    index: u64,
) -> WaitResult<()> {
    let place = requests.address().checked_add(index * 8).ok_or(Errno::EFAULT)?;
    let object = UserPtr::<u64>::new(place).read(&thread.memory())?;
    let request = UserPtr::<Iocb>::new(object).read(&thread.memory())?;
    if request.reserved != 0 || request.flags & !(FLAG_RESFD | FLAG_IOPRIO) != 0 {
        return Err(Errno::EINVAL.into());
    }
    context.check_room()?;
    let file = thread.file(Fd(request.fd))?;
    let tells = match request.flags & FLAG_RESFD {
        0 => None,
        _ => Some(event_file(thread, request.event_fd)?),
    };
    if request.opcode == command::POLL {
        return add_poll(context, &request, object, file, tells);
    }
    let result = match run(thread, &request).await {
        Ok(n) => i64::try_from(n).unwrap_or(i64::MAX),
        // What is wrong with the descriptor or the request, Linux says at once.
        Err(Interrupted::Errno(errno @ (Errno::EBADF | Errno::EINVAL | Errno::EOPNOTSUPP))) => {
            return Err(errno.into());
        }
        Err(Interrupted::Errno(errno)) => -i64::from(errno.code()),
        Err(interrupted) => return Err(interrupted),
    };
    let event = IoEvent { data: request.data, object, result, result2: 0 };
    context.complete(event, tells.as_deref());
    Ok(())
}

fn event_file(thread: &Thread, fd: i32) -> SysResult<Rc<OpenFile>> {
    let file = thread.file(Fd(fd))?;
    if file.ops().as_any().is::<EventFd>() { Ok(file) } else { Err(Errno::EINVAL) }
}

fn add_poll(
    context: &AioContext,
    request: &Iocb,
    object: u64,
    file: Rc<OpenFile>,
    tells: Option<Rc<OpenFile>>,
) -> WaitResult<()> {
    let asked = u16::try_from(request.buffer).map_err(|_| Errno::EINVAL)?;
    if request.count != 0 || request.offset != 0 || request.rw_flags != 0 {
        return Err(Errno::EINVAL.into());
    }
    let always = PollEvents::ERR | PollEvents::HUP;
    let asked = PollEvents::from_bits_truncate(asked.into()) | always;
    context.add_poll(PollRequest { object, data: request.data, file, asked, tells });
    Ok(())
}

/// Does what a request says, as the call of that name.
async fn run(thread: &Rc<Thread>, request: &Iocb) -> WaitResult<usize> {
    let (fd, offset) = (Fd(request.fd), request.offset);
    let count = usize::try_from(request.count).map_err(|_| Errno::EINVAL)?;
    if i64::try_from(request.count).is_err() {
        return Err(Errno::EINVAL.into());
    }
    let thread = Rc::clone(thread);
    let flags = request.rw_flags;
    let is_plain = flags == 0 && request.buffer == 0 && request.count == 0 && offset == 0;
    match request.opcode {
        command::PREAD => {
            let buffer = UserPtr::new(request.buffer);
            files::pread_here(thread, fd, buffer, count, offset, flags).await
        }
        command::PWRITE => {
            let buffer = UserPtr::new(request.buffer);
            files::pwrite_here(thread, fd, buffer, count, offset, flags).await
        }
        // These take an offset of -1 for the position, which a request cannot mean.
        command::PREADV | command::PWRITEV if offset < 0 => Err(Errno::EINVAL.into()),
        command::PREADV => {
            files::preadv2(thread, fd, UserPtr::new(request.buffer), count, offset, 0, flags).await
        }
        command::PWRITEV => {
            files::pwritev2(thread, fd, UserPtr::new(request.buffer), count, offset, 0, flags).await
        }
        command::FSYNC if is_plain => files::fsync(thread, fd).await.map(|()| 0),
        command::FDSYNC if is_plain => files::fdatasync(thread, fd).await.map(|()| 0),
        _ => Err(Errno::EINVAL.into()),
    }
}

/// Waits for at least `least` results and takes up to `most`.
pub(crate) async fn io_getevents(
    thread: Rc<Thread>,
    context: u64,
    least: i64,
    most: i64,
    events: UserPtr<IoEvent>,
    timeout: UserPtr<Timespec>,
) -> WaitResult<u64> {
    let timeout = Timeout::from_timespec(&thread, timeout)?;
    match take_events(&thread, context, least, most, events, timeout).await {
        // The older call is not begun again.
        Err(Interrupted::Signal(_)) => Err(Errno::EINTR.into()),
        result => result,
    }
}

/// `struct __aio_sigset`: a signal mask and its size.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct AioSigset {
    mask: u64,
    size: u64,
}

/// Like [`io_getevents`], under another signal mask.
pub(crate) async fn io_pgetevents(
    thread: Rc<Thread>,
    context: u64,
    least: i64,
    most: i64,
    events: UserPtr<IoEvent>,
    timeout: UserPtr<Timespec>,
    sigset: UserPtr<AioSigset>,
) -> WaitResult<u64> {
    let timeout = Timeout::from_timespec(&thread, timeout)?;
    let mask = match sigset.non_null() {
        None => None,
        Some(sigset) => {
            let sigset = sigset.read(&thread.memory())?;
            read_mask(&thread, UserPtr::new(sigset.mask), sigset.size)?
        }
    };
    let call = take_events(&thread, context, least, most, events, timeout);
    thread.with_mask(mask, call).await
}

async fn take_events(
    thread: &Rc<Thread>,
    context: u64,
    least: i64,
    most: i64,
    events: UserPtr<IoEvent>,
    timeout: Timeout,
) -> WaitResult<u64> {
    let context = thread.process().aio.find(context)?;
    if least < 0 || most < least {
        return Err(Errno::EINVAL.into());
    }
    let least = usize::try_from(least).map_err(|_| Errno::EINVAL)?;
    loop {
        if context.n_results() >= least || timeout == Timeout::Zero {
            break;
        }
        if context.is_destroyed() {
            return Err(Errno::EINVAL.into());
        }
        if !wait_for_more(thread, &context, timeout).await? {
            break;
        }
    }
    let most = usize::try_from(most.min(MAX_AT_ONCE)).map_err(|_| Errno::EINVAL)?;
    let taken = context.take_results(most);
    if taken.is_empty() {
        return Ok(0);
    }
    if let Err(errno) = events.write_many(&thread.memory(), &taken) {
        context.put_back(taken);
        return Err(errno.into());
    }
    Ok(taken.len() as u64)
}

/// Waits until there may be more results; `false` if the time is over.
async fn wait_for_more(
    thread: &Rc<Thread>,
    context: &AioContext,
    timeout: Timeout,
) -> WaitResult<bool> {
    let more = context.queue.wait(PollEvents::IN);
    let deadline = timeout.deadline();
    Ok(thread.interruptible_until(Restart::IfNoHandler, deadline, more).await?.is_some())
}

/// Gives a request up that waits. Others are done already, which is `EINVAL`.
pub(crate) fn io_cancel(
    thread: &Rc<Thread>,
    context: u64,
    request: UserPtr<Iocb>,
    _result: UserPtr<IoEvent>,
) -> SysResult<()> {
    request.read(&thread.memory())?;
    thread.process().aio.find(context)?.cancel(request.address())?;
    // The result comes as an event.
    Err(Errno::EINPROGRESS)
}
