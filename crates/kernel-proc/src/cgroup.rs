//! `/sys/fs/cgroup`: one group, the root, which everything is in.

use kernel_files::pseudo::Listing;
use kernel_tasks::Kernel;

use crate::Sources;

/// How much memory all guest processes use.
pub(crate) fn memory_used(kernel: &Kernel) -> u64 {
    let resident = |process: &std::rc::Rc<kernel_tasks::Process>| {
        process.any_thread().map_or(0, |thread| thread.machine().resident_bytes())
    };
    kernel.ids.processes().iter().map(resident).sum()
}

pub(crate) fn root(sources: &Sources) -> Listing {
    let (all, limit) = (sources.clone(), sources.clone());
    let (threads, usage) = (sources.clone(), sources.clone());
    let (pids, pids_max, stat) = (sources.clone(), sources.clone(), sources.clone());
    Listing::new()
        .constant("cgroup.controllers", "cpu memory pids\n")
        .constant("cgroup.subtree_control", "\n")
        .constant("cgroup.type", "domain\n")
        .constant("cgroup.events", "populated 1\nfrozen 0\n")
        .file("cgroup.procs", move || {
            let lines = all.kernel.ids.processes().into_iter().filter(|process| !process.is_dead());
            Ok(lines.map(|process| format!("{}\n", process.pid.0)).collect::<String>().into_bytes())
        })
        .file("cgroup.threads", move || {
            let processes = threads.kernel.ids.processes().into_iter();
            let lines = processes.flat_map(|process| process.threads());
            Ok(lines.map(|thread| format!("{}\n", thread.tid().0)).collect::<String>().into_bytes())
        })
        .constant("cpu.max", "max 100000\n")
        .constant("cpu.weight", "100\n")
        .file("cpu.stat", move || {
            let times = stat.kernel.ids.processes().into_iter().map(|process| process.cpu_times());
            let (user, system) = times.fold((0, 0), |(user, system), times| {
                (user + times.user / 1000, system + times.system / 1000)
            });
            let total = user + system;
            let text = format!("usage_usec {total}\nuser_usec {user}\nsystem_usec {system}\n");
            Ok(text.into_bytes())
        })
        .file("memory.max", move || {
            Ok(match limit.facts.memory_limit {
                Some(bytes) => format!("{bytes}\n").into_bytes(),
                None => b"max\n".to_vec(),
            })
        })
        .constant("memory.high", "max\n")
        .constant("memory.swap.max", "0\n")
        .file(
            "memory.current",
            move || Ok(format!("{}\n", memory_used(&usage.kernel)).into_bytes()),
        )
        .file("pids.current", move || Ok(format!("{}\n", pids.kernel.n_tasks()).into_bytes()))
        .file("pids.max", move || Ok(format!("{}\n", pids_max.kernel.max_tasks()).into_bytes()))
}
