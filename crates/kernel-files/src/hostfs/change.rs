//! Changes of what the host keeps beside the bytes of a file: permissions and times.

use std::os::fd::AsRawFd;

use host_sys::{errno_of, rustix};
use linux_abi::files::mode;
use linux_abi::time::Timespec;
use linux_abi::{Errno, SysResult};
use rustix::fs::{AtFlags, Mode, Timestamps};

use super::inode::{HostInode, can_have_xattrs};
use super::kept::Kept;
use crate::inode::Inode;
use crate::metadata::AttributeChange;

impl HostInode {
    /// Changes what is asked for, or what the guest believes of it.
    pub(super) fn change_attributes(&self, change: &AttributeChange) -> SysResult<()> {
        if self.shared.options.keeps_owners {
            let metadata = self.metadata()?;
            let mut kept = Kept::of(&metadata);
            kept.uid = change.uid.unwrap_or(kept.uid);
            kept.gid = change.gid.unwrap_or(kept.gid);
            kept.mode = change.mode.unwrap_or(kept.mode) & mode::CHANGEABLE;
            if kept != Kept::of(&metadata) || self.kept.get().is_none() {
                self.keep(kept)?;
            }
            if change.mode.is_some() && can_have_xattrs(self.kind()) {
                self.change_mode(kept.host_mode(self.kind()))?;
            }
            if change.accessed.is_some() || change.modified.is_some() {
                self.change_times(change)?;
            }
            return Ok(());
        }
        let now = self.ownership()?;
        // Files on the host belong to whoever started the sandbox, and stay so.
        if change.uid.is_some_and(|uid| uid != now.uid)
            || change.gid.is_some_and(|gid| gid != now.gid)
        {
            return Err(Errno::EPERM);
        }
        if let Some(bits) = change.mode {
            self.change_mode(bits)?;
        }
        if change.accessed.is_some() || change.modified.is_some() {
            self.change_times(change)?;
        }
        Ok(())
    }

    /// Changes the permissions on the host.
    pub(super) fn change_mode(&self, bits: u32) -> SysResult<()> {
        // Set-id bits would act on the host, with the rights of whoever started the sandbox.
        let bits = bits & (mode::PERMISSIONS | mode::STICKY);
        self.keep_from_being_shut_out(bits);
        let bits = Mode::from_raw_mode(bits);
        let handle = self.path_handle()?;
        // The link names the open file itself, so that no other file can take its place.
        let path = format!("/proc/self/fd/{}", handle.as_raw_fd());
        rustix::fs::chmod(path, bits).map_err(errno_of)
    }

    /// Changes the times on the host.
    pub(super) fn change_times(&self, change: &AttributeChange) -> SysResult<()> {
        let place = self.place();
        let to_host = |time: Option<Timespec>| match time {
            Some(time) => rustix::fs::Timespec { tv_sec: time.tv_sec, tv_nsec: time.tv_nsec },
            None => rustix::fs::Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT },
        };
        let times = Timestamps {
            last_access: to_host(change.accessed),
            last_modification: to_host(change.modified),
        };
        match place {
            Some(place) => {
                let flags = AtFlags::SYMLINK_NOFOLLOW;
                self.where_it_is(&place, |place| {
                    let parent = place.parent.directory_handle()?;
                    rustix::fs::utimensat(&*parent, &*place.name, &times, flags).map_err(errno_of)
                })
            }
            None => {
                let directory = self.open_for_listing()?;
                rustix::fs::futimens(directory, &times).map_err(errno_of)
            }
        }
    }
}
