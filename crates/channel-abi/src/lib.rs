//! What the trusted kernel process and the untrusted shim agree on.
//!
//! A guest thread and the kernel talk through a [`Slot`] in shared memory: the thread puts a
//! request there, the kernel puts the reply in its place. All guest processes of a sandbox share
//! one [`Bell`], by which they wake the kernel and each other.
//!
//! Everything here lies in memory that a guest can write at any time. The kernel reads each value
//! once, checks it, and believes none of it. All fields are atomics, because two processes use
//! them at the same time.
//!
//! This crate has no dependency and no behaviour: the shim is built from it without cargo.

#![no_std]
#![forbid(unsafe_code)]

pub mod image;
pub mod layout;
pub mod request;
pub mod staging;

use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};

/// What a slot is about.
pub mod state {
    /// No request.
    pub const IDLE: u32 = 0;
    /// A request is there, and the guest spins for the reply.
    pub const POSTED: u32 = 1;
    /// A request is there, and the guest sleeps.
    pub const ASLEEP: u32 = 2;
    /// The reply is there.
    pub const DONE: u32 = 3;
    /// A request is there that has to wait: the guest shall not spin for it.
    pub const PARKED: u32 = 4;
}

/// The first page of a thread's share of the channel.
#[repr(C, align(64))]
pub struct Slot {
    // Line 0: request and reply, so that one round trip moves one line each way.
    /// One of [`state`].
    pub state: AtomicU32,
    /// The number of the system call, or one of [`request`].
    pub number: AtomicU16,
    /// Request: what is in [`closing`](Self::closing) and was in no request before.
    pub closed: AtomicU16,
    /// Request: the six arguments. Reply: see [`request::reply`].
    pub args: [AtomicU64; 6],
    /// Request: bit n is set if the memory of argument n is staged; [`MOVED`] is one more bit.
    pub staged: AtomicU8,
    /// Reply: not zero if this thread shall wake another one; see [`Bell::words`].
    pub wake: AtomicU8,
    /// Request: the lengths of the staged paths, without their zeroes.
    pub path_lengths: [AtomicU16; 2],
    /// Reply: which word of [`Bell::words`] to wake.
    pub wake_word: AtomicU16,

    // Line 1: written by the kernel, read by the guest.
    /// The kernel looks at this slot by itself: no need to ring.
    pub polled: AtomicU32,
    /// The word of [`Bell::words`] that this thread sleeps on.
    pub sleep_word: AtomicU32,
    /// The number of the process's channel, for ringing.
    pub space: AtomicU32,
    /// The number of this slot in the channel.
    pub index: AtomicU32,
    /// What the thread may know of itself: see [`ids`].
    pub ids: [AtomicU32; 7],
    /// Who wants to hear of this thread's calls: see [`watch`].
    pub watch: AtomicU32,
    /// Signals that wait for this thread or its process, whatever the mask is.
    pub pending: AtomicU64,
    /// Signals whose action is the default one, without flags or mask.
    pub plain_actions: AtomicU64,
    /// Changes when what was allowed with [`request::action::LATER`] is so no more.
    pub allowance: AtomicU32,

    // Line 2: written by the guest, read by the kernel.
    /// The guest's signal mask.
    pub signal_mask: AtomicU64,
    /// The host thread id. A claim: used only together with the process id that the host vouches
    /// for.
    pub host_tid: AtomicU32,
    /// Where the thread has the list of its locks, or 0. A claim.
    pub robust_list: AtomicU64,
    /// The stack pointer of the guest at its last call, for `/proc` and core notes.
    pub stack_pointer: AtomicU64,
    /// How a thread that was stopped goes on: see [`resume`].
    pub resume: AtomicU32,
    /// The descriptor of the file that is [handed over](request::action::HAND), plus one.
    pub handed: AtomicU32,
    /// How far the guest has read it.
    pub position: AtomicU64,
    /// How large the image of the extended processor state is that a traced thread leaves in the
    /// data area at [`layout::STATE_OFFSET`].
    pub state_size: AtomicU32,
    /// A descriptor that the guest has closed without a request: see [`closing`], and
    /// [`request::action::LATER`]. It stays when it was told with a request. The kernel, when it wants
    /// to know at once, takes it out.
    ///
    /// It is in this line, and goes with the next request, because the kernel looks at line 0 all the
    /// time: to write there means to wait for the line.
    pub closing: AtomicU16,
    /// The registers of a watched thread while it asks, in the order of `struct user_regs_struct`:
    /// see [`register`]. The kernel may change them; the thread goes on with what is here then.
    pub registers: [AtomicU64; register::COUNT],
}

/// A bit of [`Slot::staged`]: the kernel is to take in [`Slot::position`].
pub const MOVED: u8 = 0x80;

/// The parts of [`Slot::closing`].
pub mod closing {
    /// The lowest bits are the descriptor, plus one.
    pub const DESCRIPTOR: u16 = 0x7f;
    /// Above is a number that is another one each time, so that each is closed once.
    pub const COUNT_SHIFT: u32 = 7;
}

/// Bits of [`Slot::watch`].
pub mod watch {
    /// Every call is announced before it is made.
    pub const CALLS: u32 = 1;
    /// Its end is told as well.
    pub const ENDS: u32 = 4;
    /// The thread is traced: it shows all of its state whenever it asks.
    pub const TRACED: u32 = 2;
}

/// Bits of [`Slot::resume`].
pub mod resume {
    /// One instruction, then `SIGTRAP`.
    pub const STEP: u32 = 1;
    /// The image of the extended processor state was changed.
    pub const STATE_CHANGED: u32 = 2;
}

/// Indexes into [`Slot::registers`].
pub mod register {
    /// General registers from r15 to rdi come first, in the order of the shim's frame.
    pub const GENERAL: usize = 15;
    /// The result of a call, or what the register holds.
    pub const RAX: usize = 10;
    /// The first argument.
    pub const RDI: usize = 14;
    /// The second argument.
    pub const RSI: usize = 13;
    /// The third argument.
    pub const RDX: usize = 12;
    /// The fourth argument.
    pub const R10: usize = 7;
    /// The fifth argument.
    pub const R8: usize = 9;
    /// The sixth argument.
    pub const R9: usize = 8;
    /// The number of the call that the thread is in, or all ones.
    pub const ORIGINAL_RAX: usize = 15;
    /// Where the thread goes on.
    pub const RIP: usize = 16;
    /// The code segment.
    pub const CS: usize = 17;
    /// The flags.
    pub const FLAGS: usize = 18;
    /// The stack pointer.
    pub const RSP: usize = 19;
    /// The stack segment.
    pub const SS: usize = 20;
    /// The base of FS.
    pub const FS_BASE: usize = 21;
    /// The base of GS.
    pub const GS_BASE: usize = 22;
    /// How many there are; the last four are segments that 64-bit code does not use.
    pub const COUNT: usize = 27;
}

/// Indexes into [`Slot::ids`].
pub mod ids {
    /// `getpid`.
    pub const PID: usize = 0;
    /// `gettid`.
    pub const TID: usize = 1;
    /// `getppid`.
    pub const PPID: usize = 2;
    /// `getuid`.
    pub const UID: usize = 3;
    /// `geteuid`.
    pub const EUID: usize = 4;
    /// `getgid`.
    pub const GID: usize = 5;
    /// `getegid`.
    pub const EGID: usize = 6;
}

/// The first page of a channel, before the slots.
#[repr(C, align(64))]
pub struct ChannelHeader {
    /// Bit n: one of the 64 slots from 64 n on has a request.
    pub groups: AtomicU64,
    /// Bit m of word n: slot 64 n + m has a request.
    pub slots: [AtomicU64; layout::MAX_THREADS / 64],
    /// Not zero if the shim has just asked the host what the process has used, for the request that
    /// it is about to send.
    pub usage_told: AtomicU32,
    /// What the host answered: see [`usage`]. A claim, as all here.
    pub usage: [AtomicU64; 5],
    /// The call sites that trapped last: see [`sites`]. The kernel tells the process that this one is
    /// a copy of, which then rewrites them before its next `fork`. A claim, as all here.
    pub trapped: [AtomicU64; sites::COUNT],
    /// What the shim may do by itself with each descriptor: see [`lent`]. Written by the kernel.
    pub lent: [AtomicU32; layout::MAX_LENT],
}

/// What a word of [`ChannelHeader::lent`] says. Zero: every call goes to the kernel.
pub mod lent {
    /// The part that tells what is lent.
    pub const KIND: u32 = 0x3f;
    /// `/dev/null`.
    pub const NULL: u32 = 1;
    /// `/dev/zero`.
    pub const ZERO: u32 = 2;
    /// A file whose host descriptor was passed. The upper 24 bits tell this loan from others.
    pub const FILE: u32 = 3;
    /// A side of a pipe whose host descriptor was passed.
    pub const PIPE: u32 = 4;
    /// A device or pipe may be read.
    pub const READS: u32 = 0x40;
    /// A device or pipe may be written.
    pub const WRITES: u32 = 0x80;
    /// Shift of the number of a loan.
    pub const NUMBER_SHIFT: u32 = 8;
    /// A message that brings the descriptor of a lent file has this bit, the word above bit 16, and
    /// the guest's descriptor below.
    pub const MESSAGE: u64 = 1 << 62;
    /// Shift of the word in such a message.
    pub const MESSAGE_SHIFT: u32 = 16;
}

/// The words of [`ChannelHeader::trapped`]: an address, and above it a mark of the code there, by
/// which another process sees that it has the same.
pub mod sites {
    /// How many are remembered.
    pub const COUNT: usize = 4;
    /// Shift of the mark.
    pub const MARK_SHIFT: u32 = 48;
    /// The part that is the address.
    pub const ADDRESS: u64 = (1 << MARK_SHIFT) - 1;
}

/// Indexes into [`ChannelHeader::usage`].
pub mod usage {
    /// User time in nanoseconds.
    pub const USER: usize = 0;
    /// System time in nanoseconds.
    pub const SYSTEM: usize = 1;
    /// The largest resident memory in KiB.
    pub const MAX_RESIDENT: usize = 2;
    /// Page faults without a read.
    pub const MINOR_FAULTS: usize = 3;
    /// Page faults with a read.
    pub const MAJOR_FAULTS: usize = 4;
}

/// How often what guests may have kept of the kernel's answers has changed. Guests see it
/// read-only.
#[repr(C, align(64))]
pub struct Facts {
    /// Changes of names, attributes, and of who may see what.
    pub names: AtomicU64,
    /// Changes of what a descriptor stands for.
    pub descriptors: AtomicU64,
    /// Changes of what is ready, as far as somebody has kept it.
    pub events: AtomicU64,
}

/// How the kernel is asleep.
pub mod sleep {
    /// It is awake, or somebody wakes it already.
    pub const AWAKE: u32 = 0;
    /// It sleeps in `epoll`: write to the doorbell descriptor.
    pub const IN_EPOLL: u32 = 1;
}

/// One piece of memory that all guest processes of a sandbox share. Only hints: a guest that
/// writes nonsense here slows its own sandbox down.
#[repr(C, align(64))]
pub struct Bell {
    /// One of [`sleep`].
    pub sleeping: AtomicU32,
    /// The CPU on which the kernel last ran, plus one.
    pub kernel_cpu: AtomicU32,
    /// How long a guest spins for a reply, in 64 ticks of the time stamp counter.
    pub spin: AtomicU32,
    /// The same, if the kernel had to be woken first.
    pub spin_after_wake: AtomicU32,
    /// A call site is rewritten at its so many-th trap; 0 means never.
    pub rewrite_after: AtomicU32,
    /// Not zero if a guest that has asked shall give way to the kernel before it sleeps: on its CPU
    /// that is half of what two wake-ups cost. The value is how long that takes, in 64 ticks, if
    /// somebody else takes a turn.
    pub give_way: AtomicU32,
    /// Not zero if it took that long.
    pub crowded: AtomicU32,
    unused: [u32; 9],
    /// Bit n: one of the 64 channels from 64 n on has a request.
    pub groups: AtomicU64,
    unused_line: [u64; 7],
    /// Bit m of word n: channel 64 n + m has a request.
    pub spaces: [AtomicU64; layout::MAX_SPACES / 64],
    /// What sleeping threads wait on. Any process of the sandbox can be asked to wake one.
    pub words: [AtomicU32; layout::SLEEP_WORDS],
}
