//! `sched_setscheduler(2)`, `sched_setattr(2)`, `sched_setaffinity(2)` and relatives.
//!
//! Policies and processor sets are kept and told; the host schedules guest threads as it likes.

use std::rc::Rc;

use kernel_core::credentials::cap;
use kernel_core::memory::{UserMemory, UserPtr};
use kernel_tasks::Thread;
use kernel_tasks::thread::{CpuSet, Scheduling};
use linux_abi::tasks::{SCHED_ATTR_SIZE_VER0, SchedAttr, SchedParam, rlimit, sched, sched_flag};
use linux_abi::time::Timespec;
use linux_abi::{Errno, Pid, SysResult};
use zerocopy::IntoBytes;

use super::priority::may_raise_to;

/// The size of a processor set is limited to that of a page, as the guest's pages are.
const MAX_CPU_SET_BYTES: usize = 4096;
/// How long a `SCHED_RR` thread runs at a time.
const RR_INTERVAL_NS: u64 = 100_000_000;
/// How long an ordinary thread runs at a time.
const FAIR_INTERVAL_NS: u64 = 4_000_000;
const MAX_RT_PRIORITY: u32 = 99;

/// The thread with this id, the caller for 0.
fn target(thread: &Rc<Thread>, pid: i32) -> SysResult<Rc<Thread>> {
    match u32::try_from(pid).map_err(|_| Errno::EINVAL)? {
        0 => Ok(Rc::clone(thread)),
        tid => thread.kernel().ids.thread(Pid(tid)).ok_or(Errno::ESRCH),
    }
}

/// How the thread with this id is scheduled. Process 1 has no thread, and nothing but the defaults.
fn scheduling_of(thread: &Rc<Thread>, pid: i32) -> SysResult<Scheduling> {
    let init = thread.kernel().init().map(|init| init.pid);
    if u32::try_from(pid).is_ok_and(|pid| init == Ok(Pid(pid))) {
        return Ok(Scheduling::new(CpuSet::all()));
    }
    Ok(target(thread, pid)?.attributes().scheduling.clone())
}

fn is_real_time(policy: u32) -> bool {
    matches!(policy, sched::FIFO | sched::RR)
}

/// Sets policy and real-time priority.
pub(crate) fn sched_setscheduler(
    thread: &Rc<Thread>,
    pid: i32,
    policy: i32,
    param: UserPtr<SchedParam>,
) -> SysResult<()> {
    let policy = u32::try_from(policy).map_err(|_| Errno::EINVAL)?;
    if param.is_null() || pid < 0 {
        return Err(Errno::EINVAL);
    }
    let param = param.read(&thread.memory())?;
    let target = target(thread, pid)?;
    let mut new = target.attributes().scheduling.clone();
    new.reset_on_fork = policy & sched::RESET_ON_FORK != 0;
    new.policy = policy & !sched::RESET_ON_FORK;
    new.priority = u32::try_from(param.priority).map_err(|_| Errno::EINVAL)?;
    change(thread, &target, new)
}

/// Sets the real-time priority.
pub(crate) fn sched_setparam(
    thread: &Rc<Thread>,
    pid: i32,
    param: UserPtr<SchedParam>,
) -> SysResult<()> {
    if param.is_null() || pid < 0 {
        return Err(Errno::EINVAL);
    }
    let param = param.read(&thread.memory())?;
    let target = target(thread, pid)?;
    let mut new = target.attributes().scheduling.clone();
    new.priority = u32::try_from(param.priority).map_err(|_| Errno::EINVAL)?;
    change(thread, &target, new)
}

/// The policy.
pub(crate) fn sched_getscheduler(thread: &Rc<Thread>, pid: i32) -> SysResult<u32> {
    let scheduling = scheduling_of(thread, pid)?;
    let flag = if scheduling.reset_on_fork { sched::RESET_ON_FORK } else { 0 };
    Ok(scheduling.policy | flag)
}

/// The real-time priority.
pub(crate) fn sched_getparam(
    thread: &Rc<Thread>,
    pid: i32,
    param: UserPtr<SchedParam>,
) -> SysResult<()> {
    if param.is_null() {
        return Err(Errno::EINVAL);
    }
    let priority = scheduling_of(thread, pid)?.priority.cast_signed();
    param.write(&thread.memory(), &SchedParam { priority })
}

/// Sets policy, nice value and priority at once.
pub(crate) fn sched_setattr(
    thread: &Rc<Thread>,
    pid: i32,
    attr: UserPtr<SchedAttr>,
    flags: u32,
) -> SysResult<()> {
    if attr.is_null() || pid < 0 || flags != 0 {
        return Err(Errno::EINVAL);
    }
    let attr = read_attr(thread, attr)?;
    if attr.policy.cast_signed() < 0 || attr.flags & !sched_flag::ALL != 0 {
        return Err(Errno::EINVAL);
    }
    let target = target(thread, pid)?;
    let mut new = target.attributes().scheduling.clone();
    if attr.flags & sched_flag::KEEP_POLICY == 0 {
        new.policy = attr.policy;
    }
    if attr.flags & sched_flag::KEEP_PARAMS == 0 {
        new.priority = attr.priority;
        if !is_real_time(new.policy) {
            new.nice = attr.nice.clamp(-20, 19);
        }
    }
    new.reset_on_fork = attr.flags & sched_flag::RESET_ON_FORK != 0;
    change(thread, &target, new)
}

fn read_attr(thread: &Thread, place: UserPtr<SchedAttr>) -> SysResult<SchedAttr> {
    let memory = thread.memory();
    let size = match place.cast::<u32>().read(&memory)? {
        0 => SCHED_ATTR_SIZE_VER0,
        size => size,
    };
    let size_ours = size_of::<SchedAttr>();
    let tell_our_size = || {
        let ours = u32::try_from(size_ours).unwrap_or(SCHED_ATTR_SIZE_VER0);
        // The guest learns our size if it can.
        let _ = place.cast::<u32>().write(&memory, &ours);
        Errno::E2BIG
    };
    if !(SCHED_ATTR_SIZE_VER0..=4096).contains(&size) {
        return Err(tell_our_size());
    }
    let mut bytes = vec![0; size as usize];
    memory.read(place.address(), &mut bytes)?;
    if bytes.iter().skip(size_ours).any(|&byte| byte != 0) {
        return Err(tell_our_size());
    }
    let mut attr = SchedAttr::default();
    let known = bytes.len().min(size_ours);
    let target = attr.as_mut_bytes().get_mut(..known).unwrap_or_default();
    target.copy_from_slice(bytes.get(..known).unwrap_or_default());
    Ok(attr)
}

/// Reads policy, nice value and priority at once.
pub(crate) fn sched_getattr(
    thread: &Rc<Thread>,
    pid: i32,
    place: UserPtr<SchedAttr>,
    size: u32,
    flags: u32,
) -> SysResult<()> {
    if place.is_null() || pid < 0 || !(SCHED_ATTR_SIZE_VER0..=4096).contains(&size) || flags != 0 {
        return Err(Errno::EINVAL);
    }
    let scheduling = scheduling_of(thread, pid)?;
    let size = (size as usize).min(size_of::<SchedAttr>());
    let attr = SchedAttr {
        size: u32::try_from(size).unwrap_or(SCHED_ATTR_SIZE_VER0),
        policy: scheduling.policy,
        flags: if scheduling.reset_on_fork { sched_flag::RESET_ON_FORK } else { 0 },
        nice: if is_real_time(scheduling.policy) { 0 } else { scheduling.nice },
        priority: scheduling.priority,
        util_max: 1024,
        ..SchedAttr::default()
    };
    let bytes = attr.as_bytes().get(..size).unwrap_or_default();
    thread.memory().write(place.address(), bytes)
}

fn change(thread: &Thread, target: &Thread, new: Scheduling) -> SysResult<()> {
    let valid = match new.policy {
        sched::OTHER | sched::BATCH | sched::IDLE => new.priority == 0,
        sched::FIFO | sched::RR => (1..=MAX_RT_PRIORITY).contains(&new.priority),
        _ => false,
    };
    if !valid {
        return Err(Errno::EINVAL);
    }
    let (mine, theirs) = (thread.credentials(), target.credentials());
    if !mine.has(cap::SYS_NICE) {
        let old = target.attributes().scheduling.clone();
        let limit = target.process().limit(rlimit::RTPRIO)?.current;
        let too_high = is_real_time(new.policy)
            && (old.policy != new.policy && limit == 0
                || new.priority > old.priority && u64::from(new.priority) > limit);
        let too_nice = new.nice < old.nice && !may_raise_to(target, new.nice);
        let leaves_idle = old.policy == sched::IDLE
            && new.policy != sched::IDLE
            && !may_raise_to(target, old.nice);
        let other_user = ![theirs.uid, theirs.euid].contains(&mine.euid);
        if too_high
            || too_nice
            || leaves_idle
            || other_user
            || old.reset_on_fork && !new.reset_on_fork
        {
            return Err(Errno::EPERM);
        }
    }
    target.change_attributes(|attributes| attributes.scheduling = new);
    Ok(())
}

/// The highest real-time priority of a policy.
pub(crate) fn sched_get_priority_max(_thread: &Rc<Thread>, policy: u32) -> SysResult<u32> {
    match policy {
        sched::FIFO | sched::RR => Ok(MAX_RT_PRIORITY),
        sched::OTHER | sched::BATCH | sched::IDLE | sched::DEADLINE => Ok(0),
        _ => Err(Errno::EINVAL),
    }
}

/// The lowest real-time priority of a policy.
pub(crate) fn sched_get_priority_min(_thread: &Rc<Thread>, policy: u32) -> SysResult<u32> {
    match policy {
        sched::FIFO | sched::RR => Ok(1),
        sched::OTHER | sched::BATCH | sched::IDLE | sched::DEADLINE => Ok(0),
        _ => Err(Errno::EINVAL),
    }
}

/// How long a thread runs at a time.
pub(crate) fn sched_rr_get_interval(
    thread: &Rc<Thread>,
    pid: i32,
    interval: UserPtr<Timespec>,
) -> SysResult<()> {
    let nanos = match scheduling_of(thread, pid)?.policy {
        sched::RR => RR_INTERVAL_NS,
        sched::FIFO => 0,
        _ => FAIR_INTERVAL_NS,
    };
    interval.write(&thread.memory(), &Timespec::from_nanos(nanos))
}

/// Sets the processors that a thread may run on.
pub(crate) fn sched_setaffinity(
    thread: &Rc<Thread>,
    pid: i32,
    size: u32,
    mask: UserPtr<u8>,
) -> SysResult<()> {
    let n = (size as usize).min(MAX_CPU_SET_BYTES);
    let bytes = mask.read_many(&thread.memory(), n)?;
    let mine = thread.credentials();
    let target = match u32::try_from(pid).map_err(|_| Errno::ESRCH)? {
        0 => Some(Rc::clone(thread)),
        tid => thread.kernel().ids.thread(Pid(tid)),
    };
    let users = match &target {
        Some(target) => [target.credentials().uid, target.credentials().euid],
        None => {
            // A process that nobody has waited for is still there to be named.
            let pid = Pid(pid.unsigned_abs());
            let dead = thread.kernel().ids.process(pid).ok_or(Errno::ESRCH)?;
            [dead.uid(); 2]
        }
    };
    if !users.contains(&mine.euid) && !mine.has(cap::SYS_NICE) {
        return Err(Errno::EPERM);
    }
    let words = bytes
        .chunks(8)
        .map(|chunk| chunk.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)))
        .collect();
    let chosen = CpuSet(words).and(&CpuSet::all());
    if chosen.is_empty() {
        return Err(Errno::EINVAL);
    }
    let Some(target) = target else { return Ok(()) };
    target.change_attributes(|attributes| {
        let mut affinity = chosen;
        affinity.0.resize(CpuSet::all().0.len(), 0);
        attributes.scheduling.affinity = affinity;
    });
    let affinity = target.attributes().scheduling.affinity.clone();
    target.machine().set_affinity(&affinity.0);
    Ok(())
}

/// The processors that a thread may run on. Returns how many bytes say so.
pub(crate) fn sched_getaffinity(
    thread: &Rc<Thread>,
    pid: i32,
    size: u32,
    mask: UserPtr<u64>,
) -> SysResult<usize> {
    let affinity = scheduling_of(thread, pid).map_err(|_| Errno::ESRCH)?.affinity;
    let bytes = affinity.0.len() * size_of::<u64>();
    if !(size as usize).is_multiple_of(size_of::<u64>()) || (size as usize) < bytes {
        return Err(Errno::EINVAL);
    }
    mask.write_many(&thread.memory(), &affinity.0)?;
    Ok(bytes)
}
