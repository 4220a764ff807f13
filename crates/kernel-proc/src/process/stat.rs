//! `stat`, `statm`, `io`, `sched` and `schedstat`.

use kernel_core::timers::{Instant, boot_time, now};
use kernel_tasks::process::{CpuTimes, Flags};
use kernel_tasks::{HostFile, Process, Thread};
use linux_abi::SysResult;
use linux_abi::signals::{SIG_DFL, SIG_IGN, SigSet, Signal};
use linux_abi::tasks::{rlimit, sched};

use super::{Context, identity};

const PAGE: u64 = 4096;
const NANOS_PER_TICK: u64 = 10_000_000;

/// The letter that says what a process or thread does.
pub(super) fn state(process: &Process, thread: Option<&Thread>) -> char {
    match thread {
        // Process 1 is played by the kernel, which waits for guests.
        None if process.has_flag(Flags::INIT) => 'S',
        _ if process.is_dead() => 'Z',
        None => 'Z',
        Some(thread) if thread.is_held_by_tracer() => 't',
        Some(_) if process.is_stopped() => 'T',
        Some(thread) if thread.machine().is_waiting() => 'S',
        Some(_) => 'R',
    }
}

/// A time of the monotonic clock, in ticks since the host started.
fn start_ticks(started: Instant) -> u64 {
    // What the two clocks differ by is how long the host slept.
    let slept = boot_time().saturating_sub(now().0);
    started.0.saturating_add(slept) / NANOS_PER_TICK
}

/// The signals that a process ignores, and those that it has handlers for.
pub(super) fn dispositions(process: &Process) -> (SigSet, SigSet) {
    let mut ignored = SigSet::default();
    let mut caught = SigSet::default();
    for signal in (1..=64).filter_map(Signal::new) {
        match process.signals.action(signal).handler {
            SIG_DFL => {}
            SIG_IGN => ignored = ignored.with(signal),
            _ => caught = caught.with(signal),
        }
    }
    (ignored, caught)
}

/// The priority as `/proc` counts it: 20 with the nice value added, or below zero for real time.
fn priority(thread: &Thread) -> i64 {
    let attributes = thread.attributes();
    let scheduling = &attributes.scheduling;
    match scheduling.policy {
        sched::FIFO | sched::RR => -1 - i64::from(scheduling.priority),
        _ => 20 + i64::from(scheduling.nice),
    }
}

/// One word of the host's `stat`, counted from 1 as in proc(5); 0 if the host does not say.
fn host_word(text: &str, number: usize) -> u64 {
    // The name may hold spaces and parentheses, so counting starts after its end.
    let rest = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let word = number.checked_sub(3).and_then(|index| rest.split_whitespace().nth(index));
    word.and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// `stat`; the comments are the numbers of the words in proc(5).
pub(super) fn stat(context: &Context) -> SysResult<Vec<u8>> {
    let process = context.subject.process()?;
    let thread = context.subject.thread().ok();
    let host = context.subject.host_text(HostFile::Stat);
    let id = thread.as_ref().map_or(process.pid, |thread| match context.subject.thread {
        Some(_) => thread.tid(),
        None => process.pid,
    });
    let terminal = process.terminal();
    let times = cpu_times(context, &process, thread.as_deref());
    let (user, system) = times.ticks();
    let (children_user, children_system) = process.children_cpu_times().ticks();
    let (ignored, caught) = dispositions(&process);
    let (pending, blocked) = thread
        .as_ref()
        .map_or_else(Default::default, |thread| (thread.pending_signals(), thread.mask()));
    let resident = thread.as_ref().map_or(0, |thread| thread.machine().resident_bytes());
    let nice = thread.as_ref().map_or(0, |thread| thread.attributes().scheduling.nice);

    let mut words: Vec<String> = Vec::with_capacity(52);
    let mut add = |word: &dyn std::fmt::Display| words.push(word.to_string());
    add(&state(&process, thread.as_deref())); // 3
    add(&process.parent_pid().0);
    add(&process.group().pgid.0);
    add(&process.session().sid.0);
    add(&terminal.as_ref().map_or(0, |terminal| terminal.device())); // 7
    let foreground = terminal.and_then(|terminal| terminal.foreground());
    add(&foreground.map_or(-1, |group| i64::from(group.0)));
    add(&0x0040_0000_u32); // 9, PF_RANDOMIZE as of any program
    (10..=13).for_each(|number| add(&host_word(&host, number)));
    [user, system, children_user, children_system].iter().for_each(|ticks| add(ticks)); // 14-17
    add(&thread.as_ref().map_or(20, |thread| priority(thread))); // 18
    add(&nice);
    add(&process.n_threads().max(1));
    add(&0);
    add(&start_ticks(process.started)); // 22
    add(&host_word(&host, 23));
    add(&(resident / PAGE));
    add(&process.limit(rlimit::RSS).map_or(u64::MAX, |limit| limit.current));
    (26..=30).for_each(|_| add(&0)); // addresses are for those who may see them
    [pending.0, blocked.0, ignored.0, caught.0].iter().for_each(|set| add(&(set & 0x7fff_ffff)));
    (35..=37).for_each(|_| add(&0));
    add(&process.exit_signal().map_or(0, Signal::number)); // 38
    add(&host_word(&host, 39));
    let (priority, policy) = thread.as_ref().map_or((0, 0), |thread| {
        let attributes = thread.attributes();
        (attributes.scheduling.priority, attributes.scheduling.policy)
    });
    add(&priority);
    add(&policy);
    (42..=51).for_each(|_| add(&0));
    add(&process.status().map_or(0, |status| status.0)); // 52

    let name = String::from_utf8_lossy(&identity::plain_name(context)?).into_owned();
    Ok(format!("{} ({name}) {}\n", id.0, words.join(" ")).into_bytes())
}

/// The time of a thread for `task/<tid>`, of the whole process otherwise.
fn cpu_times(context: &Context, process: &Process, thread: Option<&Thread>) -> CpuTimes {
    match thread {
        Some(thread) if context.subject.is_task => thread.machine().thread_cpu_time().into(),
        _ => process.cpu_times(),
    }
}

/// `statm`: the host's, which counts the pages of the shim too.
pub(super) fn statm(context: &Context) -> SysResult<Vec<u8>> {
    context.subject.process()?;
    let text = context.subject.host_text(HostFile::Statm);
    if !text.is_empty() {
        return Ok(text.into_bytes());
    }
    let resident = context.subject.thread().map_or(0, |thread| thread.machine().resident_bytes());
    let pages = resident / PAGE;
    Ok(format!("{pages} {pages} 0 0 0 {pages} 0\n").into_bytes())
}

/// `io`. Reads that a guest does by itself, of files that it was lent, are not counted; what
/// reaches a disk is the host's to know.
pub(super) fn io(context: &Context) -> SysResult<Vec<u8>> {
    let account = if context.subject.is_task {
        context.subject.thread()?.io_account()
    } else {
        context.subject.process()?.io_account()
    };
    Ok(format!(
        "rchar: {}\nwchar: {}\nsyscr: {}\nsyscw: {}\nread_bytes: 0\nwrite_bytes: 0\n\
         cancelled_write_bytes: 0\n",
        account.bytes_read, account.bytes_written, account.read_calls, account.write_calls
    )
    .into_bytes())
}

pub(super) fn schedstat(context: &Context) -> SysResult<Vec<u8>> {
    let process = context.subject.process()?;
    let thread = context.subject.thread().ok();
    let total = cpu_times(context, &process, thread.as_deref()).total();
    Ok(format!("{total} 0 0\n").into_bytes())
}

pub(super) fn sched(context: &Context) -> SysResult<Vec<u8>> {
    let process = context.subject.process()?;
    let thread = context.subject.thread()?;
    let name = String::from_utf8_lossy(&identity::plain_name(context)?).into_owned();
    let total = cpu_times(context, &process, Some(&thread)).total();
    let (policy, priority) = (thread.attributes().scheduling.policy, 100 + priority(&thread));
    Ok(format!(
        "{name} ({}, #threads: {})\n{:-<67}\n{:<45}:{:>21}.{:06}\n{:<45}:{policy:>21}\n\
         {:<45}:{priority:>21}\n",
        thread.tid().0,
        process.n_threads(),
        "",
        "se.sum_exec_runtime",
        total / 1_000_000,
        total % 1_000_000,
        "policy",
        "prio",
    )
    .into_bytes())
}
