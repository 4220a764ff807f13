//! `truncate(2)`, `ftruncate(2)`, `fallocate(2)`.

use std::rc::Rc;

use kernel_core::landlock::fs as landlock;
use kernel_core::memory::{CString, UserPtr};
use kernel_files::inode::Allocate;
use kernel_files::landlock::Withheld;
use kernel_files::locks::break_leases;
use kernel_files::notify::{self, Event};
use kernel_files::operations::{check_truncate, remove_privileges, truncate_location};
use kernel_files::walk::LastLink;
use kernel_files::{FileKind, OpenFile};
use kernel_tasks::Thread;
use kernel_tasks::signals::send_to_thread;
use linux_abi::signals::{Signal, code};
use linux_abi::tasks::rlimit;
use linux_abi::{Errno, Fd, SysResult, WaitResult};

use super::caller::{Caller, HERE, read_path};
use super::open::wait_for_leases;

const KEEP_SIZE: u32 = 0x01;
const PUNCH_HOLE: u32 = 0x02;
const COLLAPSE_RANGE: u32 = 0x08;
const ZERO_RANGE: u32 = 0x10;
const INSERT_RANGE: u32 = 0x20;

/// Changes the length of a file.
pub(crate) async fn truncate(
    thread: Rc<Thread>,
    path: UserPtr<CString>,
    length: i64,
) -> WaitResult<()> {
    let length = u64::try_from(length).map_err(|_| Errno::EINVAL)?;
    let path = read_path(&thread, path)?;
    let caller = Caller::new(&thread);
    let location = caller.find(HERE, &path, 0, LastLink::Follow)?;
    check_truncate(&location, &caller.credentials)?;
    while let Some((locks, until)) = break_leases(&**location.inode()?, true) {
        wait_for_leases(&thread, &locks, until).await?;
    }
    check_limit(&thread, length)?;
    truncate_location(&location, length)?;
    Ok(remove_privileges(location.inode()?, &caller.credentials)?)
}

/// Changes the length of an open file.
pub(crate) fn ftruncate(thread: &Rc<Thread>, fd: Fd, length: i64) -> SysResult<()> {
    let length = u64::try_from(length).map_err(|_| Errno::EINVAL)?;
    let file = thread.file(fd)?;
    let inode = file.inode().filter(|inode| inode.kind() == FileKind::Regular);
    let Some(inode) = inode else {
        return Err(if file.flags().contains(linux_abi::files::OpenFlags::PATH) {
            Errno::EBADF
        } else {
            Errno::EINVAL
        });
    };
    if !file.flags().can_write() {
        return Err(if file.flags().can_read() { Errno::EINVAL } else { Errno::EBADF });
    }
    let withheld = file.attachments().get::<Withheld>().map_or(0, |withheld| withheld.0);
    if withheld & landlock::TRUNCATE != 0 {
        return Err(Errno::EACCES);
    }
    check_limit(thread, length)?;
    inode.content().ok_or(Errno::EINVAL)?.truncate(length)?;
    changed(thread, &file)
}

/// `EFBIG` and a signal if a file may not be so long.
fn check_limit(thread: &Rc<Thread>, length: u64) -> SysResult<()> {
    if length <= thread.process().limit(rlimit::FSIZE)?.current {
        return Ok(());
    }
    let info = thread.signal_info(Signal::SIGXFSZ, code::SI_USER);
    // The queue of a standard signal has room for one, which is enough.
    let _ = send_to_thread(thread, Signal::SIGXFSZ, info);
    Err(Errno::EFBIG)
}

fn changed(thread: &Thread, file: &OpenFile) -> SysResult<()> {
    if let Some(inode) = file.inode() {
        remove_privileges(inode, &thread.credentials())?;
    }
    if let Some(location) = file.location() {
        notify::at(location, Event::Modify);
    }
    Ok(())
}

/// Reserves storage, gives it back, or moves it.
pub(crate) fn fallocate(
    thread: &Rc<Thread>,
    fd: Fd,
    mode: u32,
    offset: i64,
    length: i64,
) -> SysResult<()> {
    let file = thread.file(fd)?;
    let (Ok(offset), Ok(length)) = (u64::try_from(offset), u64::try_from(length)) else {
        return Err(Errno::EINVAL);
    };
    if length == 0 {
        return Err(Errno::EINVAL);
    }
    let what = allocation(mode)?;
    if !file.flags().can_write() {
        return Err(Errno::EBADF);
    }
    let kind = file.metadata()?.kind();
    let inode = file.inode().filter(|_| kind == FileKind::Regular);
    let Some(inode) = inode else { return Err(not_allocatable(kind)) };

    let end = offset.checked_add(length).filter(|&end| end <= i64::MAX as u64);
    let end = end.ok_or(Errno::EFBIG)?;
    let content = inode.content().ok_or(Errno::EOPNOTSUPP)?;
    let grows = matches!(
        what,
        Allocate::Reserve { keep_size: false } | Allocate::Zero { keep_size: false }
    );
    if grows && end > content.size()? {
        check_limit(thread, end)?;
    }
    content.allocate(what, offset, length)?;
    changed(thread, &file)
}

/// Why there is no storage behind a file of this kind.
fn not_allocatable(kind: FileKind) -> Errno {
    match kind {
        FileKind::Fifo => Errno::ESPIPE,
        FileKind::Directory => Errno::EISDIR,
        _ => Errno::ENODEV,
    }
}

fn allocation(mode: u32) -> SysResult<Allocate> {
    let keep_size = mode & KEEP_SIZE != 0;
    match mode & !KEEP_SIZE {
        0 => Ok(Allocate::Reserve { keep_size }),
        PUNCH_HOLE if keep_size => Ok(Allocate::PunchHole),
        ZERO_RANGE => Ok(Allocate::Zero { keep_size }),
        COLLAPSE_RANGE if !keep_size => Ok(Allocate::Collapse),
        INSERT_RANGE if !keep_size => Ok(Allocate::Insert),
        COLLAPSE_RANGE | INSERT_RANGE => Err(Errno::EINVAL),
        _ => Err(Errno::EOPNOTSUPP),
    }
}
