//! `pidfd_open(2)`, `pidfd_send_signal(2)`, `pidfd_getfd(2)`.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_files::OpenFile;
use kernel_tasks::pidfd::{NamedProcess, Pidfd};
use kernel_tasks::signals::{may_signal, send_to_process, send_to_thread};
use kernel_tasks::{Process, Thread};
use linux_abi::files::OpenFlags;
use linux_abi::signals::{SigInfo, Signal, code};
use linux_abi::{Errno, Fd, Pid, SysResult};

/// `pidfd_open` names a thread.
const PIDFD_THREAD: OpenFlags = OpenFlags::EXCL;
/// `pidfd_send_signal` goes to a thread, to a process, to a process group.
const SIGNAL_THREAD: u32 = 1;
const SIGNAL_THREAD_GROUP: u32 = 2;

/// The process that a pidfd names; `EBADF` for other files.
pub(super) fn pidfd_of(file: &OpenFile) -> SysResult<Rc<Process>> {
    file.ops_as::<Pidfd>().map(|pidfd| Rc::clone(pidfd.process())).ok_or(Errno::EBADF)
}

/// Makes a descriptor that names a process.
pub(crate) fn pidfd_open(thread: &Rc<Thread>, pid: i32, flags: u32) -> SysResult<Fd> {
    let flags = OpenFlags::from_bits(flags)
        .filter(|&flags| (OpenFlags::NONBLOCK | PIDFD_THREAD).contains(flags))
        .ok_or(Errno::EINVAL)?;
    let pid = u32::try_from(pid).ok().filter(|&pid| pid > 0).ok_or(Errno::EINVAL)?;
    let ids = &thread.kernel().ids;
    if flags.contains(PIDFD_THREAD)
        && let Some(other) = ids.thread(Pid(pid))
    {
        return thread.add_file(Pidfd::open_thread(&other, flags), true);
    }
    let process = match ids.process(Pid(pid)) {
        Some(process) => process,
        None if ids.thread(Pid(pid)).is_some() => return Err(Errno::ENOENT),
        None => return Err(Errno::ESRCH),
    };
    thread.add_file(Pidfd::open(&process, flags), true)
}

/// Signals the process that a pidfd names.
pub(crate) fn pidfd_send_signal(
    thread: &Rc<Thread>,
    pidfd: Fd,
    signal: u32,
    info: UserPtr<SigInfo>,
    flags: u32,
) -> SysResult<()> {
    if !matches!(flags, 0 | SIGNAL_THREAD | SIGNAL_THREAD_GROUP) {
        return Err(Errno::EINVAL);
    }
    let file = thread.file(pidfd)?;
    // This call alone takes an open `/proc/<pid>` too, which is older than pidfds are.
    let process = pidfd_of(&file).or_else(|errno| NamedProcess::of(&file).ok_or(errno))?;
    let is_self = Rc::ptr_eq(&process, thread.process());
    let info = match info.non_null() {
        Some(info) => {
            let info = info.read(&thread.memory())?;
            if info.signo.cast_unsigned() != signal {
                return Err(Errno::EINVAL);
            }
            if !is_self && (info.code >= 0 || info.code == code::SI_TKILL) {
                return Err(Errno::EPERM);
            }
            Some(info)
        }
        None => None,
    };
    if thread.kernel().ids.process(process.pid).is_none_or(|found| !Rc::ptr_eq(&found, &process)) {
        return Err(Errno::ESRCH);
    }
    let signal = match signal {
        0 => None,
        number => Some(Signal::new(number).ok_or(Errno::EINVAL)?),
    };
    if !may_signal(thread, &process, signal) {
        return Err(Errno::EPERM);
    }
    let named = file.ops_as::<Pidfd>();
    let wants_thread =
        flags == SIGNAL_THREAD || flags == 0 && named.is_some_and(|pidfd| pidfd.names_thread());
    let receiver = match named {
        Some(pidfd) if wants_thread && pidfd.names_thread() => {
            Some(Rc::clone(pidfd.thread().ok_or(Errno::ESRCH)?))
        }
        _ if wants_thread => Some(process.thread(process.pid).ok_or(Errno::ESRCH)?),
        _ => None,
    };
    let Some(signal) = signal else { return Ok(()) };
    if let Some(receiver) = receiver {
        let info = info.unwrap_or_else(|| thread.signal_info(signal, code::SI_TKILL));
        return send_to_thread(&receiver, signal, info);
    }
    let info = info.unwrap_or_else(|| thread.signal_info(signal, code::SI_USER));
    send_to_process(&process, signal, info)
}

/// Takes a copy of another process's descriptor.
pub(crate) fn pidfd_getfd(thread: &Rc<Thread>, pidfd: Fd, target: Fd, flags: u32) -> SysResult<Fd> {
    if flags != 0 {
        return Err(Errno::EINVAL);
    }
    let process = pidfd_of(&*thread.file(pidfd)?)?;
    let other = process.any_thread().ok_or(Errno::ESRCH)?;
    let is_self = Rc::ptr_eq(&process, thread.process());
    if !is_self && !thread.may_inspect(&other) {
        return Err(Errno::EPERM);
    }
    process.settle();
    let file = other.file(target)?;
    thread.add_file(file, true)
}

/// Whether `thread` may have a look at another process, by `CAP_SYS_PTRACE` or by being the same
/// user.
pub(super) fn may_inspect_process(thread: &Rc<Thread>, process: &Rc<Process>) -> bool {
    Rc::ptr_eq(process, thread.process())
        || process.any_thread().is_some_and(|other| thread.may_inspect(&other))
}
