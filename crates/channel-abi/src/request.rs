//! Requests that are not system calls, and what replies mean.

/// The first private number, above every Linux system call.
pub const FIRST: u32 = 10_000;
/// Asks for the next signal to deliver. Reply: the result is its number or 0, and a
/// [`Delivery`] is at the start of the data area.
pub const NEXT_SIGNAL: u32 = 10_000;
/// A synchronous fault in guest code: signal, code, address, trap number, error code. The shim
/// asks for signals next.
pub const FAULT: u32 = 10_001;
/// In place of the trap number: no handler can be run for the signal, the process ends by it.
pub const FATAL: u64 = u64::MAX;
/// The shim could not do what the kernel told it to do (`fork`, `clone`, `mmap` on the host
/// failed): the action and the negative error number.
pub const ACTION_FAILED: u32 = 10_002;

/// A watched thread is about to make the call that is in its registers. Reply: one of [`verdict`].
pub const ENTER_CALL: u32 = 10_003;
/// The call that a watched thread announced is over; its result is in the registers.
pub const LEAVE_CALL: u32 = 10_004;

/// A thread that stands still has done what [`action::POKE`] told it: 0 or a negative error number.
/// It goes on waiting for the reply to what it has asked before.
pub const POKED: u32 = 10_005;

/// Replies to [`ENTER_CALL`].
pub mod verdict {
    /// Make the call.
    pub const RUN: i64 = 0;
    /// Do not: the registers hold what the caller gets.
    pub const SKIP: i64 = 1;
}

/// Where in [`Slot::args`](crate::Slot::args) the parts of a reply are.
pub mod reply {
    /// The result: a value, a negative error number or one of [`super::restart`].
    pub const RESULT: usize = 0;
    /// One of [`super::action`], with its detail above bit 8.
    pub const ACTION: usize = 1;
    /// How many bytes of the staged arguments 0 to 3 are to be copied out, 16 bits each.
    pub const OUT_LOW: usize = 2;
    /// The same for arguments 4 and 5.
    pub const OUT_HIGH: usize = 3;
    /// The first detail of an action.
    pub const DETAIL: usize = 4;
    /// The second detail of an action.
    pub const DETAIL2: usize = 5;
}

/// What the shim has to do before the call is over. The low byte of the reply's action word.
pub mod action {
    /// Nothing.
    pub const NONE: u64 = 0;
    /// Fork the host process. Two descriptors, channel and socket, are on the socket. The first detail
    /// is a call site that trapped in an earlier copy, as in [`sites`](crate::sites), or 0.
    pub const FORK: u64 = 1;
    /// Play the `vfork` child.
    pub const VFORK: u64 = 2;
    /// Start a host thread in the slot that the detail names.
    pub const THREAD: u64 = 3;
    /// The program goes on in another host process: end this one, or go back to being the parent
    /// of a `vfork`.
    pub const LEAVE: u64 = 4;
    /// End this thread.
    pub const EXIT_THREAD: u64 = 5;
    /// Map a file. Bits 8 to 15: its place in the file cache; bit 16: it is new and its
    /// descriptor is on the socket. First detail: flags to add to the mapping's.
    pub const MAP: u64 = 6;
    /// A bit beside [`MAP`]: the descriptor is to be closed when the file is mapped.
    pub const ONCE: u64 = 1 << 17;
    /// The file of this call is lent: its descriptor comes with the message that the second detail
    /// names, and the shim does the call by itself, as those to follow.
    pub const LEND: u64 = 7;
    /// The answer may be kept for as long as the [`Facts`](crate::Facts) are what the details say.
    pub const KEEP: u64 = 8;
    /// A tracer writes to memory that the thread may only read: the first detail is the address of a
    /// word, the second its value, and bits 8 to 15 are the protection that the memory has. Then
    /// the thread says [`POKED`](super::POKED).
    pub const POKE: u64 = 9;
    /// A file was opened that nobody but this process minds being open: it may be closed by way of
    /// [`Slot::closing`](crate::Slot::closing), which is told with the next request, for as long as
    /// [`Slot::allowance`](crate::Slot::allowance) is what it is now. The second detail, here and in the
    /// two below, is what `F_GETFL` says, with `O_CLOEXEC` if the descriptor has that.
    pub const LATER: u64 = 10;
    /// The same, and the file is small and does not change: what `fstat` says of it is in the data
    /// area at [`HANDED_OFFSET`](crate::layout::HANDED_OFFSET) and its content behind it, until the
    /// next request. The length of the content is above bit 8.
    pub const HAND: u64 = 11;
    /// The answer of this wait for events may be kept for as long as
    /// [`Facts::events`](crate::Facts::events) is the first detail, and
    /// [`Facts::descriptors`](crate::Facts::descriptors) the second.
    pub const KEEP_EVENTS: u64 = 12;
    /// As [`LATER`], and what `fstat` says of the file is in the data area at
    /// [`HANDED_OFFSET`](crate::layout::HANDED_OFFSET), until the next request, and for as long as
    /// the names of the [`Facts`](crate::Facts) are what the first detail says.
    pub const TELL: u64 = 13;
    /// The call has sent the caller a signal: this is also the reply to [`NEXT_SIGNAL`](super::NEXT_SIGNAL),
    /// with the signal above bit 8.
    pub const SIGNAL: u64 = 14;
    /// What `fstat` says of the file that was opened is in the data area, as with [`TELL`], but others may use
    /// the descriptor, and it is not to be closed later. It holds for as long as the names of the
    /// [`Facts`](crate::Facts) are what the first detail says, and the lower half of
    /// [`Facts::descriptors`](crate::Facts::descriptors) is the upper half of the second. Bit 8: there are
    /// no others, so its position is 0. Bit 9: it is what `statx` says.
    pub const TELL_SHARED: u64 = 15;
    /// A new descriptor is on the socket with the reply.
    pub const FRESH: u64 = 1 << 16;
    /// Shift of the cache index.
    pub const INDEX_SHIFT: u32 = 8;
}

/// Results that tell the shim to run the call again, as Linux's internal error numbers do.
pub mod restart {
    /// Again if the handler was installed with `SA_RESTART`, else `EINTR`.
    pub const IF_ASKED: i64 = -512;
    /// Always again.
    pub const ALWAYS: i64 = -513;
    /// Again only if no handler runs, else `EINTR`.
    pub const IF_NO_HANDLER: i64 = -514;
    /// Through `restart_syscall` if no handler runs, else `EINTR`.
    pub const CONTINUATION: i64 = -516;
}

/// How a new thread begins: as its maker, but for what is named here. At the start of the data
/// area with the actions `FORK`, `VFORK` and `THREAD`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Start {
    /// Which of the other fields count, one bit each, in order.
    pub given: u64,
    /// The stack pointer.
    pub stack_pointer: u64,
    /// The FS base.
    pub tls: u64,
    /// Where the new thread finds its own id.
    pub set_tid: u64,
    /// Where to write 0 and wake when the thread ends.
    pub clear_tid: u64,
}

/// A signal to be delivered, as the reply to [`NEXT_SIGNAL`].
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Delivery {
    /// The handler's address.
    pub handler: u64,
    /// `SA_*`.
    pub flags: u64,
    /// The restorer's address.
    pub restorer: u64,
    /// The mask to restore after the handler.
    pub old_mask: u64,
    /// `siginfo_t`.
    pub info: [u64; 16],
    /// For faults: the trap number, the error code and the address, for the guest's frame.
    pub trap: [u64; 3],
}
