//! `statfs(2)`, `fstatfs(2)`, `ustat(2)`.

use std::rc::Rc;

use kernel_core::memory::{CString, UserPtr};
use kernel_files::anonymous::location_of;
use kernel_files::walk::LastLink;
use kernel_files::{FileKind, Location, OpenFile};
use kernel_tasks::Thread;
use linux_abi::files::{MountFlags, NAME_MAX, Statfs};
use linux_abi::{Fd, SysResult};

use super::caller::{Caller, HERE, read_path};

/// `ST_VALID`: the flags say something.
const FLAGS_VALID: u64 = 0x20;
/// Read-only, without set-id, devices, programs, access times of all or of directories.
const SAME_BITS: u64 = 0xc0f;
/// `ST_RELATIME`.
const RELATIVE_ATIME: u64 = 0x1000;
/// `ST_RDONLY`.
const READ_ONLY: u64 = 1;

const PIPEFS_MAGIC: i64 = 0x5049_5045;
const SOCKFS_MAGIC: i64 = 0x534f_434b;
const ANON_INODE_FS_MAGIC: i64 = 0x0904_1934;

/// Says how full the file system of a path is.
pub(crate) fn statfs(
    thread: &Rc<Thread>,
    path: UserPtr<CString>,
    buffer: UserPtr<Statfs>,
) -> SysResult<()> {
    let path = read_path(thread, path)?;
    let location = Caller::new(thread).find(HERE, &path, 0, LastLink::Follow)?;
    buffer.write(&thread.memory(), &usage(&location)?)
}

/// Says how full the file system of an open file is.
pub(crate) fn fstatfs(thread: &Rc<Thread>, fd: Fd, buffer: UserPtr<Statfs>) -> SysResult<()> {
    let file = thread.file(fd)?;
    let status = match magic_without_a_place(&file) {
        Some(f_type) => Statfs {
            f_type,
            f_bsize: 4096,
            f_frsize: 4096,
            f_namelen: NAME_MAX as i64,
            f_flags: signed(FLAGS_VALID),
            ..Statfs::default()
        },
        None => usage(&location_of(&file))?,
    };
    buffer.write(&thread.memory(), &status)
}

/// What the file system is called that Linux keeps files of this kind in, if they have no path.
fn magic_without_a_place(file: &OpenFile) -> Option<i64> {
    if file.location().is_some() || file.ops().inode().is_some() {
        return None;
    }
    match file.ops().metadata().kind() {
        FileKind::Fifo => Some(PIPEFS_MAGIC),
        FileKind::Socket => Some(SOCKFS_MAGIC),
        FileKind::Anonymous => Some(ANON_INODE_FS_MAGIC),
        _ => None,
    }
}

fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn usage(location: &Location) -> SysResult<Statfs> {
    let fs = &location.mount.file_system;
    let usage = fs.usage()?;
    // Most bits of the mount flags are those of `ST_*`.
    let mount_flags = location.mount.flags();
    let mut flags = mount_flags.bits() & SAME_BITS | FLAGS_VALID;
    if mount_flags.contains(MountFlags::RELATIVE_ATIME) {
        flags |= RELATIVE_ATIME;
    }
    if location.mount.is_read_only() {
        flags |= READ_ONLY;
    }
    let device = fs.device();
    Ok(Statfs {
        f_type: signed(usage.magic),
        f_bsize: signed(usage.block_size),
        f_blocks: usage.n_blocks,
        f_bfree: usage.n_free,
        f_bavail: usage.n_available,
        f_files: usage.n_files,
        f_ffree: usage.n_free_files,
        f_fsid: [device.minor.cast_signed(), device.major.cast_signed()],
        f_namelen: NAME_MAX as i64,
        f_frsize: signed(usage.block_size),
        f_flags: signed(flags),
        ..Statfs::default()
    })
}
