//! Safe wrappers over the host calls that the kernel process makes.
//!
//! Most of them are `rustix`; what it does not have is here, each in a file of its own. This
//! crate knows nothing of guests or of the kernel's objects.

pub mod beneath;
mod children;
mod cpu;
mod descriptors;
mod disk_sync;
mod errno;
mod features;
mod fork;
mod landlock;
mod lookup;
mod namespaces;
mod populate;
mod privileges;
pub mod seccomp;
mod signal_descriptor;

pub use children::{
    HostProcessState, HostStatus, OuterPid, adopt_orphans, collected_cpu_time, cpu_ticks,
    end_children_of_program, kill_child, list_children, own_cpu_time, process_cpu_time, reap_child,
    stop_child, thread_cpu_time,
};
pub use cpu::{
    RunDelay, begin_to_count_ticks, cpuid_is_dear, current_cpu, signal_frame_size, ticks,
    ticks_per_microsecond,
};
pub use descriptors::{close_all_but, file_limit, has_other_users, open_again, raise_file_limit};
pub use disk_sync::{SyncRequests, SyncWhat};
pub use errno::errno_of;
pub use features::{
    ForbiddenByYama, NoFsgsbase, NoLandlock, close_range_available, descendants_readable,
    fsgsbase_available, futex_waitv_available, landlock_abi, openat2_available,
    seccomp_trap_available, xsave_available,
};
pub use fork::{Forked, exit_at_once, fork_into, is_first_process, map_users};
pub use landlock::{FileRules, Reach};
pub use lookup::{LookupError, lookup_host};
pub use namespaces::{Namespace, enter_new_namespaces};
pub use populate::{populate, trim_heap};
pub use privileges::{die_with_parent, drop_privileges};
pub use rustix;
pub use signal_descriptor::{
    SignalDescriptor, ignore_signals, ignored_signals, stop_by, unblock_all_signals,
};
