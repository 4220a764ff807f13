//! What the shim keeps per thread.

#![expect(unsafe_code, reason = "finds the control block through the GS base")]

use core::arch::asm;
use core::cell::Cell;
use core::sync::atomic::AtomicU64;

use channel_abi::Slot;
use channel_abi::layout::{AREAS_ADDRESS, CHANNEL_ADDRESS, CHANNEL_HEADER, SLOT_HEADER, SLOT_SIZE};

use crate::actions::Overlaid;
use crate::answers::KEPT_SIZE;
use crate::entry::{Registers, at, shim_entry, shim_slow};
use crate::events::KeptEvents;

/// A thread's share of the shim's memory:
/// `[signal stack][XSAVE buffer][kept answers][overlaid actions, kept events][stack][control block]`.
pub const AREA_SIZE: u64 = 128 << 10;
const SIGNAL_STACK: u64 = 32 << 10;
const XSAVE_BUFFER: u64 = 16 << 10;
/// What is left for the stack is at least this.
const MIN_STACK: u64 = 40 << 10;
const OVERLAID_SIZE: u64 = 4096;
const EVENTS_SIZE: u64 = size_of::<KeptEvents>() as u64;
const _: () = {
    assert!(SIGNAL_STACK + XSAVE_BUFFER + KEPT_SIZE + OVERLAID_SIZE + MIN_STACK <= TCB_OFFSET);
    // The kept events are at the end of the same page.
    assert!(size_of::<Overlaid>() as u64 + EVENTS_SIZE <= OVERLAID_SIZE);
};

/// The control block is in the last KiB, so that it shares a page with the top of the stack.
const TCB_OFFSET: u64 = AREA_SIZE - 1024;

/// The alternate signal stack that the guest asked for.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct AltStack {
    /// Its lowest address.
    pub base: u64,
    /// `SS_*`.
    pub flags: u64,
    /// Its size.
    pub size: u64,
}

/// No alternate stack (`SS_DISABLE`).
pub const NO_ALT_STACK: AltStack = AltStack { base: 0, flags: 2, size: 0 };

/// A thread's control block. The first six fields are used by the assembly in `entry.rs`.
#[repr(C)]
pub struct Tcb {
    this: Cell<*const Tcb>,
    scratch_rsp: Cell<u64>,
    /// The top of the shim's stack; the guest's registers are saved just below.
    pub stack_top: Cell<u64>,
    entry: Cell<u64>,
    scratch_rip: Cell<u64>,
    slot: Cell<*const Slot>,
    /// Which slot of the channel is this thread's.
    pub index: Cell<u32>,
    /// Where to write 0 and wake when the thread ends (`CLONE_CHILD_CLEARTID`).
    pub clear_tid: Cell<u64>,
    /// The guest's alternate signal stack.
    pub alt_stack: Cell<AltStack>,
    /// A fault of guest code that the kernel has not been told of: the arguments of the request.
    pub fault: Cell<Option<[u64; 6]>>,
    /// The memory for kept answers is this thread's.
    pub has_kept: Cell<bool>,
    /// The count of changes at which the [kept events](Self::kept_events) were told; 0 means that
    /// there are none.
    pub events_at: Cell<u64>,
    /// The descriptor of the file that the kernel handed over with its last reply, plus one.
    pub handed: Cell<u32>,
    /// The count of changed descriptors when that file was told of, its lower half, if others may use it.
    pub told_descriptors: Cell<u32>,
    /// The length of its content.
    pub handed_length: Cell<u64>,
    /// The count of changes at which the kernel told what `fstat` says of it.
    pub told_at: Cell<u64>,
    /// The flags of that file, with `O_CLOEXEC` if the descriptor has that.
    pub told_flags: Cell<u64>,
    /// Descriptors that may be closed later, a bit each.
    pub later: Cell<u64>,
    /// A descriptor was closed since the last request; see [`Slot::closing`].
    pub has_closed: Cell<bool>,
    /// How many were closed like that.
    pub close_count: Cell<u16>,
    /// What the slot's allowance was when the kernel said so.
    pub allowance: Cell<u32>,
    /// Set while this thread plays a `vfork` child.
    pub vfork: Cell<Option<VforkParent>>,
    /// The number of the call that the thread is in, or all ones, as a tracer sees it.
    pub original: Cell<u64>,
    /// The signal that came with the last reply, to be delivered now; 0 if there was none.
    pub brought: Cell<u64>,
    /// How far a single step has come.
    pub step: Cell<Step>,
    /// The host thread is the first of its host process.
    pub is_main: Cell<bool>,
}

/// A single step of guest code, done with the processor's trap flag.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Step {
    /// No step is wanted.
    Off = 0,
    /// A step is wanted when the thread goes back to guest code.
    Wanted = 1,
    /// The trap flag is set, on the last instructions of the shim.
    Leaving = 2,
    /// The next trap comes after one instruction of the guest.
    Armed = 3,
}

/// What a thread that plays a `vfork` child needs to become the parent again.
#[derive(Clone, Copy)]
pub struct VforkParent {
    /// What `vfork` returns in the parent.
    pub pid: i64,
    /// The parent's registers.
    pub registers: Registers,
    /// The parent's signal mask.
    pub mask: u64,
    /// The parent's FS base.
    pub fs_base: u64,
    /// The parent's alternate stack.
    pub alt_stack: AltStack,
    /// The parent's `clear_tid`.
    pub clear_tid: u64,
}

/// The address of a thread's area.
pub fn area(index: u32) -> u64 {
    AREAS_ADDRESS + u64::from(index) * AREA_SIZE
}

/// The control block of slot `index`, whose area must be mapped.
pub fn tcb_of(index: u32) -> &'static Tcb {
    let address = area(index) + TCB_OFFSET;
    // SAFETY: the area is mapped by the caller, stays mapped for the life of the process, and all
    // fields are cells that are valid for any bytes except `slot`, which `initialise` sets.
    unsafe { &*core::ptr::with_exposed_provenance(address as usize) }
}

/// The calling thread's control block.
#[inline(always)]
pub fn tcb() -> &'static Tcb {
    let this: *const Tcb;
    // SAFETY: GS points at the control block, whose first field is its own address.
    unsafe {
        asm!("mov {}, qword ptr gs:[0]", out(reg) this, options(nostack, pure, readonly, preserves_flags));
    }
    // SAFETY: as above; the block is never freed.
    unsafe { &*this }
}

impl Tcb {
    /// Makes this the control block of slot `index`.
    pub fn initialise(&self, index: u32) {
        self.this.set(self);
        let address = core::ptr::from_ref(self).addr() as u64;
        self.stack_top.set(address & !63);
        self.enter_quickly();
        let slot = CHANNEL_ADDRESS + CHANNEL_HEADER as u64 + u64::from(index) * SLOT_SIZE as u64;
        self.slot.set(core::ptr::with_exposed_provenance(slot as usize));
        self.index.set(index);
        self.clear_tid.set(0);
        self.alt_stack.set(NO_ALT_STACK);
        self.vfork.set(None);
        self.fault.set(None);
        self.has_kept.set(false);
        self.events_at.set(0);
        self.handed.set(0);
        self.handed_length.set(0);
        self.told_at.set(0);
        self.told_descriptors.set(0);
        self.told_flags.set(0);
        self.later.set(0);
        self.has_closed.set(false);
        self.close_count.set(0);
        self.allowance.set(0);
        self.original.set(u64::MAX);
        self.brought.set(0);
        self.step.set(Step::Off);
        self.is_main.set(false);
    }

    /// This thread's slot of the channel.
    #[inline(always)]
    pub fn slot(&self) -> &'static Slot {
        // SAFETY: the channel is mapped at a fixed address for as long as guest code runs.
        unsafe { &*self.slot.get() }
    }

    /// The next call looks for signals before it goes back, whatever it asks.
    pub fn enter_slowly(&self) {
        self.entry.set(at(shim_slow));
    }

    /// Calls that only ask for a number are answered on the way in, as long as no signal is due.
    #[inline(always)]
    pub fn enter_quickly(&self) {
        self.entry.set(at(shim_entry));
    }

    /// Where a call that was not more than a number came from.
    pub fn return_address(&self) -> u64 {
        self.scratch_rip.get()
    }

    /// The data area of this thread's slot.
    #[inline(always)]
    pub fn data(&self) -> u64 {
        self.slot.get().addr() as u64 + SLOT_HEADER as u64
    }

    /// Where the guest's registers are saved.
    pub fn registers(&self) -> &'static mut Registers {
        let address = self.stack_top.get() - size_of::<Registers>() as u64;
        // SAFETY: the frame is at the top of this thread's own stack. Only this thread and its
        // signal handlers use it, one at a time.
        unsafe { &mut *core::ptr::with_exposed_provenance_mut(address as usize) }
    }

    /// Memory for the XSAVE image of a signal frame, aligned to 64 bytes.
    pub fn xsave_buffer(&self) -> u64 {
        area(self.index.get()) + SIGNAL_STACK
    }

    /// Memory for answers that need not be asked for again.
    pub fn kept_answers(&self) -> u64 {
        area(self.index.get()) + SIGNAL_STACK + XSAVE_BUFFER
    }

    /// Memory for the last answer of a wait for events.
    pub fn kept_events(&self) -> &'static KeptEvents {
        let address = self.kept_answers() + KEPT_SIZE + OVERLAID_SIZE - EVENTS_SIZE;
        // SAFETY: this thread's own memory, mapped with its stack; cells, for which any bytes are
        // valid.
        unsafe { &*core::ptr::with_exposed_provenance(address as usize) }
    }

    /// What a `vfork` child on this thread has set over plain default actions.
    pub fn overlaid_actions(&self) -> &'static Overlaid {
        let address = self.kept_answers() + KEPT_SIZE;
        // SAFETY: this thread's own memory, mapped with its stack; cells, for which any bytes are
        // valid.
        unsafe { &*core::ptr::with_exposed_provenance(address as usize) }
    }

    /// An XSAVE image that means "as a fresh program has it": an empty header, which stands for
    /// everything as after reset, and Linux's default control word, which is loaded all the same.
    pub fn initial_state(&self) -> u64 {
        const MXCSR_OFFSET: u64 = 24;
        const MXCSR: u32 = 0x1f80;
        let image = self.xsave_buffer() + Self::XSAVE_ROOM;
        // The memory is this thread's own: it can be written.
        let _ = crate::usermem::put(image + MXCSR_OFFSET, &MXCSR);
        image
    }

    /// How large the memory for one image is.
    pub const XSAVE_ROOM: u64 = XSAVE_BUFFER / 2;

    /// Whether this thread plays a `vfork` child.
    #[inline(always)]
    pub fn is_vfork_child(&self) -> bool {
        // SAFETY: only this thread uses the cell, and no reference outlives this line.
        unsafe { &*self.vfork.as_ptr() }.is_some()
    }

    /// Signals that wait and are not blocked.
    #[inline(always)]
    pub fn deliverable(&self) -> u64 {
        use core::sync::atomic::Ordering::Relaxed;
        let slot = self.slot();
        slot.pending.load(Relaxed) & !slot.signal_mask.load(Relaxed)
    }
}

/// Tells the host where to run the shim's own signal handlers for the calling thread.
pub fn set_signal_stack(index: u32) {
    let stack = AltStack { base: area(index), flags: 0, size: SIGNAL_STACK };
    let address = crate::usermem::address_of(&stack);
    crate::host::call3(crate::host::nr::SIGALTSTACK, address, 0, 0);
}

/// Which areas are mapped, 64 to a word.
pub static MAPPED_AREAS: [AtomicU64; channel_abi::layout::MAX_THREADS / 64] =
    [const { AtomicU64::new(0) }; channel_abi::layout::MAX_THREADS / 64];
