//! `write(2)`, `pwrite64(2)`, `writev(2)`, `pwritev(2)`, `pwritev2(2)`.
//!
//! A blocking write to a stream goes on until everything is taken; if a signal comes in between,
//! it says how far it got. `pwrite` to a file with `O_APPEND` appends, whatever the offset.

use std::rc::Rc;

use kernel_core::io::Source;
use kernel_core::memory::UserPtr;
use kernel_core::user_buffers::UserBuffers;
use kernel_core::wait::PollEvents;
use kernel_events::pipe::PipeEnd;
use kernel_files::host_stream::HostStream;
use kernel_files::notify::{self, Event};
use kernel_files::operations::remove_privileges;
use kernel_files::{FileKind, OpenFile};
use kernel_tasks::Thread;
use kernel_tasks::signals::send_to_thread;
use linux_abi::files::{IoVec, OpenFlags};
use linux_abi::signals::{Signal, code};
use linux_abi::tasks::rlimit;
use linux_abi::{Errno, Fd, Interrupted, SysResult, WaitResult};

use super::lend::lend;
use super::sync::sync_written;
use super::transfer::{Limited, Position, RwFlags, check_end};

/// Writes at the position.
pub(crate) async fn write(
    thread: Rc<Thread>,
    fd: Fd,
    buffer: UserPtr<u8>,
    count: usize,
) -> WaitResult<usize> {
    let file = writable_at(&thread, fd, Position::Current)?;
    // What has no inode is one of the two, or is rarely written to.
    let is_pipe = file.ops_as::<PipeEnd>().is_some()
        || file.inode().is_none() && file.ops_as::<HostStream>().is_some();
    if is_pipe && lend(&thread, fd, &file) {
        return Ok(0);
    }
    let memory = thread.memory();
    let buffers = UserBuffers::one(&memory, buffer.address(), count)?;
    let n = write_from(&thread, &file, buffers, Position::Current, RwFlags::empty()).await?;
    if is_pipe {
        file.count_use(n);
    } else if is_device(&file) {
        file.count_use(n);
        lend(&thread, fd, &file);
    }
    Ok(n)
}

/// Whether the file is one that takes all and keeps nothing, and so can be lent for writing.
fn is_device(file: &OpenFile) -> bool {
    file.inode().is_some_and(|inode| inode.kind() == FileKind::CharacterDevice)
}

/// Writes at `offset` and leaves the position alone.
pub(crate) async fn pwrite64(
    thread: Rc<Thread>,
    fd: Fd,
    buffer: UserPtr<u8>,
    count: usize,
    offset: i64,
) -> WaitResult<usize> {
    pwrite_here(thread, fd, buffer, count, offset, 0).await
}

/// Like [`pwrite64`], with flags.
pub(crate) async fn pwrite_here(
    thread: Rc<Thread>,
    fd: Fd,
    buffer: UserPtr<u8>,
    count: usize,
    offset: i64,
    flags: u32,
) -> WaitResult<usize> {
    let position = Position::from_guest(offset)?;
    let file = writable_at(&thread, fd, position)?;
    let memory = thread.memory();
    let buffers = UserBuffers::one(&memory, buffer.address(), count)?;
    write_from(&thread, &file, buffers, position, RwFlags::for_writing(flags)?).await
}

/// Writes several buffers.
pub(crate) async fn writev(
    thread: Rc<Thread>,
    fd: Fd,
    vector: UserPtr<IoVec>,
    n: usize,
) -> WaitResult<usize> {
    let file = writable_at(&thread, fd, Position::Current)?;
    let memory = thread.memory();
    let buffers = UserBuffers::vector(&memory, vector, n)?;
    write_from(&thread, &file, buffers, Position::Current, RwFlags::empty()).await
}

/// Writes several buffers at `offset`.
pub(crate) async fn pwritev(
    thread: Rc<Thread>,
    fd: Fd,
    vector: UserPtr<IoVec>,
    n: usize,
    offset: i64,
) -> WaitResult<usize> {
    let position = Position::from_guest(offset)?;
    let file = writable_at(&thread, fd, position)?;
    let memory = thread.memory();
    let buffers = UserBuffers::vector(&memory, vector, n)?;
    write_from(&thread, &file, buffers, position, RwFlags::empty()).await
}

/// Like [`pwritev`], with flags; offset -1 means the position.
pub(crate) async fn pwritev2(
    thread: Rc<Thread>,
    fd: Fd,
    vector: UserPtr<IoVec>,
    n: usize,
    offset: i64,
    _offset_high: u64,
    flags: u32,
) -> WaitResult<usize> {
    let position = if offset == -1 { Position::Current } else { Position::from_guest(offset)? };
    let file = writable_at(&thread, fd, position)?;
    let memory = thread.memory();
    let buffers = UserBuffers::vector(&memory, vector, n)?;
    write_from(&thread, &file, buffers, position, RwFlags::for_writing(flags)?).await
}

fn writable_at(thread: &Thread, fd: Fd, position: Position) -> SysResult<Rc<OpenFile>> {
    let file = thread.file(fd)?;
    position.check(&file)?;
    if file.flags().can_write() { Ok(file) } else { Err(Errno::EBADF) }
}

async fn write_from(
    thread: &Rc<Thread>,
    file: &Rc<OpenFile>,
    mut buffers: UserBuffers<'_>,
    position: Position,
    flags: RwFlags,
) -> WaitResult<usize> {
    if file.ops().is_stream() && !file.is_nonblocking() && !flags.contains(RwFlags::NOWAIT) {
        return write_stream(thread, file, &mut buffers).await;
    }
    check_end(file, position, buffers.len())?;
    let room = room_for(thread, file, buffers.remaining(), position)?;
    let attempt = || {
        let mut source = buffers.clone();
        match room {
            Some(room) => write_once(file, &mut Limited::new(&mut source, room), position, flags),
            None => write_once(file, &mut source, position, flags),
        }
    };
    let result = if flags.contains(RwFlags::NOWAIT) {
        attempt().map_err(Interrupted::from)
    } else {
        thread.retry(file, PollEvents::WRITABLE, None, attempt).await
    };
    let n = report_broken_pipe(thread, file, result)?;
    if n > 0 {
        written(thread, file, flags).await?;
    }
    Ok(n)
}

fn write_once(
    file: &OpenFile,
    source: &mut dyn Source,
    position: Position,
    flags: RwFlags,
) -> SysResult<usize> {
    let old = file.flags();
    // The flags of this one call stand for those of the file.
    if flags.contains(RwFlags::APPEND) {
        file.set_flags(old | OpenFlags::APPEND);
    } else if flags.contains(RwFlags::NOAPPEND) {
        file.set_flags(old.difference(OpenFlags::APPEND));
    }
    let offset = file.offset();
    let result = match position {
        Position::Current => file.write(source),
        Position::At(offset) => file.ops().write(file, source, offset),
    };
    if position != Position::Current {
        // An appending file has set the position, which this call leaves alone.
        file.set_offset(offset);
    }
    file.set_flags(old);
    result
}

/// Writes everything, waiting for room as often as it takes.
async fn write_stream(
    thread: &Rc<Thread>,
    file: &Rc<OpenFile>,
    buffers: &mut UserBuffers<'_>,
) -> WaitResult<usize> {
    let mut n_written = 0;
    loop {
        let attempt = || file.write(&mut buffers.clone());
        let result = thread.retry(file, PollEvents::WRITABLE, None, attempt).await;
        let n = match report_broken_pipe(thread, file, result) {
            Ok(n) => n,
            Err(_) if n_written > 0 => return Ok(n_written),
            Err(interrupted) => return Err(interrupted),
        };
        n_written += n;
        buffers.skip(n);
        if buffers.is_empty() || n == 0 {
            if n_written > 0 {
                notify::of_file(file, Event::Modify);
            }
            return Ok(n_written);
        }
    }
}

/// Writes what there is room for, and waits only while there is none.
pub(super) async fn write_some(
    thread: &Rc<Thread>,
    file: &Rc<OpenFile>,
    vector: UserPtr<IoVec>,
    n: usize,
    never_waits: bool,
) -> WaitResult<usize> {
    let memory = thread.memory();
    let buffers = UserBuffers::vector(&memory, vector, n)?;
    let attempt = || file.write(&mut buffers.clone());
    let result = if never_waits {
        attempt().map_err(Interrupted::from)
    } else {
        thread.retry(file, PollEvents::WRITABLE, None, attempt).await
    };
    report_broken_pipe(thread, file, result)
}

/// Sends the signal that comes with `EPIPE`.
pub(super) fn raise_broken_pipe(thread: &Rc<Thread>) {
    let info = thread.signal_info(Signal::SIGPIPE, code::SI_USER);
    // The queue of a standard signal has room for one, which is enough.
    let _ = send_to_thread(thread, Signal::SIGPIPE, info);
}

/// `EPIPE` comes with a signal for most files.
fn report_broken_pipe(
    thread: &Rc<Thread>,
    file: &OpenFile,
    result: WaitResult<usize>,
) -> WaitResult<usize> {
    if result == Err(Interrupted::Errno(Errno::EPIPE)) && file.ops().raises_sigpipe() {
        raise_broken_pipe(thread);
    }
    result
}

/// How much may be written here before the limit on file sizes; `None` is no limit. At the limit
/// the caller gets `SIGXFSZ` and `EFBIG`.
pub(super) fn room_for(
    thread: &Rc<Thread>,
    file: &OpenFile,
    length: usize,
    position: Position,
) -> SysResult<Option<usize>> {
    let limit = thread.process().limit(rlimit::FSIZE)?.current;
    if limit == u64::MAX || length == 0 {
        return Ok(None);
    }
    let Some(inode) = file.inode() else { return Ok(None) };
    if inode.kind() != FileKind::Regular {
        return Ok(None);
    }
    let at = match position {
        _ if file.flags().contains(OpenFlags::APPEND) => inode.metadata()?.size,
        Position::Current => file.offset(),
        Position::At(offset) => offset,
    };
    if at >= limit {
        let info = thread.signal_info(Signal::SIGXFSZ, code::SI_USER);
        let _ = send_to_thread(thread, Signal::SIGXFSZ, info);
        return Err(Errno::EFBIG);
    }
    Ok(Some(usize::try_from(limit - at).unwrap_or(usize::MAX)))
}

/// What follows a write: set-id bits go, watchers are told, data is brought to where it lasts.
pub(super) async fn written(thread: &Thread, file: &Rc<OpenFile>, flags: RwFlags) -> SysResult<()> {
    if let Some(inode) = file.inode()
        && inode.kind() == FileKind::Regular
    {
        remove_privileges(inode, &thread.credentials())?;
    }
    sync_written(thread, file, flags).await?;
    notify::of_file(file, Event::Modify);
    Ok(())
}
