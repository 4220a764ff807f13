//! `getrusage(2)`, `times(2)`.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_core::timers;
use kernel_tasks::process::{CpuTimes, Usage};
use kernel_tasks::{Process, Thread};
use linux_abi::tasks::{Rusage, Tms, usage_of};
use linux_abi::time::Timeval;
use linux_abi::{Errno, SysResult};

fn rusage(used: Usage) -> Rusage {
    Rusage {
        user_time: Timeval::from_nanos(used.times.user),
        system_time: Timeval::from_nanos(used.times.system),
        max_resident_kb: (used.max_resident >> 10).cast_signed(),
        minor_faults: used.minor_faults.cast_signed(),
        major_faults: used.major_faults.cast_signed(),
        ..Rusage::default()
    }
}

/// What a child and its waited-for children have used, as `wait4` tells it.
pub(super) fn usage_with_children(process: &Process) -> Rusage {
    rusage(process.usage().plus(process.children_usage()))
}

/// Resources that were used.
pub(crate) fn getrusage(thread: &Rc<Thread>, who: i32, place: UserPtr<Rusage>) -> SysResult<()> {
    let process = thread.process();
    let used = match who {
        usage_of::SELF => process.usage(),
        usage_of::CHILDREN => process.children_usage(),
        usage_of::THREAD => Usage { times: thread.cpu_times(), ..process.usage() },
        _ => return Err(Errno::EINVAL),
    };
    place.write(&thread.memory(), &rusage(used))
}

/// CPU times in clock ticks; returns the ticks since some time in the past.
pub(crate) fn times(thread: &Rc<Thread>, place: UserPtr<Tms>) -> SysResult<u64> {
    let (user, system) = thread.process().cpu_times().ticks();
    let (children_user, children_system) = thread.process().children_cpu_times().ticks();
    let answer = Tms { user, system, children_user, children_system };
    place.write_if_wanted(&thread.memory(), &answer)?;
    let since_boot = CpuTimes { user: timers::boot_time(), system: 0 };
    Ok(since_boot.ticks().0)
}
