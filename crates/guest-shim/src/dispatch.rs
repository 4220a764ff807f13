//! Every system call of the guest: answered here, run by the host, or sent to the kernel.

use core::sync::atomic::Ordering::{Relaxed, SeqCst};

use channel_abi::ids;
use channel_abi::request::{action, reply, restart};

use crate::channel::{request, request_staged};
use crate::entry::Registers;
use crate::host::{self, errno, nr};
use crate::process::VDSO;
use crate::signals::deliver;
use crate::thread::{Tcb, tcb};
use crate::usermem::put;
use crate::{
    actions, answers, events, frame, futex, handed, inbox, lent, locks, mask, memory, robust,
    spawn, staging, usage, watched,
};

/// Runs the call in the frame. Returns 1 if all registers and the flags must be restored.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "called by name from the assembly")]
extern "C" fn shim_dispatch(registers: &mut Registers) -> u32 {
    let thread = tcb();
    thread.enter_quickly();
    if thread.slot().watch.load(Relaxed) != 0 {
        return watched::dispatch(thread, registers);
    }
    let mut number = registers.rax;
    if number == nr::RT_SIGRETURN {
        return sigreturn(thread, registers);
    }
    loop {
        let result = match number {
            // Many are made, and short enough for the way to `call` to matter.
            nr::RT_SIGPROCMASK => {
                let r = &*registers;
                mask::rt_sigprocmask(thread, r.rdi, r.rsi, r.rdx, r.r10)
            }
            _ => call(thread, registers, number),
        };
        let result = result.unwrap_or_else(|error| error);
        if !is_restart(result) {
            registers.rax = result.cast_unsigned();
            break;
        }
        let original = number;
        if result == restart::CONTINUATION {
            number = nr::RESTART_SYSCALL;
        }
        thread.original.set(original);
        let Some(call) = deliver(thread, registers, Some((original, result)), true) else {
            watched::arm_step(thread, registers);
            return 1;
        };
        if thread.slot().watch.load(Relaxed) != 0 {
            watched::make_again(registers, call);
            watched::arm_step(thread, registers);
            return 1;
        }
    }
    if thread.deliverable() != 0 || thread.brought.get() != 0 {
        thread.original.set(number);
        if let Some(call) = deliver(thread, registers, None, false) {
            watched::make_again(registers, call);
        }
        watched::arm_step(thread, registers);
        return 1;
    }
    u32::from(number == nr::EXECVE || matches!(number, nr::CLONE | nr::CLONE3 | nr::VFORK))
}

/// Whether a result says that the call is to be made again.
pub fn is_restart(result: i64) -> bool {
    matches!(
        result,
        restart::IF_ASKED | restart::ALWAYS | restart::IF_NO_HANDLER | restart::CONTINUATION
    )
}

/// Calls that only tell a thread who it is: the place of the answer in its slot, plus one. The way in
/// answers them.
pub static OWN_IDS: [u8; 256] = {
    let mut places = [0; 256];
    places[nr::GETPID as usize] = ids::PID as u8 + 1;
    places[nr::GETTID as usize] = ids::TID as u8 + 1;
    places[nr::GETPPID as usize] = ids::PPID as u8 + 1;
    places[nr::GETUID as usize] = ids::UID as u8 + 1;
    places[nr::GETEUID as usize] = ids::EUID as u8 + 1;
    places[nr::GETGID as usize] = ids::GID as u8 + 1;
    places[nr::GETEGID as usize] = ids::EGID as u8 + 1;
    places
};

/// The answer to one of those, for who did not get it on the way in.
fn own_id(thread: &Tcb, number: u64) -> Option<i64> {
    let place = *OWN_IDS.get(usize::try_from(number).ok()?)?;
    let id = thread.slot().ids.get(usize::from(place).checked_sub(1)?)?;
    Some(id.load(Relaxed).into())
}

fn sigreturn(thread: &Tcb, registers: &mut Registers) -> u32 {
    let bad_frame = load_frame(thread, registers);
    thread.original.set(u64::MAX);
    deliver(thread, registers, None, bad_frame);
    1
}

/// `rt_sigreturn` up to where signals are looked for. Returns whether the frame was bad.
pub fn load_frame(thread: &Tcb, registers: &mut Registers) -> bool {
    const SIGSEGV: u64 = 11;
    const SI_KERNEL: u64 = 128;
    let bad_frame = frame::sigreturn(thread, registers).is_err();
    if bad_frame {
        request(thread, channel_abi::request::FAULT, [SIGSEGV, SI_KERNEL, 0, 0, 0, 0]);
    }
    bad_frame
}

/// Makes one call, wherever it is served.
pub fn call(thread: &Tcb, registers: &mut Registers, number: u64) -> Result<i64, i64> {
    let r = &*registers;
    match number {
        nr::RT_SIGPROCMASK => mask::rt_sigprocmask(thread, r.rdi, r.rsi, r.rdx, r.r10),
        nr::RT_SIGACTION => {
            let r = *r;
            actions::rt_sigaction(thread, &r, || forward(thread, registers, number))
        }
        nr::SIGALTSTACK => mask::sigaltstack(thread, r),
        nr::FUTEX if futex::is_for_host(r.rsi) => Ok(futex::futex(thread, r)),
        nr::FUTEX if locks::is_lock(r.rsi) => locks::futex(thread, r),
        nr::FUTEX => Err(errno::ENOSYS),
        nr::FUTEX_WAITV => Ok(futex::wait_for_any(thread, r)),
        nr::SCHED_YIELD => Ok(host::call3(number, 0, 0, 0)),
        nr::MMAP => memory::mmap(thread, r),
        nr::MUNMAP | nr::MPROTECT | nr::MADVISE | nr::MSYNC | nr::MINCORE => {
            memory::on_range(number, r)
        }
        // Without a key it is `mprotect`; keys are not offered.
        nr::PKEY_MPROTECT if r.r10 as u32 == u32::MAX => memory::on_range(nr::MPROTECT, r),
        nr::PKEY_MPROTECT => Err(errno::EINVAL),
        nr::MLOCK | nr::MLOCK2 => mlock(thread, registers, number),
        nr::MREMAP => memory::mremap(r),
        nr::BRK => Ok(memory::brk(r.rdi)),
        nr::SHMAT => shmat(thread, r),
        nr::SHMDT => Ok(shmdt(thread, r.rdi)),
        nr::CLOCK_GETTIME if is_host_clock(r.rdi) => Ok(host::call3(number, r.rdi, r.rsi, 0)),
        nr::ARCH_PRCTL => arch_prctl(r),
        nr::SET_TID_ADDRESS | nr::SET_ROBUST_LIST => keep_address(thread, r, number),
        nr::GET_ROBUST_LIST if is_self(thread, r.rdi) => {
            put(r.rdx, &HEAD_SIZE)?;
            put(r.rsi, &thread.slot().robust_list.load(Relaxed)).map(|()| 0)
        }
        nr::MEMBARRIER => Ok(membarrier(r)),
        // glibc does without; the host cannot serve it, because it would compare host CPU state
        // with guest memory behind our back.
        nr::RSEQ => Err(errno::ENOSYS),
        nr::CLONE | nr::CLONE3 | nr::FORK | nr::VFORK => {
            Ok(spawn::clone(thread, registers, number))
        }
        nr::EXIT | nr::EXIT_GROUP => {
            if thread.vfork.get().is_none() {
                robust::abandon_locks(thread);
            }
            usage::tell(thread);
            forward(thread, registers, number)
        }
        nr::EXECVE | nr::EXECVEAT | nr::GETRUSAGE | nr::TIMES => {
            usage::tell(thread);
            forward(thread, registers, number)
        }
        nr::READ | nr::WRITE | nr::PREAD64 | nr::LSEEK => {
            let result = handed::call(thread, number, r).or_else(|| lent::call(thread, number, r));
            result.map_or_else(|| forward(thread, registers, number), Ok)
        }
        nr::CLOSE if handed::close_later(thread, r.rdi) => Ok(0),
        nr::CLOSE | nr::DUP2 | nr::DUP3 | nr::CLOSE_RANGE => {
            let closed = closed_descriptors(number, r);
            handed::forget(thread, &closed);
            let result = forward(thread, registers, number);
            lent::give_back(closed);
            result
        }
        nr::EPOLL_WAIT | nr::EPOLL_PWAIT => match events::known(thread, number, r) {
            Some(result) => Ok(result),
            None => {
                let result = forward(thread, registers, number);
                events::keep(thread, registers, result);
                result
            }
        },
        _ => ask(thread, registers, number),
    }
}

/// Answers a question about a file from what is here, or sends the call to the kernel.
fn ask(thread: &Tcb, registers: &mut Registers, number: u64) -> Result<i64, i64> {
    if let Some(result) = handed::ask(thread, number, registers) {
        return Ok(result);
    }
    if let Some(id) = own_id(thread, number) {
        return Ok(id);
    }
    match answers::shape(number) {
        Some(shape) => answers::call(thread, registers, number, &shape),
        None => {
            handed::note_locks(number, registers);
            forward(thread, registers, number)
        }
    }
}

/// `mlock` and `mlock2`: the kernel checks, the host fills.
fn mlock(thread: &Tcb, registers: &mut Registers, number: u64) -> Result<i64, i64> {
    let (start, length, flags) = (registers.rdi, registers.rsi, registers.rdx);
    let result = forward(thread, registers, number)?;
    if result == 0 && (number == nr::MLOCK || flags as u32 == 0) {
        memory::fill(start, length);
    }
    Ok(result)
}

/// `set_tid_address` and `set_robust_list`: what the end of the thread is told to.
fn keep_address(thread: &Tcb, r: &Registers, number: u64) -> Result<i64, i64> {
    if number == nr::SET_TID_ADDRESS {
        thread.clear_tid.set(r.rdi);
        return Ok(i64::from(thread.slot().ids[ids::TID].load(Relaxed)));
    }
    if r.rsi != HEAD_SIZE {
        return Err(errno::EINVAL);
    }
    thread.slot().robust_list.store(r.rdi, SeqCst);
    Ok(0)
}

/// Which descriptors a call closes.
fn closed_descriptors(number: u64, r: &Registers) -> core::ops::Range<usize> {
    let (first, second) = (r.rdi as u32 as usize, r.rsi as u32 as usize);
    match number {
        nr::CLOSE => first..first.saturating_add(1),
        nr::CLOSE_RANGE => first..second.saturating_add(1),
        _ => second..second.saturating_add(1),
    }
}

/// Sends the call to the kernel with what its arguments point to, and does what the reply says.
fn forward(thread: &Tcb, registers: &mut Registers, number: u64) -> Result<i64, i64> {
    let r = &*registers;
    let args = [r.rdi, r.rsi, r.rdx, r.r10, r.r8, r.r9];
    let Ok(short) = u32::try_from(number) else { return Err(errno::ENOSYS) };
    let result = match staging::entry(number) {
        Some(entry) if entry.any != 0 => {
            let staged = staging::stage(thread, entry, &args);
            let result = request_staged(thread, short, args, &staged);
            staging::copy_out(thread, &staged, &args)?;
            result
        }
        Some(_) => request(thread, short, args),
        None => return Err(errno::ENOSYS),
    };
    let word = thread.slot().args[reply::ACTION].load(Relaxed);
    match word & 0xff {
        action::NONE => Ok(result),
        action::LEAVE => Ok(spawn::leave(thread, registers)),
        action::LEND => {
            inbox::catch_up(thread.slot().args[reply::DETAIL2].load(Relaxed));
            match lent::call(thread, number, registers) {
                Some(result) => Ok(result),
                // Another thread has closed it meanwhile: the kernel tells what there is now.
                None => forward(thread, registers, number),
            }
        }
        action::SIGNAL => {
            thread.brought.set(word >> action::INDEX_SHIFT);
            Ok(result)
        }
        action::LATER | action::HAND | action::TELL | action::TELL_SHARED => {
            handed::begin(thread, result, word);
            Ok(result)
        }
        _ => Ok(result),
    }
}

/// `shmat(id, address, flags)`: the kernel names the segment and its length.
fn shmat(thread: &Tcb, registers: &Registers) -> Result<i64, i64> {
    const SHM_RDONLY: u64 = 0o10000;
    const SHM_RND: u64 = 0o20000;
    const SHM_REMAP: u64 = 0o40000;
    const SHM_EXEC: u64 = 0o100000;
    const PAGE: u64 = 4096;
    let (id, wanted, flags) = (registers.rdi, registers.rsi, registers.rdx);
    let address = if flags & SHM_RND != 0 { wanted & !(PAGE - 1) } else { wanted };
    if address % PAGE != 0 {
        return Err(errno::EINVAL);
    }
    let mut protection =
        if flags & SHM_RDONLY != 0 { host::map::READ } else { host::map::READ_WRITE };
    if flags & SHM_EXEC != 0 {
        protection |= 4;
    }
    memory::map_file(thread, nr::SHMAT as u32, [id, address, flags, 0, 0, 0], |file, length| {
        if memory::check_range(address, length).is_err() {
            return errno::EINVAL;
        }
        let fixed = match address {
            0 => 0,
            _ if flags & SHM_REMAP != 0 => host::map::FIXED,
            _ => host::map::FIXED_NOREPLACE,
        };
        match host::mmap(address, length, protection, host::map::SHARED | fixed, file.into(), 0) {
            -17 => errno::EINVAL, // the place is taken
            result => result,
        }
    })
}

/// `shmdt(address)`: the kernel says how much is attached there.
fn shmdt(thread: &Tcb, address: u64) -> i64 {
    let length = request(thread, nr::SHMDT as u32, [address, 0, 0, 0, 0, 0]);
    if length < 0 {
        return length;
    }
    if memory::check_range(address, length.cast_unsigned()).is_err() {
        return errno::EINVAL;
    }
    host::call3(nr::MUNMAP, address, length.cast_unsigned(), 0)
}

/// The size of `struct robust_list_head`.
const HEAD_SIZE: u64 = 24;

fn is_self(thread: &Tcb, tid: u64) -> bool {
    tid as u32 == 0 || tid as u32 == thread.slot().ids[ids::TID].load(Relaxed)
}

/// `membarrier`: the commands that concern the calling process alone, and the global ones.
fn membarrier(r: &Registers) -> i64 {
    const QUERY: u64 = 0;
    const GLOBAL: u64 = 1;
    const GLOBAL_EXPEDITED: u64 = 2;
    const REGISTER_GLOBAL_EXPEDITED: u64 = 4;
    const OFFERED: u64 = GLOBAL | GLOBAL_EXPEDITED | REGISTER_GLOBAL_EXPEDITED | 8 | 16 | 32 | 64;
    let (command, flags) = (u64::from(r.rdi as u32), u64::from(r.rsi as u32));
    if flags != 0 || command != QUERY && (command & OFFERED == 0 || !command.is_power_of_two()) {
        return errno::EINVAL;
    }
    // What is expedited would disturb strangers on the host. The plain command takes longer, holds
    // for everybody, and needs no registration.
    let command = match command {
        GLOBAL_EXPEDITED => GLOBAL,
        REGISTER_GLOBAL_EXPEDITED => return 0,
        command => command,
    };
    match host::call3(nr::MEMBARRIER, command, 0, 0) {
        offered if command == QUERY && offered > 0 => offered & OFFERED.cast_signed(),
        result => result,
    }
}

/// The CPU-time clocks of the calling process and thread, which the host keeps, and those that the
/// vDSO reads too, if the host's clock source lets it.
fn is_host_clock(clock: u64) -> bool {
    matches!(clock as u32, 0..=7)
}

fn arch_prctl(r: &Registers) -> Result<i64, i64> {
    const SET_FS: u64 = 0x1002;
    const GET_FS: u64 = 0x1003;
    match r.rdi {
        SET_FS if r.rsi >= 1 << 47 => Err(errno::EPERM),
        SET_FS => {
            host::set_fs_base(r.rsi);
            Ok(0)
        }
        GET_FS => put(r.rsi, &host::fs_base()).map(|()| 0),
        // GS is the shim's; CET, AMX and LAM are not offered.
        _ => Err(errno::EINVAL),
    }
}

/// Whether an address is in the host's vDSO, which is never rewritten.
pub fn in_vdso(address: u64) -> bool {
    const VDSO_SIZE: u64 = 4 * 4096;
    address.wrapping_sub(VDSO.load(Relaxed)) < VDSO_SIZE
}
