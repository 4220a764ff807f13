//! A folder of the host.
//!
//! Nothing a guest does leads out of the folder: the host is only ever asked for one name, without
//! a slash and not `..`, in a directory that was reached the same way, and never follows a link.
//! Symbolic links are data, which the guest's own walker follows inside the guest's tree. Host
//! FIFOs and devices are shown but never opened.

pub mod beneath;
mod budget;
mod change;
mod content;
mod directory;
mod hidden;
mod inode;
mod kept;
mod place;
mod recent_files;
mod shared;
mod status;
mod version;

#[cfg(test)]
mod tests;

use std::any::Any;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::rc::Rc;

use host_sys::{errno_of, rustix};
use linux_abi::{Errno, SysResult};
use sandbox_spec::HostPlace;

use crate::inode::{FileSystem, Inode};
use crate::metadata::{DeviceNumber, FileKind, FileSystemUsage};
pub use budget::DiskBudget;
pub use hidden::Hides;
use inode::HostInode;
pub use kept::is_kept_mark;
use shared::Shared;
use status::{id_of, stat_handle};

/// How a host folder is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostOptions {
    /// Nothing is ever written to it.
    pub read_only: bool,
    /// Nobody else changes it while the sandbox runs, or at least nobody inside has to see it:
    /// names and metadata are remembered. Only together with `read_only`.
    pub immutable: bool,
    /// Owners and modes that the guest gives are kept in extended attributes, for a folder that
    /// takes the writes of an overlay.
    pub keeps_owners: bool,
    /// Whose files are shown as whose; `None` shows owners as they are on the host.
    pub owners: Option<OwnerMap>,
    /// What is not shown of it.
    pub hides: Hides,
}

/// Shows the files of one host user as those of a guest user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnerMap {
    /// The user on the host, most often the one who started the sandbox.
    pub host_uid: u32,
    /// That user's group on the host.
    pub host_gid: u32,
    /// The user in the sandbox.
    pub guest_uid: u32,
    /// The group in the sandbox.
    pub guest_gid: u32,
}

/// A folder of the host, or a single file of it.
pub struct HostFs {
    shared: Rc<Shared>,
    root: Rc<HostInode>,
}

impl HostFs {
    /// Shows the host's `path`. Links in the path itself are followed: the operator named it.
    pub fn open(path: &Path, options: HostOptions) -> SysResult<Rc<Self>> {
        Self::of_held(beneath::hold(path)?, options, None)
    }

    /// Shows what a descriptor holds, and nothing else whatever its name leads to by now. It may hold
    /// so much.
    pub fn of_held(
        held: OwnedFd,
        options: HostOptions,
        budget: Option<Rc<DiskBudget>>,
    ) -> SysResult<Rc<Self>> {
        let shared = Shared::new(options, budget);
        let stat = stat_handle(&held)?;
        if FileKind::of_mode(u32::from(stat.stx_mode)) == FileKind::Directory {
            let root = HostInode::root(&shared, held)?;
            return Ok(Rc::new(Self { shared, root }));
        }
        // A single file: only its name in its folder can be reached, and nothing beside it. The host
        // says what the name is now; if something else has it by then, that is not shown.
        let path = beneath::path_of(&held)?;
        let folder = path.parent().ok_or(Errno::EINVAL)?;
        let name = path.file_name().ok_or(Errno::EINVAL)?;
        let folder = HostInode::root(&shared, beneath::open_root(folder)?)?;
        let root = folder.find(name.as_encoded_bytes())?;
        if root.id() != id_of(&stat) {
            return Err(Errno::ESTALE);
        }
        Ok(Rc::new(Self { shared, root }))
    }
}

/// Holds a place: what holds it already is used, a path is opened.
pub fn hold_place(place: &HostPlace) -> SysResult<OwnedFd> {
    match place {
        HostPlace::Path(path) => beneath::hold(path),
        HostPlace::Held(held) => again(held.descriptor().ok_or(Errno::EBADF)?),
    }
}

fn again(descriptor: BorrowedFd<'_>) -> SysResult<OwnedFd> {
    descriptor.try_clone_to_owned().map_err(|error| io_errno(&error))
}

impl HostFs {
    /// Keeps other sandboxes from writing to the folder for as long as the result lives; `EBUSY`
    /// if one does already, `EOPNOTSUPP` if owners are to be kept and cannot be.
    pub fn lock(&self) -> SysResult<OwnedFd> {
        let folder = beneath::open_for_listing(&self.root.directory_handle()?)?;
        if self.shared.options.keeps_owners {
            kept::check_keeping(&folder)?;
        }
        let how = rustix::fs::FlockOperation::NonBlockingLockExclusive;
        match rustix::fs::flock(&folder, how).map_err(errno_of) {
            Err(Errno::EAGAIN) => Err(Errno::EBUSY),
            result => result.map(|()| folder),
        }
    }
}

fn io_errno(error: &std::io::Error) -> Errno {
    error.raw_os_error().and_then(Errno::from_code).unwrap_or(Errno::EIO)
}

impl FileSystem for HostFs {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn type_name(&self) -> &'static str {
        "ext4"
    }

    fn device(&self) -> DeviceNumber {
        self.shared.device
    }

    fn root(&self) -> Rc<dyn Inode> {
        Rc::clone(&self.root) as Rc<dyn Inode>
    }

    fn usage(&self) -> SysResult<FileSystemUsage> {
        let handle = self.root.nearest_directory()?;
        let usage = rustix::fs::fstatfs(&*handle).map_err(errno_of)?;
        let block_size = u64::try_from(usage.f_bsize).unwrap_or(4096).max(1);
        let (all, free) = match &self.shared.budget {
            Some(budget) => budget.bytes(),
            None => (u64::MAX, u64::MAX),
        };
        Ok(FileSystemUsage {
            magic: 0xef53,
            block_size,
            n_blocks: usage.f_blocks.min(all / block_size),
            n_free: usage.f_bfree.min(free / block_size),
            n_available: usage.f_bavail.min(free / block_size),
            n_files: usage.f_files,
            n_free_files: usage.f_ffree,
        })
    }

    fn has_refused_space(&self) -> bool {
        self.shared.budget.as_ref().is_some_and(|budget| budget.has_refused())
    }

    fn is_read_only(&self) -> bool {
        self.shared.options.read_only
    }

    fn sync(&self) -> SysResult<()> {
        if self.shared.options.read_only {
            return Ok(());
        }
        let directory = beneath::open_for_listing(&self.root.nearest_directory()?)?;
        rustix::fs::syncfs(directory).map_err(errno_of)
    }
}
