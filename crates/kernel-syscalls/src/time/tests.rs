use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_core::timers::{Instant, now as clock_now};
use kernel_tasks::Thread;
use kernel_tasks::testing::{MEMORY_START, first_thread, get, now, poll_once, put};
use linux_abi::signals::{SigAction, SigInfo, SigSet, Signal};
use linux_abi::time::{Itimerspec, Itimerval, Timespec, Timeval};
use linux_abi::{Errno, Interrupted, Restart};

use super::*;

const MS: u64 = 1_000_000;

fn fire_after(thread: &Thread, nanos: u64) {
    thread.kernel().timers.fire(clock_now().after(nanos));
}

#[test]
fn an_interrupted_sleep_goes_on_where_it_was() {
    let thread = first_thread();
    let time = put(&thread, 0, &Timespec::from_nanos(3600 * 1000 * MS));
    let left = MEMORY_START + 64;
    let mut sleep = Box::pin(nanosleep(Rc::clone(&thread), UserPtr::new(time), UserPtr::new(left)));
    assert!(poll_once(sleep.as_mut()).is_none());
    crate::signals::kill(&thread, thread.tid().0.cast_signed(), 15).unwrap();
    let interrupted = poll_once(sleep.as_mut());
    assert_eq!(interrupted, Some(Err(Interrupted::Signal(Restart::Continuation))));
    let rest: Timespec = get(&thread, left);
    assert!((3500..3600).contains(&rest.tv_sec));
    thread.take_signal(SigSet(u64::MAX)).unwrap();
    let mut again = Box::pin(restart_syscall(Rc::clone(&thread)));
    assert!(poll_once(again.as_mut()).is_none());
    assert_eq!(now(restart_syscall(thread)), Err(Interrupted::Errno(Errno::EINTR)));
}

#[test]
fn a_sleep_of_nothing_ends_at_once() {
    let thread = first_thread();
    let time = put(&thread, 0, &Timespec::default());
    let sleep = nanosleep(Rc::clone(&thread), UserPtr::new(time), UserPtr::new(0));
    assert_eq!(now(sleep), Ok(0));
    let bad = put(&thread, 0, &Timespec { tv_sec: 0, tv_nsec: 1_000_000_000 });
    let sleep = nanosleep(Rc::clone(&thread), UserPtr::new(bad), UserPtr::new(0));
    assert_eq!(now(sleep), Err(Interrupted::Errno(Errno::EINVAL)));
    let past = put(&thread, 0, &Timespec::from_nanos(1));
    let sleep = clock_nanosleep(thread, 0, 1, UserPtr::new(past), UserPtr::new(0));
    assert_eq!(now(sleep), Ok(0));
}

#[test]
fn an_alarm_tells_what_was_left() {
    let thread = first_thread();
    assert_eq!(alarm(&thread, 100), Ok(0));
    assert_eq!(alarm(&thread, 0), Ok(100));
    assert_eq!(alarm(&thread, 0), Ok(0));
}

#[test]
fn an_interval_timer_sends_its_signal_when_it_is_time() {
    let thread = first_thread();
    thread.set_mask(SigSet(u64::MAX));
    let value =
        Itimerval { it_interval: Timeval::from_nanos(0), it_value: Timeval::from_nanos(1000) };
    let new = put(&thread, 0, &value);
    setitimer(&thread, 0, UserPtr::new(new), UserPtr::new(0)).unwrap();
    while clock_now() < Instant(0) || thread.process().interval(kind()).0 > 1 {}
    fire_after(&thread, MS);
    assert!(thread.pending_signals().contains(Signal::SIGALRM));
    assert_eq!(thread.process().interval(kind()), (0, 0));
}

fn kind() -> kernel_tasks::process_timers::IntervalKind {
    kernel_tasks::process_timers::IntervalKind::Real
}

#[test]
fn a_posix_timer_counts_what_was_missed() {
    let thread = first_thread();
    thread.set_mask(SigSet(u64::MAX));
    let place = MEMORY_START + 512;
    timer_create(&thread, 1, UserPtr::new(0), UserPtr::new(place)).unwrap();
    let id: i32 = get(&thread, place);
    let setting =
        Itimerspec { it_interval: Timespec::from_nanos(MS), it_value: Timespec::from_nanos(1) };
    let new = put(&thread, 0, &setting);
    timer_settime(&thread, id, 0, UserPtr::new(new), UserPtr::new(0)).unwrap();
    fire_after(&thread, MS);
    assert!(thread.pending_signals().contains(Signal::SIGALRM));
    // Until the signal is taken the timer rests.
    let later = clock_now().after(20 * MS);
    while clock_now() < later {}
    assert_eq!(thread.kernel().timers.next_deadline(), None);
    let (_, info): (Signal, SigInfo) = thread.take_signal(SigSet(u64::MAX)).unwrap();
    assert_eq!((info.code, info.timer_id()), (-2, id));
    assert!(info.overrun() >= 19, "{}", info.overrun());
    assert_eq!(timer_getoverrun(&thread, id), Ok(info.overrun()));
    assert!(thread.kernel().timers.next_deadline().is_some());
    timer_delete(&thread, id).unwrap();
    assert_eq!(timer_delete(&thread, id), Err(Errno::EINVAL));
    assert_eq!(thread.kernel().timers.next_deadline(), None);
}

#[test]
fn an_ignored_timer_goes_on_without_a_signal() {
    let thread = first_thread();
    thread.set_action(Signal::SIGALRM, SigAction { handler: 1, ..SigAction::default() });
    let place = MEMORY_START + 512;
    timer_create(&thread, 1, UserPtr::new(0), UserPtr::new(place)).unwrap();
    let id: i32 = get(&thread, place);
    let setting = Itimerspec {
        it_interval: Timespec::from_nanos(3600 * 1000 * MS),
        it_value: Timespec::from_nanos(1),
    };
    let new = put(&thread, 0, &setting);
    timer_settime(&thread, id, 0, UserPtr::new(new), UserPtr::new(0)).unwrap();
    fire_after(&thread, MS);
    assert!(thread.pending_signals().is_empty());
    assert!(thread.kernel().timers.next_deadline().is_some());
}

#[test]
fn clocks_are_told_and_not_set() {
    let thread = first_thread();
    let place = MEMORY_START;
    for id in [0, 1, 2, 3, 4, 5, 6, 7, 11, -6, -2] {
        clock_gettime(&thread, id, UserPtr::new(place)).unwrap();
        let time: Timespec = get(&thread, place);
        assert!(time.to_nanos().unwrap() > 0, "clock {id}");
    }
    for id in [10, 12, 99, -1] {
        assert_eq!(clock_gettime(&thread, id, UserPtr::new(place)), Err(Errno::EINVAL), "{id}");
    }
    assert_eq!(clock_settime(&thread, 0, UserPtr::new(place)), Err(Errno::EPERM));
    assert_eq!(clock_settime(&thread, 1, UserPtr::new(place)), Err(Errno::EINVAL));
}
