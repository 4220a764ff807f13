//! `ioctl(2)`.
//!
//! A few requests mean the same for every file and are answered here; the rest is the file's.

use std::rc::Rc;

use kernel_core::landlock::fs as landlock;
use kernel_core::memory::UserPtr;
use kernel_files::landlock::Withheld;
use kernel_files::{FileKind, Intent, Ioctl, OpenFile};
use kernel_tasks::Thread;
use linux_abi::files::{OpenFlags, fcntl as fcntl_command, ioctl as request};
use linux_abi::{Errno, Fd, SysResult, WaitResult};

use super::async_signal::flags_changed;
use super::caller::real_file;
use super::fcntl;

/// Asks something of a file that only its kind knows.
pub(crate) async fn ioctl(
    thread: Rc<Thread>,
    fd: Fd,
    command: u32,
    argument: u64,
) -> WaitResult<u64> {
    let file = real_file(&thread, fd)?;
    let memory = thread.memory();
    match command {
        request::FIOCLEX | request::FIONCLEX => {
            let close_on_exec = command == request::FIOCLEX;
            thread.files().borrow_mut().set_close_on_exec(fd, close_on_exec)?;
            Ok(0)
        }
        request::FIONBIO => Ok(set_flag(&thread, (fd, &file), OpenFlags::NONBLOCK, argument)?),
        request::FIOASYNC => Ok(set_flag(&thread, (fd, &file), OpenFlags::ASYNC, argument)?),
        request::FIOSETOWN | request::SIOCSPGRP if is_socket(&file)? => {
            let owner: i32 = UserPtr::new(argument).read(&memory)?;
            let owner = i64::from(owner).cast_unsigned();
            Ok(fcntl::owner::answer(&thread, &file, fcntl_command::SETOWN, owner)?)
        }
        request::FIOGETOWN | request::SIOCGPGRP if is_socket(&file)? => {
            let owner = fcntl::owner::answer(&thread, &file, fcntl_command::GETOWN, 0)?;
            let owner = i32::try_from(owner.cast_signed()).map_err(|_| Errno::EINVAL)?;
            UserPtr::new(argument).write(&memory, &owner)?;
            Ok(0)
        }
        request::FIONREAD if is_kind(&file, FileKind::Regular) => {
            let size = file.metadata()?.size;
            let left = i32::try_from(size.saturating_sub(file.offset())).unwrap_or(i32::MAX);
            UserPtr::new(argument).write(&memory, &left)?;
            Ok(0)
        }
        request::FIOQSIZE if file.inode().is_some() => {
            UserPtr::new(argument).write(&memory, &(file.metadata()?.n_blocks * 512))?;
            Ok(0)
        }
        request::FIGETBSZ if file.inode().is_some() => {
            UserPtr::new(argument).write(&memory, &file.metadata()?.block_size)?;
            Ok(0)
        }
        request::FS_IOC_GETFLAGS | request::FS_IOC_SETFLAGS
            if is_kind(&file, FileKind::Regular) || is_kind(&file, FileKind::Directory) =>
        {
            Err(Errno::ENOTTY.into())
        }
        request::FICLONE | request::FICLONERANGE if is_kind(&file, FileKind::Regular) => {
            Err(Errno::EOPNOTSUPP.into())
        }
        _ => {
            check_landlock(&file)?;
            file.ops().admit(&file, &*thread, Intent::Control(command))?;
            let ioctl = Ioctl { command, argument, memory: &memory, caller: &*thread };
            Ok(file.ops().ioctl(&file, &ioctl)?)
        }
    }
}

/// `EACCES` if Landlock withheld the requests of devices when this one was opened.
fn check_landlock(file: &OpenFile) -> SysResult<()> {
    let is_device =
        is_kind(file, FileKind::CharacterDevice) || is_kind(file, FileKind::BlockDevice);
    let withheld = file.attachments().get::<Withheld>().map_or(0, |withheld| withheld.0);
    if is_device && withheld & landlock::IOCTL_DEV != 0 { Err(Errno::EACCES) } else { Ok(()) }
}

fn is_socket(file: &OpenFile) -> SysResult<bool> {
    Ok(file.metadata()?.kind() == FileKind::Socket)
}

fn is_kind(file: &OpenFile, kind: FileKind) -> bool {
    file.inode().is_some_and(|inode| inode.kind() == kind)
}

/// Sets or clears a status flag by the number that the argument points to.
fn set_flag(
    thread: &Thread,
    (fd, file): (Fd, &OpenFile),
    flag: OpenFlags,
    argument: u64,
) -> SysResult<u64> {
    let on: i32 = UserPtr::new(argument).read(&thread.memory())?;
    let old = file.flags();
    let mut flags = old;
    flags.set(flag, on != 0);
    file.ops().check_flags(flags)?;
    file.set_flags(flags);
    flags_changed(thread, file, fd, old);
    Ok(0)
}
