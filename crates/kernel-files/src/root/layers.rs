//! The file system at `/`.

use std::path::Path;
use std::rc::Rc;

use linux_abi::{Errno, SysResult};
use sandbox_spec::{RootFs, RootWrites, SandboxSpec};

use super::{RootError, etc, folder_upper, memory_upper};
use crate::device_numbers::allocate_device;
use crate::hostfs::{Hides, HostFs, HostOptions};
use crate::inode::{FileSystem, Inode, NewInode, NewKind, WriteAt};
use crate::overlay::{Moves, Overlay};
use crate::static_directory::StaticDirectory;
use crate::tarfs::TarFs;
use crate::tmpfs::{Limits, Tmpfs};

/// What of the host's root is shown. Not its homes, its keys, its logs and its data.
pub const SYSTEM_FOLDERS: [&str; 9] =
    ["bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr", "opt", "nix"];
/// The one of them of which only what everybody may read is shown. Programs are in `/opt`, compilers
/// and browsers among them, so it cannot be left out; but each comes with settings and data of its
/// own, which no distribution looks after.
const PUBLIC_FOLDER: &str = "opt";
/// The number of `/etc`; its folders have the next ones.
const ETC_NUMBERS: u64 = 16;

/// The overlay that `spec` describes.
pub fn root_file_system(spec: &SandboxSpec) -> Result<Rc<Overlay>, RootError> {
    let made = |cause| RootError::Root { path: "/".into(), cause };
    let generated = generated_layer(spec).map_err(made)?;
    let lowers = match &spec.root {
        RootFs::Host => vec![generated, host_layer().map_err(made)?],
        RootFs::Directory(path) => {
            let image = directory_layer(path)?;
            with_network_files(spec, image).map_err(made)?
        }
        RootFs::Tar(path) => {
            let archive = TarFs::open(path)
                .map_err(|cause| RootError::Archive { path: path.clone(), cause })?;
            with_network_files(spec, archive.root()).map_err(made)?
        }
    };
    let upper = match &spec.root_writes {
        RootWrites::Memory => Some(memory_upper(spec)),
        RootWrites::Directory(path) => {
            let failed = |cause| RootError::Overlay { path: path.clone(), cause };
            Some(folder_upper(spec, &path.into(), Moves::AsRecords).map_err(failed)?)
        }
        RootWrites::Refused => None,
    };
    Overlay::new(lowers, upper).map_err(made)
}

/// The layers of a root of the user's own, with the files over it that say who answers for names.
fn with_network_files(spec: &SandboxSpec, image: Rc<dyn Inode>) -> SysResult<Vec<Rc<dyn Inode>>> {
    let mut layers = vec![image, mount_points()?];
    let files = etc::for_images(spec);
    if !files.is_empty() {
        let root = Tmpfs::new(Limits::default(), 0o755, 0, 0).root();
        let folder = make_directory(&root, "etc", 0o755, (0, 0))?;
        for (name, text) in files {
            add_file(&folder, name, &text)?;
        }
        layers.insert(0, root);
    }
    Ok(layers)
}

fn directory_layer(path: &Path) -> Result<Rc<dyn Inode>, RootError> {
    let options = HostOptions { read_only: true, immutable: true, ..HostOptions::default() };
    match HostFs::open(path, options) {
        Ok(fs) => Ok(fs.root()),
        Err(cause) => Err(RootError::Root { path: path.to_path_buf(), cause }),
    }
}

/// The host's system folders, and the harmless part of `/etc`.
fn host_layer() -> SysResult<Rc<dyn Inode>> {
    let hides =
        |hides| HostOptions { read_only: true, immutable: true, hides, ..HostOptions::default() };
    let host = HostFs::open(Path::new("/"), hides(Hides::SecretSettings))?.root();
    let names = host.directory().ok_or(Errno::ENOTDIR)?;
    let public = HostFs::open(Path::new("/"), hides(Hides::Secrets))?.root();
    let public = public.directory().ok_or(Errno::ENOTDIR)?;
    let device = allocate_device();
    let mut root = StaticDirectory::new(device, 1, 0o755);
    for name in SYSTEM_FOLDERS {
        let from = if name == PUBLIC_FOLDER { public } else { names };
        if let Ok(inode) = from.lookup(name.as_bytes()) {
            root.add(name.as_bytes(), inode);
        }
    }
    if let Ok(host_etc) = public.lookup(b"etc") {
        root.add(b"etc", etc::shown(&host_etc, device, ETC_NUMBERS)?);
    }
    if let Some(cache) = find(&host, &["var", "cache", "fontconfig"]) {
        let mut folder = StaticDirectory::new(device, 3, 0o755);
        folder.add(b"fontconfig", cache);
        let mut var = StaticDirectory::new(device, 4, 0o755);
        var.add(b"cache", Rc::new(folder));
        root.add(b"var", Rc::new(var));
    }
    Ok(Rc::new(root))
}

fn find(root: &Rc<dyn Inode>, path: &[&str]) -> Option<Rc<dyn Inode>> {
    let mut at = Rc::clone(root);
    for name in path {
        let next = at.directory()?.lookup(name.as_bytes()).ok()?;
        at = next;
    }
    Some(at)
}

/// What every sandbox has whatever the host has: empty folders and a few files in `/etc`.
fn generated_layer(spec: &SandboxSpec) -> SysResult<Rc<dyn Inode>> {
    let fs = Tmpfs::new(Limits::default(), 0o755, 0, 0);
    let root = fs.root();
    add_mount_points(&root)?;
    for (path, mode) in [("root", 0o711), ("home", 0o755), ("run", 0o755), ("mnt", 0o755)] {
        make_directory(&root, path, mode, (0, 0))?;
    }
    let var = make_directory(&root, "var", 0o755, (0, 0))?;
    for (path, mode) in [("tmp", 0o1777), ("log", 0o755), ("lib", 0o755), ("cache", 0o755)] {
        make_directory(&var, path, mode, (0, 0))?;
    }
    let names = var.directory().ok_or(Errno::ENOTDIR)?;
    let link = NewKind::Symlink(b"/run");
    names.create(b"run", &NewInode { kind: link, mode: 0o777, uid: 0, gid: 0 })?;
    let run = root.directory().ok_or(Errno::ENOTDIR)?.lookup(b"run")?;
    make_directory(&run, "lock", 0o1777, (0, 0))?;
    make_home(&root, spec)?;
    let folder = make_directory(&root, "etc", 0o755, (0, 0))?;
    let mounts = NewKind::Symlink(b"../proc/self/mounts");
    let names = folder.directory().ok_or(Errno::ENOTDIR)?;
    names.create(b"mtab", &NewInode { kind: mounts, mode: 0o777, uid: 0, gid: 0 })?;
    for (name, text) in etc::generated(spec) {
        add_file(&folder, name, &text)?;
    }
    Ok(root)
}

/// Only the places where `/dev`, `/proc` and `/sys` are mounted, and `/tmp`.
fn mount_points() -> SysResult<Rc<dyn Inode>> {
    let root = Tmpfs::new(Limits::default(), 0o755, 0, 0).root();
    add_mount_points(&root)?;
    Ok(root)
}

fn add_mount_points(root: &Rc<dyn Inode>) -> SysResult<()> {
    for (name, mode) in [("dev", 0o755), ("proc", 0o555), ("sys", 0o555), ("tmp", 0o1777)] {
        make_directory(root, name, mode, (0, 0))?;
    }
    Ok(())
}

fn make_home(root: &Rc<dyn Inode>, spec: &SandboxSpec) -> SysResult<()> {
    let mut at = Rc::clone(root);
    let owner = (spec.identity.uid, spec.identity.gid);
    let names: Vec<_> = spec.identity.home.components().skip(1).collect();
    for (index, name) in names.iter().enumerate() {
        let name = name.as_os_str().to_str().ok_or(Errno::EINVAL)?;
        let is_last = index + 1 == names.len();
        let known = at.directory().ok_or(Errno::ENOTDIR)?.lookup(name.as_bytes());
        at = match known {
            Ok(known) => known,
            Err(_) if is_last => make_directory(&at, name, 0o755, owner)?,
            Err(_) => make_directory(&at, name, 0o755, (0, 0))?,
        };
    }
    Ok(())
}

fn make_directory(
    parent: &Rc<dyn Inode>,
    name: &str,
    mode: u32,
    (uid, gid): (u32, u32),
) -> SysResult<Rc<dyn Inode>> {
    let new = NewInode { kind: NewKind::Directory, mode, uid, gid };
    parent.directory().ok_or(Errno::ENOTDIR)?.create(name.as_bytes(), &new)
}

fn add_file(parent: &Rc<dyn Inode>, name: &str, text: &str) -> SysResult<()> {
    let new = NewInode { kind: NewKind::Regular, mode: 0o644, uid: 0, gid: 0 };
    let file = parent.directory().ok_or(Errno::ENOTDIR)?.create(name.as_bytes(), &new)?;
    let mut source = kernel_core::io::SliceSource::new(text.as_bytes());
    file.content().ok_or(Errno::EINVAL)?.write(&mut source, WriteAt::Offset(0))?;
    Ok(())
}
