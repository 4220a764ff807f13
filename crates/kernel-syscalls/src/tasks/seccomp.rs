//! `seccomp(2)`.

use std::rc::Rc;

use kernel_core::credentials::cap;
use kernel_core::memory::UserPtr;
use kernel_tasks::Thread;
use linux_abi::tasks::seccomp::{
    FilterFlags, FilterInstruction, FilterProgram, action, mode, operation,
};
use linux_abi::{Errno, SysResult};

/// The longest filter.
const MAX_LENGTH: u16 = 4096;

/// Restricts the calls that the thread can make.
pub(crate) fn seccomp(
    thread: &Rc<Thread>,
    what: u32,
    flags: u64,
    arguments: u64,
) -> SysResult<u64> {
    match what {
        operation::SET_MODE_STRICT => {
            if flags != 0 || arguments != 0 {
                return Err(Errno::EINVAL);
            }
            thread.filter_strictly().map(|()| 0)
        }
        operation::SET_MODE_FILTER => set_filter(thread, flags, arguments),
        operation::GET_ACTION_AVAIL => {
            if flags != 0 {
                return Err(Errno::EINVAL);
            }
            is_offered(UserPtr::<u32>::new(arguments).read(&thread.memory())?)
        }
        _ => Err(Errno::EINVAL),
    }
}

/// `prctl(PR_SET_SECCOMP, mode, filter)`.
pub(super) fn set_by_prctl(thread: &Rc<Thread>, what: u64, filter: u64) -> SysResult<u64> {
    match what {
        mode::STRICT => thread.filter_strictly().map(|()| 0),
        mode::FILTER => set_filter(thread, 0, filter),
        _ => Err(Errno::EINVAL),
    }
}

fn is_offered(what: u32) -> SysResult<u64> {
    match what {
        action::KILL_PROCESS
        | action::KILL_THREAD
        | action::TRAP
        | action::ERRNO
        | action::TRACE
        | action::LOG
        | action::ALLOW => Ok(0),
        _ => Err(Errno::EOPNOTSUPP),
    }
}

fn set_filter(thread: &Rc<Thread>, flags: u64, address: u64) -> SysResult<u64> {
    let flags = FilterFlags::from_bits(flags).ok_or(Errno::EINVAL)?;
    let memory = thread.memory();
    let program = UserPtr::<FilterProgram>::new(address).read(&memory)?;
    if program.length == 0 || program.length > MAX_LENGTH {
        return Err(Errno::EINVAL);
    }
    let is_trusted = thread.attributes().no_new_privs || thread.credentials().has(cap::SYS_ADMIN);
    if !is_trusted {
        return Err(Errno::EACCES);
    }
    let place = UserPtr::<FilterInstruction>::new(program.address);
    let instructions = place.read_many(&memory, program.length.into())?;
    match thread.add_filter(instructions, flags.contains(FilterFlags::TSYNC))? {
        Ok(()) => Ok(0),
        Err(_) if flags.contains(FilterFlags::TSYNC_ESRCH) => Err(Errno::ESRCH),
        Err(tid) => Ok(tid.0.into()),
    }
}
