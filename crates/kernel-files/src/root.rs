//! The tree that a sandbox starts with.

mod etc;
mod host_places;
mod layers;
mod shown;

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use kernel_core::credentials::Credentials;
use linux_abi::files::MountFlags;
use linux_abi::{Errno, SysResult};
use sandbox_spec::{Happened, HostPlace, MountAccess, Ownership, SandboxSpec};

use crate::devfs::{new_devfs, register_devices};
use crate::fs_context::{Access, FsContext};
use crate::hostfs::{DiskBudget, HostFs, HostOptions, OwnerMap, hold_place};
use crate::inode::{FileSystem, NewKind};
use crate::metadata::FileKind;
use crate::mount::{Location, Mount, MountNamespace};
use crate::operations;
use crate::overlay::{Difference, Moves, Overlay, Upper, UpperKind, look_like};
use crate::special::SpecialFiles;
use crate::tarfs::TarError;
use crate::tmpfs::{self, Limits, Tmpfs};
use crate::walk::{LastLink, lookup};
pub use host_places::{read_places, written_places};

/// Why the tree cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    /// The folder, file or archive of the root.
    #[error("cannot use {} as the root: {cause}", path.display())]
    Root {
        /// What was named.
        path: PathBuf,
        /// What the host says.
        cause: Errno,
    },
    /// The archive of the root.
    #[error("cannot use {} as the root: {cause}", path.display())]
    Archive {
        /// What was named.
        path: PathBuf,
        /// What is wrong with it.
        cause: TarError,
    },
    /// The folder that takes what the guest writes.
    #[error("cannot keep writes in {}: {cause}", path.display())]
    Overlay {
        /// What was named.
        path: PathBuf,
        /// What the host says.
        cause: Errno,
    },
    /// The folder that takes what the guest made.
    #[error("cannot copy to {}: {cause}", path.display())]
    Output {
        /// What was named.
        path: PathBuf,
        /// What the host says.
        cause: Errno,
    },
    /// A mount.
    #[error("cannot mount {} at {}: {cause}", source_path.display(), destination.display())]
    Mount {
        /// What was to be mounted.
        source_path: PathBuf,
        /// Where.
        destination: PathBuf,
        /// What went wrong.
        cause: Errno,
    },
}

/// The tree that a sandbox starts with.
pub struct SandboxTree {
    /// A context at its root.
    pub context: Rc<FsContext>,
    /// Where there are layers: at the root, and at mounts whose writes go elsewhere. The paths
    /// have no slash at the start.
    pub overlays: Vec<(PathBuf, Rc<Overlay>)>,
    /// Places that were made for mounts. They are no change that the guest made.
    places: Vec<PathBuf>,
    /// What mounts may take on the host that count.
    budget: Option<Rc<DiskBudget>>,
}

impl SandboxTree {
    /// Whether guests wanted to write more than the limit of the disk leaves.
    pub fn has_refused_space(&self) -> bool {
        self.overlays.iter().any(|(_, overlay)| overlay.has_refused_space())
            || self.budget.as_ref().is_some_and(|budget| budget.has_refused())
    }

    /// Tells of everything that differs from the lower layers, with its path from the root,
    /// which has no slash at the start.
    pub(crate) fn differences(
        &self,
        visit: &mut dyn FnMut(&Path, Difference) -> SysResult<()>,
    ) -> SysResult<()> {
        for (place, overlay) in &self.overlays {
            overlay.differences(&mut |difference| {
                let path = place.join(OsStr::from_bytes(&difference.path));
                let is_place = difference.happened == Happened::Created
                    && self.places.contains(&path)
                    && difference.now.as_ref().is_some_and(|now| now.content().is_none());
                if is_place { Ok(()) } else { visit(&path, difference) }
            })?;
        }
        Ok(())
    }
}

/// What differs from the root in the layers that `spec` names, without running anything.
pub fn kept_tree(spec: &SandboxSpec) -> Result<SandboxTree, RootError> {
    default_root(spec, &SpecialFiles::new(), Hooks::default())
}

/// File systems of other crates that belong to the tree.
#[derive(Default)]
pub struct Hooks {
    /// `/proc`.
    pub proc: Option<Rc<dyn FileSystem>>,
    /// `/sys`.
    pub sys: Option<Rc<dyn FileSystem>>,
    /// `/dev/pts`.
    pub devpts: Option<Rc<dyn FileSystem>>,
}

/// How much the guest may write to memory if nobody said.
const DEFAULT_DISK: u64 = 4 << 30;
/// How many files the guest may have in memory.
const MAX_INODES: u64 = 2_000_000;

/// Makes the tree that `spec` describes and a context at its root, for the first process.
/// Devices are registered with `special`.
pub fn default_root(
    spec: &SandboxSpec,
    special: &Rc<SpecialFiles>,
    hooks: Hooks,
) -> Result<SandboxTree, RootError> {
    register_devices(special);
    tmpfs::space::total::set_limit(spec.limits.disk.map_or(DEFAULT_DISK, |size| size.0));
    let root = layers::root_file_system(spec)?;
    let mount = Mount::of(Rc::clone(&root) as _, b"overlay", MountFlags::RELATIVE_ATIME);
    let namespace = MountNamespace::new(Rc::clone(&mount));
    let context = FsContext::new(namespace, mount.top(), Rc::clone(special));
    context.set_umask(0);
    let tree = Tree {
        context: Rc::clone(&context),
        credentials: Rc::new(Credentials::of_user(0, 0)),
        overlays: RefCell::new(vec![(PathBuf::new(), root)]),
        places: RefCell::default(),
        budget: spec.limits.disk.map(|size| DiskBudget::new(size.0)),
    };
    tree.mount_system(hooks).map_err(|cause| RootError::Root { path: "/dev".into(), cause })?;
    for tmpfs in &spec.tmpfs {
        let limits = Limits { max_bytes: Some(tmpfs.size.0), max_inodes: Some(MAX_INODES) };
        let fs = Tmpfs::new(limits, 0o1777, 0, 0);
        tree.mount(fs, &tmpfs.destination, b"tmpfs", MountFlags::empty()).map_err(|cause| {
            let destination = tmpfs.destination.clone();
            RootError::Mount { source_path: "tmpfs".into(), destination, cause }
        })?;
    }
    for mount in &spec.mounts {
        tree.mount_host(spec, mount).map_err(|cause| RootError::Mount {
            source_path: mount.source.path().to_path_buf(),
            destination: mount.destination.clone(),
            cause,
        })?;
    }
    for link in &spec.links {
        tree.link(link).map_err(|cause| RootError::Mount {
            source_path: link.target.clone(),
            destination: link.path.clone(),
            cause,
        })?;
    }
    context.set_umask(0o022);
    let Tree { overlays, places, budget, .. } = tree;
    let (overlays, places) = (overlays.into_inner(), places.into_inner());
    Ok(SandboxTree { context, overlays, places, budget })
}

/// The upper layer in memory, within what the sandbox may write.
pub(crate) fn memory_upper(spec: &SandboxSpec) -> Upper {
    let max_bytes = spec.limits.disk.map_or(DEFAULT_DISK, |size| size.0);
    let limits = Limits { max_bytes: Some(max_bytes), max_inodes: Some(MAX_INODES) };
    let file_system = Tmpfs::new(limits, 0o755, 0, 0);
    Upper { file_system, kind: UpperKind::Memory, moves: Moves::AsRecords, lock: None }
}

/// The upper layer in a host folder, which is made if it is named and not there.
pub(crate) fn folder_upper(
    spec: &SandboxSpec,
    place: &HostPlace,
    moves: Moves,
) -> SysResult<Upper> {
    let failed = |error: std::io::Error| {
        error.raw_os_error().and_then(Errno::from_code).unwrap_or(Errno::EIO)
    };
    if let HostPlace::Path(path) = place {
        std::fs::create_dir_all(path).map_err(failed)?;
    }
    let options =
        HostOptions { keeps_owners: true, owners: Some(owner_map(spec)), ..HostOptions::default() };
    let held = hold_place(place)?;
    let budget = spec.limits.disk.map(|size| DiskBudget::new(size.0));
    budget.iter().for_each(|budget| budget.count(&held));
    let file_system = HostFs::of_held(held, options, budget)?;
    let lock = Some(Rc::new(file_system.lock()?));
    Ok(Upper { file_system, kind: UpperKind::Folder, moves, lock })
}

/// Shows the invoking user's files as the guest's own.
pub(crate) fn owner_map(spec: &SandboxSpec) -> OwnerMap {
    OwnerMap {
        host_uid: host_sys::rustix::process::geteuid().as_raw(),
        host_gid: host_sys::rustix::process::getegid().as_raw(),
        guest_uid: spec.identity.uid,
        guest_gid: spec.identity.gid,
    }
}

struct Tree {
    context: Rc<FsContext>,
    credentials: Rc<Credentials>,
    overlays: RefCell<Vec<(PathBuf, Rc<Overlay>)>>,
    places: RefCell<Vec<PathBuf>>,
    /// What mounts may take on the host that count, all together.
    budget: Option<Rc<DiskBudget>>,
}

impl Tree {
    fn mount_system(&self, hooks: Hooks) -> SysResult<()> {
        let quiet = MountFlags::NO_SUID | MountFlags::NO_EXEC | MountFlags::RELATIVE_ATIME;
        self.mount(new_devfs()?, Path::new("/dev"), b"devtmpfs", MountFlags::NO_SUID)?;
        let limits = Limits { max_bytes: Some(1 << 30), max_inodes: Some(MAX_INODES) };
        let shm = Tmpfs::new(limits, 0o1777, 0, 0);
        let flags = MountFlags::NO_SUID | MountFlags::NO_DEV;
        self.mount(shm, Path::new("/dev/shm"), b"tmpfs", flags)?;
        let no_dev = quiet | MountFlags::NO_DEV;
        if let Some(devpts) = hooks.devpts {
            self.mount(devpts, Path::new("/dev/pts"), b"devpts", quiet)?;
        }
        if let Some(proc) = hooks.proc {
            self.mount(proc, Path::new("/proc"), b"proc", no_dev)?;
        }
        if let Some(sys) = hooks.sys {
            self.mount(sys, Path::new("/sys"), b"sysfs", no_dev | MountFlags::READ_ONLY)?;
        }
        Ok(())
    }

    fn mount_host(&self, spec: &SandboxSpec, mount: &sandbox_spec::Mount) -> SysResult<()> {
        let owners = match mount.ownership {
            Ownership::InvokerIsGuest => Some(owner_map(spec)),
            Ownership::AsOnHost => None,
        };
        let read_only = mount.access != MountAccess::ReadWrite;
        let options = HostOptions { read_only, owners, ..HostOptions::default() };
        let held = hold_place(&mount.source)?;
        let budget = self.budget.as_ref().filter(|_| mount.is_counted);
        budget.iter().for_each(|budget| budget.count(&held));
        let host = HostFs::of_held(held, options, budget.cloned())?;
        host.mask(&mount.masked)?;
        let mut fs: Rc<dyn FileSystem> = host;
        if mount.access == MountAccess::Overlay {
            let options = HostOptions { immutable: true, ..options };
            let lower = HostFs::of_held(hold_place(&mount.source)?, options, None)?;
            lower.mask(&mount.masked)?;
            if lower.root().kind() != FileKind::Directory {
                return Err(Errno::ENOTDIR);
            }
            let upper = match &mount.upper {
                // Whoever named the folder reads it after the run, without the kernel.
                Some(path) => folder_upper(spec, path, Moves::AsCopies)?,
                None => {
                    let upper = memory_upper(spec);
                    // Whoever may write to the folder may write to the layer over it.
                    look_like(&upper.file_system.root(), &lower.root())?;
                    upper
                }
            };
            let overlay = Overlay::new(vec![lower.root()], Some(upper))?;
            let place: PathBuf = normal_names(&mount.destination).collect();
            self.overlays.borrow_mut().push((place, Rc::clone(&overlay)));
            fs = overlay;
        }
        let flags = MountFlags::NO_SUID | MountFlags::NO_DEV | MountFlags::RELATIVE_ATIME;
        self.mount(fs, &mount.destination, mount.destination.as_os_str().as_bytes(), flags)
    }

    /// Mounts at `path`, which is made if it is not there.
    fn mount(
        &self,
        fs: Rc<dyn FileSystem>,
        path: &Path,
        source: &[u8],
        flags: MountFlags,
    ) -> SysResult<()> {
        let is_directory = fs.root().kind() == FileKind::Directory;
        let place = self.make_place(path, is_directory)?;
        if (place.inode()?.kind() == FileKind::Directory) != is_directory {
            return Err(Errno::ENOTDIR);
        }
        let mount = Mount::of(fs, source, flags);
        if matches!(mount.file_system.type_name(), "proc" | "sysfs" | "devpts" | "mqueue") {
            // The tree holds the mount itself; what is kept here is another one of the same.
            let root = Rc::clone(&mount.root);
            let again = Mount::new(Rc::clone(&mount.file_system), root, source, flags);
            self.context.special().register_file_system(&again);
        }
        self.context.namespace().mount(&mount, &place)
    }

    /// Makes a symbolic link. What is there already stays.
    fn link(&self, link: &sandbox_spec::Link) -> SysResult<()> {
        let (Some(folder), Some(name)) = (link.path.parent(), link.path.file_name()) else {
            return Err(Errno::EINVAL);
        };
        let folder = self.make_place(folder, true)?;
        let access = Access { fs: &self.context, credentials: &self.credentials, caller: &() };
        let kind = NewKind::Symlink(link.target.as_os_str().as_bytes());
        match operations::create(&access, &folder, name.as_bytes(), kind, 0o777) {
            Ok(_) | Err(Errno::EEXIST) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    /// The file or directory at `path`; what is missing on the way is made.
    fn make_place(&self, path: &Path, is_directory: bool) -> SysResult<Location> {
        let access = Access { fs: &self.context, credentials: &self.credentials, caller: &() };
        let mut at = self.context.root();
        let names: Vec<_> = normal_names(path).collect();
        for (index, name) in names.iter().enumerate() {
            let is_last = index + 1 == names.len();
            at = match lookup(&access, &at, name.as_bytes(), LastLink::Follow) {
                Err(Errno::ENOENT) => {
                    let is_file = is_last && !is_directory;
                    let kind = if is_file { NewKind::Regular } else { NewKind::Directory };
                    let place = names.iter().take(index + 1).collect();
                    self.places.borrow_mut().push(place);
                    operations::create(&access, &at, name.as_bytes(), kind, 0o755)?
                }
                found => found?,
            };
        }
        Ok(at)
    }
}

/// The names of a path, without slashes and dots.
fn normal_names(path: &Path) -> impl Iterator<Item = &OsStr> {
    path.components().filter_map(|part| match part {
        std::path::Component::Normal(name) => Some(name),
        _ => None,
    })
}
