//! What the writable layer makes different.
//!
//! The overlay as it is now is compared with the lower layers alone. Only where the upper layer
//! has something is anything looked at, so the cost is that of what was touched. A file that was
//! only copied, or was written with what it had, is no change.

use std::collections::BTreeSet;
use std::rc::Rc;

use kernel_core::io::VecSink;
use linux_abi::files::mode;
use linux_abi::{Errno, SysResult};
use sandbox_spec::Happened;

use super::inode::OverlayInode;
use super::{Overlay, RealId};
use crate::inode::{Content, Directory, Inode};
use crate::metadata::FileKind;

/// How much of two files is compared at a time.
const PIECE: usize = 64 << 10;
/// How many bytes all paths together may have that are looked at. Folders in folders have paths
/// whose length grows with the square of their number: 8,000 of them made 6 GB.
const MAX_PATH_BYTES: usize = 128 << 20;

/// A name that is different now.
pub struct Difference {
    /// The path from the top of the overlay, without a slash at its start.
    pub path: Vec<u8>,
    /// What became of it.
    pub happened: Happened,
    /// What is there now; `None` if it was removed.
    pub now: Option<Rc<dyn Inode>>,
}

/// A directory as it is now, and as it was.
struct Pair {
    path: Vec<u8>,
    now: Rc<OverlayInode>,
    before: Option<Rc<OverlayInode>>,
}

impl Overlay {
    /// Tells `visit` of everything that differs from the lower layers, directories before what is
    /// in them. What was removed with everything in it is told once. Fails with `E2BIG` if all paths
    /// together are too long.
    pub fn differences(&self, visit: &mut dyn FnMut(Difference) -> SysResult<()>) -> SysResult<()> {
        let before = Overlay::new(self.root.lowers.clone(), None)?;
        let now = Rc::clone(&self.root);
        let top = Pair { path: Vec::new(), now, before: Some(Rc::clone(&before.root)) };
        let mut pending = vec![top];
        let mut left = MAX_PATH_BYTES;
        while let Some(pair) = pending.pop() {
            pair.compare(visit, &mut pending, &mut left)?;
        }
        Ok(())
    }
}

impl Pair {
    fn compare(
        &self,
        visit: &mut dyn FnMut(Difference) -> SysResult<()>,
        pending: &mut Vec<Pair>,
        left: &mut usize,
    ) -> SysResult<()> {
        let mut children = Vec::new();
        for name in self.names()? {
            let path = join(&self.path, &name);
            *left = left.checked_sub(path.len()).ok_or(Errno::E2BIG)?;
            let now = find_in(Some(&self.now), &name)?;
            let before = find_in(self.before.as_ref(), &name)?;
            let Some(now) = now else {
                if before.is_some() {
                    visit(Difference { path, happened: Happened::Removed, now: None })?;
                }
                continue;
            };
            let before_directory = before.clone().filter(|it| it.kind() == FileKind::Directory);
            let happened = match &before {
                None => Some(Happened::Created),
                Some(before) if is_same(&now, before)? => None,
                Some(_) => Some(Happened::Changed),
            };
            if let Some(happened) = happened {
                let inode = Rc::clone(&now) as Rc<dyn Inode>;
                visit(Difference { path: path.clone(), happened, now: Some(inode) })?;
            }
            if now.kind() == FileKind::Directory {
                children.push(Pair { path, now, before: before_directory });
            }
        }
        // The last one pushed is the next one looked at.
        pending.extend(children.into_iter().rev());
        Ok(())
    }

    /// The names that may differ: those of the upper layer, if the lower ones show through it as
    /// they did, and else all that are or were there.
    fn names(&self) -> SysResult<BTreeSet<Vec<u8>>> {
        let mut names = BTreeSet::new();
        let before: &[Rc<dyn Inode>] = self.before.as_ref().map_or(&[], |before| &before.lowers);
        if are_same_files(&self.now.lowers, before)? {
            if let Some(upper) = &*self.now.upper.borrow() {
                add_names(upper.directory().ok_or(Errno::ENOTDIR)?, &mut names)?;
            }
            return Ok(names);
        }
        add_names(&*self.now, &mut names)?;
        if let Some(before) = &self.before {
            add_names(&**before, &mut names)?;
        }
        Ok(names)
    }
}

fn join(directory: &[u8], name: &[u8]) -> Vec<u8> {
    let separator: &[u8] = if directory.is_empty() { b"" } else { b"/" };
    [directory, separator, name].concat()
}

fn add_names(directory: &dyn Directory, names: &mut BTreeSet<Vec<u8>>) -> SysResult<()> {
    directory.list(0, &mut |entry| {
        names.insert(entry.name.to_vec());
        true
    })
}

fn find_in(
    directory: Option<&Rc<OverlayInode>>,
    name: &[u8],
) -> SysResult<Option<Rc<OverlayInode>>> {
    let Some(directory) = directory else { return Ok(None) };
    match directory.find(name) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::ENOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}

fn ids(files: &[Rc<dyn Inode>]) -> SysResult<Vec<RealId>> {
    let id = |file: &Rc<dyn Inode>| file.metadata().map(|it| (it.device, it.inode));
    files.iter().map(id).collect()
}

fn are_same_files(one: &[Rc<dyn Inode>], other: &[Rc<dyn Inode>]) -> SysResult<bool> {
    Ok(one.len() == other.len() && ids(one)? == ids(other)?)
}

fn is_same(now: &OverlayInode, before: &OverlayInode) -> SysResult<bool> {
    if now.upper.borrow().is_none() && are_same_files(&now.lowers, &before.lowers)? {
        return Ok(true);
    }
    let (is, was) = (now.metadata()?, before.metadata()?);
    if now.kind() != before.kind() {
        return Ok(false);
    }
    if now.kind() == FileKind::Symlink {
        return Ok(now.read_link()? == before.read_link()?);
    }
    let rights = |it: &crate::Metadata| (it.mode & mode::CHANGEABLE, it.uid, it.gid, it.special);
    if rights(&is) != rights(&was) {
        return Ok(false);
    }
    match (now.content(), before.content()) {
        (Some(now), Some(before)) => Ok(is.size == was.size && have_same_bytes(now, before)?),
        _ => Ok(true),
    }
}

fn have_same_bytes(one: &dyn Content, other: &dyn Content) -> SysResult<bool> {
    let mut offset = 0;
    loop {
        let (mut from_one, mut from_other) = (VecSink::new(PIECE), VecSink::new(PIECE));
        let n = one.read(&mut from_one, offset)?;
        other.read(&mut from_other, offset)?;
        if from_one.bytes != from_other.bytes {
            return Ok(false);
        }
        if n == 0 {
            return Ok(true);
        }
        offset += n as u64;
    }
}
