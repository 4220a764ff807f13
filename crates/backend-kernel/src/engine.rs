//! The mechanism of a sandbox: host processes, their channels, and the calls under way.
//!
//! An [`Engine`] owns a [`Space`] per host process. [`serve`] takes a request, has it answered by
//! the system call's handler, and replies; [`look`] finds requests; [`wait`] decides when to look and
//! when to sleep; [`spaces`] makes and retires host processes; [`census`]
//! counts what the host lists of them. A guest thread's side of it is a
//! [`GuestMachine`](crate::machine::GuestMachine).

pub mod advice;
pub mod answers;
pub mod census;
mod giving_way;
mod look;
pub mod serve;
pub mod space;
pub mod spaces;
pub mod start;
pub mod wait;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use guest_process::staging::StagingTable;
use guest_process::{SharedBell, Zygote};
use kernel_core::executor::Executor;
use kernel_core::host_events::HostEvents;
use kernel_core::timers::Timers;
use linux_abi::Pid;

use crate::trace::Tracer;
use answers::Answers;
pub use space::Space;
use wait::Policy;

/// Names a guest thread's place: a space and a slot in its channel.
#[derive(Clone)]
pub struct Place {
    /// The host process.
    pub space: Rc<Space>,
    /// The slot.
    pub index: usize,
}

impl Place {
    /// Whether both are the same place.
    pub fn is(&self, other: &Self) -> bool {
        self.index == other.index && Rc::ptr_eq(&self.space, &other.space)
    }
}

/// The mechanism of one sandbox.
pub struct Engine {
    pub(crate) bell: SharedBell,
    pub(crate) staging: Rc<StagingTable>,
    pub(crate) answers: Answers,
    pub(crate) entries: Box<[channel_abi::staging::Entry; channel_abi::staging::CALLS]>,
    pub(crate) doorbell: OwnedFd,
    pub(crate) zygote: RefCell<Option<Zygote>>,
    pub(crate) executor: RefCell<Executor>,
    /// The host ends every guest process with this one.
    pub(crate) is_first_process: bool,
    pub(crate) host_events: HostEvents,
    pub(crate) timers: Timers,
    /// Spaces by number; a number is free again once its host process has been reaped.
    pub(crate) spaces: RefCell<Vec<Option<Rc<Space>>>>,
    /// Numbers below the length of `spaces` that are free.
    pub(crate) free_numbers: RefCell<Vec<usize>>,
    /// Host processes forked ahead, waiting for a program.
    pub(crate) pool: RefCell<VecDeque<Rc<Space>>>,
    /// How many programs were started.
    pub(crate) n_programs: Cell<usize>,
    /// What the next `fork` needs, made ahead once there has been one.
    pub(crate) spare: RefCell<Option<spaces::Spare>>,
    pub(crate) wants_spare: Cell<bool>,
    /// The last copy of a host process, until it has said who it is.
    pub(crate) newborn: RefCell<Option<spaces::Newborn>>,
    /// Host processes whose program starts when the call under way is over.
    pub(crate) starting: RefCell<Vec<Rc<Space>>>,
    /// Retired host processes that have not been reaped.
    pub(crate) dying: RefCell<Vec<Rc<Space>>>,
    /// Places whose slots are polled directly.
    pub(crate) hot: RefCell<Vec<Place>>,
    /// The places of executor slots, by slot number.
    pub(crate) places: RefCell<Vec<Option<Place>>>,
    /// Whose call is being answered now.
    pub(crate) current: RefCell<Option<Place>>,
    /// Sleeping threads to be woken, collected while the caller can be asked to do it.
    pub(crate) wakes: RefCell<Option<Vec<u32>>>,
    /// Guest threads, and those of them whose calls wait here.
    pub(crate) n_threads: Cell<usize>,
    pub(crate) n_parked: Cell<usize>,
    /// What was learnt of host processes in looks at them.
    pub(crate) register: census::Register,
    pub(crate) policy: Policy,
    pub(crate) n_calls: Cell<u64>,
    pub(crate) tracer: Option<Rc<Tracer>>,
}

impl Engine {
    /// The process whose call is being answered now, if one is.
    pub fn caller(&self) -> Option<Pid> {
        let current = self.current.try_borrow().ok()?;
        let place = current.as_ref()?;
        let seat = place.space.known_seat(place.index)?;
        let thread = seat.thread.try_borrow().ok()?;
        thread.as_ref().map(|thread| thread.process().pid)
    }
}
