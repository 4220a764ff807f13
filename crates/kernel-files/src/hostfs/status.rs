//! What the host says of a file, and what a guest is told of it.

use std::os::fd::OwnedFd;

use host_sys::{errno_of, rustix};
use linux_abi::SysResult;
use linux_abi::time::Timespec;
use rustix::fs::{AtFlags, StatxFlags};

use super::shared::{HostId, Shared};
use crate::metadata::{DeviceNumber, Metadata};

/// The number of a file.
pub(super) fn id_of(stat: &rustix::fs::Statx) -> HostId {
    let device = u64::from(stat.stx_dev_major) << 32 | u64::from(stat.stx_dev_minor);
    (device, stat.stx_ino)
}

fn wanted() -> StatxFlags {
    StatxFlags::BASIC_STATS | StatxFlags::BTIME
}

/// Asks about `name` in `directory`.
pub(super) fn stat_in(directory: &OwnedFd, name: &[u8]) -> SysResult<rustix::fs::Statx> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    rustix::fs::statx(directory, name, flags, wanted()).map_err(errno_of)
}

/// Asks about an open file.
pub(super) fn stat_handle(handle: &OwnedFd) -> SysResult<rustix::fs::Statx> {
    rustix::fs::statx(handle, c"", AtFlags::EMPTY_PATH, wanted()).map_err(errno_of)
}

/// A time of the host's.
pub(super) fn time_of(time: &rustix::fs::StatxTimestamp) -> Timespec {
    Timespec { tv_sec: time.tv_sec, tv_nsec: time.tv_nsec.into() }
}

/// What the guest is told of a file.
pub(super) fn to_metadata(shared: &Shared, stat: &rustix::fs::Statx) -> Metadata {
    let (mut uid, mut gid) = (stat.stx_uid, stat.stx_gid);
    if let Some(owners) = shared.options.owners {
        if uid == owners.host_uid {
            uid = owners.guest_uid;
        }
        if gid == owners.host_gid {
            gid = owners.guest_gid;
        }
    }
    let has_birth = StatxFlags::from_bits_retain(stat.stx_mask).contains(StatxFlags::BTIME);
    Metadata {
        device: shared.device_of(id_of(stat).0),
        inode: stat.stx_ino,
        mode: stat.stx_mode.into(),
        n_links: stat.stx_nlink,
        uid,
        gid,
        special: DeviceNumber::new(stat.stx_rdev_major, stat.stx_rdev_minor),
        size: stat.stx_size,
        block_size: stat.stx_blksize,
        n_blocks: stat.stx_blocks,
        accessed: time_of(&stat.stx_atime),
        modified: time_of(&stat.stx_mtime),
        changed: time_of(&stat.stx_ctime),
        created: has_birth.then(|| time_of(&stat.stx_btime)),
    }
}
