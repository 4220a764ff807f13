//! Making the engine of a kernel process.

use std::cell::{Cell, RefCell};
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::sync::atomic::Ordering::{Release, SeqCst};

use guest_process::staging::StagingTable;
use guest_process::{SharedBell, Zygote, filter};
use host_sys::rustix;
use kernel_core::executor::Executor;
use kernel_core::kept_events;
use kernel_tasks::Kernel;
use kernel_tasks::thread::CpuSet;

use super::Engine;
use super::answers::Answers;
use super::census::Register;
use super::wait::Policy;
use crate::control::Refusal;
use crate::kernel_process::{kernel_step, step};
use crate::staging;
use crate::trace::Tracer;

/// An engine with its zygote, ready for the first program.
pub fn new_engine(kernel: &Rc<Kernel>, tracer: Option<Tracer>) -> Result<Rc<Engine>, Refusal> {
    /// A site is rewritten at its fourth trap: before that it does not pay.
    const REWRITE_AFTER: u32 = 4;
    let flags = rustix::event::EventfdFlags::CLOEXEC | rustix::event::EventfdFlags::NONBLOCK;
    let doorbell = rustix::event::eventfd(0, flags).map_err(step("make the doorbell"))?;
    let bell = SharedBell::new().map_err(step("make the bell"))?;
    bell.get().rewrite_after.store(REWRITE_AFTER, SeqCst);
    let entries = staging::entries();
    let program = filter::assemble(filter::RULES);
    let table = StagingTable::new(&entries, &program).map_err(step("make the staging table"))?;
    let table = Rc::new(table);
    let board = Rc::clone(&table);
    kept_events::show_on(move |count| board.facts().events.store(count, Release));
    let zygote =
        Zygote::start(&bell, &table, doorbell.as_fd()).map_err(step("start the zygote"))?;
    let n_cpus = usize::try_from(CpuSet::all().count()).unwrap_or(1);
    let ring: OwnedFd =
        rustix::io::fcntl_dupfd_cloexec(&doorbell, 0).map_err(step("copy a descriptor"))?;
    let notify = Box::new(move || {
        let _ = rustix::io::write(&ring, &1u64.to_ne_bytes());
    });
    let engine = Rc::new(Engine {
        bell,
        staging: table,
        answers: Answers::new(),
        entries,
        doorbell,
        zygote: RefCell::new(Some(zygote)),
        executor: RefCell::new(Executor::new(notify)),
        is_first_process: host_sys::is_first_process(),
        host_events: kernel.host_events.clone(),
        timers: kernel.timers.clone(),
        spaces: RefCell::default(),
        free_numbers: RefCell::default(),
        pool: RefCell::default(),
        n_programs: Cell::default(),
        spare: RefCell::default(),
        wants_spare: Cell::default(),
        newborn: RefCell::default(),
        starting: RefCell::default(),
        dying: RefCell::default(),
        hot: RefCell::default(),
        places: RefCell::default(),
        current: RefCell::default(),
        wakes: RefCell::default(),
        n_threads: Cell::default(),
        n_parked: Cell::default(),
        register: Register::default(),
        policy: Policy::new(n_cpus).map_err(step("make a timer"))?,
        n_calls: Cell::default(),
        tracer: tracer.map(Rc::new),
    });
    engine.fill_pool().map_err(kernel_step("have the zygote fork"))?;
    Ok(engine)
}
