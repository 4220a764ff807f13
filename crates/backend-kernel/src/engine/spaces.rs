//! Makes and retires host processes.

use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::sync::atomic::Ordering::SeqCst;

use channel_abi::image::{Image as AbiImage, MAX_FILES, MAX_INLINE_STACK, NO_FILE, Segment};
use channel_abi::layout::MAX_SPACES;
use channel_abi::request::action;
use guest_process::Channel;
use host_sys::{errno_of, rustix};
use kernel_core::kept_events;
use kernel_core::timers;
use kernel_core::wait::PollEvents;
use kernel_tasks::machine::Image;
use linux_abi::{Errno, SysResult};

use super::{Engine, Place, Space, advice};

/// How many host processes are forked ahead.
const POOL: usize = 2;
/// How many may have ended, or be about to, before a `fork` waits for them to be collected.
const MAX_DYING: usize = 32;
/// How long a host process has to end by itself.
const GRACE_NANOS: u64 = 200_000_000;

/// A channel and a socket for the next copy of a host process.
pub struct Spare {
    channel: Channel,
    ours: OwnedFd,
    theirs: OwnedFd,
}

impl Spare {
    fn new() -> SysResult<Self> {
        let channel = Channel::new().map_err(errno_of)?;
        channel.warm();
        let (ours, theirs) = guest_process::host_process::socket_pair().map_err(errno_of)?;
        Ok(Self { channel, ours, theirs })
    }
}

/// The last copy of a host process, and our end of what it was given.
pub struct Newborn {
    space: Rc<Space>,
    theirs: Option<OwnedFd>,
}

impl Engine {
    /// Does for the last copy of a host process what neither it nor its maker has to wait for: closes
    /// what is its own, and hears who it is.
    pub fn greet_newborn(&self) {
        let mut newborn = self.newborn.borrow_mut();
        let Some(Newborn { space, theirs }) = &mut *newborn else { return };
        theirs.take();
        if space.is_retired.get() || space.host.pid().is_some() {
            *newborn = None;
        }
    }

    /// Makes ready for the next `fork`, while nobody waits for an answer. A process that has forked
    /// once is likely to do so again; others need no spare.
    pub fn make_spare(&self) {
        if self.wants_spare.get() && self.spare.borrow().is_none() {
            // Without one, the next fork makes its own, or fails with the reason.
            *self.spare.borrow_mut() = Spare::new().ok();
        }
    }

    fn number_for_space(&self) -> SysResult<usize> {
        // Whoever forks waits for this; the dead can wait until nobody does, unless they are many or
        // there is no room without them.
        let is_full = self.spaces.borrow().len() >= MAX_SPACES;
        let must_reap = is_full || self.dying.borrow().len() >= MAX_DYING;
        if must_reap && self.free_numbers.borrow().is_empty() {
            self.reap();
        }
        if let Some(number) = self.free_numbers.borrow_mut().pop() {
            return Ok(number);
        }
        let mut spaces = self.spaces.borrow_mut();
        if spaces.len() >= MAX_SPACES {
            return Err(Errno::EAGAIN);
        }
        spaces.push(None);
        Ok(spaces.len() - 1)
    }

    fn keep(&self, number: usize, space: Space) -> Rc<Space> {
        let space = Rc::new(space);
        if let Some(entry) = self.spaces.borrow_mut().get_mut(number) {
            *entry = Some(Rc::clone(&space));
        }
        space
    }

    /// A host process from the zygote, waiting for a program.
    fn order(&self) -> SysResult<Rc<Space>> {
        let number = self.number_for_space()?;
        let channel = Channel::new().map_err(errno_of)?;
        let zygote = self.zygote.borrow();
        let zygote = zygote.as_ref().ok_or(Errno::ESRCH)?;
        let host = zygote.spawn(&channel).map_err(errno_of)?;
        let space = self.keep(number, Space::new(number, channel, host));
        // Not as new: it is, and the process may be there already and have said who it is.
        space.introduce_slot(0);
        Ok(space)
    }

    /// Makes sure that host processes wait for programs.
    pub fn fill_pool(&self) -> SysResult<()> {
        // Guests whose first program starts no other are many, and most of them are short.
        let n_wanted = self.n_programs.get().clamp(1, POOL);
        while self.pool.borrow().len() < n_wanted {
            let space = self.order()?;
            self.pool.borrow_mut().push_back(space);
        }
        Ok(())
    }

    /// A space for a copy of the host process of `parent`, whose shim makes it. Returns the number
    /// of the message that brings the descriptors.
    pub fn fork_space(&self, parent: &Rc<Space>, index: usize) -> SysResult<(Rc<Space>, u64)> {
        let number = self.number_for_space()?;
        let spare = self.spare.borrow_mut().take();
        let Spare { channel, ours, theirs } = spare.map_or_else(Spare::new, Ok)?;
        let message = parent.next_message();
        let fork = u64::MAX; // the shim's FORK_MESSAGE
        let fds = [channel.file(), theirs.as_fd()];
        let sent = parent.host.send([message, fork], &fds).map_err(errno_of);
        let host = self.zygote.borrow().as_ref().map(|zygote| zygote.host_process(ours));
        let host = sent.and_then(|()| host.ok_or(Errno::EAGAIN)).inspect_err(|_| {
            self.free_numbers.borrow_mut().push(number);
        })?;
        let space = self.keep(number, Space::new(number, channel, host));
        // The copy has the same descriptors, so the same files in its cache.
        self.wants_spare.set(true);
        *space.file_cache.borrow_mut() = *parent.file_cache.borrow();
        space.next_file.set(parent.next_file.get());
        space.trampolines.set(parent.trampolines.get());
        space.advice.set_origin(parent);
        space.generation.set(parent.generation.get().saturating_add(1));
        space.prepare_slot(index);
        let newborn = Newborn { space: Rc::clone(&space), theirs: Some(theirs) };
        self.newborn.replace(Some(newborn));
        Ok((space, message))
    }

    /// Starts a program in a fresh host process.
    pub fn start_program(&self, image: Image) -> SysResult<Rc<Space>> {
        self.n_programs.set(self.n_programs.get().saturating_add(1));
        // Two statements: to order one may mean to bury another, which may be in the pool.
        let waiting = self.pool.borrow_mut().pop_front();
        let space = waiting.map_or_else(|| self.order(), Ok)?;
        match put_image(&space, image) {
            Ok(files) => {
                *space.program.borrow_mut() = Some(files);
                self.starting.borrow_mut().push(Rc::clone(&space));
                Ok(space)
            }
            Err(errno) => {
                self.retire(&space);
                Err(errno)
            }
        }
    }

    /// Lets programs run whose start was prepared. Their threads are known by now.
    pub fn start_prepared(&self) {
        if self.starting.borrow().is_empty() {
            return;
        }
        self.expect_a_birth();
        for space in self.starting.take() {
            let Some(files) = space.program.borrow_mut().take() else { continue };
            let fds: Vec<_> = files.iter().map(AsFd::as_fd).collect();
            if space.host.send([0, 0], &fds).is_err() {
                space.host.kill(); // its end is noticed when it is reaped
            }
        }
    }

    /// Forgets a host process that is about to end. Its waiting calls are dropped.
    pub fn retire(&self, space: &Rc<Space>) {
        if space.is_retired.replace(true) {
            return;
        }
        self.hot.borrow_mut().retain(|place| !Rc::ptr_eq(&place.space, space));
        advice::pass_on(space);
        let seats: Vec<_> = space.seats.borrow().iter().cloned().collect();
        let mut orphans = Vec::new();
        for seat in seats {
            if seat.vfork_parent.borrow().is_some() {
                // A child of a `vfork` cannot outlive the host process that it borrowed.
                orphans.extend(seat.thread.borrow().clone());
            }
            // The future that runs right now is not in its seat, so that it is not dropped here.
            let answer = seat.answer.borrow_mut().take();
            drop(answer);
            seat.poked.wake(PollEvents::WRITABLE);
            self.leave_seat(&seat);
        }
        space.kill_at.set(Some(timers::now().after(GRACE_NANOS)));
        self.dying.borrow_mut().push(Rc::clone(space));
        for orphan in orphans {
            orphan.process().kill();
        }
    }

    /// Ends one host thread, while others of its host process go on.
    pub fn end_seat(&self, place: &Place, seat: &Rc<super::space::Seat>) {
        let is_current = self.current.borrow().as_ref().is_some_and(|current| current.is(place));
        let answer = seat.answer.borrow_mut().take();
        let waits = answer.is_some() && seat.is_busy.get();
        drop(answer);
        let orphan = seat.vfork_parent.borrow().is_some().then(|| seat.thread.borrow().clone());
        self.leave_seat(seat);
        if let Some(orphan) = orphan.flatten() {
            orphan.process().kill();
        }
        let mut reply = seat.reply.get();
        reply.action = action::EXIT_THREAD;
        if is_current {
            seat.reply.set(reply);
        } else if waits {
            seat.reply.set(reply);
            self.reply(place, seat, 0);
        } else {
            // It runs guest code, or is about to: it has to ask first, and asks now.
            const SIGKILL: u64 = 1 << 8;
            seat.must_exit.set(true);
            let slot = place.space.channel.slot(place.index);
            slot.pending.store(SIGKILL, SeqCst);
            place.space.host.kick(slot.host_tid.load(SeqCst));
        }
    }

    /// A thread is gone from its seat.
    pub fn leave_seat(&self, seat: &super::space::Seat) {
        if seat.thread.borrow_mut().take().is_some() {
            self.n_threads.set(self.n_threads.get().saturating_sub(1));
        }
        if seat.is_parked.replace(false) {
            self.n_parked.set(self.n_parked.get().saturating_sub(1));
        }
        seat.vfork_parent.borrow_mut().take();
        if let Some(slot) = seat.executor.take() {
            self.executor.borrow_mut().release(slot);
            if let Some(place) = self.places.borrow_mut().get_mut(slot.number()) {
                *place = None;
            }
        }
    }

    /// Collects host processes that have ended, so that their numbers can be used again. One that
    /// ended without having been told to takes its guest process with it.
    pub fn reap(&self) {
        while self.reap_one() {}
    }

    /// Collects one of them. Returns whether there was one.
    pub fn reap_one(&self) -> bool {
        let Some((pid, status)) = host_sys::reap_child() else { return false };
        let found = self.dying.borrow().iter().position(|space| has_pid(space, pid));
        if let Some(position) = found {
            let space = self.dying.borrow_mut().swap_remove(position);
            self.recycle(&space);
            return true;
        }
        let spaces: Vec<_> = self.spaces.borrow().iter().flatten().cloned().collect();
        if let Some(space) = spaces.iter().find(|space| has_pid(space, pid)) {
            self.died_by_itself(space, status);
        } else if self.zygote.borrow().as_ref().is_some_and(|zygote| zygote.pid() == pid) {
            *self.zygote.borrow_mut() = None;
        }
        true
    }

    /// Ends the guest process of a host process that died, or was never made because its maker died,
    /// before it said who it is.
    pub fn bury_unknown(&self, space: &Rc<Space>) {
        const SIGKILL: u32 = 9;
        if !space.is_retired.get() && space.host.died_unknown() {
            self.died_by_itself(space, host_sys::HostStatus::Signaled(SIGKILL));
        }
    }

    /// Whether no further program can start, because the zygote was killed.
    pub fn has_lost_its_zygote(&self) -> bool {
        self.zygote.borrow().is_none()
    }

    fn recycle(&self, space: &Space) {
        self.wake_on_behalf_of(space);
        space.host.forget();
        if let Some(entry) = self.spaces.borrow_mut().get_mut(space.number) {
            *entry = None;
        }
        self.free_numbers.borrow_mut().push(space.number);
    }

    /// The shim did not end this process: a guest that broke its shim, or the host's memory ran
    /// out.
    fn died_by_itself(&self, space: &Rc<Space>, status: host_sys::HostStatus) {
        let threads: Vec<_> =
            space.seats.borrow().iter().filter_map(|seat| seat.thread.borrow().clone()).collect();
        let parents: Vec<_> = space
            .seats
            .borrow()
            .iter()
            .filter_map(|seat| seat.vfork_parent.borrow().clone())
            .collect();
        self.pool.borrow_mut().retain(|pooled| !Rc::ptr_eq(pooled, space));
        self.retire(space);
        self.dying.borrow_mut().retain(|dying| !Rc::ptr_eq(dying, space));
        self.recycle(space);
        let end = crate::machine::guest_status(status);
        for thread in threads.into_iter().chain(parents) {
            thread.process().exit(end);
        }
        kept_events::may_be_taken();
    }

    /// Ends the retired host processes that have had their time.
    pub(super) fn kill_overdue(&self) {
        let dying = self.dying.borrow();
        if dying.is_empty() {
            return;
        }
        let now = timers::now();
        for space in dying.iter() {
            if space.kill_at.get().is_some_and(|at| at <= now) {
                space.host.kill();
                space.kill_at.set(None);
            }
        }
    }

    /// When a retired host process is to be ended by force.
    pub fn next_kill(&self) -> Option<timers::Instant> {
        self.dying.borrow().iter().filter_map(|space| space.kill_at.get()).min()
    }

    /// Ends every host process, and the zygote: no further program can start.
    pub fn kill_all(&self) {
        if let Some(zygote) = &*self.zygote.borrow() {
            zygote.kill();
        }
        for space in self.spaces.borrow().iter().flatten() {
            space.host.kill();
        }
        if !self.is_first_process {
            self.kill_children();
        }
    }

    /// The space with this number.
    pub fn space(&self, number: usize) -> Option<Rc<Space>> {
        self.spaces.borrow().get(number).and_then(Clone::clone)
    }

    /// Gives a seat an executor slot, if it has none.
    pub fn seat_executor(&self, place: &Place) -> kernel_core::executor::Slot {
        let seat = place.space.seat(place.index);
        if let Some(slot) = seat.executor.get() {
            return slot;
        }
        let slot = self.executor.borrow_mut().reserve();
        seat.executor.set(Some(slot));
        let mut places = self.places.borrow_mut();
        if places.len() <= slot.number() {
            places.resize(slot.number() + 1, None);
        }
        if let Some(entry) = places.get_mut(slot.number()) {
            *entry = Some(place.clone());
        }
        slot
    }
}

fn has_pid(space: &Space, pid: rustix::process::Pid) -> bool {
    space.host.pid() == Some(pid)
}

/// Puts the image into the data area. Returns the descriptors that go with it.
fn put_image(space: &Space, image: Image) -> SysResult<Vec<Rc<OwnedFd>>> {
    let mut files: Vec<(u64, Rc<OwnedFd>)> = Vec::new();
    let mut segments = [Segment::default(); channel_abi::image::MAX_SEGMENTS];
    if image.segments.len() > segments.len() {
        return Err(Errno::ENOEXEC);
    }
    for (to, from) in segments.iter_mut().zip(&image.segments) {
        let (file, offset) = match &from.file {
            None => (NO_FILE, 0),
            Some((mapped, offset)) => {
                let known = files.iter().position(|(id, _)| *id == mapped.id);
                let index = known.unwrap_or_else(|| {
                    files.push((mapped.id, Rc::clone(&mapped.host)));
                    files.len() - 1
                });
                (u32::try_from(index).unwrap_or(NO_FILE), *offset)
            }
        };
        *to = Segment {
            address: from.address,
            length: from.length,
            offset,
            protection: from.protection,
            file,
            zero_from: from.zero_from.unwrap_or(0),
        };
    }
    let in_file = image.stack.len() > MAX_INLINE_STACK;
    let abi = AbiImage {
        n_segments: u32::try_from(image.segments.len()).unwrap_or(0),
        n_files: u32::try_from(files.len()).unwrap_or(0),
        entry: image.entry,
        stack_pointer: image.stack_pointer,
        brk: image.brk,
        stack_length: image.stack.len() as u64,
        stack_in_file: u64::from(in_file),
        prepared_code: image.prepared_code.into(),
        trampolines: image.trampolines,
        segments,
    };
    space.trampolines.set(image.trampolines);
    space.channel.write_value(0, &abi);
    let mut files: Vec<_> = files.into_iter().map(|(_, file)| file).collect();
    if in_file {
        files.push(Rc::new(memory_file(&image.stack)?));
    } else if !space.channel.write_data(0, size_of::<AbiImage>(), &image.stack) {
        return Err(Errno::E2BIG);
    }
    if files.len() > MAX_FILES { Err(Errno::ENOEXEC) } else { Ok(files) }
}

fn memory_file(bytes: &[u8]) -> SysResult<OwnedFd> {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let file = rustix::fs::memfd_create("stack", flags).map_err(errno_of)?;
    let mut rest = bytes;
    while !rest.is_empty() {
        let n = rustix::io::write(&file, rest).map_err(errno_of)?;
        rest = rest.get(n..).unwrap_or_default();
    }
    Ok(file)
}
