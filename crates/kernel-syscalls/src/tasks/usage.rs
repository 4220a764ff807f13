//! `getrusage(2)`, `times(2)`.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_core::timers;
use kernel_tasks::process::CpuTimes;
use kernel_tasks::{Process, Thread};
use linux_abi::tasks::{Rusage, Tms, usage_of};
use linux_abi::time::Timeval;
use linux_abi::{Errno, SysResult};

fn usage(times: CpuTimes, max_resident: u64) -> Rusage {
    Rusage {
        user_time: Timeval::from_nanos(times.user),
        system_time: Timeval::from_nanos(times.system),
        max_resident_kb: (max_resident >> 10).cast_signed(),
        ..Rusage::default()
    }
}

/// What a child and its waited-for children have used, as `wait4` tells it.
pub(super) fn usage_with_children(process: &Process) -> Rusage {
    let (own, of_children) = process.max_resident();
    let times = process.cpu_times().plus(process.children_cpu_times());
    usage(times, own.max(of_children))
}

/// Resources that were used.
pub(crate) fn getrusage(thread: &Rc<Thread>, who: i32, place: UserPtr<Rusage>) -> SysResult<()> {
    let process = thread.process();
    let answer = match who {
        usage_of::SELF => usage(process.cpu_times(), process.max_resident().0),
        usage_of::CHILDREN => usage(process.children_cpu_times(), process.max_resident().1),
        usage_of::THREAD => usage(thread.cpu_times(), process.max_resident().0),
        _ => return Err(Errno::EINVAL),
    };
    place.write(&thread.memory(), &answer)
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
