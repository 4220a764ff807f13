//! `sysinfo(2)`, `getcpu(2)`.

use std::rc::Rc;

use host_sys::rustix;
use kernel_core::memory::UserPtr;
use kernel_core::timers::boot_time;
use kernel_tasks::Thread;
use linux_abi::SysResult;
use linux_abi::system::Sysinfo;
use linux_abi::time::NANOS_PER_SEC;

/// Tells how much memory there is, and how busy the system is.
///
/// Memory is the sandbox's limit, or the host's. Free is what the host has left, within that: to
/// add up what all guests use would cost more than programs that call this at their start can bear.
pub(crate) fn sysinfo(thread: &Rc<Thread>, place: UserPtr<Sysinfo>) -> SysResult<()> {
    let host = rustix::system::sysinfo();
    let unit = u64::from(host.mem_unit.max(1));
    let host_total = host.totalram.saturating_mul(unit);
    let total = thread.kernel().memory_limit().map_or(host_total, |limit| limit.min(host_total));
    let free = host.freeram.saturating_mul(unit).min(total);
    let answer = Sysinfo {
        uptime: (boot_time() / NANOS_PER_SEC).cast_signed(),
        loads: host.loads,
        total_ram: total,
        free_ram: free,
        n_tasks: u16::try_from(thread.kernel().n_tasks()).unwrap_or(u16::MAX),
        unit: 1,
        ..Sysinfo::default()
    };
    place.write(&thread.memory(), &answer)
}

/// The processor that the caller runs on. The vDSO answers this; the kernel, which is another
/// host process, names the first.
pub(crate) fn getcpu(thread: &Rc<Thread>, cpu: UserPtr<u32>, node: UserPtr<u32>) -> SysResult<()> {
    let memory = thread.memory();
    cpu.write_if_wanted(&memory, &0)?;
    node.write_if_wanted(&memory, &0)
}
