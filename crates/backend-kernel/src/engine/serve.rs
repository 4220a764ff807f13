//! Takes requests, has them answered, replies.

use std::rc::Rc;
use std::sync::atomic::Ordering::SeqCst;
use std::task::{Context, Poll};

use channel_abi::request::{self, action, restart, verdict};
use guest_process::Reply;
use guest_process::channel::Piece;
use kernel_core::wait::PollEvents;
use kernel_core::{facts, kept_events, moment};
use kernel_syscalls::handler::{Answer, Attempt};
use kernel_syscalls::{Body, Registers, Status};
use kernel_tasks::Thread;
use kernel_tasks::ptrace::CallVerdict;
use linux_abi::signals::SigSet;
use linux_abi::{Errno, Interrupted, Restart, SysResult, WaitResult};

use super::space::{Poke, Seat, Space};
use super::{Engine, Place};
use crate::signals;

impl Engine {
    /// Answers the request at a place, if there is one. Returns whether there was.
    pub fn serve(&self, place: &Place) -> bool {
        let Some(seat) = place.space.known_seat(place.index) else { return false };
        if seat.is_busy.get() || place.space.is_retired.get() {
            return false;
        }
        let Some(request) = place.space.channel.request(place.index) else { return false };
        if seat.must_exit.replace(false) {
            seat.reply.set(Reply { action: action::EXIT_THREAD, ..Reply::default() });
            self.reply(place, &seat, 0);
            return true;
        }
        let Some(thread) = seat.thread.borrow().clone() else { return false };
        if seat.poke.get() == Poke::Asked {
            self.poked(place, &seat, request.number, request.args);
            return true;
        }
        facts::begin_call();
        if request.has_told && self.tracer.is_none() {
            seat.says_closed.set(request.closed);
            thread.hear(true);
        }
        seat.is_busy.set(true);
        seat.using_file.set(None);
        seat.was_woken.set(false);
        seat.reply.set(Reply::default());
        seat.request.set((request.number, request.args));
        let entry = self.entries.get(request.number as usize);
        seat.pieces.set(entry.map_or([Piece::default(); 6], |entry| request.pieces(entry)));
        self.n_calls.set(self.n_calls.get() + 1);
        *self.current.borrow_mut() = Some(place.clone());
        self.answer(place, &seat, &thread, request.number, request.args);
        *self.current.borrow_mut() = None;
        true
    }

    fn answer(
        &self,
        place: &Place,
        seat: &Rc<Seat>,
        thread: &Rc<Thread>,
        number: u32,
        args: Registers,
    ) {
        if number >= request::FIRST {
            return self.answer_private(place, seat, thread, number, args);
        }
        if seat.must_leave.get() {
            // The process that this thread plays is gone; it learns so when it asks for signals.
            return self.reply(place, seat, restart::IF_NO_HANDLER);
        }
        let status = kernel_syscalls::find(u64::from(number)).map(|call| call.status);
        match status {
            Some(Status::Full(body) | Status::Partial(body, _) | Status::Stub(body, _)) => {
                match body {
                    Body::Now(handler) => {
                        let result = handler(thread, &args);
                        self.answers.note_change(number);
                        if self.brings_signal(place, number, &result) {
                            return self.finish_with_signal(place, seat, thread);
                        }
                        self.keep_if_steady(seat, number, &result);
                        self.finish(place, seat, result.map_err(Interrupted::Errno));
                    }
                    Body::MayWait(handler) => {
                        let answer = handler(Rc::clone(thread), args);
                        self.run(place, seat, answer);
                    }
                    Body::Try(handler) => match handler(thread, &args) {
                        Attempt::Done(result) => {
                            self.answers.note_change(number);
                            self.finish(place, seat, result.map_err(Interrupted::Errno));
                        }
                        Attempt::Wait(rest) => self.run(place, seat, rest),
                    },
                }
            }
            Some(Status::Refused(errno, _)) => self.finish(place, seat, Err(errno.into())),
            Some(Status::Shim(_) | Status::Missing) | None => {
                self.finish(place, seat, Err(Errno::ENOSYS.into()));
            }
        }
    }

    fn answer_private(
        &self,
        place: &Place,
        seat: &Rc<Seat>,
        thread: &Rc<Thread>,
        number: u32,
        args: Registers,
    ) {
        match number {
            request::NEXT_SIGNAL if seat.must_leave.get() => {
                self.become_parent(seat);
                self.reply_leave(place, seat);
            }
            request::NEXT_SIGNAL => {
                let place_of_data = place.clone();
                let tracer = self.tracer.clone();
                let thread = Rc::clone(thread);
                let answer: Answer =
                    Box::pin(
                        async move { Ok(signals::next(&place_of_data, thread, tracer).await) },
                    );
                self.run(place, seat, answer);
            }
            request::ENTER_CALL if !seat.must_leave.get() => {
                let thread = Rc::clone(thread);
                let answer: Answer = Box::pin(async move {
                    let verdict = match thread.enter_call().await {
                        CallVerdict::Run => verdict::RUN,
                        CallVerdict::Skip => verdict::SKIP,
                    };
                    Ok(verdict.cast_unsigned())
                });
                self.run(place, seat, answer);
            }
            request::LEAVE_CALL if !seat.must_leave.get() => {
                let thread = Rc::clone(thread);
                let answer: Answer = Box::pin(async move {
                    thread.leave_call().await;
                    Ok(0)
                });
                self.run(place, seat, answer);
            }
            request::ENTER_CALL | request::LEAVE_CALL => self.reply(place, seat, verdict::RUN),
            request::FAULT => {
                signals::fault(self, seat, thread, args);
                self.reply(place, seat, 0);
            }
            request::ACTION_FAILED => {
                signals::action_failed(self, place, args);
                self.reply(place, seat, 0);
            }
            _ => self.finish(place, seat, Err(Errno::ENOSYS.into())),
        }
    }

    /// Whether a call has sent a signal to the caller itself, which the reply can bring at once. One
    /// that stops or ends it is asked for, as all others.
    fn brings_signal(&self, place: &Place, number: u32, result: &SysResult<u64>) -> bool {
        // kill, tkill, tgkill
        if !matches!(number, 62 | 200 | 234) || *result != Ok(0) || self.tracer.is_some() {
            return false;
        }
        let slot = place.space.channel.slot(place.index);
        let due = slot.pending.load(SeqCst) & !slot.signal_mask.load(SeqCst);
        let defaults = slot.plain_actions.load(SeqCst) | SigSet::UNBLOCKABLE.0;
        due != 0 && due & defaults == 0 && slot.watch.load(SeqCst) == 0
    }

    /// Sends the reply to a call that gave 0 together with the next signal.
    fn finish_with_signal(&self, place: &Place, seat: &Rc<Seat>, thread: &Rc<Thread>) {
        let (data, reply_seat, thread) = (place.clone(), Rc::clone(seat), Rc::clone(thread));
        let answer: Answer = Box::pin(async move {
            let signal = signals::next(&data, thread, None).await;
            let mut reply = reply_seat.reply.get();
            reply.action = action::SIGNAL | signal << action::INDEX_SHIFT;
            reply_seat.reply.set(reply);
            Ok(0)
        });
        self.run(place, seat, answer);
    }

    /// Has the shim keep the answer of this call, if it would be the same again.
    fn keep_if_steady(&self, seat: &Seat, number: u32, result: &SysResult<u64>) {
        let mut reply = seat.reply.get();
        // A trace shows every call.
        let may_keep = self.tracer.is_none() && reply.action == action::NONE;
        if may_keep && self.answers.may_be_kept(number, result) {
            let now = facts::now();
            reply.action = action::KEEP;
            reply.details = [now.names, now.descriptors];
            seat.reply.set(reply);
        }
    }

    /// Has the shim keep what a wait for events has told, if it would be told again.
    fn keep_if_repeated(&self, seat: &Seat) {
        let Some(count) = kept_events::holds_at() else { return };
        let mut reply = seat.reply.get();
        if self.tracer.is_none() && reply.action == action::NONE {
            reply.action = action::KEEP_EVENTS;
            reply.details = [count, facts::now().descriptors];
            seat.reply.set(reply);
        }
    }

    /// Polls an answer, and keeps it in its seat if it has to wait.
    fn run(&self, place: &Place, seat: &Rc<Seat>, mut answer: Answer) {
        let slot = self.seat_executor(place);
        let Some(waker) = self.executor.borrow().waker(slot) else { return };
        kept_events::begin();
        let polled = answer.as_mut().poll(&mut Context::from_waker(&waker));
        self.answers.note_change(seat.request.get().0);
        match polled {
            Poll::Ready(result) => {
                self.keep_if_repeated(seat);
                self.finish(place, seat, result);
            }
            Poll::Pending => {
                if place.space.is_retired.get() {
                    return; // the call ended its own process
                }
                *seat.answer.borrow_mut() = Some(answer);
                if !seat.is_parked.replace(true) {
                    self.n_parked.set(self.n_parked.get() + 1);
                }
                place.space.channel.park(place.index);
            }
        }
    }

    /// Polls every waiting call whose waker fired. Returns whether there was any.
    pub fn run_ready(&self) -> bool {
        let ready = self.executor.borrow_mut().take_ready();
        if ready.is_empty() {
            return false;
        }
        for number in &ready {
            let place = self.places.borrow().get(*number).cloned().flatten();
            let Some(place) = place else { continue };
            let Some(seat) = place.space.known_seat(place.index) else { continue };
            let answer = seat.answer.borrow_mut().take();
            if let Some(answer) = answer {
                moment::pass();
                let before = self.current.replace(Some(place.clone()));
                self.run(&place, &seat, answer);
                *self.current.borrow_mut() = before;
            }
        }
        self.executor.borrow_mut().recycle(ready);
        true
    }

    fn finish(&self, place: &Place, seat: &Rc<Seat>, result: WaitResult<u64>) {
        if let Some(writes) = moves_data(seat.request.get().0)
            && let Some(thread) = &*seat.thread.borrow()
        {
            thread.count_io(writes, *result.as_ref().unwrap_or(&0));
        }
        if let Some(tracer) = &self.tracer
            && seat.request.get().0 < request::FIRST
        {
            tracer.call(seat, &result);
        }
        let value = match result {
            Ok(value) => value.cast_signed(),
            Err(Interrupted::Errno(errno)) => errno.to_register().cast_signed(),
            Err(Interrupted::Signal(how)) => match how {
                Restart::IfAsked => restart::IF_ASKED,
                Restart::Always => restart::ALWAYS,
                Restart::IfNoHandler => restart::IF_NO_HANDLER,
                Restart::Continuation => restart::CONTINUATION,
            },
        };
        self.reply(place, seat, value);
    }

    /// Tells a shim that its process is over, or that it is the parent again.
    fn reply_leave(&self, place: &Place, seat: &Rc<Seat>) {
        let mut reply = seat.reply.get();
        reply.action = action::LEAVE;
        seat.reply.set(reply);
        self.reply(place, seat, 0);
    }

    /// The child of a `vfork` is gone: the host thread works for the parent again.
    pub fn become_parent(&self, seat: &Seat) {
        seat.must_leave.set(false);
        if let Some(parent) = seat.vfork_parent.borrow_mut().take() {
            let machine = parent.machine();
            machine.attach(&parent);
            // The slot still shows what was the child's.
            parent.publish();
        }
    }

    /// Sends the reply. If the caller is awake, and others were unblocked by its call, it is asked
    /// to wake the first of them.
    pub fn reply(&self, place: &Place, seat: &Rc<Seat>, result: i64) {
        let mut reply = seat.reply.get();
        reply.result = result;
        self.start_prepared();
        if seat.is_parked.replace(false) {
            self.n_parked.set(self.n_parked.get().saturating_sub(1));
        }
        let can_delegate = self.executor.borrow().has_ready()
            && self.wakes.borrow().is_none()
            && !place.space.channel.is_asleep(place.index);
        if can_delegate {
            *self.wakes.borrow_mut() = Some(Vec::new());
            self.run_ready();
            let mut words = self.wakes.borrow_mut().take().unwrap_or_default();
            reply.wake_word = words.pop().and_then(|word| u16::try_from(word).ok());
            for word in words {
                self.wake_now(word);
            }
        }
        self.answers.publish(self.staging.facts());
        seat.wakes.set(reply.wake_word);
        seat.is_busy.set(false);
        if place.space.channel.reply(place.index, &reply) {
            let word = place.space.sleep_word(place.index);
            seat.was_woken.set(true);
            self.bell.bump(word);
            match &mut *self.wakes.borrow_mut() {
                Some(words) => words.push(word),
                None => self.wake_now(word),
            }
        }
    }

    /// Has a thread whose call waits write a word to memory that it may only read; its call waits on.
    pub fn ask_to_poke(&self, place: &Place, seat: &Seat, address: u64, word: u64, flags: u64) {
        let reply = Reply {
            action: action::POKE | flags << action::INDEX_SHIFT,
            details: [address, word],
            ..Reply::default()
        };
        seat.poke.set(Poke::Asked);
        seat.is_busy.set(false);
        if place.space.channel.reply(place.index, &reply) {
            let word = place.space.sleep_word(place.index);
            self.bell.bump(word);
            self.wake_now(word);
        }
    }

    /// A thread has written what a tracer told it to. Its call, which waits, is asked again.
    fn poked(&self, place: &Place, seat: &Rc<Seat>, number: u32, args: Registers) {
        let done = if number == request::POKED { args[0].cast_signed() } else { -1 };
        seat.poke.set(Poke::Done(done));
        seat.is_busy.set(true);
        seat.poked.wake(PollEvents::WRITABLE);
        place.space.channel.park(place.index);
        let answer = seat.answer.borrow_mut().take();
        if let Some(answer) = answer {
            let before = self.current.replace(Some(place.clone()));
            self.run(place, seat, answer);
            *self.current.borrow_mut() = before;
        }
    }

    /// Ends a call that waits, so that its thread asks for signals.
    pub fn interrupt(&self, place: &Place, seat: &Rc<Seat>) {
        self.reply(place, seat, restart::IF_NO_HANDLER);
    }

    /// Wakes a thread again whose wake-up another guest may have undone.
    pub fn wake_again(&self, place: &Place) {
        let seat = place.space.known_seat(place.index);
        if seat.is_some_and(|seat| seat.was_woken.get() && !seat.is_busy.get()) {
            self.wake_now(place.space.sleep_word(place.index));
        }
    }

    /// Wakes those threads that a host process was asked to wake and, being dead or hostile, may
    /// not have woken.
    pub fn wake_on_behalf_of(&self, space: &Space) {
        for seat in space.seats.borrow().iter() {
            if let Some(word) = seat.wakes.take() {
                self.wake_now(word.into());
            }
        }
    }

    fn wake_now(&self, word: u32) {
        if let Some(word) = self.bell.get().words.get(word as usize) {
            self.bell.wake(word);
        }
    }
}

/// Whether a call reads (`false`) or writes (`true`), for the account of `/proc/<pid>/io`.
fn moves_data(number: u32) -> Option<bool> {
    match number {
        // read, pread64, readv, preadv, preadv2
        0 | 17 | 19 | 295 | 327 => Some(false),
        // write, pwrite64, writev, pwritev, pwritev2
        1 | 18 | 20 | 296 | 328 => Some(true),
        _ => None,
    }
}
