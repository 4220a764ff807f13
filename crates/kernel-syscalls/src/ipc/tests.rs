use std::pin::pin;
use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_tasks::testing::{MEMORY_START, first_thread, fork, get, now, poll_once, put};
use kernel_tasks::{Thread, signals};
use linux_abi::events::mqueue::MqAttr;
use linux_abi::events::sysv::{
    IPC_CREAT, IPC_NOWAIT, IPC_PRIVATE, SEM_UNDO, SemBuf, SemidDs, command,
};
use linux_abi::files::OpenFlags;
use linux_abi::signals::{SigInfo, Sigevent, Signal, notify};
use linux_abi::tasks::ExitStatus;
use linux_abi::time::Timespec;
use linux_abi::{Errno, Fd, Interrupted, Restart};

use super::*;

fn null<T>() -> UserPtr<T> {
    UserPtr::new(0)
}

fn id(id: u32) -> i32 {
    i32::try_from(id).unwrap()
}

fn operation(thread: &Rc<Thread>, offset: u64, op: i16, flags: u32) -> UserPtr<SemBuf> {
    let flags = u16::try_from(flags).unwrap();
    UserPtr::new(put(thread, offset, &SemBuf { number: 0, op, flags }))
}

#[test]
fn semaphores_wait_time_out_and_are_undone() {
    let parent = first_thread();
    let child = fork(&parent);
    let set = id(semget(&parent, IPC_PRIVATE, 1, 0o600).unwrap());
    let get_value = || semctl(&parent, set, 0, command::GETVAL, 0);
    let up = operation(&child, 0, 1, SEM_UNDO);
    assert_eq!(now(semop(Rc::clone(&child), set, up, 1)), Ok(()));
    assert_eq!(get_value(), Ok(1));
    let down = operation(&parent, 0, -2, 0);
    let timeout = put(&parent, 64, &Timespec { tv_sec: 0, tv_nsec: 0 });
    let timed = semtimedop(Rc::clone(&parent), set, down, 1, UserPtr::new(timeout));
    assert_eq!(now(timed), Err(Errno::EAGAIN.into()));
    let at_once = operation(&parent, 8, -2, IPC_NOWAIT);
    assert_eq!(now(semop(Rc::clone(&parent), set, at_once, 1)), Err(Errno::EAGAIN.into()));
    assert_eq!(now(semop(Rc::clone(&parent), set, down, 501)), Err(Errno::E2BIG.into()));
    let mut waiting = pin!(semop(Rc::clone(&parent), set, down, 1));
    assert_eq!(poll_once(waiting.as_mut()), None);
    assert_eq!(semctl(&parent, set, 0, command::GETNCNT, 0), Ok(1));
    child.process().exit(ExitStatus::exited(0));
    assert_eq!(get_value(), Ok(0), "taken back with the process");
    signals::send_to_thread(&parent, Signal::SIGUSR1, SigInfo::kernel(Signal::SIGUSR1)).unwrap();
    assert_eq!(poll_once(waiting.as_mut()), Some(Err(Errno::EINTR.into())));
    let stat = MEMORY_START + 128;
    assert_eq!(semctl(&parent, set, 0, command::IPC_STAT, stat), Ok(0));
    assert_eq!(get::<SemidDs>(&parent, stat).nsems, 1);
    assert_eq!(semctl(&parent, set, 0, command::IPC_RMID, 0), Ok(0));
    assert_eq!(get_value(), Err(Errno::EINVAL));
}

#[test]
fn messages_wait_for_a_receiver() {
    let thread = first_thread();
    let queue = id(msgget(&thread, 5, IPC_CREAT | 0o600).unwrap());
    let message = put(&thread, 0, &[3_i64, i64::from_ne_bytes(*b"greeting")]);
    let buffer = UserPtr::new(MEMORY_START + 64);
    let mut waiting = pin!(msgrcv(Rc::clone(&thread), queue, buffer, 100, 3, 0));
    assert_eq!(poll_once(waiting.as_mut()), None);
    let send = |size| msgsnd(Rc::clone(&thread), queue, UserPtr::new(message), size, 0);
    assert_eq!(now(send(8193)), Err(Errno::EINVAL.into()));
    assert_eq!(now(send(8)), Ok(()));
    assert_eq!(poll_once(waiting.as_mut()), Some(Ok(8)));
    assert_eq!(&get::<[u8; 8]>(&thread, MEMORY_START + 72), b"greeting");
    let none = now(msgrcv(Rc::clone(&thread), queue, buffer, 100, 0, IPC_NOWAIT));
    assert_eq!(none, Err(Errno::ENOMSG.into()));
    let mut waiting = pin!(msgrcv(Rc::clone(&thread), queue, buffer, 100, 0, 0));
    assert_eq!(poll_once(waiting.as_mut()), None);
    assert_eq!(msgctl(&thread, queue, command::IPC_RMID, 0), Ok(0));
    assert_eq!(poll_once(waiting.as_mut()), Some(Err(Errno::EIDRM.into())));
}

#[test]
fn posix_queues_time_out_restart_and_notify() {
    let thread = first_thread();
    let name = UserPtr::new(put(&thread, 0, b"queue\0"));
    let attributes = MqAttr { maxmsg: 1, msgsize: 4, ..MqAttr::default() };
    let attributes = UserPtr::new(put(&thread, 64, &attributes));
    let flags = (OpenFlags::CREAT | OpenFlags::RDWR).bits();
    let fd: Fd = mq_open(&thread, name, flags, 0o600, attributes).unwrap();
    let text = UserPtr::new(put(&thread, 256, b"text"));
    let past = UserPtr::new(put(&thread, 272, &Timespec { tv_sec: 1, tv_nsec: 0 }));
    let send = |length, timeout| mq_timedsend(Rc::clone(&thread), fd, text, length, 5, timeout);
    assert_eq!(now(send(5, null())), Err(Errno::EMSGSIZE.into()));
    let event =
        Sigevent { value: 42, signal: 10, notify: notify::SIGNAL, thread_id: 0, rest: [0; 11] };
    let event = UserPtr::new(put(&thread, 320, &event));
    assert_eq!(mq_notify(&thread, fd, event), Ok(()));
    assert_eq!(mq_notify(&thread, fd, event), Err(Errno::EBUSY));
    assert_eq!(now(send(4, null())), Ok(()));
    assert!(thread.pending_signals().contains(Signal::SIGUSR1));
    assert_eq!(now(send(4, past)), Err(Errno::ETIMEDOUT.into()));
    assert_eq!(now(send(4, null())), Err(Interrupted::Signal(Restart::IfAsked)));
    let priority = UserPtr::new(MEMORY_START + 512);
    let buffer = UserPtr::new(MEMORY_START + 520);
    let receive =
        |length| mq_timedreceive(Rc::clone(&thread), fd, buffer, length, priority, null());
    assert_eq!(now(receive(3)), Err(Errno::EMSGSIZE.into()));
    assert_eq!(now(receive(4)), Ok(4));
    assert_eq!(get::<u32>(&thread, MEMORY_START + 512), 5);
    assert_eq!(&get::<[u8; 4]>(&thread, MEMORY_START + 520), b"text");
    assert_eq!(mq_unlink(&thread, name), Ok(()));
    assert_eq!(mq_open(&thread, name, 0, 0, null()), Err(Errno::ENOENT));
}
