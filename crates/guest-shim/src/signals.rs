//! Host signals: trapped system calls, faults, and kicks from the kernel.

#![expect(unsafe_code, reason = "signal handlers get raw pointers from the host")]

use core::sync::atomic::Ordering::Relaxed;

use channel_abi::layout::{KICK_SIGNAL, SHIM_BASE, SHIM_IMAGE_END};
use channel_abi::request::{FATAL, FAULT, NEXT_SIGNAL, action, reply, restart};

use crate::channel::request;
use crate::entry::{
    Registers, at, shim_answered, shim_entry, shim_recheck, shim_restore_begin, shim_restore_end,
    shim_sigreturn, shim_slow,
};
use crate::frame::{self, HostContext};
use crate::futex::{shim_futex_begin, shim_futex_end};
use crate::host::{self, errno, nr};
use crate::thread::{Step, Tcb, tcb};
use crate::usermem::{self, address_of};
use crate::{cpuid, rewrite, spawn, watched};

const SIGILL: u64 = 4;
const SIGTRAP: u64 = 5;
const SIGBUS: u64 = 7;
const SIGFPE: u64 = 8;
const SIGSEGV: u64 = 11;
const SIGSYS: u64 = 31;

/// Installs the handlers. They run on the shim's signal stack. No kick disturbs them; faults of
/// their own copies of guest memory do come, and are mended by `usermem::fixup`.
pub fn install_handlers() {
    const BLOCK_KICKS: u64 = 1 << (KICK_SIGNAL - 1);
    const SA_SIGINFO: u64 = 4;
    const SA_ONSTACK: u64 = 0x0800_0000;
    const SA_RESTORER: u64 = 0x0400_0000;
    let install = |signal: u64, handler: u64| {
        let flags = SA_SIGINFO | SA_ONSTACK | SA_RESTORER;
        let restorer = at(shim_sigreturn);
        let action = [handler, flags, restorer, BLOCK_KICKS];
        host::call4(nr::RT_SIGACTION, signal, address_of(&action), 0, 8);
    };
    install(SIGSYS, on_trap as *const () as usize as u64);
    for signal in [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP] {
        install(signal, on_fault as *const () as usize as u64);
    }
    install(KICK_SIGNAL as u64, on_kick as *const () as usize as u64);
}

fn in_shim(rip: u64) -> bool {
    (SHIM_BASE..SHIM_IMAGE_END).contains(&rip)
}

/// What the handlers read of the host's `siginfo_t`.
#[repr(C)]
struct HostInfo {
    signal: i32,
    errno: i32,
    code: i32,
    pad: i32,
    /// The address of a fault; of a trapped call, the address behind it.
    address: u64,
    /// Of a trapped call: the number and, above, the architecture.
    call: u64,
}

/// A `syscall` instruction of the guest. Goes on as the hardware would, in `shim_entry` and
/// outside of signal context, with the return address in rcx.
extern "C" fn on_trap(_signal: i32, info: &HostInfo, context: &mut HostContext) {
    const X86_64: u64 = 0xc000_003e;
    if in_shim(context.rip) {
        // The filter refused a call of the shim's own: somebody jumped here, or a bug.
        host::exit_group(host::SHIM_PANIC);
    }
    if info.call >> 32 != X86_64 {
        context.rax = errno::ENOSYS.cast_unsigned(); // `int $0x80`: no 32-bit calls here
        return;
    }
    if tcb().step.get() != Step::Off {
        context.flags &= !TRAP_FLAG;
    }
    context.rcx = rewrite::trapped_at(context.rip - 2);
    context.r11 = context.flags;
    context.rip = at(shim_entry);
}

extern "C" fn on_fault(signal: i32, info: &HostInfo, context: &mut HostContext) {
    if let Some(rip) = usermem::fixup(context.rip) {
        context.rip = rip;
        return;
    }
    if signal as u64 == SIGTRAP
        && let Some(rip) = rewrite::behind_breakpoint(context.rip)
    {
        context.rip = rip;
        return;
    }
    if signal as u64 == SIGTRAP && cpuid::answer(context) {
        return;
    }
    let thread = tcb();
    if signal as u64 == SIGTRAP && info.code == TRAP_TRACE && goes_on_stepping(thread, context) {
        return;
    }
    if in_shim(context.rip) {
        host::exit_group(host::SHIM_PANIC);
    }
    save_guest(thread, context);
    let args = [
        signal as u64,
        i64::from(info.code).cast_unsigned(),
        info.address,
        context.trap_number,
        context.error_code,
        context.fault_address,
    ];
    // The kernel is told in normal context, with the guest's registers safe in the frame.
    thread.fault.set(Some(args));
    context.rip = at(shim_recheck);
}

const TRAP_FLAG: u64 = 0x100;
/// `si_code` of a trap after one instruction.
const TRAP_TRACE: i32 = 2;

/// Keeps the guest's registers. The trap flag is the tracer's, not the guest's.
fn save_guest(thread: &Tcb, context: &mut HostContext) {
    if thread.step.get() != Step::Off {
        context.flags &= !TRAP_FLAG;
        thread.step.set(Step::Wanted);
    }
    frame::save(thread.registers(), context);
}

/// A trap after one instruction, while a tracer wants the guest to make one step. Returns whether
/// that step is not over yet.
fn goes_on_stepping(thread: &Tcb, context: &mut HostContext) -> bool {
    match thread.step.get() {
        Step::Off => false,
        _ if (at(shim_restore_begin)..at(shim_restore_end)).contains(&context.rip) => {
            thread.step.set(Step::Leaving);
            true
        }
        _ if in_shim(context.rip) => {
            // The step was a call. It is over when the shim has served it.
            context.flags &= !TRAP_FLAG;
            true
        }
        Step::Leaving => {
            thread.step.set(Step::Armed); // in guest code, of which nothing has run
            true
        }
        _ => match rewrite::guest_rip(context.rip) {
            None => true, // on the way into the shim
            Some(rip) => {
                context.rip = rip;
                context.flags &= !TRAP_FLAG;
                thread.step.set(Step::Off);
                false
            }
        },
    }
}

/// The kernel wants this thread to look for signals.
extern "C" fn on_kick(_signal: i32, _info: &HostInfo, context: &mut HostContext) {
    if (at(shim_entry)..at(shim_slow)).contains(&context.rip) {
        leave_quick_answer(tcb(), context);
    }
    let rip = context.rip;
    if (at(shim_restore_begin)..at(shim_restore_end)).contains(&rip) {
        context.rip = at(shim_recheck); // on the way out: look again
    } else if (at(shim_futex_begin)..=at(shim_futex_end)).contains(&rip) {
        context.rip = at(shim_futex_begin); // about to sleep: look again
    } else if !in_shim(rip) {
        let thread = tcb();
        match rewrite::guest_rip(rip) {
            Some(rip) => {
                context.rip = rip;
                save_guest(thread, context);
                context.rip = at(shim_recheck);
            }
            // On the way in.
            None => thread.enter_slowly(),
        }
    }
    // Else it is in the shim: it looks before it leaves.
}

/// A thread that asks for a number comes and goes without a look for signals: sends it on to where
/// it looks, or, with the number in its hands, back to guest code.
fn leave_quick_answer(thread: &Tcb, context: &mut HostContext) {
    if context.rip != at(shim_entry) {
        context.rcx = thread.return_address();
    }
    let is_answered = context.rip >= at(shim_answered);
    context.rip = if is_answered { context.rcx } else { at(shim_slow) };
}

/// The guest's registers are in the frame: tells the kernel of a fault, and delivers signals.
#[unsafe(no_mangle)]
pub extern "C" fn shim_look_for_signals(registers: &mut Registers) -> u32 {
    let thread = tcb();
    let fault = thread.fault.take();
    if let Some(args) = fault {
        request(thread, FAULT, args);
    }
    thread.original.set(u64::MAX);
    if let Some(call) = deliver(thread, registers, None, fault.is_some()) {
        watched::make_again(registers, call);
    }
    watched::arm_step(thread, registers);
    1
}

/// A call that was interrupted: its number and one of [`restart`].
pub type InterruptedCall = Option<(u64, i64)>;

/// Delivers every signal that is due. `ask` asks the kernel even if nothing seems to be.
///
/// Returns the interrupted call if it shall be made again at once, because no handler ran.
pub fn deliver(
    thread: &Tcb,
    registers: &mut Registers,
    mut call: InterruptedCall,
    mut ask: bool,
) -> InterruptedCall {
    loop {
        let brought = thread.brought.replace(0).cast_signed();
        if brought == 0 && !ask && thread.deliverable() == 0 {
            break;
        }
        let signal = if brought == 0 {
            ask = false;
            watched::ask(thread, registers, NEXT_SIGNAL, &mut call)
        } else {
            brought
        };
        let slot = thread.slot();
        if slot.args[reply::ACTION].load(Relaxed) & 0xff == action::LEAVE {
            registers.rax = spawn::leave(thread, registers).cast_unsigned();
            call = None;
            continue;
        }
        if signal <= 0 {
            if thread.deliverable() == 0 || signal < 0 {
                break;
            }
            continue;
        }
        // Handlers see the guest's own addresses, and an interrupted call is made again from the
        // `syscall` instruction, which is always still there.
        registers.rip = rewrite::guest_rip(registers.rip).unwrap_or(registers.rip);
        if let Some((number, how)) = call.take() {
            let flags = frame::delivery(thread).flags;
            prepare_restart(registers, number, how, flags);
        }
        if frame::push(thread, registers, signal.cast_unsigned()).is_err() {
            // No room for the frame: the kernel ends the process as Linux does.
            const FORCED: u64 = 128;
            let how = if signal.cast_unsigned() == SIGSEGV { FATAL } else { 0 };
            request(thread, FAULT, [SIGSEGV, FORCED, registers.rsp, how, 0, 0]);
            ask = true;
        } else if thread.step.get() != Step::Off {
            // A step into a handler ends before its first instruction.
            thread.step.set(Step::Off);
            const CODE: u64 = TRAP_TRACE as u64;
            request(thread, FAULT, [SIGTRAP, CODE, registers.rip, 0, 0, 0]);
            ask = true;
        }
    }
    call
}

fn prepare_restart(registers: &mut Registers, number: u64, how: i64, flags: u64) {
    const SA_RESTART: u64 = 0x1000_0000;
    let again = match how {
        restart::ALWAYS => true,
        restart::IF_ASKED => flags & SA_RESTART != 0,
        _ => false,
    };
    if again {
        registers.rip -= 2;
        registers.rax = number;
    } else {
        registers.rax = errno::EINTR.cast_unsigned();
    }
}
