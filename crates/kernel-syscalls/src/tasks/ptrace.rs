//! `ptrace(2)`.

use std::rc::Rc;

use kernel_core::memory::{UserMemory, UserPtr};
use kernel_tasks::Thread;
use kernel_tasks::ptrace::{Mode, StopKind};
use linux_abi::signals::{SigInfo, SigSet, Signal};
use linux_abi::tasks::ptrace::{
    AUDIT_ARCH_X86_64, PeekArguments, SyscallInfo, TraceOptions, event, request, syscall_op,
};
use linux_abi::{Errno, Pid, SysResult, WaitResult};
use zerocopy::IntoBytes;

mod memory;
mod registers;

/// Traces other threads. As the library's function, except that words that are read are written to
/// `data`.
pub(crate) async fn ptrace(
    thread: Rc<Thread>,
    what: u64,
    pid: i32,
    address: u64,
    data: u64,
) -> WaitResult<u64> {
    if what == request::TRACEME {
        thread.trace_me()?;
        return Ok(0);
    }
    let pid = u32::try_from(pid).map_err(|_| Errno::ESRCH)?;
    let other = thread.kernel().ids.thread(Pid(pid)).ok_or(Errno::ESRCH)?;
    match what {
        request::ATTACH => {
            thread.attach_to(&other, None)?;
            return Ok(0);
        }
        request::SEIZE => {
            if address != 0 {
                return Err(Errno::EIO.into());
            }
            let options = TraceOptions::from_bits(data).ok_or(Errno::EIO)?;
            thread.attach_to(&other, Some(options))?;
            return Ok(0);
        }
        _ => {}
    }
    let is_mine = other.tracer().is_some_and(|tracer| Rc::ptr_eq(&tracer, &thread));
    let may_run = matches!(what, request::KILL | request::INTERRUPT);
    if !is_mine || !may_run && other.trace_stop().is_none() {
        return Err(Errno::ESRCH.into());
    }
    match what {
        request::POKETEXT | request::POKEDATA => {
            memory::poke(&other, address, data).await?;
            Ok(0)
        }
        _ => Ok(serve(&thread, &other, what, address, data)?),
    }
}

/// Requests about a thread that stands still for the caller.
fn serve(
    thread: &Rc<Thread>,
    other: &Rc<Thread>,
    what: u64,
    address: u64,
    data: u64,
) -> SysResult<u64> {
    let memory = thread.memory();
    match what {
        request::PEEKTEXT | request::PEEKDATA => memory::peek(thread, other, address, data)?,
        request::PEEKUSER => registers::peek_user(thread, other, address, data)?,
        request::POKEUSER => registers::poke_user(other, address, data)?,
        request::GETREGS => registers::get_all(thread, other, data)?,
        request::SETREGS => registers::set_all(thread, other, data)?,
        request::GETFPREGS => registers::get_floating(thread, other, data)?,
        request::SETFPREGS => registers::set_floating(thread, other, data)?,
        request::GETREGSET => registers::get_set(thread, other, address, data)?,
        request::SETREGSET => registers::set_set(thread, other, address, data)?,
        request::CONT
        | request::SYSCALL
        | request::SINGLESTEP
        | request::SYSEMU
        | request::SYSEMU_SINGLESTEP => other.let_go(mode(what), signal(data)?),
        request::DETACH => other.detach(signal(data)?),
        request::KILL => {
            if other.trace_stop().is_some() {
                other.process().kill();
            }
        }
        request::INTERRUPT if !other.is_seized() => return Err(Errno::EIO),
        request::INTERRUPT => other.interrupt_for_tracer(),
        request::LISTEN => other.listen()?,
        request::SETOPTIONS | request::OLDSETOPTIONS => {
            other.set_trace_options(TraceOptions::from_bits(data).ok_or(Errno::EINVAL)?);
        }
        request::GETEVENTMSG => UserPtr::<u64>::new(data).write(&memory, &other.event_message())?,
        request::GETSIGINFO => {
            let info = other.stop_info().ok_or(Errno::EINVAL)?;
            UserPtr::<SigInfo>::new(data).write(&memory, &info)?;
        }
        request::SETSIGINFO => {
            let info = UserPtr::<SigInfo>::new(data).read(&memory)?;
            other.stop_info().ok_or(Errno::EINVAL)?;
            other.set_stop_info(info);
        }
        request::PEEKSIGINFO => return peek_queue(thread, other, address, data),
        request::GETSIGMASK => {
            check_mask_size(address)?;
            UserPtr::<u64>::new(data).write(&memory, &other.mask().0)?;
        }
        request::SETSIGMASK => {
            check_mask_size(address)?;
            let mask = UserPtr::<u64>::new(data).read(&memory)?;
            other.set_mask(SigSet(mask));
        }
        request::GET_SYSCALL_INFO => return call_info(thread, other, address, data),
        request::ARCH_PRCTL => registers::arch_prctl(thread, other, address, data)?,
        _ => return Err(Errno::EIO),
    }
    Ok(0)
}

fn mode(what: u64) -> Mode {
    match what {
        request::SYSCALL => Mode::ToCall,
        request::SINGLESTEP => Mode::Step,
        request::SYSEMU => Mode::Emulate,
        request::SYSEMU_SINGLESTEP => Mode::EmulateStep,
        _ => Mode::Run,
    }
}

/// The signal that a thread goes on with.
fn signal(data: u64) -> SysResult<Option<Signal>> {
    if data == 0 {
        return Ok(None);
    }
    u32::try_from(data).ok().and_then(Signal::new).map(Some).ok_or(Errno::EIO)
}

fn check_mask_size(size: u64) -> SysResult<()> {
    if size == size_of::<u64>() as u64 { Ok(()) } else { Err(Errno::EINVAL) }
}

/// Copies queued signals without taking them. Returns how many.
fn peek_queue(thread: &Thread, other: &Thread, address: u64, data: u64) -> SysResult<u64> {
    let memory = thread.memory();
    let asked = UserPtr::<PeekArguments>::new(address).read(&memory)?;
    if asked.flags & !PeekArguments::SHARED != 0 {
        return Err(Errno::EINVAL);
    }
    let count = usize::try_from(asked.count).map_err(|_| Errno::EINVAL)?;
    let shared = asked.flags & PeekArguments::SHARED != 0;
    let infos = other.queued_infos(shared);
    let offset = usize::try_from(asked.offset).unwrap_or(usize::MAX);
    let mut n = 0;
    for info in infos.iter().skip(offset).take(count) {
        let to = UserPtr::<SigInfo>::new(data).offset(n);
        match to.write(&memory, info) {
            Ok(()) => n += 1,
            Err(errno) if n == 0 => return Err(errno),
            Err(_) => break,
        }
    }
    Ok(n as u64)
}

/// What a stop at a call is about. Returns how much there is to tell.
fn call_info(thread: &Thread, other: &Thread, size: u64, data: u64) -> SysResult<u64> {
    const HEAD: usize = 24;
    let registers = other.machine().registers();
    let mut info = SyscallInfo {
        arch: AUDIT_ARCH_X86_64,
        instruction_pointer: registers.rip(),
        stack_pointer: registers.rsp(),
        ..SyscallInfo::default()
    };
    let stop = other.trace_stop().ok_or(Errno::ESRCH)?;
    let is_filter = stop.kind == StopKind::Event && stop.code >> 8 == event::SECCOMP;
    let length = match stop.kind {
        StopKind::CallEntry => {
            info.op = syscall_op::ENTRY;
            HEAD + 56
        }
        StopKind::CallExit => {
            info.op = syscall_op::EXIT;
            HEAD + 9
        }
        _ if is_filter => {
            info.op = syscall_op::SECCOMP;
            HEAD + 60
        }
        _ => HEAD,
    };
    if stop.kind == StopKind::CallExit {
        const MAX_ERRNO: u64 = 4095;
        info.first = registers.result();
        info.rest[0] = u64::from(registers.result() > u64::MAX - MAX_ERRNO);
    } else if length > HEAD {
        info.first = registers.original_rax();
        info.rest = registers.arguments();
        info.filter_data = other.event_message();
    }
    let n = length.min(usize::try_from(size).unwrap_or(usize::MAX));
    thread.memory().write(data, info.as_bytes().get(..n).unwrap_or_default())?;
    Ok(length as u64)
}
