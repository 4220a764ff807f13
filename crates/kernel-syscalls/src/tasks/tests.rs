use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_files::FileOps;
use kernel_tasks::Thread;
use kernel_tasks::pidfd::Pidfd;
use kernel_tasks::testing::{
    MEMORY_START, first_thread, first_thread_of, fork as fork_of, get, now, poll_once, put,
};
use linux_abi::signals::SigInfo;
use linux_abi::tasks::prctl as option;
use linux_abi::tasks::{CloneArgs, CloneFlags, ExitStatus, Rlimit, rlimit};
use linux_abi::{Errno, Fd, Interrupted, Pid};

use super::*;

const NULL: u64 = 0;

fn clone_with(thread: &Rc<Thread>, args: &CloneArgs) -> Result<Pid, Interrupted> {
    let place = put(thread, 0, args);
    now(clone3(Rc::clone(thread), UserPtr::new(place), size_of::<CloneArgs>()))
}

#[test]
fn clone3_refuses_what_contradicts_itself() {
    let thread = first_thread();
    let refused = |flags: CloneFlags, exit_signal: u64| {
        let args = CloneArgs { flags: flags.bits(), exit_signal, ..CloneArgs::default() };
        clone_with(&thread, &args).unwrap_err()
    };
    for (flags, signal, errno) in [
        (CloneFlags::THREAD, 0, Errno::EINVAL),
        (CloneFlags::SIGHAND, 17, Errno::EINVAL),
        (CloneFlags::DETACHED, 17, Errno::EINVAL),
        (CloneFlags::VM, 17, Errno::EINVAL),
        (CloneFlags::empty(), 65, Errno::EINVAL),
        (CloneFlags::NEWNS | CloneFlags::FS, 17, Errno::EINVAL),
        (CloneFlags::NEWTIME, 17, Errno::EPERM),
        (CloneFlags::NEWPID | CloneFlags::NEWNS, 17, Errno::EPERM),
    ] {
        assert_eq!(refused(flags, signal), Interrupted::Errno(errno), "{flags:?}");
    }
    let place = put(&thread, 0, &CloneArgs::default());
    let short = now(clone3(Rc::clone(&thread), UserPtr::new(place), 63));
    assert_eq!(short, Err(Interrupted::Errno(Errno::EINVAL)));
    let long = now(clone3(Rc::clone(&thread), UserPtr::new(place), 4097));
    assert_eq!(long, Err(Interrupted::Errno(Errno::E2BIG)));
    assert_eq!(thread.kernel().n_tasks(), 1);
}

#[test]
fn a_thread_shares_and_a_process_copies() {
    let thread = first_thread();
    let all = CloneFlags::VM
        | CloneFlags::FS
        | CloneFlags::FILES
        | CloneFlags::SIGHAND
        | CloneFlags::THREAD
        | CloneFlags::PARENT_SETTID;
    let parent_tid = MEMORY_START + 512;
    let args = CloneArgs {
        flags: all.bits(),
        parent_tid,
        stack: 0x5000,
        stack_size: 0x1000,
        ..CloneArgs::default()
    };
    let tid = clone_with(&thread, &args).unwrap();
    assert_eq!(get::<u32>(&thread, parent_tid), tid.0);
    let other = thread.kernel().ids.thread(tid).unwrap();
    assert!(Rc::ptr_eq(other.process(), thread.process()));
    assert!(Rc::ptr_eq(&other.files(), &thread.files()));
    assert!(Rc::ptr_eq(&other.fs(), &thread.fs()));

    let pid = now(fork(Rc::clone(&thread))).unwrap();
    let child = thread.kernel().ids.thread(pid).unwrap();
    assert_eq!(child.process().parent_pid(), thread.process().pid);
    assert!(!Rc::ptr_eq(&child.files(), &thread.files()));
    assert!(!Rc::ptr_eq(&child.fs(), &thread.fs()));
}

#[test]
fn a_pidfd_is_the_parents_only_and_ready_at_the_end() {
    let thread = first_thread();
    let place = MEMORY_START + 512;
    let args = CloneArgs {
        flags: CloneFlags::PIDFD.bits(),
        pidfd: place,
        exit_signal: 17,
        ..CloneArgs::default()
    };
    let pid = clone_with(&thread, &args).unwrap();
    let fd = Fd(get(&thread, place));
    let child = thread.kernel().ids.thread(pid).unwrap();
    assert!(child.file(fd).is_err());
    let file = thread.file(fd).unwrap();
    let pidfd = file.ops_as::<Pidfd>().unwrap();
    assert_eq!(pidfd.process().pid, pid);
    assert!(pidfd.poll(&file).is_empty());
    pidfd_send_signal(&thread, fd, 9, UserPtr::new(NULL), 0).unwrap();
    assert!(!pidfd.poll(&file).is_empty());
    let info = MEMORY_START;
    let wait = waitid(Rc::clone(&thread), 3, fd.0, UserPtr::new(info), 4, UserPtr::new(NULL));
    now(wait).unwrap();
    let info: SigInfo = get(&thread, info);
    assert_eq!((info.signo, info.code, info.pid(), info.status()), (17, 2, pid.0, 9));
    let gone = pidfd_send_signal(&thread, fd, 0, UserPtr::new(NULL), 0);
    assert_eq!(gone, Err(Errno::ESRCH));
}

#[test]
fn wait4_waits_and_then_tells() {
    let thread = first_thread();
    let status = MEMORY_START + 64;
    let wait = |pid, options| {
        let (status, usage) = (UserPtr::new(status), UserPtr::new(NULL));
        Box::pin(wait4(Rc::clone(&thread), pid, status, options, usage))
    };
    assert_eq!(now(wait(-1, 0)), Err(Interrupted::Errno(Errno::ECHILD)));
    assert_eq!(now(wait(-1, 0x10)), Err(Interrupted::Errno(Errno::EINVAL)));
    let child = fork_of(&thread);
    assert_eq!(now(wait(-1, 1)), Ok(0));
    let mut waiting = wait(-1, 0);
    assert!(poll_once(waiting.as_mut()).is_none());
    now(exit_group(Rc::clone(&child), 0x1ff)).unwrap();
    assert_eq!(poll_once(waiting.as_mut()), Some(Ok(child.tid().0)));
    assert_eq!(get::<u32>(&thread, status), 0xff00);
}

#[test]
fn groups_and_sessions_follow_their_rules() {
    let leader = first_thread();
    assert_eq!(setsid(&leader), Err(Errno::EPERM));
    // It leads its group already, and is no session leader.
    assert_eq!(setpgid(&leader, 0, 0), Ok(()));
    let child = fork_of(&leader);
    let pid = child.tid().0.cast_signed();
    assert_eq!(getpgid(&leader, pid), Ok(leader.tid()));
    assert_eq!(setpgid(&leader, pid, 9999), Err(Errno::EPERM));
    assert_eq!(setpgid(&leader, pid, pid), Ok(()));
    assert_eq!(getpgrp(&child), Ok(child.tid()));
    // A group leader cannot make a session.
    assert_eq!(setsid(&child), Err(Errno::EPERM));
    let other = fork_of(&leader);
    assert_eq!(setsid(&other), Ok(other.tid()));
    assert_eq!(getsid(&leader, other.tid().0.cast_signed()), Ok(other.tid()));
    assert_eq!(setpgid(&leader, other.tid().0.cast_signed(), pid), Err(Errno::EPERM));
    assert_eq!(setpgid(&child, other.tid().0.cast_signed(), 0), Err(Errno::ESRCH));
}

#[test]
fn a_reaped_group_is_gone_even_if_a_pidfd_remembers_its_leader() {
    let leader = first_thread();
    let child = fork_of(&leader);
    let pid = child.tid();
    child.process().lead_new_group();
    let _pidfd = Pidfd::open(child.process(), linux_abi::files::OpenFlags::empty());
    child.process().exit(ExitStatus::exited(0));
    let status = UserPtr::new(NULL);
    now(wait4(Rc::clone(&leader), -1, status, 0, UserPtr::new(NULL))).unwrap();
    assert!(leader.kernel().ids.group(pid).is_none());
    assert_eq!(crate::signals::kill(&leader, -pid.0.cast_signed(), 0), Err(Errno::ESRCH));
}

#[test]
fn limits_may_only_be_lowered() {
    let thread = first_thread();
    let set = |current, maximum| {
        let place = put(&thread, 0, &Rlimit { current, maximum });
        let resource = u32::try_from(rlimit::NOFILE).unwrap();
        setrlimit(&thread, resource, UserPtr::new(place))
    };
    assert_eq!(set(10, 5), Err(Errno::EINVAL));
    assert_eq!(set(10, 20), Ok(()));
    assert_eq!(set(10, 21), Err(Errno::EPERM));
    assert_eq!(thread.descriptor_limit(), 10);
}

#[test]
fn prctl_keeps_names_and_promises() {
    let thread = first_thread();
    let place = put(&thread, 0, b"a name that is too long\0");
    prctl(&thread, option::SET_NAME, place, 0, 0, 0).unwrap();
    assert_eq!(thread.name(), b"a name that is ");
    prctl(&thread, option::GET_NAME, MEMORY_START + 64, 0, 0, 0).unwrap();
    assert_eq!(get::<[u8; 16]>(&thread, MEMORY_START + 64), *b"a name that is \0");
    assert_eq!(prctl(&thread, option::SET_NO_NEW_PRIVS, 0, 0, 0, 0), Err(Errno::EINVAL));
    assert_eq!(prctl(&thread, option::SET_NO_NEW_PRIVS, 1, 0, 0, 0), Ok(0));
    assert_eq!(prctl(&fork_of(&thread), option::GET_NO_NEW_PRIVS, 0, 0, 0, 0), Ok(1));
    assert_eq!(prctl(&thread, option::CAPBSET_READ, 41, 0, 0, 0), Err(Errno::EINVAL));
    assert_eq!(prctl(&thread, 12345, 0, 0, 0, 0), Err(Errno::EINVAL));
}

#[test]
fn affinity_is_told_in_words() {
    let thread = first_thread();
    let size = 128;
    let n = sched_getaffinity(&thread, 0, size, UserPtr::new(MEMORY_START)).unwrap();
    assert!(n.is_multiple_of(8) && n > 0);
    let mask: u64 = get(&thread, MEMORY_START);
    assert_eq!(mask & 1, 1);
    let result = sched_getaffinity(&thread, 0, 7, UserPtr::new(MEMORY_START));
    assert_eq!(result, Err(Errno::EINVAL));
    let none = put(&thread, 0, &0u64);
    assert_eq!(sched_setaffinity(&thread, 0, 8, UserPtr::new(none)), Err(Errno::EINVAL));
    let first = put(&thread, 0, &1u64);
    assert_eq!(sched_setaffinity(&thread, 0, 8, UserPtr::new(first)), Ok(()));
}

#[test]
fn root_gives_itself_away_and_a_user_cannot() {
    let root = first_thread_of(0);
    assert_eq!(setresuid(&root, 1, 2, 3), Ok(()));
    assert_eq!((getuid(&root), geteuid(&root)), (Ok(1), Ok(2)));
    assert_eq!(setuid(&root, 0), Err(Errno::EPERM));
    assert_eq!(setuid(&root, 3), Ok(()));
    let groups = put(&root, 0, &[5u32]);
    assert_eq!(setgroups(&root, 1, UserPtr::new(groups)), Err(Errno::EPERM));
}

#[test]
fn exec_of_what_is_not_there_fails_and_changes_nothing() {
    let thread = first_thread();
    let path = put(&thread, 0, b"/no/such/program\0");
    let result =
        now(execve(Rc::clone(&thread), UserPtr::new(path), UserPtr::new(NULL), UserPtr::new(NULL)));
    assert_eq!(result, Err(Interrupted::Errno(Errno::ENOENT)));
    let root = put(&thread, 0, b"/\0");
    let result =
        now(execve(Rc::clone(&thread), UserPtr::new(root), UserPtr::new(NULL), UserPtr::new(NULL)));
    assert_eq!(result, Err(Interrupted::Errno(Errno::EACCES)));
    assert!(!thread.has_exited());
}
