use std::rc::Rc;

use kernel_core::io::SliceSource;
use kernel_core::memory::UserPtr;
use kernel_tasks::Thread;
use kernel_tasks::signals::send_to_thread;
use kernel_tasks::testing::{MEMORY_START, first_thread, get, now, poll_once, put};
use linux_abi::events::{EpollEvent, PollFd, SigSetArgument, epoll as ctl};
use linux_abi::signals::{SigInfo, SigSet, Signal};
use linux_abi::time::{Timespec, Timeval};
use linux_abi::{Errno, Fd, Interrupted, Restart};

use super::*;

const IN: u16 = 1;
const OUT: u16 = 4;
const HUP: u16 = 0x10;
const NVAL: u16 = 0x20;

/// A pipe of the guest: the descriptors to read from and to write to.
fn guest_pipe(thread: &Rc<Thread>) -> (Fd, Fd) {
    pipe(thread, UserPtr::new(MEMORY_START)).unwrap();
    let [reading, writing]: [i32; 2] = get(thread, MEMORY_START);
    (Fd(reading), Fd(writing))
}

fn write(thread: &Rc<Thread>, fd: Fd) {
    thread.file(fd).unwrap().write(&mut SliceSource::new(b"x")).unwrap();
}

fn send(thread: &Rc<Thread>, signal: Signal) {
    send_to_thread(thread, signal, SigInfo::kernel(signal)).unwrap();
}

fn null<T>() -> UserPtr<T> {
    UserPtr::new(0)
}

#[test]
fn poll_tells_of_each_descriptor() {
    let thread = first_thread();
    let (reading, writing) = guest_pipe(&thread);
    let fd = |fd: i32, events: u16| PollFd { fd, events, revents: 0xffff };
    let fds = [fd(reading.0, IN), fd(writing.0, IN | OUT), fd(-1, IN), fd(99, IN)];
    let address = put(&thread, 64, &fds);
    let ready = now(poll(Rc::clone(&thread), UserPtr::new(address), 4, -1));
    assert_eq!(ready, Ok(2));
    let answers: [PollFd; 4] = get(&thread, address);
    assert_eq!(answers.map(|answer| answer.revents), [0, OUT, 0, NVAL]);
    thread.files().borrow_mut().remove(writing).unwrap();
    assert_eq!(now(poll(Rc::clone(&thread), UserPtr::new(address), 1, -1)), Ok(1));
    assert_eq!(get::<PollFd>(&thread, address).revents, HUP);
    let too_many = now(poll(Rc::clone(&thread), UserPtr::new(address), 1 << 21, 0));
    assert_eq!(too_many, Err(Errno::EINVAL.into()));
}

#[test]
fn poll_that_is_interrupted_leaves_its_continuation() {
    let thread = first_thread();
    let (reading, writing) = guest_pipe(&thread);
    let address = put(&thread, 64, &PollFd { fd: reading.0, events: IN, revents: 0 });
    send(&thread, Signal::SIGUSR1);
    let result = now(poll(Rc::clone(&thread), UserPtr::new(address), 1, 60_000));
    assert_eq!(result, Err(Interrupted::Signal(Restart::Continuation)));
    let continuation = thread.take_continuation().unwrap();
    write(&thread, writing);
    assert_eq!(now(continuation(Rc::clone(&thread))), Ok(1));
}

#[test]
fn ppoll_runs_under_its_mask_and_keeps_it_for_the_handler() {
    let thread = first_thread();
    let (reading, _writing) = guest_pipe(&thread);
    thread.set_mask(SigSet::of(Signal::SIGUSR1));
    send(&thread, Signal::SIGUSR1);
    let fds = put(&thread, 64, &PollFd { fd: reading.0, events: IN, revents: 0 });
    let none = put(&thread, 96, &0_u64);
    let hour = put(&thread, 128, &Timespec { tv_sec: 3600, tv_nsec: 0 });
    let call = |mask, size| {
        let thread = Rc::clone(&thread);
        now(ppoll(thread, UserPtr::new(fds), 1, UserPtr::new(hour), UserPtr::new(mask), size))
    };
    assert_eq!(call(none, 4), Err(Errno::EINVAL.into()));
    assert_eq!(call(none, 8), Err(Interrupted::Signal(Restart::IfNoHandler)));
    assert_eq!(thread.mask(), SigSet::EMPTY);
    assert_eq!(get::<Timespec>(&thread, hour).tv_sec, 3599);
}

#[test]
fn select_counts_bits_and_refuses_closed_descriptors() {
    let thread = first_thread();
    let (reading, writing) = guest_pipe(&thread);
    let both = 1_u64 << reading.0 | 1 << writing.0;
    let read = put(&thread, 64, &both);
    let write_set = put(&thread, 72, &both);
    let zero = put(&thread, 80, &Timeval::default());
    let call = |n, except: u64| {
        let (read, write_set) = (UserPtr::new(read), UserPtr::new(write_set));
        let thread = Rc::clone(&thread);
        now(select(thread, n, read, write_set, UserPtr::new(except), UserPtr::new(zero)))
    };
    assert_eq!(call(10, 0), Ok(1));
    assert_eq!(get::<u64>(&thread, read), 0);
    assert_eq!(get::<u64>(&thread, write_set), 1 << writing.0);
    let closed = put(&thread, 96, &(1_u64 << 50));
    assert_eq!(call(51, closed), Err(Errno::EBADF.into()));
    assert_eq!(call(50, closed), Ok(1), "only the first n count");
    assert_eq!(call(-1, 0), Err(Errno::EINVAL.into()));
}

#[test]
fn pselect_writes_back_the_time_that_is_left() {
    let thread = first_thread();
    send(&thread, Signal::SIGUSR1);
    let time = put(&thread, 64, &Timespec { tv_sec: 100, tv_nsec: 0 });
    let mask = put(&thread, 96, &SigSetArgument { address: 0, size: 0 });
    let sets = (null(), null(), null());
    let call = pselect6(
        Rc::clone(&thread),
        0,
        sets.0,
        sets.1,
        sets.2,
        UserPtr::new(time),
        UserPtr::new(mask),
    );
    assert_eq!(now(call), Err(Interrupted::Signal(Restart::IfNoHandler)));
    assert_eq!(get::<Timespec>(&thread, time).tv_sec, 99);
}

#[test]
fn epoll_waits_delivers_and_is_interrupted_for_good() {
    let thread = first_thread();
    let (reading, writing) = guest_pipe(&thread);
    let watcher = epoll_create1(&thread, 0).unwrap();
    let event = put(&thread, 64, &EpollEvent { events: u32::from(IN), data: 77 });
    let add = |fd| epoll_ctl(&thread, watcher, ctl::CTL_ADD, fd, UserPtr::new(event));
    assert_eq!(add(watcher), Err(Errno::EINVAL));
    assert_eq!(add(Fd(50)), Err(Errno::EBADF));
    assert_eq!(add(reading), Ok(()));
    assert_eq!(add(reading), Err(Errno::EEXIST));
    let buffer = MEMORY_START + 128;
    let wait = |timeout, at| {
        let thread = Rc::clone(&thread);
        epoll_wait(thread, watcher, UserPtr::new(at), 4, timeout)
    };
    assert_eq!(now(wait(0, buffer)), Ok(0));
    let mut waiting = std::pin::pin!(wait(-1, buffer));
    assert_eq!(poll_once(waiting.as_mut()), None);
    write(&thread, writing);
    assert_eq!(now(wait(-1, 8)), Err(Errno::EFAULT.into()), "and nothing is lost");
    assert_eq!(poll_once(waiting.as_mut()), Some(Ok(1)));
    let data = get::<EpollEvent>(&thread, buffer).data;
    assert_eq!(data, 77);
    assert_eq!(epoll_ctl(&thread, watcher, ctl::CTL_DEL, reading, null()), Ok(()));
    send(&thread, Signal::SIGUSR1);
    assert_eq!(now(wait(-1, buffer)), Err(Errno::EINTR.into()));
}

#[test]
fn a_failed_pipe_leaves_no_descriptor() {
    let thread = first_thread();
    assert_eq!(pipe(&thread, UserPtr::new(8)), Err(Errno::EFAULT));
    assert_eq!(pipe2(&thread, UserPtr::new(MEMORY_START), 1), Err(Errno::EINVAL));
    assert_eq!(thread.files().borrow().numbers().count(), 0);
}
