//! Processor time and load.

use host_sys::rustix;
use kernel_core::timers::{boot_time, real_time};
use linux_abi::SysResult;
use linux_abi::time::NANOS_PER_SEC;

use crate::Sources;

/// How many threads run now, as far as the kernel knows, at least the one that asks.
fn n_running(sources: &Sources) -> usize {
    let processes = sources.kernel.ids.processes();
    let threads = processes.iter().flat_map(|process| process.threads());
    threads.filter(|thread| !thread.machine().is_waiting()).count().max(1)
}

/// `/proc/loadavg`: the host's averages, the sandbox's threads.
pub(super) fn average(sources: &Sources) -> SysResult<Vec<u8>> {
    // Fixed point with 16 bits after the point.
    let show = |load: u64| format!("{}.{:02}", load >> 16, ((load & 0xffff) * 100) >> 16);
    let [one, five, fifteen] = rustix::system::sysinfo().loads.map(show);
    let (running, all) = (n_running(sources), sources.kernel.n_tasks());
    let last = sources.kernel.ids.last().0;
    Ok(format!("{one} {five} {fifteen} {running}/{all} {last}\n").into_bytes())
}

/// `/proc/stat`: the host's processor time, the sandbox's processes.
pub(super) fn stat(sources: &Sources) -> SysResult<Vec<u8>> {
    let mut text = sources.facts.cpu_time_lines()?;
    let started = (real_time() - boot_time()) / NANOS_PER_SEC;
    let processes = sources.kernel.n_forks();
    let running = n_running(sources);
    text.push_str(&format!(
        "intr 0\nctxt 0\nbtime {started}\nprocesses {processes}\nprocs_running {running}\n\
         procs_blocked 0\nsoftirq 0 0 0 0 0 0 0 0 0 0 0\n"
    ));
    Ok(text.into_bytes())
}

/// How long processors were idle, in hundredths of a second: the fifth word of the first line.
pub(super) fn idle_hundredths(sources: &Sources) -> SysResult<u64> {
    let text = sources.facts.cpu_time_lines()?;
    let total = text.lines().next().unwrap_or_default();
    Ok(total.split_whitespace().nth(4).and_then(|word| word.parse().ok()).unwrap_or(0))
}
