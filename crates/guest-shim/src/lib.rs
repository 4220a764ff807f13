//! The shim: the part of Belljar that lives inside every guest process.
//!
//! It is executed once per sandbox as the *zygote*, which forks a host process for every guest
//! program ([`zygote`]). In such a process it receives every system call of the guest
//! ([`entry`], [`dispatch`]), answers what it can, lets the host do what the filter allows, and
//! sends the rest to the kernel process ([`channel`]).
//!
//! It holds no secret and is not trusted: guest code can read, write and jump into all of it.
//! What confines a guest is the seccomp filter and the kernel process. Unsafe code here is about
//! not crashing a well-behaved guest; a hostile one harms itself only.
//!
//! The shim has no heap, no thread-local storage and uses no vector registers, because these
//! hold the guest's values all the time. Its state per thread is a [`thread::Tcb`], found through
//! the GS base; its state per process is in [`process`].

#![no_std]
#![no_main]
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "registers are 64 bits and mean what the system call says; there is one target"
)]
#![expect(clippy::indexing_slicing, reason = "constant indexes into arrays of the protocol")]

mod actions;
mod answers;
mod birth;
mod channel;
mod cpuid;
mod dispatch;
mod entry;
mod events;
mod frame;
mod futex;
mod handed;
mod host;
mod inbox;
mod lent;
mod libc;
mod locks;
mod mask;
mod memory;
mod populate;
mod process;
mod rewrite;
mod robust;
mod signals;
mod spawn;
mod staging;
mod thread;
mod usage;
mod usermem;
mod watched;
mod zygote;

/// A bug of ours. The kernel sees the process end and reports it.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    host::exit_group(host::SHIM_PANIC)
}
