use linux_abi::Errno;
use linux_abi::signals::{SIG_IGN, SigAction, SigActionFlags, Signal, code};
use linux_abi::tasks::ExitStatus;

use super::{ChildSelector, Flags, WaitFor};
use crate::testing::{first_thread, fork, spawn_thread};

const END: WaitFor = WaitFor::END;

#[test]
fn a_dead_child_waits_to_be_waited_for_once() {
    let parent = first_thread();
    let child = fork(&parent);
    let (pid, process) = (child.tid(), parent.process());
    let any = ChildSelector::Any;
    assert!(process.take_child_event(&any, END, linux_abi::Pid(0)).unwrap().is_none());

    child.process().exit(ExitStatus::exited(7));
    let peeked =
        process.take_child_event(&any, END | WaitFor::PEEK, linux_abi::Pid(0)).unwrap().unwrap();
    assert_eq!(peeked.status, ExitStatus::exited(7));
    let event = process.take_child_event(&any, END, linux_abi::Pid(0)).unwrap().unwrap();
    assert_eq!(event.child.pid, pid);
    assert_eq!((event.info.code, event.info.status()), (code::CLD_EXITED, 7));
    assert_eq!(process.take_child_event(&any, END, linux_abi::Pid(0)).unwrap_err(), Errno::ECHILD);
    assert!(parent.kernel().ids.process(pid).is_none());
    assert!(process.children_cpu_times().total() > 0);
}

#[test]
fn the_end_sends_sigchld() {
    let parent = first_thread();
    let child = fork(&parent);
    child.process().exit(ExitStatus::signaled(Signal::SIGSEGV, true));
    let pending = parent.process().signals.pending();
    // The default is to ignore it, so it is not even queued.
    assert!(pending.is_empty());

    let action = SigAction { handler: 0x1000, ..SigAction::default() };
    parent.process().signals.set_action(Signal::SIGCHLD, action);
    fork(&parent).process().exit(ExitStatus::signaled(Signal::SIGSEGV, true));
    let (signal, info) = parent.take_signal(linux_abi::signals::SigSet(u64::MAX)).unwrap();
    assert_eq!((signal, info.code, info.status()), (Signal::SIGCHLD, code::CLD_DUMPED, 11));
}

#[test]
fn children_of_those_who_ignore_sigchld_leave_nothing() {
    let parent = first_thread();
    for action in [
        SigAction { handler: SIG_IGN, ..SigAction::default() },
        SigAction { flags: SigActionFlags::NOCLDWAIT.bits(), ..SigAction::default() },
    ] {
        parent.process().signals.set_action(Signal::SIGCHLD, action);
        let child = fork(&parent);
        let pid = child.tid();
        child.process().exit(ExitStatus::exited(0));
        assert!(parent.kernel().ids.process(pid).is_none());
        let result = parent.process().take_child_event(&ChildSelector::Any, END, linux_abi::Pid(0));
        assert_eq!(result.unwrap_err(), Errno::ECHILD);
    }
}

#[test]
fn orphans_go_to_process_1_which_reaps_them() {
    let first = first_thread();
    let middle = fork(&first);
    let orphan = fork(&middle);
    let pid = orphan.tid();
    middle.process().exit(ExitStatus::exited(0));
    assert_eq!(orphan.process().parent_pid().0, 1);
    orphan.process().exit(ExitStatus::exited(0));
    assert!(first.kernel().ids.process(pid).is_none());
}

#[test]
fn a_subreaper_gets_the_orphans_of_its_descendants() {
    let first = first_thread();
    first.process().set_flag(Flags::SUBREAPER, true);
    let middle = fork(&first);
    let (living, dead) = (fork(&middle), fork(&middle));
    dead.process().exit(ExitStatus::exited(3));
    middle.process().exit(ExitStatus::exited(0));
    assert_eq!(living.process().parent_pid(), first.tid());
    let event = first
        .process()
        .take_child_event(&ChildSelector::Pid(dead.tid()), END, linux_abi::Pid(0))
        .unwrap()
        .unwrap();
    assert_eq!(event.status, ExitStatus::exited(3));
}

#[test]
fn everything_ends_with_the_first_process() {
    let first = first_thread();
    let child = fork(&first);
    let grandchild = fork(&child);
    first.process().exit(ExitStatus::exited(5));
    assert!(child.has_exited() && grandchild.has_exited());
    assert_eq!(first.kernel().first_status(), Some(ExitStatus::exited(5)));
    assert_eq!(first.kernel().n_tasks(), 0);
}

#[test]
fn a_parent_death_signal_comes_with_the_end_of_the_thread_that_forked() {
    let first = first_thread();
    let worker = spawn_thread(&first);
    let child = fork(&worker);
    child.set_parent_death_signal(Some(Signal::SIGTERM));
    worker.exit(ExitStatus::exited(0));
    assert!(child.pending_signals().contains(Signal::SIGTERM));
    assert_eq!(child.process().parent_pid(), first.tid());
}

#[test]
fn waiting_for_a_group_sees_only_its_members() {
    let parent = first_thread();
    let (mine, other) = (fork(&parent), fork(&parent));
    other.process().lead_new_group();
    other.process().exit(ExitStatus::exited(0));
    let group = ChildSelector::Group(parent.process().group().pgid);
    assert!(parent.process().take_child_event(&group, END, linux_abi::Pid(0)).unwrap().is_none());
    mine.process().exit(ExitStatus::exited(0));
    assert!(parent.process().take_child_event(&group, END, linux_abi::Pid(0)).unwrap().is_some());
}

#[test]
fn the_last_thread_takes_the_process_with_it() {
    let first = first_thread();
    let child = fork(&first);
    let worker = spawn_thread(&child);
    child.exit(ExitStatus::exited(1));
    assert!(!child.process().is_dead());
    worker.exit(ExitStatus::exited(2));
    assert_eq!(child.process().status(), Some(ExitStatus::exited(2)));
}
