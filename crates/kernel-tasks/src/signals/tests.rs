use std::rc::Rc;

use linux_abi::signals::{SIG_IGN, SigAction, SigActionFlags, SigInfo, SigSet, Signal, code};
use linux_abi::tasks::{ExitStatus, Rlimit, rlimit};
use linux_abi::{Errno, Pid, Restart};

use super::{
    AfterInterruption, after_interruption, fault, next_signal, send_to_process, send_to_thread,
};
use crate::Thread;
use crate::process::{ChildSelector, WaitFor};
use crate::testing::{first_thread, fork, now, poll_once, spawn_thread};

const HANDLER: u64 = 0x40_0000;

fn catch(thread: &Thread, signal: Signal, flags: SigActionFlags) {
    let action = SigAction { handler: HANDLER, flags: flags.bits(), ..SigAction::default() };
    thread.process().signals.set_action(signal, action);
}

fn send(thread: &Rc<Thread>, signal: Signal) {
    send_to_process(thread.process(), signal, SigInfo::kernel(signal)).unwrap();
}

fn queued(signal: Signal, value: i32) -> SigInfo {
    let mut info = SigInfo::from_process(signal, code::SI_QUEUE, Pid(2), 0);
    info.errno = value;
    info
}

#[test]
fn real_time_signals_queue_in_order_and_standard_ones_once() {
    let thread = first_thread();
    let [low, high] = [34, 35].map(|number| Signal::new(number).unwrap());
    for signal in [Signal::SIGUSR1, low, high] {
        catch(&thread, signal, SigActionFlags::empty());
    }
    thread.set_mask(SigSet(u64::MAX));
    for (signal, value) in
        [(high, 1), (low, 2), (low, 3), (Signal::SIGUSR1, 4), (Signal::SIGUSR1, 5)]
    {
        send_to_thread(&thread, signal, queued(signal, value)).unwrap();
    }
    let taken: Vec<i32> = std::iter::from_fn(|| thread.take_signal(SigSet(u64::MAX)))
        .map(|(_, info)| info.errno)
        .collect();
    assert_eq!(taken, [4, 2, 3, 1]);
}

#[test]
fn the_limit_refuses_queued_signals_but_not_kill() {
    let thread = first_thread();
    let signal = Signal::new(40).unwrap();
    thread.set_mask(SigSet(u64::MAX));
    thread.process().set_limit(rlimit::SIGPENDING, Rlimit { current: 1, maximum: 1 });
    send_to_thread(&thread, signal, queued(signal, 0)).unwrap();
    assert_eq!(send_to_thread(&thread, signal, queued(signal, 0)), Err(Errno::EAGAIN));
    send(&thread, Signal::SIGUSR1);
    assert!(thread.pending_signals().contains(Signal::SIGUSR1));
    thread.take_signal(SigSet::of(signal)).unwrap();
    send_to_thread(&thread, signal, queued(signal, 0)).unwrap();
}

#[test]
fn a_handler_runs_with_its_mask_and_returns_to_the_old_one() {
    let thread = first_thread();
    let action = SigAction {
        handler: HANDLER,
        flags: SigActionFlags::RESETHAND.bits(),
        restorer: 1,
        mask: SigSet::of(Signal::SIGUSR2),
    };
    thread.process().signals.set_action(Signal::SIGUSR1, action);
    thread.set_mask(SigSet::of(Signal::SIGHUP));
    send(&thread, Signal::SIGUSR1);
    assert!(thread.has_signal());
    let delivery = now(next_signal(Rc::clone(&thread))).unwrap();
    assert_eq!(delivery.saved_mask, SigSet::of(Signal::SIGHUP));
    let during = SigSet::of(Signal::SIGHUP).with(Signal::SIGUSR1).with(Signal::SIGUSR2);
    assert_eq!(thread.mask(), during);
    assert_eq!(thread.process().signals.action(Signal::SIGUSR1).handler, 0);
    assert!(!thread.has_signal());
}

#[test]
fn a_temporary_mask_lasts_until_delivery() {
    let thread = first_thread();
    catch(&thread, Signal::SIGUSR1, SigActionFlags::empty());
    thread.set_mask(SigSet::of(Signal::SIGUSR1));
    send(&thread, Signal::SIGUSR1);
    let wait = thread.interruptible(Restart::IfNoHandler, std::future::pending::<()>());
    let result = now(thread.with_mask(Some(SigSet::EMPTY), wait));
    assert!(result.is_err());
    assert_eq!(thread.mask(), SigSet::EMPTY);
    let delivery = now(next_signal(Rc::clone(&thread))).unwrap();
    assert_eq!(delivery.saved_mask, SigSet::of(Signal::SIGUSR1));
}

#[test]
fn default_actions_end_the_process() {
    let first = first_thread();
    let child = fork(&first);
    send(&child, Signal::SIGTERM);
    assert!(now(next_signal(Rc::clone(&child))).is_none());
    assert_eq!(child.process().status(), Some(ExitStatus::signaled(Signal::SIGTERM, false)));

    let child = fork(&first);
    send(&child, Signal::SIGABRT);
    assert!(now(next_signal(Rc::clone(&child))).is_none());
    assert_eq!(child.process().status(), Some(ExitStatus::signaled(Signal::SIGABRT, false)));
}

#[test]
fn sigkill_needs_no_cooperation() {
    let first = first_thread();
    let child = fork(&first);
    child.set_mask(SigSet(u64::MAX));
    send(&child, Signal::SIGKILL);
    assert!(child.process().is_dead());
}

#[test]
fn an_ignored_signal_is_kept_only_if_blocked() {
    let thread = first_thread();
    let ignore = SigAction { handler: SIG_IGN, ..SigAction::default() };
    thread.process().signals.set_action(Signal::SIGUSR1, ignore);
    send(&thread, Signal::SIGUSR1);
    assert!(thread.pending_signals().is_empty());
    thread.set_mask(SigSet::of(Signal::SIGUSR1));
    send(&thread, Signal::SIGUSR1);
    assert!(thread.pending_signals().contains(Signal::SIGUSR1));
    thread.set_mask(SigSet::EMPTY);
    assert!(now(next_signal(Rc::clone(&thread))).is_none());
    assert!(thread.pending_signals().is_empty());
}

#[test]
fn a_blocked_or_ignored_fault_kills() {
    let first = first_thread();
    let child = fork(&first);
    catch(&child, Signal::SIGSEGV, SigActionFlags::empty());
    child.set_mask(SigSet::of(Signal::SIGSEGV));
    fault(&child, Signal::SIGSEGV, SigInfo::fault(Signal::SIGSEGV, code::SEGV_MAPERR, 8));
    assert!(now(next_signal(Rc::clone(&child))).is_none());
    assert_eq!(child.process().status(), Some(ExitStatus::signaled(Signal::SIGSEGV, false)));
}

#[test]
fn a_process_signal_goes_to_a_thread_that_does_not_block_it() {
    let first = first_thread();
    let worker = spawn_thread(&first);
    catch(&first, Signal::SIGUSR1, SigActionFlags::empty());
    first.set_mask(SigSet::of(Signal::SIGUSR1));
    send(&first, Signal::SIGUSR1);
    assert!(!first.has_signal());
    assert!(worker.has_signal());
    assert!(now(next_signal(Rc::clone(&worker))).is_some());
}

#[test]
fn job_control_stops_continues_and_tells_the_parent() {
    let parent = first_thread();
    catch(&parent, Signal::SIGCHLD, SigActionFlags::empty());
    let child = fork(&parent);
    let any = ChildSelector::Any;
    send(&child, Signal::SIGSTOP);
    let mut asking = Box::pin(next_signal(Rc::clone(&child)));
    assert!(poll_once(asking.as_mut()).is_none());
    assert!(child.process().is_stopped());
    let (_, info) = parent.take_signal(SigSet(u64::MAX)).unwrap();
    assert_eq!((info.code, info.status()), (code::CLD_STOPPED, 19));

    let wanted = WaitFor::END | WaitFor::STOP | WaitFor::CONTINUE;
    let event = parent.process().take_child_event(&any, wanted, Pid(0)).unwrap().unwrap();
    assert_eq!(event.status, ExitStatus::stopped(Signal::SIGSTOP));
    assert!(parent.process().take_child_event(&any, wanted, Pid(0)).unwrap().is_none());

    send(&child, Signal::SIGCONT);
    assert_eq!(poll_once(asking.as_mut()).map(|delivery| delivery.is_none()), Some(true));
    let event = parent.process().take_child_event(&any, wanted, Pid(0)).unwrap().unwrap();
    assert_eq!(event.status, ExitStatus::CONTINUED);
}

#[test]
fn sigcont_takes_back_a_stop_and_a_stop_takes_back_sigcont() {
    let parent = first_thread();
    let child = fork(&parent);
    child.set_mask(SigSet(u64::MAX));
    catch(&child, Signal::SIGCONT, SigActionFlags::empty());
    send(&child, Signal::SIGTSTP);
    send(&child, Signal::SIGCONT);
    assert_eq!(child.pending_signals(), SigSet::of(Signal::SIGCONT));
    send(&child, Signal::SIGTSTP);
    assert_eq!(child.pending_signals(), SigSet::of(Signal::SIGTSTP));
}

#[test]
fn an_orphaned_group_is_not_stopped_by_the_terminal() {
    let first = first_thread();
    let child = fork(&first);
    child.process().lead_new_session();
    // Its parent is in another session now.
    send(&child, Signal::SIGTSTP);
    assert!(now(next_signal(Rc::clone(&child))).is_none());
    assert!(!child.process().is_stopped());
}

#[test]
fn stopped_members_of_a_group_that_becomes_an_orphan_are_hung_up() {
    let first = first_thread();
    let shell = fork(&first);
    let job = fork(&shell);
    job.process().lead_new_group();
    catch(&job, Signal::SIGHUP, SigActionFlags::empty());
    send(&job, Signal::SIGSTOP);
    let mut asking = Box::pin(next_signal(Rc::clone(&job)));
    assert!(poll_once(asking.as_mut()).is_none());
    shell.process().exit(ExitStatus::exited(0));
    assert!(!job.process().is_stopped());
    let delivery = poll_once(asking.as_mut()).flatten().unwrap();
    assert_eq!(delivery.signal, Signal::SIGHUP);
}

#[test]
fn interrupted_calls_go_on_as_the_handler_wants() {
    let thread = first_thread();
    catch(&thread, Signal::SIGUSR1, SigActionFlags::RESTART);
    send(&thread, Signal::SIGUSR1);
    let delivery = now(next_signal(Rc::clone(&thread)));
    let with = |restart| after_interruption(restart, delivery.as_ref());
    assert_eq!(with(Restart::IfAsked), AfterInterruption::Again);
    assert_eq!(with(Restart::IfNoHandler), AfterInterruption::Eintr);
    assert_eq!(with(Restart::Continuation), AfterInterruption::Eintr);
    let without = |restart| after_interruption(restart, None);
    assert_eq!(without(Restart::IfNoHandler), AfterInterruption::Again);
    assert_eq!(without(Restart::Continuation), AfterInterruption::Continue);
}
