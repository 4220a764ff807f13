//! `read(2)`, `pread64(2)`, `readv(2)`, `preadv(2)`, `preadv2(2)`.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_core::timers::{self, Instant};
use kernel_core::user_buffers::UserBuffers;
use kernel_core::wait::PollEvents;
use kernel_files::notify::{self, Event};
use kernel_files::{Content, OpenFile};
use kernel_tasks::Thread;
use linux_abi::files::IoVec;
use linux_abi::{Errno, Fd, SysResult, WaitResult};

use super::lend::lend;
use super::transfer::{Position, RwFlags, check_end};

/// Reads at the position.
pub(crate) async fn read(
    thread: Rc<Thread>,
    fd: Fd,
    buffer: UserPtr<u8>,
    count: usize,
) -> WaitResult<usize> {
    let file = readable(&thread, fd)?;
    if lend(&thread, fd, &file) {
        return Ok(0);
    }
    let memory = thread.memory();
    let buffers = UserBuffers::one(&memory, buffer.address(), count)?;
    read_into(&thread, &file, buffers, Position::Current, false).await
}

/// Reads at `offset` and leaves the position alone.
pub(crate) async fn pread64(
    thread: Rc<Thread>,
    fd: Fd,
    buffer: UserPtr<u8>,
    count: usize,
    offset: i64,
) -> WaitResult<usize> {
    let position = Position::from_guest(offset)?;
    let file = readable_at(&thread, fd, position)?;
    if lend(&thread, fd, &file) {
        return Ok(0);
    }
    let memory = thread.memory();
    let buffers = UserBuffers::one(&memory, buffer.address(), count)?;
    read_into(&thread, &file, buffers, position, false).await
}

/// Like [`pread64`], with flags, and never leaves the reading to the guest's process: for calls
/// that are more than that one read.
pub(crate) async fn pread_here(
    thread: Rc<Thread>,
    fd: Fd,
    buffer: UserPtr<u8>,
    count: usize,
    offset: i64,
    flags: u32,
) -> WaitResult<usize> {
    let position = Position::from_guest(offset)?;
    let file = readable_at(&thread, fd, position)?;
    let memory = thread.memory();
    let buffers = UserBuffers::one(&memory, buffer.address(), count)?;
    let flags = RwFlags::for_reading(flags)?;
    read_into(&thread, &file, buffers, position, flags.contains(RwFlags::NOWAIT)).await
}

/// Reads into several buffers.
pub(crate) async fn readv(
    thread: Rc<Thread>,
    fd: Fd,
    vector: UserPtr<IoVec>,
    n: usize,
) -> WaitResult<usize> {
    let file = readable(&thread, fd)?;
    let memory = thread.memory();
    let buffers = UserBuffers::vector(&memory, vector, n)?;
    read_into(&thread, &file, buffers, Position::Current, false).await
}

/// Reads at `offset` into several buffers.
pub(crate) async fn preadv(
    thread: Rc<Thread>,
    fd: Fd,
    vector: UserPtr<IoVec>,
    n: usize,
    offset: i64,
) -> WaitResult<usize> {
    let position = Position::from_guest(offset)?;
    let file = readable_at(&thread, fd, position)?;
    let memory = thread.memory();
    let buffers = UserBuffers::vector(&memory, vector, n)?;
    read_into(&thread, &file, buffers, position, false).await
}

/// Like [`preadv`], with flags; offset -1 means the position.
pub(crate) async fn preadv2(
    thread: Rc<Thread>,
    fd: Fd,
    vector: UserPtr<IoVec>,
    n: usize,
    offset: i64,
    _offset_high: u64,
    flags: u32,
) -> WaitResult<usize> {
    let position = if offset == -1 { Position::Current } else { Position::from_guest(offset)? };
    let file = readable_at(&thread, fd, position)?;
    let memory = thread.memory();
    let buffers = UserBuffers::vector(&memory, vector, n)?;
    let flags = RwFlags::for_reading(flags)?;
    read_into(&thread, &file, buffers, position, flags.contains(RwFlags::NOWAIT)).await
}

fn readable(thread: &Thread, fd: Fd) -> SysResult<Rc<OpenFile>> {
    let file = thread.file(fd)?;
    if file.flags().can_read() { Ok(file) } else { Err(Errno::EBADF) }
}

fn readable_at(thread: &Thread, fd: Fd, position: Position) -> SysResult<Rc<OpenFile>> {
    let file = thread.file(fd)?;
    position.check(&file)?;
    if file.flags().can_read() { Ok(file) } else { Err(Errno::EBADF) }
}

async fn read_into(
    thread: &Thread,
    file: &OpenFile,
    buffers: UserBuffers<'_>,
    position: Position,
    never_waits: bool,
) -> WaitResult<usize> {
    check_end(file, position, buffers.len())?;
    if !wait_for_disk(thread, file, position, buffers.len(), never_waits).await {
        return Err(Errno::EAGAIN.into());
    }
    let attempt = || {
        let mut sink = buffers.clone();
        match position {
            Position::Current => file.read(&mut sink),
            Position::At(offset) => file.ops().read(file, &mut sink, offset),
        }
    };
    let n = if never_waits {
        attempt()?
    } else {
        thread.retry(file, PollEvents::READABLE, None, attempt).await?
    };
    file.count_use(n);
    if n > 0 {
        notify::of_file(file, Event::Access);
    }
    Ok(n)
}

/// How long the host's disk is waited for before the kernel reads, and waits, itself.
const PATIENCE_NANOS: u64 = 2_000_000_000;
/// How long the first wait is, and the longest.
const FIRST_WAIT_NANOS: u64 = 50_000;
const LONGEST_WAIT_NANOS: u64 = 5_000_000;

/// Waits until the host has fetched what is to be read, so that nobody else has to wait for its
/// disk. Returns `false` if there is something to wait for and the caller does not want to.
pub(super) async fn wait_for_disk(
    thread: &Thread,
    file: &OpenFile,
    position: Position,
    length: usize,
    never_waits: bool,
) -> bool {
    let Some(content) = file.inode().and_then(|inode| inode.content()) else { return true };
    let offset = match position {
        Position::At(offset) => offset,
        Position::Current => file.offset(),
    };
    wait_for_content(thread, content, offset, length, never_waits).await
}

/// The same for the content of a file that nobody has to have opened.
pub(super) async fn wait_for_content(
    thread: &Thread,
    content: &dyn Content,
    offset: u64,
    length: usize,
    never_waits: bool,
) -> bool {
    let (mut wait, mut waited) = (FIRST_WAIT_NANOS, 0);
    while waited < PATIENCE_NANOS && content.is_cold(offset, length) {
        if never_waits {
            return false;
        }
        let until = Instant(timers::now().0.saturating_add(wait));
        thread.kernel().timers.sleep_until(until).await;
        waited += wait;
        wait = (wait * 2).min(LONGEST_WAIT_NANOS);
    }
    true
}
