//! `status`: the same as `stat`, for people.

use kernel_tasks::process::Flags;
use kernel_tasks::{HostFile, Process, Thread};
use linux_abi::SysResult;
use linux_abi::tasks::rlimit;

use super::{Context, identity, stat};

pub(super) fn text(context: &Context) -> SysResult<Vec<u8>> {
    let process = context.subject.process()?;
    let thread = context.subject.thread().ok();
    let host = context.subject.host_text(HostFile::Status);
    let mut text = head(context, &process, thread.as_deref())?;
    text.push_str(&memory_lines(&host));
    text.push_str(&format!(
        "CoreDumping:\t0\nTHP_enabled:\t{}\nThreads:\t{}\n",
        u8::from(!process.has_flag(Flags::THP_DISABLED)),
        process.n_threads().max(1),
    ));
    signals(&mut text, &process, thread.as_deref());
    if let Some(thread) = &thread {
        credentials(&mut text, thread);
        processors(&mut text, thread);
    }
    text.push_str(&context_switches(&host));
    Ok(text.into_bytes())
}

fn head(context: &Context, process: &Process, thread: Option<&Thread>) -> SysResult<String> {
    let name = identity::plain_name(context)?;
    let name = String::from_utf8_lossy(&name).replace('\\', "\\\\").replace('\n', "\\n");
    let mut text = format!("Name:\t{name}\n");
    if let Some(thread) = thread {
        text.push_str(&format!("Umask:\t{:04o}\n", thread.fs().umask()));
    }
    let state = match stat::state(process, thread) {
        'Z' => "Z (zombie)",
        'T' => "T (stopped)",
        't' => "t (tracing stop)",
        'S' => "S (sleeping)",
        _ => "R (running)",
    };
    let tid = match (&context.subject.thread, thread) {
        (Some(_), Some(thread)) => thread.tid(),
        _ => process.pid,
    };
    let (pid, tid, parent) = (process.pid.0, tid.0, process.parent_pid().0);
    let tracer = thread.and_then(Thread::tracer).map_or(0, |tracer| tracer.process().pid.0);
    text.push_str(&format!(
        "State:\t{state}\nTgid:\t{pid}\nNgid:\t0\nPid:\t{tid}\nPPid:\t{parent}\nTracerPid:\t{tracer}\n"
    ));
    if let Some(thread) = thread {
        let who = thread.credentials();
        let user = |id| context.reader.shown_uid(id);
        let group = |id| context.reader.shown_gid(id);
        let n_descriptors = thread.files().borrow().numbers().last().map_or(0, |fd| fd.0);
        text.push_str(&format!(
            "Uid:\t{}\t{}\t{}\t{}\nGid:\t{}\t{}\t{}\t{}\nFDSize:\t{}\nGroups:\t",
            user(who.uid),
            user(who.euid),
            user(who.suid),
            user(who.fsuid),
            group(who.gid),
            group(who.egid),
            group(who.sgid),
            group(who.fsgid),
            (n_descriptors / 64 + 1) * 64,
        ));
        for &gid in who.groups.iter() {
            text.push_str(&format!("{} ", group(gid)));
        }
        text.push_str(if who.groups.is_empty() { " \n" } else { "\n" });
    } else {
        let uid = context.reader.shown_uid(process.uid());
        text.push_str(&format!("Uid:\t{uid}\t{uid}\t{uid}\t{uid}\nGid:\t0\t0\t0\t0\n"));
        text.push_str("FDSize:\t0\nGroups:\t \n");
    }
    let (group, session) = (process.group().pgid.0, process.session().sid.0);
    text.push_str(&format!(
        "NStgid:\t{pid}\nNSpid:\t{tid}\nNSpgid:\t{group}\nNSsid:\t{session}\nKthread:\t0\n"
    ));
    Ok(text)
}

/// The lines of the host's `status` that tell of memory.
fn memory_lines(host: &str) -> String {
    let is_memory =
        |line: &&str| ["Vm", "Rss", "HugetlbPages"].iter().any(|start| line.starts_with(start));
    host.lines().filter(is_memory).flat_map(|line| [line, "\n"]).collect()
}

fn context_switches(host: &str) -> String {
    let is_switches = |line: &&str| line.contains("ctxt_switches");
    let lines: String = host.lines().filter(is_switches).flat_map(|line| [line, "\n"]).collect();
    if lines.is_empty() {
        return String::from("voluntary_ctxt_switches:\t0\nnonvoluntary_ctxt_switches:\t0\n");
    }
    lines
}

fn signals(text: &mut String, process: &Process, thread: Option<&Thread>) {
    let (ignored, caught) = stat::dispositions(process);
    let shared = process.signals.pending();
    let (own, blocked) = thread
        .map_or_else(Default::default, |thread| (thread.own_pending_signals(), thread.mask()));
    let limit = process.limit(rlimit::SIGPENDING).map_or(0, |limit| limit.current);
    let n_queued = own.0.count_ones() + shared.0.count_ones();
    text.push_str(&format!(
        "SigQ:\t{n_queued}/{limit}\nSigPnd:\t{:016x}\nShdPnd:\t{:016x}\nSigBlk:\t{:016x}\n\
         SigIgn:\t{:016x}\nSigCgt:\t{:016x}\n",
        own.0, shared.0, blocked.0, ignored.0, caught.0
    ));
}

fn credentials(text: &mut String, thread: &Thread) {
    let who = thread.credentials();
    let (mode, n_filters) = thread.call_filter_mode();
    text.push_str(&format!(
        "CapInh:\t{:016x}\nCapPrm:\t{:016x}\nCapEff:\t{:016x}\nCapBnd:\t{:016x}\n\
         CapAmb:\t{:016x}\nNoNewPrivs:\t{}\nSeccomp:\t{}\nSeccomp_filters:\t{}\n",
        who.inheritable,
        who.permitted,
        who.effective,
        who.bounding,
        who.ambient,
        u8::from(thread.attributes().no_new_privs),
        mode,
        n_filters,
    ));
}

fn processors(text: &mut String, thread: &Thread) {
    let attributes = thread.attributes();
    let words = &attributes.scheduling.affinity.0;
    let halves: Vec<String> = words
        .iter()
        .rev()
        .flat_map(|word| [word >> 32, word & 0xffff_ffff])
        .skip_while(|half| *half == 0)
        .enumerate()
        .map(|(index, half)| if index == 0 { format!("{half:x}") } else { format!("{half:08x}") })
        .collect();
    let cpus: Vec<usize> = words
        .iter()
        .enumerate()
        .flat_map(|(index, word)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| index * 64 + bit)
        })
        .collect();
    text.push_str(&format!(
        "Cpus_allowed:\t{}\nCpus_allowed_list:\t{}\nMems_allowed:\t1\nMems_allowed_list:\t0\n",
        halves.join(","),
        ranges(&cpus),
    ));
}

/// Numbers in order as `0-3,5`.
fn ranges(numbers: &[usize]) -> String {
    let mut shown: Vec<(usize, usize)> = Vec::new();
    for &number in numbers {
        match shown.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => shown.push((number, number)),
        }
    }
    let show = |(first, last): (usize, usize)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    shown.into_iter().map(show).collect::<Vec<_>>().join(",")
}
