//! The host's side of one guest thread.

mod lending;
mod memory;
mod neighbours;
mod tracing;

use std::cell::Cell;
use std::ops::Range;
use std::os::fd::AsFd;
use std::rc::{Rc, Weak};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use channel_abi::layout::{MAX_HANDED, MAX_THREADS};
use channel_abi::request::{self, action};
use channel_abi::{Slot, ids, resume, state, usage, watch};
use host_sys::{HostStatus, OuterPid, errno_of};
use kernel_core::io::Sink;
use kernel_core::memory::UserMemory;
use kernel_core::wait::WaitQueue;
use kernel_files::MappedFile;
use kernel_files::lending::{Lender, Loan};
use kernel_tasks::machine::{Ids, Image, SharedFile, Start, Told, UserRegisters};
use kernel_tasks::process::{CpuTimes, Usage};
use kernel_tasks::{HostFile, Machine, Thread};
use linux_abi::files::OpenFlags;
use linux_abi::signals::Signal;
use linux_abi::tasks::{ExitStatus, rlimit};
use linux_abi::{Errno, SysResult};

use crate::engine::space::{Poke, Seat, Space};
use crate::engine::{Engine, Place};

/// A guest thread's host thread.
pub struct GuestMachine {
    engine: Weak<Engine>,
    place: Place,
    seat: Rc<Seat>,
    /// It plays the child of a `vfork` in its parent's seat.
    is_vfork_child: Cell<bool>,
}

impl GuestMachine {
    /// The machine of the thread at `place`.
    pub fn new(engine: &Rc<Engine>, place: Place) -> Rc<Self> {
        let seat = place.space.seat(place.index);
        let engine = Rc::downgrade(engine);
        Rc::new(Self { engine, place, seat, is_vfork_child: Cell::new(false) })
    }

    fn engine(&self) -> SysResult<Rc<Engine>> {
        self.engine.upgrade().ok_or(Errno::ESRCH)
    }

    /// Whether the call that is being answered is this thread's.
    fn is_calling(&self) -> bool {
        self.engine().is_ok_and(|engine| {
            engine.current.borrow().as_ref().is_some_and(|current| current.is(&self.place))
        })
    }

    /// The host's id of this thread. The guest claims it, in memory that it can write: it counts
    /// only if it names a thread of this guest process.
    fn host_thread(&self) -> Option<u32> {
        let space = &self.place.space;
        let claimed = space.channel.slot(self.place.index).host_tid.load(Relaxed);
        space.host.has_thread(claimed).then_some(claimed)
    }

    fn slot(&self) -> &Slot {
        self.place.space.channel.slot(self.place.index)
    }

    fn set_action(&self, word: u64, details: [u64; 2]) {
        let mut reply = self.seat.reply.get();
        reply.action = word;
        reply.details = details;
        self.seat.reply.set(reply);
    }

    fn write_start(&self, start: Start) {
        let fields = [start.stack_pointer, start.tls, start.set_child_tid, start.clear_child_tid];
        let mut given = 0;
        for (bit, field) in fields.iter().enumerate() {
            given |= u64::from(field.is_some()) << bit;
        }
        let [stack_pointer, tls, set_tid, clear_tid] = fields.map(Option::unwrap_or_default);
        let raw = request::Start { given, stack_pointer, tls, set_tid, clear_tid };
        self.place.space.channel.write_value(self.place.index, &raw);
    }

    /// The reply tells the shim to use this file: where it is in the cache, and the number of the
    /// message that brings it, 0 if it is there.
    fn pass_file(&self, file: &MappedFile) -> SysResult<(u64, u64)> {
        let space = &self.place.space;
        let (place, is_new) = space.place_file(file).ok_or(Errno::EAGAIN)?;
        let mut message = 0;
        if is_new {
            message = space.next_message();
            let words = [message, place as u64];
            space.host.send(words, &[file.host.as_fd()]).map_err(errno_of)?;
        }
        self.seat.using_file.set(Some(place));
        Ok(((place as u64) << action::INDEX_SHIFT, message))
    }
}

impl Machine for GuestMachine {
    fn memory(&self) -> &dyn UserMemory {
        self
    }

    fn signal_mask(&self) -> u64 {
        self.place.space.channel.slot(self.place.index).signal_mask.load(Relaxed)
    }

    fn set_signal_mask(&self, mask: u64) {
        self.place.space.channel.slot(self.place.index).signal_mask.store(mask, SeqCst);
    }

    fn set_pending_signals(&self, pending: u64) {
        self.place.space.channel.slot(self.place.index).pending.store(pending, SeqCst);
    }

    fn set_watch(&self, calls: bool, ends: bool, traced: bool) {
        let bit = |on: bool, bit: u32| if on { bit } else { 0 };
        let word = bit(calls, watch::CALLS) | bit(ends, watch::ENDS) | bit(traced, watch::TRACED);
        self.slot().watch.store(word, SeqCst);
    }

    fn registers(&self) -> UserRegisters {
        self.shown_registers()
    }

    fn set_registers(&self, registers: &UserRegisters) {
        self.replace_registers(registers);
    }

    fn extended_state(&self) -> Vec<u8> {
        self.shown_state()
    }

    fn set_extended_state(&self, state: &[u8]) {
        self.replace_state(state);
    }

    fn begin_poke(&self, address: u64, word: u64) -> SysResult<()> {
        self.ask_to_poke(address, word)
    }

    fn poke_outcome(&self) -> Option<SysResult<()>> {
        match self.seat.poke.get() {
            Poke::Done(done) => {
                self.seat.poke.set(Poke::None);
                Some(if done == 0 { Ok(()) } else { Err(Errno::EFAULT) })
            }
            Poke::Asked if !self.place.space.is_retired.get() => None,
            _ => Some(Err(Errno::ESRCH)),
        }
    }

    fn poke_queue(&self) -> WaitQueue {
        self.seat.poked.clone()
    }

    fn set_step(&self, step: bool) {
        let slot = self.slot();
        if step {
            slot.resume.fetch_or(resume::STEP, SeqCst);
        } else {
            slot.resume.fetch_and(!resume::STEP, SeqCst);
        }
    }

    fn kick(&self) {
        if self.seat.is_busy.get() {
            let Ok(engine) = self.engine() else { return };
            if let Some(waker) =
                self.seat.executor.get().and_then(|slot| engine.executor.borrow().waker(slot))
            {
                waker.wake();
            }
            return;
        }
        self.place.space.host.kick(self.slot().host_tid.load(SeqCst));
    }

    fn robust_list(&self) -> u64 {
        self.slot().robust_list.load(SeqCst)
    }

    fn kill_process(&self) {
        let Ok(engine) = self.engine() else { return };
        if self.is_vfork_child.get() {
            return self.end_vfork(&engine);
        }
        let space = &self.place.space;
        if self.leave_others_alone(&engine) {
            return;
        }
        let is_own_call = engine
            .current
            .borrow()
            .as_ref()
            .is_some_and(|current| Rc::ptr_eq(&current.space, space));
        if is_own_call {
            // The caller ends its host process by itself when it reads the reply.
            if let Some(current) = engine.current.borrow().as_ref() {
                let seat = current.space.seat(current.index);
                let mut reply = seat.reply.get();
                reply.action = action::LEAVE;
                seat.reply.set(reply);
            }
        } else {
            space.host.kill();
        }
        engine.retire(space);
    }

    fn kill_thread(&self) {
        let Ok(engine) = self.engine() else { return };
        if self.is_calling() {
            self.set_action(action::EXIT_THREAD, [0; 2]);
        } else if self.place.space.is_shared.get() && !self.place.space.is_retired.get() {
            return engine.end_seat(&self.place, &self.seat);
        }
        // Another thread's end comes with the end of its host process.
        engine.leave_seat(&self.seat);
    }

    fn thread_cpu_time(&self) -> (u64, u64) {
        (self.host_thread().map_or(0, host_sys::thread_cpu_time), 0)
    }

    fn told_usage(&self) -> Option<Usage> {
        let header = self.place.space.channel.header();
        if header.usage_told.swap(0, Relaxed) == 0 {
            return None;
        }
        let told = |index: usize| header.usage.get(index).map_or(0, |word| word.load(Relaxed));
        let total = self.place.space.host.pid().map_or(0, host_sys::process_cpu_time);
        let system = told(usage::SYSTEM).min(total);
        Some(Usage {
            times: CpuTimes { user: total - system, system },
            max_resident: told(usage::MAX_RESIDENT).saturating_mul(1024),
            minor_faults: told(usage::MINOR_FAULTS),
            major_faults: told(usage::MAJOR_FAULTS),
        })
    }

    fn process_cpu_time(&self) -> (u64, u64) {
        let host = &self.place.space.host;
        let total = host.pid().map_or(0, host_sys::process_cpu_time);
        // The host tells user from system time in ticks only: the rest of the total is the user's.
        let (_, system) = host.outer_pid().map_or((0, 0), OuterPid::coarse_cpu_time);
        let system = system.min(total);
        (total - system, system)
    }

    fn resident_bytes(&self) -> u64 {
        self.place.space.host.outer_pid().map_or(0, OuterPid::resident_bytes)
    }

    fn is_waiting(&self) -> bool {
        self.seat.is_parked.get()
    }

    fn others_run(&self) -> bool {
        self.engine().is_ok_and(|engine| engine.n_awake() > 1)
    }

    fn host_text(&self, file: HostFile) -> SysResult<Vec<u8>> {
        let pid = self.place.space.host.outer_pid().ok_or(Errno::ESRCH)?;
        Ok(pid.text(file.name()))
    }

    fn hidden_ranges(&self) -> Vec<Range<u64>> {
        self.place.space.hidden_ranges()
    }

    fn publish_ids(&self, who: Ids) {
        let slot = self.place.space.channel.slot(self.place.index);
        for (index, value) in [
            (ids::PID, who.pid),
            (ids::TID, who.tid),
            (ids::PPID, who.ppid),
            (ids::UID, who.uid),
            (ids::EUID, who.euid),
            (ids::GID, who.gid),
            (ids::EGID, who.egid),
        ] {
            if let Some(word) = slot.ids.get(index) {
                word.store(value, SeqCst);
            }
        }
        // A trace shows every call.
        let is_traced = self.engine().is_ok_and(|engine| engine.tracer.is_some());
        let plain = if is_traced { 0 } else { who.plain_actions.0 };
        slot.plain_actions.store(plain, SeqCst);
    }

    fn attach(&self, thread: &Rc<Thread>) {
        let Ok(engine) = self.engine() else { return };
        if self.seat.thread.borrow_mut().replace(Rc::clone(thread)).is_none() {
            engine.n_threads.set(engine.n_threads.get() + 1);
        }
        let process = thread.process();
        let limit = |resource| process.limit(resource).map_or(u64::MAX, |limit| limit.current);
        let (address_space, data) = (limit(rlimit::AS), limit(rlimit::DATA));
        if (address_space, data) != (u64::MAX, u64::MAX) {
            self.set_memory_limits(address_space, data);
        }
        // Whoever prepared this thread may have to take it back.
        if let Some(current) = engine.current.borrow().as_ref()
            && !current.is(&self.place)
        {
            let maker = current.space.seat(current.index);
            *maker.prepared.borrow_mut() = Some(Rc::clone(thread));
        }
    }

    fn fork(&self, start: Start) -> SysResult<Rc<dyn Machine>> {
        let engine = self.engine()?;
        let (space, message) = engine.fork_space(&self.place.space, self.place.index)?;
        self.write_start(start);
        self.set_action(action::FORK, [self.place.space.advice.take(), message]);
        engine.expect_a_birth();
        Ok(Self::new(&engine, Place { space, index: self.place.index }))
    }

    fn vfork(&self, start: Start) -> SysResult<Rc<dyn Machine>> {
        let engine = self.engine()?;
        if self.is_vfork_child.get() || self.seat.vfork_parent.borrow().is_some() {
            // A child of a `vfork` that makes one itself gets a real copy.
            return self.fork(start);
        }
        let parent = self.seat.thread.borrow().clone();
        *self.seat.vfork_parent.borrow_mut() = parent;
        self.write_start(start);
        self.set_action(action::VFORK, [0; 2]);
        let child = Self::new(&engine, self.place.clone());
        child.is_vfork_child.set(true);
        Ok(child)
    }

    fn new_thread(&self, start: Start) -> SysResult<Rc<dyn Machine>> {
        let engine = self.engine()?;
        let space = &self.place.space;
        let index = (0..MAX_THREADS).find(|&index| is_free(space, index)).ok_or(Errno::EAGAIN)?;
        space.prepare_slot(index);
        self.write_start(start);
        self.set_action(action::THREAD, [index as u64, 0]);
        engine.expect_a_birth();
        Ok(Self::new(&engine, Place { space: Rc::clone(space), index }))
    }

    fn new_process_beside(&self, start: Start) -> SysResult<Rc<dyn Machine>> {
        self.place.space.is_shared.set(true);
        self.new_thread(start)
    }

    fn exec(&self, image: Image) -> SysResult<Rc<dyn Machine>> {
        let engine = self.engine()?;
        let space = engine.start_program(image)?;
        self.set_action(action::LEAVE, [0; 2]);
        if self.is_vfork_child.get() {
            engine.become_parent(&self.seat);
        } else if self.has_neighbours() {
            self.set_action(action::EXIT_THREAD, [0; 2]);
            engine.leave_seat(&self.seat);
        } else {
            engine.retire(&self.place.space);
        }
        Ok(Self::new(&engine, Place { space, index: 0 }))
    }

    fn map_file(&self, file: &MappedFile, detail: u64) -> SysResult<()> {
        let (word, message) = self.pass_file(file)?;
        let once = if file.is_for_once { action::ONCE } else { 0 };
        self.set_action(action::MAP | once | word, [detail, message]);
        Ok(())
    }

    fn lender(&self) -> Option<Rc<dyn Lender>> {
        let traced = self.engine().ok()?.tracer.is_some();
        if traced || self.is_vfork_child.get() || !self.is_calling() {
            return None; // a trace shows every call
        }
        Some(Rc::<Space>::clone(&self.place.space))
    }

    fn lend(&self, fd: u32, loan: &Loan, access: OpenFlags) -> SysResult<bool> {
        self.lend_now(fd, loan, access)
    }

    fn allow_later_close(&self, flags: OpenFlags) -> bool {
        self.allow_later(flags)
    }

    fn forbid_later_close(&self) {
        self.place.space.forbid_later_close();
    }

    fn most_handed(&self) -> usize {
        MAX_HANDED
    }

    fn hand(&self, stat: &[u8], length: usize, fill: &mut dyn FnMut(&mut dyn Sink) -> bool) {
        self.hand_now(stat, length, fill);
    }

    fn tell_stat(&self, stat: &[u8]) {
        self.tell_stat_now(stat);
    }

    fn tell_shared(&self, answer: &[u8], about: SharedFile) {
        self.tell_shared_now(answer, about);
    }

    fn take_told(&self, is_request: bool) -> Told {
        self.told(is_request)
    }

    fn stop_lending(&self) {
        if !self.is_vfork_child.get() {
            self.place.space.stop_lending();
        }
    }

    fn set_affinity(&self, processors: &[u64]) {
        use host_sys::rustix::thread::{CpuSet, sched_setaffinity};
        let mut set = CpuSet::new();
        for cpu in 0..(processors.len() * 64).min(CpuSet::MAX_CPU) {
            if processors.get(cpu / 64).is_some_and(|word| word >> (cpu % 64) & 1 == 1) {
                set.set(cpu);
            }
        }
        let thread = self.host_thread().and_then(|tid| i32::try_from(tid).ok());
        if let Some(thread) = thread.and_then(host_sys::rustix::process::Pid::from_raw) {
            let _ = sched_setaffinity(Some(thread), &set);
        }
    }

    fn set_memory_limits(&self, address_space: u64, data: u64) {
        self.limit_memory(address_space, data);
    }

    fn maps_text(&self) -> Vec<u8> {
        self.place.space.host.outer_pid().map(|pid| pid.text("maps")).unwrap_or_default()
    }

    fn smaps_text(&self) -> Vec<u8> {
        self.place.space.host.outer_pid().map(|pid| pid.text("smaps")).unwrap_or_default()
    }
}

impl GuestMachine {
    /// The child of a `vfork` ended: its host thread is the parent's again.
    fn end_vfork(&self, engine: &Engine) {
        if self.is_calling() {
            self.set_action(action::LEAVE, [0; 2]);
            engine.become_parent(&self.seat);
            return;
        }
        self.seat.must_leave.set(true);
        let answer = self.seat.answer.borrow_mut().take();
        drop(answer);
        if self.seat.is_busy.get() {
            engine.interrupt(&self.place, &self.seat);
        } else {
            self.kick();
        }
    }
}

/// Whether a slot can be given to a new thread: nobody sits there, and the host thread that did has
/// left for good.
fn is_free(space: &Space, index: usize) -> bool {
    match space.known_seat(index) {
        None => true,
        Some(seat) => {
            seat.thread.borrow().is_none()
                && !seat.must_exit.get()
                && space.channel.slot(index).state.load(SeqCst) == state::IDLE
        }
    }
}

/// How a guest process ended whose host process ended by itself.
pub fn guest_status(status: HostStatus) -> ExitStatus {
    match status {
        // A shim never exits like this unless it was broken.
        HostStatus::Exited(_) => ExitStatus::signaled(Signal::SIGSEGV, false),
        HostStatus::Signaled(signal) => {
            ExitStatus::signaled(Signal::new(signal).unwrap_or(Signal::SIGKILL), false)
        }
    }
}
