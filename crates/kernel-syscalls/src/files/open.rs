//! `open(2)`, `openat(2)`, `openat2(2)`, `creat(2)`.
//!
//! The older calls ignore flags that they do not know; `openat2` refuses them.

use std::rc::Rc;

use host_sys::SyncWhat;
use kernel_core::memory::{CString, UserPtr};
use kernel_core::timers::Instant;
use kernel_core::wait::PollEvents;
use kernel_events::pipe::Fifo;
use kernel_files::locks::FileLocks;
use kernel_files::notify::{self, Event};
use kernel_files::open::{OpenHow, Opened, open as open_path};
use kernel_files::overlay::Draft;
use kernel_files::{FileKind, Location, OpenFile};
use kernel_tasks::Thread;
use linux_abi::files::{OpenFlags, OpenHow as GuestHow, ResolveFlags, mode};
use linux_abi::{Errno, Fd, Restart, SysResult, WaitResult};

use super::caller::{Caller, HERE, read_growing, read_path};
use super::copy::turn_over;
use super::hand::hand_over;
use super::read::wait_for_content;
use super::sync::sync_inode;
use crate::handler::Attempt;

/// The bits that mean "without a name"; the other bits of `O_TMPFILE` are `O_DIRECTORY`.
const TMPFILE_ONLY: u32 = 0o20_000_000;
/// How much of a copy is asked of a disk at a time.
const PIECE: usize = 1 << 20;

/// Opens a file.
pub(crate) fn open(
    thread: &Rc<Thread>,
    path: UserPtr<CString>,
    flags: u32,
    bits: u32,
) -> Attempt<Fd> {
    openat(thread, HERE, path, flags, bits)
}

/// Opens a file for writing, new or emptied.
pub(crate) fn creat(thread: &Rc<Thread>, path: UserPtr<CString>, bits: u32) -> Attempt<Fd> {
    let flags = OpenFlags::CREAT | OpenFlags::WRONLY | OpenFlags::TRUNC;
    openat(thread, HERE, path, flags.bits(), bits)
}

/// Opens a file, named relative to a directory.
pub(crate) fn openat(
    thread: &Rc<Thread>,
    directory: Fd,
    path: UserPtr<CString>,
    flags: u32,
    bits: u32,
) -> Attempt<Fd> {
    let mut flags = OpenFlags::from_bits_truncate(flags);
    if flags.contains(OpenFlags::PATH) {
        flags &= OpenFlags::PATH | OpenFlags::DIRECTORY | OpenFlags::NOFOLLOW | OpenFlags::CLOEXEC;
    }
    let creates = flags.contains(OpenFlags::CREAT) || flags.bits() & TMPFILE_ONLY != 0;
    let mode = if creates { bits & mode::CHANGEABLE } else { 0 };
    let how = OpenHow { flags, mode, resolve: ResolveFlags::empty() };
    Opening::begin(thread, directory, path, how).map_or_else(Attempt::from, Opening::attempt)
}

/// Opens a file in a way that can say more.
pub(crate) fn openat2(
    thread: &Rc<Thread>,
    directory: Fd,
    path: UserPtr<CString>,
    how: UserPtr<GuestHow>,
    size: usize,
) -> Attempt<Fd> {
    let opening =
        read_how(thread, how, size).and_then(|how| Opening::begin(thread, directory, path, how));
    opening.map_or_else(Attempt::from, Opening::attempt)
}

fn read_how(thread: &Thread, how: UserPtr<GuestHow>, size: usize) -> SysResult<OpenHow> {
    let how = read_growing(thread, how, size)?;
    let flags =
        u32::try_from(how.flags).ok().and_then(OpenFlags::from_bits).ok_or(Errno::EINVAL)?;
    let resolve = ResolveFlags::from_bits(how.resolve).ok_or(Errno::EINVAL)?;
    let creates = flags.contains(OpenFlags::CREAT) || flags.bits() & TMPFILE_ONLY != 0;
    let mode = u32::try_from(how.mode).map_err(|_| Errno::EINVAL)?;
    if mode & !mode::CHANGEABLE != 0 || (!creates && mode != 0) {
        return Err(Errno::EINVAL);
    }
    if resolve.contains(ResolveFlags::BENEATH | ResolveFlags::IN_ROOT) {
        return Err(Errno::EINVAL);
    }
    let with_path =
        OpenFlags::PATH | OpenFlags::DIRECTORY | OpenFlags::NOFOLLOW | OpenFlags::CLOEXEC;
    if flags.contains(OpenFlags::PATH) && !with_path.contains(flags) {
        return Err(Errno::EINVAL);
    }
    if resolve.contains(ResolveFlags::CACHED)
        && (flags.intersects(OpenFlags::TRUNC | OpenFlags::CREAT)
            || flags.bits() & TMPFILE_ONLY != 0)
    {
        return Err(Errno::EAGAIN);
    }
    Ok(OpenHow { flags, mode, resolve })
}

/// A file that is being opened.
struct Opening {
    thread: Rc<Thread>,
    directory: Fd,
    path: Vec<u8>,
    how: OpenHow,
}

impl Opening {
    fn begin(
        thread: &Rc<Thread>,
        directory: Fd,
        path: UserPtr<CString>,
        how: OpenHow,
    ) -> SysResult<Self> {
        check_how(&how)?;
        let path = read_path(thread, path)?;
        // Linux takes the number first: without one nothing is made or emptied.
        thread.files().borrow().find_free(0, thread.descriptor_limit())?;
        Ok(Self { thread: Rc::clone(thread), directory, path, how })
    }

    fn attempt(self) -> Attempt<Fd> {
        match self.open() {
            Ok(Opened::File(file)) => Attempt::Done(self.finish(&file)),
            Ok(opened) => Attempt::Wait(Box::pin(self.wait(opened))),
            Err(errno) => Attempt::from(errno),
        }
    }

    fn open(&self) -> SysResult<Opened> {
        let caller = Caller::new(&self.thread);
        // To RESOLVE_IN_ROOT, the directory is where absolute paths start, too.
        let is_in_root = self.how.resolve.contains(ResolveFlags::IN_ROOT);
        let start = caller.start(self.directory, if is_in_root { b"" } else { &self.path })?;
        open_path(&caller.access(), &start, &self.path, &self.how)
    }

    /// Waits for the other end of a FIFO, for who has a lease, or for a copy.
    async fn wait(self, mut opened: Opened) -> WaitResult<Fd> {
        let flags = self.how.flags;
        // Until the file is open.
        let mut draft = None;
        let file = loop {
            match opened {
                Opened::File(file) => break file,
                Opened::Fifo(location) => break open_fifo(&self.thread, location, flags).await?,
                Opened::Leased(..) if flags.contains(OpenFlags::NONBLOCK) => {
                    return Err(Errno::EAGAIN.into());
                }
                Opened::Leased(locks, until) => {
                    wait_for_leases(&self.thread, &locks, until).await?;
                }
                Opened::Copying(copying) => {
                    complete(&self.thread, &copying).await?;
                    draft = Some(copying);
                }
            }
            opened = self.open()?;
        };
        drop(draft);
        Ok(self.finish(&file)?)
    }

    fn finish(&self, file: &Rc<OpenFile>) -> SysResult<Fd> {
        let flags = self.how.flags;
        if let Some(location) = file.location()
            && !flags.contains(OpenFlags::PATH)
        {
            notify::at(location, Event::Open);
            let is_emptied = flags.contains(OpenFlags::TRUNC) && !file.is_created();
            if is_emptied && file.inode().is_some_and(|inode| inode.kind() == FileKind::Regular) {
                notify::at(location, Event::Modify);
            }
        }
        let is_close_on_exec = flags.contains(OpenFlags::CLOEXEC);
        let fd = self.thread.add_file(Rc::clone(file), is_close_on_exec)?;
        hand_over(&self.thread, file, is_close_on_exec);
        Ok(fd)
    }
}

/// Flags that make no sense together.
fn check_how(how: &OpenHow) -> SysResult<()> {
    let flags = how.flags;
    if flags.bits() & TMPFILE_ONLY != 0 {
        if !flags.contains(OpenFlags::TMPFILE) || !flags.can_write() {
            return Err(Errno::EINVAL);
        }
        if flags.contains(OpenFlags::CREAT) {
            return Err(Errno::EINVAL);
        }
    } else if flags.contains(OpenFlags::CREAT | OpenFlags::DIRECTORY) {
        return Err(Errno::EINVAL);
    }
    Ok(())
}

/// Waits until a lease goes or gets weaker, or its time is over.
pub(super) async fn wait_for_leases(
    thread: &Thread,
    locks: &FileLocks,
    until: Instant,
) -> WaitResult<()> {
    let wait = locks.leases.queue.wait(PollEvents::MSG);
    thread.interruptible_until(Restart::IfAsked, Some(until), wait).await?;
    Ok(())
}

/// Completes a copy, piece by piece, while others go on.
async fn complete(thread: &Thread, draft: &Draft) -> WaitResult<()> {
    while let Some((from, offset)) = draft.next() {
        if let Some(content) = from.content() {
            wait_for_content(thread, content, offset, PIECE, false).await;
        }
        draft.copy_piece()?;
        turn_over().await;
    }
    sync_inode(thread, &**draft.copy(), SyncWhat::All).await?;
    draft.set_durable();
    Ok(())
}

async fn open_fifo(
    thread: &Rc<Thread>,
    location: Location,
    flags: OpenFlags,
) -> WaitResult<Rc<OpenFile>> {
    let fifo = location.inode()?.attachments().get_or_attach(Fifo::new);
    let end = thread.interruptible(Restart::IfAsked, fifo.open(flags)).await??;
    Ok(OpenFile::at(end, flags.as_shown(), location))
}
