//! `kill(2)`, `tkill(2)`, `tgkill(2)`, `rt_sigqueueinfo(2)`, `rt_tgsigqueueinfo(2)`.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_tasks::process::Flags;
use kernel_tasks::signals::{may_signal, send_to_process, send_to_thread};
use kernel_tasks::{Process, Thread};
use linux_abi::signals::{SigInfo, Signal, code};
use linux_abi::{Errno, Pid, SysResult};

/// The signal with this number; `None` for the probe with 0.
fn signal_of(number: u32) -> SysResult<Option<Signal>> {
    match number {
        0 => Ok(None),
        number => Signal::new(number).map(Some).ok_or(Errno::EINVAL),
    }
}

/// Sends to one process, if the caller may.
fn send(
    thread: &Rc<Thread>,
    process: &Rc<Process>,
    signal: u32,
    info: Option<SigInfo>,
) -> SysResult<()> {
    let signal = signal_of(signal)?;
    if !may_signal(thread, process, signal) {
        return Err(Errno::EPERM);
    }
    let Some(signal) = signal else { return Ok(()) };
    let info = info.unwrap_or_else(|| thread.signal_info(signal, code::SI_USER));
    send_to_process(process, signal, info)
}

/// Sends a signal to a process, a group, or to everybody.
pub(crate) fn kill(thread: &Rc<Thread>, pid: i32, signal: u32) -> SysResult<()> {
    let ids = &thread.kernel().ids;
    match pid {
        1.. => {
            let process = find_process(thread, pid.unsigned_abs())?;
            send(thread, &process, signal, None)
        }
        i32::MIN => Err(Errno::ESRCH),
        -1 => {
            let own = thread.process().pid;
            let all = ids.processes().into_iter();
            let others = all.filter(|process| process.pid != own && !process.has_flag(Flags::INIT));
            // Unlike for a group, one who may not be signalled does not count.
            let results: Vec<SysResult<()>> =
                others.map(|process| send(thread, &process, signal, None)).collect();
            if results.is_empty() {
                return Err(Errno::ESRCH);
            }
            results.into_iter().rfind(|result| *result != Err(Errno::EPERM)).unwrap_or(Ok(()))
        }
        _ => {
            let group = match pid {
                0 => thread.process().group(),
                _ => ids.group(Pid(pid.unsigned_abs())).ok_or(Errno::ESRCH)?,
            };
            let mut result = Err(Errno::ESRCH);
            for member in group.members() {
                let sent = send(thread, &member, signal, None);
                if sent.is_ok() || result != Ok(()) {
                    result = sent;
                }
            }
            result
        }
    }
}

/// The process that has a thread with this id.
fn find_process(thread: &Rc<Thread>, id: u32) -> SysResult<Rc<Process>> {
    let ids = &thread.kernel().ids;
    let of_thread = || ids.thread(Pid(id)).map(|thread| Rc::clone(thread.process()));
    ids.process(Pid(id)).or_else(of_thread).ok_or(Errno::ESRCH)
}

/// Sends a signal to a thread.
pub(crate) fn tkill(thread: &Rc<Thread>, tid: i32, signal: u32) -> SysResult<()> {
    if tid <= 0 {
        return Err(Errno::EINVAL);
    }
    send_to_tid(thread, None, tid, signal, None)
}

/// Sends a signal to a thread of a process.
pub(crate) fn tgkill(thread: &Rc<Thread>, tgid: i32, tid: i32, signal: u32) -> SysResult<()> {
    if tid <= 0 || tgid <= 0 {
        return Err(Errno::EINVAL);
    }
    send_to_tid(thread, Some(tgid), tid, signal, None)
}

fn send_to_tid(
    thread: &Rc<Thread>,
    tgid: Option<i32>,
    tid: i32,
    signal: u32,
    info: Option<SigInfo>,
) -> SysResult<()> {
    let target = thread.kernel().ids.thread(Pid(tid.unsigned_abs())).ok_or(Errno::ESRCH)?;
    if tgid.is_some_and(|tgid| target.process().pid.0 != tgid.unsigned_abs()) {
        return Err(Errno::ESRCH);
    }
    let signal = signal_of(signal)?;
    if !may_signal(thread, target.process(), signal) {
        return Err(Errno::EPERM);
    }
    let Some(signal) = signal else { return Ok(()) };
    let info = info.unwrap_or_else(|| thread.signal_info(signal, code::SI_TKILL));
    send_to_thread(&target, signal, info)
}

/// Copies what the guest wants to say. Only to itself may a process say what the kernel says.
fn read_info(
    thread: &Rc<Thread>,
    info: UserPtr<SigInfo>,
    signal: u32,
    is_self: bool,
) -> SysResult<SigInfo> {
    let mut info = info.read(&thread.memory())?;
    info.signo = signal.cast_signed();
    if !is_self && (info.code >= 0 || info.code == code::SI_TKILL) {
        return Err(Errno::EPERM);
    }
    Ok(info)
}

/// Sends a signal with a value to a process.
pub(crate) fn rt_sigqueueinfo(
    thread: &Rc<Thread>,
    pid: i32,
    signal: u32,
    info: UserPtr<SigInfo>,
) -> SysResult<()> {
    let is_self = pid.unsigned_abs() == thread.tid().0;
    let info = read_info(thread, info, signal, is_self)?;
    let id = u32::try_from(pid).map_err(|_| Errno::ESRCH)?;
    send(thread, &find_process(thread, id)?, signal, Some(info))
}

/// Sends a signal with a value to a thread.
pub(crate) fn rt_tgsigqueueinfo(
    thread: &Rc<Thread>,
    tgid: i32,
    tid: i32,
    signal: u32,
    info: UserPtr<SigInfo>,
) -> SysResult<()> {
    if tid <= 0 || tgid <= 0 {
        return Err(Errno::EINVAL);
    }
    let is_self = tid.unsigned_abs() == thread.tid().0;
    let info = read_info(thread, info, signal, is_self)?;
    send_to_tid(thread, Some(tgid), tid, signal, Some(info))
}
