//! New threads and processes: what the kernel's replies tell the shim to do.

#![expect(unsafe_code, reason = "starts threads on stacks that it makes")]

use core::sync::atomic::Ordering::{Relaxed, SeqCst};

use channel_abi::layout::{CHANNEL_ADDRESS, CHANNEL_SIZE, SOCKET_FD};
use channel_abi::request::{ACTION_FAILED, Start, action, reply};
use channel_abi::{ids, state};

use crate::channel::{request, request_staged};
use crate::entry::{Registers, shim_clone_thread, shim_exit_thread};
use crate::host::{self, map, nr};
use crate::process::IS_THREADED;
use crate::thread::{
    AREA_SIZE, MAPPED_AREAS, Tcb, VforkParent, area, set_signal_stack, tcb, tcb_of,
};
use crate::usermem::{address_of, put};
use crate::{birth, inbox, rewrite, robust, staging};

const CLONE_VM: u64 = 0x100;
const CLONE_FS: u64 = 0x200;
const CLONE_FILES: u64 = 0x400;
const CLONE_SIGHAND: u64 = 0x800;
const CLONE_PARENT: u64 = 0x8000;
const CLONE_THREAD: u64 = 0x1_0000;
const CLONE_SYSVSEM: u64 = 0x4_0000;
const SIGCHLD: u64 = 17;
/// How every host thread is made; the filter allows exactly this.
const HOST_THREAD: u64 =
    CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
/// How every host process is made: as a child of the kernel process, which reaps it.
const HOST_FORK: u64 = CLONE_PARENT | SIGCHLD;

/// How the kernel's reply says that the new thread begins.
#[derive(Clone, Copy)]
struct Beginning {
    stack_pointer: Option<u64>,
    tls: Option<u64>,
    set_tid: Option<u64>,
    clear_tid: Option<u64>,
}

fn beginning(thread: &Tcb) -> Beginning {
    // SAFETY: the data area is mapped and aligned; any bytes make a `Start`.
    let start: Start = unsafe {
        core::ptr::with_exposed_provenance::<Start>(thread.data() as usize).read_volatile()
    };
    let given = |bit: u32, value: u64| (start.given >> bit & 1 == 1).then_some(value);
    Beginning {
        stack_pointer: given(0, start.stack_pointer),
        tls: given(1, start.tls),
        set_tid: given(2, start.set_tid),
        clear_tid: given(3, start.clear_tid),
    }
}

/// `clone`, `clone3`, `fork`, `vfork`: the kernel decides, the shim does. Returns the guest's
/// result, in the child as well.
pub fn clone(thread: &Tcb, registers: &mut Registers, number: u64) -> i64 {
    let r = &*registers;
    let args = [r.rdi, r.rsi, r.rdx, r.r10, r.r8, r.r9];
    let result = match staging::entry(number) {
        Some(entry) if entry.any != 0 => {
            let staged = staging::stage(thread, entry, &args);
            request_staged(thread, number as u32, args, &staged)
        }
        _ => request(thread, number as u32, args),
    };
    if result < 0 {
        return result;
    }
    let slot = thread.slot();
    let word = slot.args[reply::ACTION].load(Relaxed);
    let start = beginning(thread);
    let failed = |error: i64| {
        request(thread, ACTION_FAILED, [word, error.cast_unsigned(), 0, 0, 0, 0]);
        error
    };
    match word & 0xff {
        action::FORK => fork(thread, registers, start, result).unwrap_or_else(failed),
        action::VFORK => vfork(thread, registers, start, result),
        action::THREAD => {
            let index = slot.args[reply::DETAIL].load(Relaxed) as u32;
            start_thread(thread, registers, start, index).map_or_else(failed, |()| result)
        }
        _ => result,
    }
}

fn fork(thread: &Tcb, registers: &mut Registers, start: Beginning, pid: i64) -> Result<i64, i64> {
    let message = thread.slot().args[reply::DETAIL2].load(Relaxed);
    rewrite::advised(thread.slot().args[reply::DETAIL].load(Relaxed));
    // Held over the fork, so that no other thread is half-way through a message in the child.
    inbox::LOCK.lock();
    let [channel, socket] = inbox::fork_descriptors(message);
    // Before the fork: the slot is the parent's, who may change its mask while the child begins.
    let mask = thread.slot().signal_mask.load(Relaxed);
    birth::prepare();
    let host = host::call6(nr::CLONE, HOST_FORK, 0, 0, 0, 0, 0);
    birth::finish();
    if host != 0 {
        host::close(channel);
        host::close(socket);
        inbox::LOCK.unlock();
        return if host < 0 { Err(host) } else { Ok(pid) };
    }
    adopt_channel(channel, socket);
    inbox::LOCK.unlock();
    // A thread other than the first may have forked: it keeps its area and its slot number, in the
    // new channel.
    let slot = thread.slot();
    slot.signal_mask.store(mask, SeqCst);
    IS_THREADED.store(0, Relaxed);
    rewrite::release_lock_after_fork();
    crate::lent::forget_after_fork();
    thread.is_main.set(true);
    thread.vfork.set(None);
    apply(thread, registers, start);
    Ok(0)
}

/// The parts of `clone` that happen in the child.
fn apply(thread: &Tcb, registers: &mut Registers, start: Beginning) {
    thread.clear_tid.set(start.clear_tid.unwrap_or(0));
    if let Some(address) = start.set_tid {
        // A bad address is the child's own loss, as on Linux.
        let _ = put(address, &thread.slot().ids[ids::TID].load(Relaxed));
    }
    if let Some(stack_pointer) = start.stack_pointer {
        registers.rsp = stack_pointer;
    }
    if let Some(tls) = start.tls {
        host::set_fs_base(tls);
    }
}

/// A new process replaces the inherited channel and socket by its own, and says hello, which
/// tells the kernel its host process id with the host's word for it.
pub fn adopt_channel(channel: i32, socket: i32) {
    let flags = map::SHARED | map::FIXED;
    host::mmap(CHANNEL_ADDRESS, CHANNEL_SIZE as u64, map::READ_WRITE, flags, channel.into(), 0);
    host::close(channel);
    host::call3(nr::DUP2, socket.cast_unsigned().into(), SOCKET_FD as u64, 0);
    host::close(socket);
    const PR_SET_PDEATHSIG: u64 = 1;
    const SIGKILL: u64 = 9;
    host::call3(nr::PRCTL, PR_SET_PDEATHSIG, SIGKILL, 0);
    let hello = 1u8;
    if host::call3(nr::WRITE, SOCKET_FD as u64, address_of(&hello), 1) < 0 {
        host::exit_group(0); // the kernel process died before it could take this one with it
    }
    inbox::reset_numbering();
    let host_tid = host::call3(nr::GETTID, 0, 0, 0);
    tcb().slot().host_tid.store(host_tid as u32, SeqCst);
}

/// `vfork` without a host process: this thread plays the child until `execve` or `_exit`.
fn vfork(thread: &Tcb, registers: &mut Registers, start: Beginning, pid: i64) -> i64 {
    thread.vfork.set(Some(VforkParent {
        pid,
        registers: *registers,
        mask: thread.slot().signal_mask.load(Relaxed),
        fs_base: host::fs_base(),
        alt_stack: thread.alt_stack.get(),
        clear_tid: thread.clear_tid.get(),
    }));
    thread.overlaid_actions().forget();
    apply(thread, registers, start);
    0
}

/// The program goes on elsewhere, or is over. The host process ends here, unless it belongs to
/// the parent of a `vfork`, who goes on. Returns what `vfork` returns there.
pub fn leave(thread: &Tcb, registers: &mut Registers) -> i64 {
    let Some(parent) = thread.vfork.take() else { host::exit_group(0) };
    *registers = parent.registers;
    thread.slot().signal_mask.store(parent.mask, SeqCst);
    thread.alt_stack.set(parent.alt_stack);
    thread.clear_tid.set(parent.clear_tid);
    host::set_fs_base(parent.fs_base);
    parent.pid
}

fn start_thread(
    thread: &Tcb,
    registers: &Registers,
    start: Beginning,
    index: u32,
) -> Result<(), i64> {
    IS_THREADED.store(1, SeqCst);
    map_area(index)?;
    let child = tcb_of(index);
    child.initialise(index);
    child.slot().signal_mask.store(thread.slot().signal_mask.load(Relaxed), SeqCst);
    child.clear_tid.set(start.clear_tid.unwrap_or(0));
    if let Some(address) = start.set_tid {
        let _ = put(address, &child.slot().ids[ids::TID].load(Relaxed));
    }
    let frame = child.registers();
    *frame = *registers;
    frame.rax = 0;
    if let Some(stack_pointer) = start.stack_pointer {
        frame.rsp = stack_pointer;
    }
    // The new thread finds its FS base in a register that the guest does not expect to survive.
    frame.rcx = start.tls.unwrap_or_else(host::fs_base);
    let stack = address_of(&*frame);
    // SAFETY: the stack is the new thread's own area, with a complete frame at its top.
    let host = unsafe { shim_clone_thread(HOST_THREAD, stack, address_of(child)) };
    if host < 0 { Err(host) } else { Ok(()) }
}

/// Maps the area of a slot once in the life of a process.
pub fn map_area(index: u32) -> Result<(), i64> {
    let bit = 1 << (index % 64);
    let Some(word) = MAPPED_AREAS.get(index as usize / 64) else { return Err(host::errno::ENOMEM) };
    if word.load(Relaxed) & bit != 0 {
        return Ok(());
    }
    let flags = map::PRIVATE | map::ANONYMOUS | map::FIXED | map::NORESERVE;
    let at = host::mmap(area(index), AREA_SIZE, map::READ_WRITE, flags, -1, 0);
    if at < 0 {
        return Err(at);
    }
    word.fetch_or(bit, SeqCst);
    Ok(())
}

/// The first code of a new thread, on its own stack. The guest's registers are in the frame.
#[unsafe(no_mangle)]
extern "C" fn shim_thread_start(frame: &mut Registers) -> u32 {
    let thread = tcb();
    host::set_fs_base(frame.rcx);
    set_signal_stack(thread.index.get());
    let host_tid = host::call3(nr::GETTID, 0, 0, 0);
    thread.slot().host_tid.store(host_tid as u32, SeqCst);
    // A signal may have come before the kernel knew whom to kick.
    crate::signals::shim_look_for_signals(frame)
}

/// `exit`: ends the calling thread. The kernel's reply told the shim to.
pub fn exit_thread(thread: &Tcb) -> ! {
    robust::abandon_locks(thread);
    let slot = thread.slot();
    // SAFETY: `state` is a word of the channel; nothing of this thread's stack is used after.
    unsafe {
        shim_exit_thread(slot.state.as_ptr(), thread.clear_tid.get(), thread.is_main.get().into())
    }
}

const _: () = assert!(state::IDLE == 0, "shim_exit_thread stores 0");
