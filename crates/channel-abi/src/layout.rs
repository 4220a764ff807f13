//! Where things are in every guest process: addresses, sizes, descriptors.

/// The shim's text and data.
pub const SHIM_BASE: u64 = 0x6000_0000_0000;
/// The end of the room for the shim's text and data.
pub const SHIM_IMAGE_END: u64 = 0x6000_1000_0000;
/// The [`Bell`](crate::Bell).
pub const BELL_ADDRESS: u64 = 0x6000_1000_0000;
/// The [staging table](crate::staging), read-only.
pub const STAGING_ADDRESS: u64 = 0x6000_1100_0000;
/// This process's channel.
pub const CHANNEL_ADDRESS: u64 = 0x6000_2000_0000;
/// Control blocks and stacks of the shim's threads.
pub const AREAS_ADDRESS: u64 = 0x6000_4000_0000;
/// Guest memory calls may not touch anything from [`SHIM_BASE`] to here.
pub const SHIM_END: u64 = 0x6000_8000_0000;

/// The top of the first thread's stack.
pub const STACK_TOP: u64 = 0x7e00_0000_0000;
/// The highest address that a guest may map at.
pub const GUEST_END: u64 = 0x7fff_ffff_f000;

/// How many threads a process can have.
pub const MAX_THREADS: usize = 1024;
/// How many host processes a sandbox can have.
pub const MAX_SPACES: usize = 4096;
/// How many words there are to sleep on. Two threads that share one are woken together, which is
/// harmless.
pub const SLEEP_WORDS: usize = 4096;

/// The page before the slots.
pub const CHANNEL_HEADER: usize = 4096;
/// The first page of a slot.
pub const SLOT_HEADER: usize = 4096;
/// Room for staged memory in a slot.
pub const DATA_SIZE: usize = 64 << 10;
/// Where in the data area a traced thread leaves its extended processor state.
pub const STATE_OFFSET: usize = 32 << 10;
/// The largest such state.
pub const MAX_STATE: usize = 8 << 10;
/// Where in the data area a file is handed over: first its `struct stat`.
pub const HANDED_OFFSET: usize = 16 << 10;
/// Where its content is.
pub const HANDED_CONTENT: usize = HANDED_OFFSET + 256;
/// The longest content that is handed over.
pub const MAX_HANDED: usize = DATA_SIZE - HANDED_CONTENT;
/// A slot.
pub const SLOT_SIZE: usize = SLOT_HEADER + DATA_SIZE;
/// A channel. Sparse: memory that is not touched is not there.
pub const CHANNEL_SIZE: usize = CHANNEL_HEADER + MAX_THREADS * SLOT_SIZE;
/// The bell, in whole pages.
pub const BELL_SIZE: usize = 20 << 10;

/// Where the seccomp filter's instructions are, behind the staging table.
pub const FILTER_OFFSET: usize = 20 << 10;
/// Where the [`Facts`](crate::Facts) are, behind the filter.
pub const FACTS_OFFSET: usize = 28 << 10;
/// Staging table, filter and facts, in whole pages.
pub const STAGING_SIZE: usize = 32 << 10;

/// The socket to the kernel, over which descriptors come.
pub const SOCKET_FD: i32 = 3;
/// The doorbell: an eventfd on which the kernel sleeps.
pub const DOORBELL_FD: i32 = 4;
/// Descriptors that the kernel passes have this number or a higher one.
pub const FIRST_PASSED_FD: i32 = 5;

/// Guest descriptors below this number can be lent to the shim.
pub const MAX_LENT: usize = 512;

/// How many passed descriptors a process keeps, so that they need not be passed again.
pub const FILE_CACHE: usize = 8;

/// The host signal by which the kernel interrupts guest code.
pub const KICK_SIGNAL: i32 = 64;

const _: () = {
    assert!(size_of::<crate::Bell>() <= BELL_SIZE);
    assert!(size_of::<crate::Slot>() <= SLOT_HEADER);
    assert!(size_of::<crate::ChannelHeader>() <= CHANNEL_HEADER);
    assert!(size_of::<[crate::staging::Entry; crate::staging::CALLS]>() <= FILTER_OFFSET);
    assert!(CHANNEL_ADDRESS + CHANNEL_SIZE as u64 <= AREAS_ADDRESS);
};
