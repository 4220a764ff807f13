//! Files and file systems: one file per call or small family.

mod access;
mod async_signal;
mod caller;
mod close;
mod copy;
mod dup;
mod fcntl;
mod flock;
mod getdents;
mod hand;
mod handle;
mod inotify;
mod ioctl;
mod landlock;
mod lend;
mod memfd;
mod mount;
mod names;
mod open;
mod ownership;
mod place;
mod read;
mod readlink;
mod seek;
mod splice;
mod stat;
mod statfs;
mod sync;
mod times;
mod transfer;
mod truncate;
mod write;
mod xattr;

pub(crate) use access::{access, faccessat, faccessat2};
pub(crate) use close::{close, close_range};
pub(crate) use copy::{copy_file_range, sendfile};
pub(crate) use dup::{dup, dup2, dup3};
pub(crate) use fcntl::fcntl;
pub(crate) use flock::flock;
pub(crate) use getdents::{getdents, getdents64};
pub(crate) use handle::name_to_handle_at;
pub(crate) use inotify::{inotify_add_watch, inotify_init, inotify_init1, inotify_rm_watch};
pub(crate) use ioctl::ioctl;
pub(crate) use landlock::{landlock_add_rule, landlock_create_ruleset, landlock_restrict_self};
pub(crate) use memfd::memfd_create;
pub(crate) use mount::{
    fsconfig, fsmount, fsopen, fspick, listmount, mount, mount_setattr, move_mount, open_tree,
    open_tree_attr, pivot_root, statmount, umount2,
};
pub(crate) use names::{
    link, linkat, mkdir, mkdirat, mknod, mknodat, rename, renameat, renameat2, rmdir, symlink,
    symlinkat, unlink, unlinkat,
};
pub(crate) use open::{creat, open, openat, openat2};
pub(crate) use ownership::{
    chmod, chown, fchmod, fchmodat, fchmodat2, fchown, fchownat, lchown, umask,
};
pub(crate) use place::{chdir, chroot, fchdir, getcwd};
pub(crate) use read::{pread_here, pread64, preadv, preadv2, read, readv};
pub(crate) use readlink::{readlink, readlinkat};
pub(crate) use seek::lseek;
pub(crate) use splice::{splice, tee, vmsplice};
pub(crate) use stat::{fstat, lstat, newfstatat, stat, statx};
pub(crate) use statfs::{fstatfs, statfs};
pub(crate) use sync::{fadvise64, fdatasync, fsync, readahead, sync, sync_file_range, syncfs};
pub(crate) use times::{futimesat, utime, utimensat, utimes};
pub(crate) use truncate::{fallocate, ftruncate, truncate};
pub(crate) use write::{pwrite_here, pwrite64, pwritev, pwritev2, write, writev};
pub(crate) use xattr::{
    fgetxattr, flistxattr, fremovexattr, fsetxattr, getxattr, getxattrat, lgetxattr, listxattr,
    listxattrat, llistxattr, lremovexattr, lsetxattr, removexattr, removexattrat, setxattr,
    setxattrat,
};
