//! `splice(2)`, `tee(2)`, `vmsplice(2)`.
//!
//! Data is copied, not moved by pages: what a guest sees is the same. Nothing is taken from a pipe
//! before the other side has taken it.

use std::rc::Rc;

use kernel_core::io::{SliceSource, VecSink};
use kernel_core::memory::UserPtr;
use kernel_core::wait::PollEvents;
use kernel_events::pipe::PipeEnd;
use kernel_files::OpenFile;
use kernel_tasks::Thread;
use linux_abi::files::{IoVec, OpenFlags};
use linux_abi::{Errno, Fd, SysResult, WaitResult};

use super::copy::Place;
use super::read::preadv2;
use super::transfer::{Position, RwFlags};
use super::write::{room_for, write_some, written};

const NONBLOCK: u32 = 2;
const KNOWN: u32 = 0xf;

/// How much is held in the kernel's memory at a time.
const PIECE: usize = 64 << 10;

/// Moves data between a pipe and another file.
pub(crate) async fn splice(
    thread: Rc<Thread>,
    fd_in: Fd,
    offset_in: UserPtr<i64>,
    fd_out: Fd,
    offset_out: UserPtr<i64>,
    length: usize,
    flags: u32,
) -> WaitResult<usize> {
    if length == 0 {
        return Ok(0);
    }
    if flags & !KNOWN != 0 {
        return Err(Errno::EINVAL.into());
    }
    let (from, to) = (thread.file(fd_in)?, thread.file(fd_out)?);
    if !from.flags().can_read() || !to.flags().can_write() {
        return Err(Errno::EBADF.into());
    }
    let (pipe_in, pipe_out) = (is_pipe(&from), is_pipe(&to));
    if !pipe_in && !pipe_out {
        return Err(Errno::EINVAL.into());
    }
    if (pipe_in && !offset_in.is_null()) || (pipe_out && !offset_out.is_null()) {
        return Err(Errno::ESPIPE.into());
    }
    if to.flags().contains(OpenFlags::APPEND) || is_same_pipe(&from, &to) {
        return Err(Errno::EINVAL.into());
    }
    check_seekable(&from, offset_in)?;
    check_seekable(&to, offset_out)?;
    let length = length.min(PIECE);
    let waits = flags & NONBLOCK == 0;
    let bytes = gather(&thread, &from, &to, offset_in, length, waits).await?;
    if bytes.is_empty() {
        return Ok(0);
    }
    let n = deliver(&thread, &to, offset_out, &bytes, waits).await?;
    consume(&thread, &from, offset_in, n)?;
    Ok(n)
}

fn is_pipe(file: &OpenFile) -> bool {
    file.ops_as::<PipeEnd>().is_some()
}

/// Whether both are ends of one pipe, which would have to wait for itself.
fn is_same_pipe(from: &OpenFile, to: &OpenFile) -> bool {
    match (from.ops_as::<PipeEnd>(), to.ops_as::<PipeEnd>()) {
        (Some(from), Some(to)) => Rc::ptr_eq(from.pipe(), to.pipe()),
        _ => false,
    }
}

fn check_seekable(file: &OpenFile, offset: UserPtr<i64>) -> SysResult<()> {
    if offset.is_null() || file.ops().is_seekable() { Ok(()) } else { Err(Errno::EINVAL) }
}

/// Repeats `attempt`, or not if the caller does not want to wait.
async fn attempt_on<T>(
    thread: &Thread,
    file: &OpenFile,
    events: PollEvents,
    waits: bool,
    mut attempt: impl FnMut() -> SysResult<T>,
) -> WaitResult<T> {
    if waits { thread.retry(file, events, None, attempt).await } else { Ok(attempt()?) }
}

/// What the source has, without taking it, but for streams that are no pipes: of those no more is
/// taken than the pipe at the other side has room for.
async fn gather(
    thread: &Thread,
    from: &Rc<OpenFile>,
    to: &Rc<OpenFile>,
    offset: UserPtr<i64>,
    length: usize,
    waits: bool,
) -> WaitResult<Vec<u8>> {
    if let Some(end) = from.ops_as::<PipeEnd>() {
        let look = || {
            let mut sink = VecSink::new(length);
            match end.pipe().peek(&mut sink) {
                Ok(0) if !end.pipe().has_no_writers() => Err(Errno::EAGAIN),
                result => result.map(|_| sink.bytes),
            }
        };
        return attempt_on(thread, from, PollEvents::READABLE, waits, look).await;
    }
    let mut length = length;
    if let Some(end) = to.ops_as::<PipeEnd>() {
        let room = || {
            let pipe = end.pipe();
            let room = pipe.size().saturating_sub(pipe.len());
            if room == 0 { Err(Errno::EAGAIN) } else { Ok(room) }
        };
        length = length.min(attempt_on(thread, to, PollEvents::WRITABLE, waits, room).await?);
    }
    if from.ops().is_seekable() {
        let place = Place::read(thread, from, offset)?;
        let mut sink = VecSink::new(length);
        from.ops().read(from, &mut sink, place.offset)?;
        return Ok(sink.bytes);
    }
    let take = || {
        let mut sink = VecSink::new(length);
        from.read(&mut sink).map(|_| sink.bytes)
    };
    attempt_on(thread, from, PollEvents::READABLE, waits, take).await
}

async fn deliver(
    thread: &Rc<Thread>,
    to: &Rc<OpenFile>,
    offset: UserPtr<i64>,
    bytes: &[u8],
    waits: bool,
) -> WaitResult<usize> {
    let mut place = match offset.non_null() {
        Some(_) => Some(Place::read(thread, to, offset)?),
        None => None,
    };
    let position = place.as_ref().map_or(Position::Current, |place| Position::At(place.offset));
    let room = room_for(thread, to, bytes.len(), position)?.unwrap_or(bytes.len());
    let bytes = bytes.get(..room.min(bytes.len())).unwrap_or(bytes);
    let n = if let Some(place) = &mut place {
        let n = to.ops().write(to, &mut SliceSource::new(bytes), place.offset)?;
        place.offset += n as u64;
        place.finish(thread, to)?;
        n
    } else {
        let attempt = || to.write(&mut SliceSource::new(bytes));
        attempt_on(thread, to, PollEvents::WRITABLE, waits, attempt).await?
    };
    if n > 0 {
        written(thread, to, RwFlags::empty()).await?;
    }
    Ok(n)
}

/// Takes from the source what was delivered.
fn consume(thread: &Thread, from: &OpenFile, offset: UserPtr<i64>, n: usize) -> SysResult<()> {
    if is_pipe(from) {
        from.read(&mut VecSink::new(n))?;
    } else if from.ops().is_seekable() {
        let mut place = Place::read(thread, from, offset)?;
        place.offset += n as u64;
        place.finish(thread, from)?;
    }
    Ok(())
}

/// Copies data from one pipe to another, and leaves it where it is.
pub(crate) async fn tee(
    thread: Rc<Thread>,
    fd_in: Fd,
    fd_out: Fd,
    length: usize,
    flags: u32,
) -> WaitResult<usize> {
    if flags & !KNOWN != 0 {
        return Err(Errno::EINVAL.into());
    }
    if length == 0 {
        return Ok(0);
    }
    let (from, to) = (thread.file(fd_in)?, thread.file(fd_out)?);
    if !from.flags().can_read() || !to.flags().can_write() {
        return Err(Errno::EBADF.into());
    }
    let (Some(one), Some(other)) = (from.ops_as::<PipeEnd>(), to.ops_as::<PipeEnd>()) else {
        return Err(Errno::EINVAL.into());
    };
    if Rc::ptr_eq(one.pipe(), other.pipe()) {
        return Err(Errno::EINVAL.into());
    }
    let waits = flags & NONBLOCK == 0;
    let nothing = UserPtr::new(0);
    let bytes = gather(&thread, &from, &to, nothing, length.min(PIECE), waits).await?;
    if bytes.is_empty() {
        return Ok(0);
    }
    deliver(&thread, &to, nothing, &bytes, waits).await
}

/// Moves data between guest memory and a pipe.
pub(crate) async fn vmsplice(
    thread: Rc<Thread>,
    fd: Fd,
    vector: UserPtr<IoVec>,
    n: usize,
    flags: u32,
) -> WaitResult<usize> {
    if flags & !KNOWN != 0 {
        return Err(Errno::EINVAL.into());
    }
    let file = thread.file(fd)?;
    if !is_pipe(&file) {
        return Err(Errno::EBADF.into());
    }
    let never_waits = flags & NONBLOCK != 0;
    if file.flags().can_write() {
        return write_some(&thread, &file, vector, n, never_waits).await;
    }
    let flags = if never_waits { RwFlags::NOWAIT } else { RwFlags::empty() };
    preadv2(thread, fd, vector, n, -1, 0, flags.bits()).await
}
