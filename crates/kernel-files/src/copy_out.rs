//! What is copied to the host after a run, and the list of what the run changed.
//!
//! The folder that takes a copy is opened before the guest starts, as a host folder like any
//! other: nothing that the guest left behind, no link and no name, leads out of it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use kernel_core::credentials::Credentials;
use linux_abi::{Errno, SysResult};
use sandbox_spec::{Change, Now, Output, SandboxSpec};

use crate::copy::{Data, fill, link_of, new_like};
use crate::fs_context::Access;
use crate::hostfs::{HostFs, HostOptions};
use crate::inode::{FileSystem, Inode, NewInode, NewKind};
use crate::metadata::FileKind;
use crate::root::{RootError, SandboxTree, owner_map};
use crate::walk::{LastLink, lookup};

/// What did not arrive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotCopied {
    /// The path inside.
    pub path: PathBuf,
    /// What the host, or the kernel, said.
    pub cause: Errno,
}

/// What did not arrive, as far as it is told.
#[derive(Default)]
struct Failures {
    told: Vec<NotCopied>,
    /// How many bytes the paths have.
    length: usize,
}

impl Failures {
    /// How many bytes of paths are told. A guest can make a million files that cannot be copied.
    const MAX_BYTES: usize = 1 << 20;

    fn push(&mut self, failed: NotCopied) {
        let length = self.length.saturating_add(failed.path.as_os_str().len());
        if length <= Self::MAX_BYTES {
            self.told.push(failed);
        } else if self.length <= Self::MAX_BYTES {
            self.told.push(NotCopied { path: "and more".into(), cause: Errno::E2BIG });
        }
        self.length = length;
    }
}

/// A host folder that waits for what the guest makes.
pub struct CopyOut {
    path: Option<PathBuf>,
    target: Rc<HostFs>,
}

impl CopyOut {
    /// Opens, and makes if it is not there, the folder of an output.
    pub fn open(output: &Output, spec: &SandboxSpec) -> Result<Self, RootError> {
        let failed = |cause| RootError::Output { path: output.folder.clone(), cause };
        std::fs::create_dir_all(&output.folder).map_err(|error| {
            failed(error.raw_os_error().and_then(Errno::from_code).unwrap_or(Errno::EIO))
        })?;
        let owners = Some(owner_map(spec));
        let options = HostOptions { owners, ..HostOptions::default() };
        let target = HostFs::open(&output.folder, options).map_err(failed)?;
        let path = output.path.as_ref().map(|path| spec.working_directory.join(path));
        Ok(Self { path, target })
    }

    /// Copies, and tells what could not be copied.
    pub fn run(&self, tree: &SandboxTree) -> Vec<NotCopied> {
        let mut failed = Failures::default();
        match &self.path {
            Some(path) => self.copy_path(tree, path, &mut failed),
            None => self.copy_changes(tree, &mut failed),
        }
        failed.told
    }

    fn copy_path(&self, tree: &SandboxTree, path: &Path, failed: &mut Failures) {
        let credentials = Rc::new(Credentials::of_user(0, 0));
        let access = Access { fs: &tree.context, credentials: &credentials, caller: &() };
        let bytes = path.as_os_str().as_bytes();
        let start = tree.context.root();
        let copied = lookup(&access, &start, bytes, LastLink::Follow).and_then(|found| {
            let name = path.file_name().unwrap_or(OsStr::new("root")).as_bytes();
            copy_tree(found.inode()?, &self.target.root(), name, path, failed)
        });
        if let Err(cause) = copied {
            failed.push(NotCopied { path: path.to_path_buf(), cause });
        }
    }

    fn copy_changes(&self, tree: &SandboxTree, failed: &mut Failures) {
        let visited = tree.differences(&mut |path, difference| {
            let Some(now) = difference.now else { return Ok(()) };
            let copied = make_parents(&self.target.root(), path)
                .and_then(|(parent, name)| copy_one(&now, &parent, name).map(|_| ()));
            if let Err(cause) = copied {
                failed.push(NotCopied { path: Path::new("/").join(path), cause });
            }
            Ok(())
        });
        if let Err(cause) = visited {
            failed.push(NotCopied { path: "/".into(), cause });
        }
    }
}

/// Lists what the run changed, with paths from the root, sorted.
pub fn list_changes(tree: &SandboxTree) -> SysResult<Vec<Change>> {
    let mut changes = Vec::new();
    tree.differences(&mut |path, difference| {
        let now = match &difference.now {
            None => Now::Nothing,
            Some(inode) => now_of(&**inode)?,
        };
        let path = Path::new("/").join(path);
        changes.push(Change::new(path, difference.happened, now));
        Ok(())
    })?;
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(changes)
}

fn now_of(inode: &dyn Inode) -> SysResult<Now> {
    Ok(match inode.kind() {
        FileKind::Regular => {
            let metadata = inode.metadata()?;
            Now::File { size: metadata.size, mode: metadata.mode & 0o7777 }
        }
        FileKind::Directory => Now::Folder,
        FileKind::Symlink => {
            Now::Link { target: OsStr::from_bytes(&inode.read_link()?).to_os_string().into() }
        }
        _ => Now::Special,
    })
}

/// The directory of `path` in `top`, with everything that is missing on the way made, and the
/// last name.
fn make_parents<'p>(top: &Rc<dyn Inode>, path: &'p Path) -> SysResult<(Rc<dyn Inode>, &'p [u8])> {
    let name = path.file_name().ok_or(Errno::EINVAL)?.as_bytes();
    let mut at = Rc::clone(top);
    for part in path.parent().into_iter().flat_map(Path::components) {
        at = directory_in(&at, part.as_os_str().as_bytes())?;
    }
    Ok((at, name))
}

/// The directory of this name, made if it is not there. Anything else of this name gives way.
fn directory_in(parent: &Rc<dyn Inode>, name: &[u8]) -> SysResult<Rc<dyn Inode>> {
    let names = parent.directory().ok_or(Errno::ENOTDIR)?;
    match names.lookup(name) {
        Ok(found) if found.kind() == FileKind::Directory => return Ok(found),
        Ok(_) => names.unlink(name)?,
        Err(Errno::ENOENT) => {}
        Err(errno) => return Err(errno),
    }
    names.create(name, &NewInode { kind: NewKind::Directory, mode: 0o755, uid: 0, gid: 0 })
}

/// Copies one file, link or directory without what is in it; returns the directory.
fn copy_one(
    from: &Rc<dyn Inode>,
    parent: &Rc<dyn Inode>,
    name: &[u8],
) -> SysResult<Option<Rc<dyn Inode>>> {
    let names = parent.directory().ok_or(Errno::ENOTDIR)?;
    let metadata = from.metadata()?;
    if metadata.kind() == FileKind::Directory {
        return directory_in(parent, name).map(Some);
    }
    if !matches!(metadata.kind(), FileKind::Regular | FileKind::Symlink) {
        return Err(Errno::EOPNOTSUPP);
    }
    match names.lookup(name) {
        Ok(found) if found.kind() == FileKind::Directory => return Err(Errno::EISDIR),
        Ok(_) => names.unlink(name)?,
        Err(Errno::ENOENT) => {}
        Err(errno) => return Err(errno),
    }
    let link = link_of(&**from)?;
    let copy = names.create(name, &new_like(&metadata, &link)?)?;
    fill(&**from, &*copy, &metadata, Data::Copy, &|_| false)?;
    Ok(None)
}

/// Copies a file, or a directory with all that is in it, in a loop. What fails is noted, and the
/// rest goes on.
fn copy_tree(
    from: &Rc<dyn Inode>,
    parent: &Rc<dyn Inode>,
    name: &[u8],
    path: &Path,
    failed: &mut Failures,
) -> SysResult<()> {
    let mut pending = Vec::new();
    if let Some(directory) = copy_one(from, parent, name)? {
        pending.push((Rc::clone(from), directory, path.to_path_buf()));
    }
    while let Some((source, target, path)) = pending.pop() {
        let names = source.directory().ok_or(Errno::ENOTDIR)?;
        let mut found = Vec::new();
        names.list(0, &mut |entry| {
            found.push(entry.name.to_vec());
            true
        })?;
        for name in found {
            let path = path.join(OsStr::from_bytes(&name));
            let copied = names.lookup(&name).and_then(|child| {
                if let Some(directory) = copy_one(&child, &target, &name)? {
                    pending.push((child, directory, path.clone()));
                }
                Ok(())
            });
            if let Err(cause) = copied {
                failed.push(NotCopied { path, cause });
            }
        }
    }
    Ok(())
}
