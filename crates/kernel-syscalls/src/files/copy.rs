//! `copy_file_range(2)`, `sendfile(2)`: data from file to file, without a detour over the guest.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use kernel_core::io::{SliceSource, VecSink};
use kernel_core::memory::UserPtr;
use kernel_core::wait::PollEvents;
use kernel_files::notify::{self, Event};
use kernel_files::open_file::SeekTo;
use kernel_files::{FileKind, OpenFile};
use kernel_tasks::Thread;
use linux_abi::files::OpenFlags;
use linux_abi::{Errno, Fd, Interrupted, SysResult, WaitResult};

use super::read::wait_for_disk;
use super::sync::sync_written;
use super::transfer::{Position, RwFlags};

/// How much is held in the kernel's memory at a time, and copied before others get a turn.
const PIECE: usize = 256 << 10;
/// The most that one call moves. Callers repeat.
const MAX_AT_ONCE: usize = 64 << 20;

/// Where one side of a copy is: at an offset that the caller keeps, or at the file's position.
pub(super) struct Place {
    pointer: UserPtr<i64>,
    pub(super) offset: u64,
}

impl Place {
    pub(super) fn read(thread: &Thread, file: &OpenFile, pointer: UserPtr<i64>) -> SysResult<Self> {
        let offset = match pointer.non_null() {
            Some(pointer) => pointer.read(&thread.memory())?,
            // Asked of the file itself: the host keeps the position of inherited streams.
            None => file.ops().seek(file, SeekTo::Current(0))?.cast_signed(),
        };
        let offset = u64::try_from(offset).map_err(|_| Errno::EINVAL)?;
        Ok(Self { pointer, offset })
    }

    /// Moves on, and tells whoever keeps the offset.
    pub(super) fn finish(&self, thread: &Thread, file: &OpenFile) -> SysResult<()> {
        match self.pointer.non_null() {
            Some(pointer) => pointer.write(&thread.memory(), &self.offset.cast_signed()),
            None => {
                file.ops().seek(file, SeekTo::Start(self.offset.into()))?;
                Ok(())
            }
        }
    }
}

/// Copies a range of one regular file to another.
pub(crate) async fn copy_file_range(
    thread: Rc<Thread>,
    fd_in: Fd,
    offset_in: UserPtr<i64>,
    fd_out: Fd,
    offset_out: UserPtr<i64>,
    length: usize,
    flags: u32,
) -> WaitResult<usize> {
    let (from, to) = (thread.file(fd_in)?, thread.file(fd_out)?);
    if flags != 0 {
        return Err(Errno::EINVAL.into());
    }
    for file in [&from, &to] {
        match file.metadata()?.kind() {
            FileKind::Regular => {}
            FileKind::Directory => return Err(Errno::EISDIR.into()),
            _ => return Err(Errno::EINVAL.into()),
        }
    }
    if !from.flags().can_read() || !to.flags().can_write() || to.flags().contains(OpenFlags::APPEND)
    {
        return Err(Errno::EBADF.into());
    }
    let mut source = Place::read(&thread, &from, offset_in)?;
    let mut target = Place::read(&thread, &to, offset_out)?;
    let length = length.min(MAX_AT_ONCE);
    if is_same_inode(&from, &to) {
        let distance = source.offset.abs_diff(target.offset);
        if distance < length as u64 {
            return Err(Errno::EINVAL.into());
        }
    }
    let copied = copy(&thread, (&from, &mut source), (&to, &mut target), length).await?;
    source.finish(&thread, &from)?;
    target.finish(&thread, &to)?;
    if copied > 0 {
        sync_written(&thread, &to, RwFlags::empty()).await?;
        notify::of_file(&from, Event::Access);
        notify::of_file(&to, Event::Modify);
    }
    Ok(copied)
}

fn is_same_inode(one: &OpenFile, other: &OpenFile) -> bool {
    matches!((one.inode(), other.inode()), (Some(one), Some(other)) if Rc::ptr_eq(one, other))
}

/// Copies until the end of the source, an error, or `length` bytes.
async fn copy(
    thread: &Thread,
    (from, source): (&OpenFile, &mut Place),
    (to, target): (&OpenFile, &mut Place),
    length: usize,
) -> SysResult<usize> {
    let mut n_copied = 0;
    while n_copied < length && !(n_copied > 0 && thread.has_signal()) {
        if n_copied > 0 {
            turn_over().await;
        }
        wait_for_disk(thread, from, Position::At(source.offset), PIECE, false).await;
        let mut piece = VecSink::new(PIECE.min(length - n_copied));
        let step = from.ops().read(from, &mut piece, source.offset).and_then(|n| {
            if n == 0 {
                return Ok(0);
            }
            to.ops().write(to, &mut SliceSource::new(&piece.bytes), target.offset)
        });
        match step {
            Ok(0) => break,
            Ok(n) => {
                n_copied += n;
                source.offset += n as u64;
                target.offset += n as u64;
            }
            Err(errno) if n_copied == 0 => return Err(errno),
            Err(_) => break,
        }
    }
    Ok(n_copied)
}

/// Sends a part of a file to any file, often a socket.
pub(crate) async fn sendfile(
    thread: Rc<Thread>,
    fd_out: Fd,
    fd_in: Fd,
    offset: UserPtr<i64>,
    count: usize,
) -> WaitResult<usize> {
    let from = thread.file(fd_in)?;
    if !from.flags().can_read() {
        return Err(Errno::EBADF.into());
    }
    if from.metadata()?.kind() == FileKind::Directory {
        return Err(Errno::EINVAL.into());
    }
    if !from.ops().is_seekable() {
        let errno = if offset.is_null() { Errno::EINVAL } else { Errno::ESPIPE };
        return Err(errno.into());
    }
    let mut source = Place::read(&thread, &from, offset)?;
    let to = thread.file(fd_out)?;
    if !to.flags().can_write() {
        return Err(Errno::EBADF.into());
    }
    let is_directory = to.metadata()?.kind() == FileKind::Directory;
    if is_directory || to.flags().contains(OpenFlags::APPEND) && to.inode().is_some() {
        return Err(Errno::EINVAL.into());
    }
    // A count or an end beyond what an `off_t` holds.
    let end = i64::try_from(count).ok().and_then(|count| source.offset.checked_add_signed(count));
    if end.is_none_or(|end| end > i64::MAX.cast_unsigned()) {
        return Err(Errno::EINVAL.into());
    }
    let count = count.min(MAX_AT_ONCE);
    let mut n_sent = 0;
    while n_sent < count {
        if n_sent > 0 {
            turn_over().await;
        }
        match send_piece(&thread, &from, &to, source.offset, count - n_sent).await {
            Ok(0) => break,
            Ok(n) => {
                n_sent += n;
                source.offset += n as u64;
            }
            Err(interrupted) if n_sent == 0 => return Err(interrupted),
            Err(_) => break,
        }
    }
    source.finish(&thread, &from)?;
    if n_sent > 0 {
        sync_written(&thread, &to, RwFlags::empty()).await?;
        notify::of_file(&from, Event::Access);
        notify::of_file(&to, Event::Modify);
    }
    Ok(n_sent)
}

/// Lets everybody else have a turn.
pub(super) async fn turn_over() {
    let mut is_first = true;
    poll_fn(|context| {
        if std::mem::take(&mut is_first) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    })
    .await;
}

async fn send_piece(
    thread: &Rc<Thread>,
    from: &OpenFile,
    to: &OpenFile,
    offset: u64,
    max: usize,
) -> WaitResult<usize> {
    let mut piece = VecSink::new(PIECE.min(max));
    wait_for_disk(thread, from, Position::At(offset), PIECE, false).await;
    if from.ops().read(from, &mut piece, offset)? == 0 {
        return Ok(0);
    }
    let attempt = || to.write(&mut SliceSource::new(&piece.bytes));
    let result = thread.retry(to, PollEvents::WRITABLE, None, attempt).await;
    if result == Err(Interrupted::Errno(Errno::EPIPE)) {
        super::write::raise_broken_pipe(thread);
    }
    result
}
