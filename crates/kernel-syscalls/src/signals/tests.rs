use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_tasks::testing::{MEMORY_START, first_thread, fork, get, now, poll_once, put};
use linux_abi::signals::{SigAction, SigInfo, SigSet, Signal, code};
use linux_abi::time::Timespec;
use linux_abi::{Errno, Interrupted, Restart};

use super::*;

const SIZE: u64 = 8;

#[test]
fn an_action_is_told_back() {
    let thread = first_thread();
    let action = SigAction { handler: 0x1234, flags: u64::MAX, ..SigAction::default() };
    let new = put(&thread, 0, &action);
    let old = MEMORY_START + 64;
    rt_sigaction(&thread, 10, UserPtr::new(new), UserPtr::new(0), SIZE).unwrap();
    rt_sigaction(&thread, 10, UserPtr::new(0), UserPtr::new(old), SIZE).unwrap();
    let told: SigAction = get(&thread, old);
    assert_eq!((told.handler, told.flags & 0x400), (0x1234, 0));
    for (signal, size) in [(9, SIZE), (65, SIZE), (0, SIZE), (10, 4)] {
        let result = rt_sigaction(&thread, signal, UserPtr::new(new), UserPtr::new(0), size);
        assert_eq!(result, Err(Errno::EINVAL));
    }
}

#[test]
fn ignoring_throws_away_what_waits() {
    let thread = first_thread();
    thread.set_mask(SigSet::of(Signal::SIGUSR1));
    kill(&thread, thread.tid().0.cast_signed(), 10).unwrap();
    assert!(thread.pending_signals().contains(Signal::SIGUSR1));
    let ignore = put(&thread, 0, &SigAction { handler: 1, ..SigAction::default() });
    rt_sigaction(&thread, 10, UserPtr::new(ignore), UserPtr::new(0), SIZE).unwrap();
    assert!(thread.pending_signals().is_empty());
}

#[test]
fn kill_says_who_may_and_who_is_there() {
    let thread = first_thread();
    assert_eq!(kill(&thread, 9999, 0), Err(Errno::ESRCH));
    assert_eq!(kill(&thread, 9999, 99), Err(Errno::ESRCH));
    assert_eq!(kill(&thread, 0, 99), Err(Errno::EINVAL));
    // Process 1 belongs to user 0.
    assert_eq!(kill(&thread, 1, 0), Err(Errno::EPERM));
    assert_eq!(kill(&thread, -1, 0), Err(Errno::ESRCH));
    let child = fork(&thread);
    assert_eq!(kill(&thread, -1, 15), Ok(()));
    assert!(child.pending_signals().contains(Signal::SIGTERM));
    assert!(thread.pending_signals().is_empty());
}

#[test]
fn a_queued_signal_carries_its_value() {
    let thread = first_thread();
    let child = fork(&thread);
    thread.set_mask(SigSet(u64::MAX));
    let pid = thread.tid().0.cast_signed();
    let info = SigInfo::from_process(Signal::SIGUSR1, code::SI_QUEUE, child.tid(), 1000);
    let place = put(&child, 0, &info);
    rt_sigqueueinfo(&child, pid, 34, UserPtr::new(place)).unwrap();
    let as_kernel = put(&child, 0, &SigInfo::kernel(Signal::SIGUSR1));
    let result = rt_sigqueueinfo(&child, pid, 34, UserPtr::new(as_kernel));
    assert_eq!(result, Err(Errno::EPERM));

    let set = put(&thread, 0, &SigSet::of(Signal::new(34).unwrap()));
    let taken = MEMORY_START + 256;
    let wait = rt_sigtimedwait(
        Rc::clone(&thread),
        UserPtr::new(set),
        UserPtr::new(taken),
        UserPtr::new(0),
        SIZE,
    );
    assert_eq!(now(wait), Ok(34));
    let taken: SigInfo = get(&thread, taken);
    assert_eq!((taken.code, taken.signo, taken.pid()), (code::SI_QUEUE, 34, child.tid().0));
}

#[test]
fn sigtimedwait_wakes_for_what_it_wants_and_is_interrupted_by_others() {
    let thread = first_thread();
    let wanted = Signal::SIGUSR2;
    thread.set_mask(SigSet::of(wanted));
    let set = put(&thread, 0, &SigSet::of(wanted));
    let start = || {
        Box::pin(rt_sigtimedwait(
            Rc::clone(&thread),
            UserPtr::new(set),
            UserPtr::new(0),
            UserPtr::new(0),
            SIZE,
        ))
    };
    let pid = thread.tid().0.cast_signed();
    let mut wait = start();
    assert!(poll_once(wait.as_mut()).is_none());
    kill(&thread, pid, wanted.number()).unwrap();
    assert_eq!(poll_once(wait.as_mut()), Some(Ok(wanted.number())));

    let mut wait = start();
    assert!(poll_once(wait.as_mut()).is_none());
    kill(&thread, pid, 15).unwrap();
    assert_eq!(poll_once(wait.as_mut()), Some(Err(Interrupted::Errno(Errno::EINTR))));
}

#[test]
fn sigtimedwait_without_time_says_eagain() {
    let thread = first_thread();
    let set = put(&thread, 0, &SigSet(1 << 33));
    let zero = put(&thread, 64, &Timespec::default());
    let wait = rt_sigtimedwait(
        Rc::clone(&thread),
        UserPtr::new(set),
        UserPtr::new(0),
        UserPtr::new(zero),
        SIZE,
    );
    assert_eq!(now(wait), Err(Interrupted::Errno(Errno::EAGAIN)));
}

#[test]
fn sigsuspend_ends_with_an_unblocked_signal() {
    let thread = first_thread();
    let old = SigSet::of(Signal::SIGUSR1);
    thread.set_mask(old);
    let empty = put(&thread, 0, &SigSet::EMPTY);
    let mut wait = Box::pin(rt_sigsuspend(Rc::clone(&thread), UserPtr::new(empty), SIZE));
    assert!(poll_once(wait.as_mut()).is_none());
    let action = SigAction { handler: 0x1000, ..SigAction::default() };
    thread.set_action(Signal::SIGUSR1, action);
    kill(&thread, thread.tid().0.cast_signed(), 10).unwrap();
    let ended = poll_once(wait.as_mut());
    assert_eq!(ended, Some(Err(Interrupted::Signal(Restart::IfNoHandler))));
    let delivery = now(kernel_tasks::signals::next_signal(Rc::clone(&thread))).unwrap();
    assert_eq!(delivery.saved_mask, old);
}

#[test]
fn a_signalfd_reads_blocked_signals() {
    let thread = first_thread();
    thread.set_mask(SigSet::of(Signal::SIGUSR1));
    let set = put(&thread, 0, &SigSet::of(Signal::SIGUSR1));
    let fd = signalfd4(&thread, linux_abi::Fd(-1), UserPtr::new(set), SIZE, 0).unwrap();
    let file = thread.file(fd).unwrap();
    let mut sink = kernel_core::io::VecSink::new(256);
    assert_eq!(file.read(&mut sink), Err(Errno::EAGAIN));
    kill(&thread, thread.tid().0.cast_signed(), 10).unwrap();
    assert!(!file.ops().poll(&file).is_empty());
    assert_eq!(file.read(&mut sink), Ok(128));
    assert_eq!(sink.bytes.first(), Some(&10));
    assert!(thread.pending_signals().is_empty());
}
