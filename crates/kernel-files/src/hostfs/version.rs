//! Whether a directory of the host is as it was.

use std::os::fd::OwnedFd;

use host_sys::rustix;
use kernel_core::timers;
use linux_abi::time::{NANOS_PER_SEC, Timespec};

use super::shared::Shared;
use super::status::{id_of, stat_handle, time_of};
use crate::listings::Version;

/// The host's clock for files stands still between two ticks, so a directory that has just changed
/// can change again and not show it. One that has not changed for this long would show it.
const SETTLED_NANOS: u64 = 100_000_000;

/// The same for a file system that counts whole seconds, as ext3 does.
const SETTLED_SECONDS_NANOS: u64 = 2 * NANOS_PER_SEC;

/// File systems that note every change of a name in the directory's times: ext2 to ext4, XFS,
/// Btrfs, F2FS, tmpfs and the overlay of these.
const NOTES_CHANGES: &[u32] =
    &[0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0x0102_1994, 0x794c_7630];

/// What the names of a directory are as of, if the host would say when they change. The kernel
/// itself has changed them so many times.
pub(super) fn version_of(shared: &Shared, directory: &OwnedFd, n_changes: u64) -> Option<Version> {
    let stat = stat_handle(directory).ok()?;
    let (modified, changed) = (time_of(&stat.stx_mtime), time_of(&stat.stx_ctime));
    let is_told = is_settled(changed, timers::real_time())
        && shared.notes_changes(id_of(&stat).0, || notes_changes(directory));
    is_told.then_some(Version { modified, changed, n_changes })
}

fn notes_changes(file: &OwnedFd) -> bool {
    let kind = rustix::fs::fstatfs(file).map(|usage| usage.f_type);
    kind.is_ok_and(|kind| u32::try_from(kind).is_ok_and(|kind| NOTES_CHANGES.contains(&kind)))
}

/// Whether a change after `now`, in nanoseconds since 1970, cannot look like the last one.
fn is_settled(changed: Timespec, now: u64) -> bool {
    let (Ok(seconds), Ok(nanos)) = (u64::try_from(changed.tv_sec), u64::try_from(changed.tv_nsec))
    else {
        return false;
    };
    let changed = seconds.saturating_mul(NANOS_PER_SEC).saturating_add(nanos);
    let settled = if nanos == 0 { SETTLED_SECONDS_NANOS } else { SETTLED_NANOS };
    changed.saturating_add(settled) <= now
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_has_just_changed_is_not_believed() {
        let second = NANOS_PER_SEC;
        let changed = Timespec { tv_sec: 10, tv_nsec: 1 };
        assert!(!is_settled(changed, 10 * second + 1));
        assert!(!is_settled(changed, 10 * second + SETTLED_NANOS));
        assert!(is_settled(changed, 10 * second + SETTLED_NANOS + 1));
        let seconds_only = Timespec { tv_sec: 10, tv_nsec: 0 };
        assert!(!is_settled(seconds_only, 12 * second - 1));
        assert!(is_settled(seconds_only, 12 * second));
        assert!(!is_settled(changed, 9 * second), "a clock that was set back");
        assert!(!is_settled(Timespec { tv_sec: -1, tv_nsec: 0 }, second));
    }
}
