//! Directories of an overlay.

use std::rc::Rc;

use linux_abi::{Errno, SysResult};

use super::inode::{OverlayInode, Place};
use super::{Moves, UpperKind, marks, require_upper, work};
use crate::inode::{DirEntry, Directory, Inode, NewInode, NewKind, RenameMode};
use crate::listings::Version;
use crate::metadata::FileKind;

impl OverlayInode {
    /// What the layers have of this name.
    pub(super) fn find(&self, name: &[u8]) -> SysResult<Rc<OverlayInode>> {
        if name == work::NAME && self.is_top() {
            return Err(Errno::ENOENT);
        }
        let mut upper = None;
        if let Some(directory) = &*self.upper.borrow() {
            match directory.directory().ok_or(Errno::ENOTDIR)?.lookup(name) {
                Ok(found) if marks::is_whiteout(&*found) => return Err(Errno::ENOENT),
                Ok(found) => upper = Some(found),
                Err(Errno::ENOENT) => {}
                Err(errno) => return Err(errno),
            }
        }
        let lowers = match &upper {
            Some(upper) if upper.kind() != FileKind::Directory => Vec::new(),
            Some(upper) => match upper.attachments().get::<marks::Lowers>() {
                Some(lowers) => lowers.0.clone(),
                None => match marks::redirect(&**upper) {
                    Some(path) => self.lowers_at(&path)?,
                    None if marks::is_opaque(&**upper) => Vec::new(),
                    None => self.find_lowers(name, FileKind::Directory)?,
                },
            },
            None => self.find_lowers(name, FileKind::Anonymous)?,
        };
        let place = Place { parent: self.this.upgrade().ok_or(Errno::ENOENT)?, name: name.into() };
        Self::with(&self.shared, upper, lowers, Some(place))
    }

    /// What the lower layers have of this name.
    fn find_lowers(&self, name: &[u8], above: FileKind) -> SysResult<Vec<Rc<dyn Inode>>> {
        find_in_layers(&self.lowers, name, above)
    }

    /// Whether this is the top, whose upper directory has the hidden work folder in it.
    pub(super) fn is_top(&self) -> bool {
        self.place.borrow().is_none() && self.shared.work.is_some()
    }

    fn is_in_lowers(&self, name: &[u8]) -> SysResult<bool> {
        Ok(!self.find_lowers(name, FileKind::Anonymous)?.is_empty())
    }

    /// Whether all names come from one place whose positions last.
    fn is_upper_only(&self) -> bool {
        self.lowers.is_empty()
    }

    fn is_empty(&self) -> SysResult<bool> {
        if !self.is_upper_only() {
            return self.with_listing(|listing| listing.is_empty());
        }
        let mut is_empty = true;
        self.real()?.directory().ok_or(Errno::ENOTDIR)?.list(0, &mut |_| {
            is_empty = false;
            false
        })?;
        Ok(is_empty)
    }

    /// Removes what the upper layer has of `name`, and hides what the lower ones have.
    fn remove_name(&self, name: &[u8], child: &OverlayInode) -> SysResult<()> {
        let upper = self.copy_up()?;
        let directory = upper.directory().ok_or(Errno::ENOTDIR)?;
        let is_hidden = self.is_in_lowers(name)?;
        if let (true, Some(work)) = (is_hidden, &self.shared.work) {
            work.white_out(&upper, name)?;
            self.unlisted(name);
            return Ok(());
        }
        if let Some(real) = &*child.upper.borrow()
            && directory.lookup(name).is_ok_and(|found| Rc::ptr_eq(&found, real))
        {
            if child.kind() == FileKind::Directory {
                clear_directory(&**real)?;
                directory.rmdir(name)?;
            } else {
                directory.unlink(name)?;
            }
        }
        if is_hidden {
            marks::add_whiteout(directory, name)?;
        }
        self.unlisted(name);
        Ok(())
    }

    /// Makes a directory ready to be moved: it takes what it shows of the lower layers with it.
    fn prepare_move(&self) -> SysResult<()> {
        let layer = require_upper(&self.shared)?;
        let upper = self.copy_up()?;
        if self.kind() != FileKind::Directory {
            return Ok(());
        }
        match layer.kind {
            UpperKind::Memory => {
                upper.attachments().set(Rc::new(marks::Lowers(self.lowers.clone())));
                marks::set_opaque(&*upper, layer.kind)
            }
            UpperKind::Folder if self.lowers.is_empty() => marks::set_opaque(&*upper, layer.kind),
            UpperKind::Folder if layer.moves == Moves::AsCopies => {
                self.copy_up_tree()?;
                marks::set_opaque(&*upper, layer.kind)
            }
            // The next run has to find them, by the path that they have in the lower layers.
            UpperKind::Folder => marks::set_redirect(&*upper, &self.lower_path()?),
        }
    }

    /// Copies everything beneath this directory, in a loop.
    fn copy_up_tree(&self) -> SysResult<()> {
        let mut pending = vec![self.this.upgrade().ok_or(Errno::ENOENT)?];
        while let Some(directory) = pending.pop() {
            let upper = directory.copy_up()?;
            let mut names = Vec::new();
            directory.list(0, &mut |entry| {
                names.push(entry.name.to_vec());
                true
            })?;
            for name in names {
                let child = directory.find(&name)?;
                child.copy_up()?;
                if child.kind() == FileKind::Directory {
                    pending.push(child);
                }
            }
            marks::set_opaque(&*upper, UpperKind::Folder)?;
        }
        Ok(())
    }

    /// The path of this directory in the lower layers, which need not be its path here.
    fn lower_path(&self) -> SysResult<Vec<u8>> {
        let mut names = Vec::new();
        let mut at = self.this.upgrade().ok_or(Errno::ENOENT)?;
        let mut path = loop {
            let redirect = at.upper.borrow().as_ref().and_then(|upper| marks::redirect(&**upper));
            if let Some(path) = redirect {
                break path;
            }
            let Some(Place { parent, name }) = at.place.borrow().clone() else { break Vec::new() };
            names.push(name);
            at = parent;
        };
        for name in names.iter().rev() {
            path.push(b'/');
            path.extend_from_slice(name);
        }
        Ok(path)
    }

    /// What the lower layers have at a path of theirs.
    fn lowers_at(&self, path: &[u8]) -> SysResult<Vec<Rc<dyn Inode>>> {
        let mut top = self.this.upgrade().ok_or(Errno::ENOENT)?;
        while let Some(Place { parent, .. }) = { top.place.borrow().clone() } {
            top = parent;
        }
        let mut found = top.lowers.clone();
        for name in path.split(|&byte| byte == b'/').filter(|name| !name.is_empty()) {
            found = find_in_layers(&found, name, FileKind::Directory)?;
        }
        Ok(found)
    }

    fn overlay_directory(inode: &Rc<dyn Inode>) -> SysResult<&OverlayInode> {
        inode.as_any().downcast_ref().ok_or(Errno::EXDEV)
    }

    fn set_place(&self, parent: &OverlayInode, name: &[u8]) -> SysResult<()> {
        let parent = parent.this.upgrade().ok_or(Errno::ENOENT)?;
        *self.place.borrow_mut() = Some(Place { parent, name: name.into() });
        Ok(())
    }
}

/// What layers have of this name: one file, or all directories down to an opaque one. With
/// `FileKind::Directory` only directories count, because there is one above.
fn find_in_layers(
    layers: &[Rc<dyn Inode>],
    name: &[u8],
    above: FileKind,
) -> SysResult<Vec<Rc<dyn Inode>>> {
    let mut found: Vec<Rc<dyn Inode>> = Vec::new();
    for (index, lower) in layers.iter().enumerate() {
        let Some(directory) = lower.directory() else { continue };
        let inode = match directory.lookup(name) {
            Ok(inode) => inode,
            Err(Errno::ENOENT) => continue,
            Err(errno) => return Err(errno),
        };
        if marks::is_whiteout(&*inode) {
            break;
        }
        let is_directory = inode.kind() == FileKind::Directory;
        if !is_directory && (above == FileKind::Directory || !found.is_empty()) {
            break;
        }
        // Below the lowest layer there is nothing to hide.
        let is_lowest = index + 1 == layers.len();
        let ends = !is_directory || is_lowest || marks::is_opaque(&*inode);
        found.push(inode);
        if ends {
            break;
        }
    }
    Ok(found)
}

/// Removes the whiteouts of an upper directory, which are all that is in it.
fn clear_directory(directory: &dyn Inode) -> SysResult<()> {
    let directory = directory.directory().ok_or(Errno::ENOTDIR)?;
    let mut names = Vec::new();
    directory.list(0, &mut |entry| {
        names.push(entry.name.to_vec());
        true
    })?;
    for name in names {
        if marks::is_whiteout(&*directory.lookup(&name)?) {
            directory.unlink(&name)?;
        }
    }
    Ok(())
}

/// Moves a name of the upper layer in one step, if the host can: what is at the new name is
/// replaced, and the old name becomes a whiteout if it `hides` something.
fn move_name(
    names: &dyn Directory,
    name: &[u8],
    to: &Rc<dyn Inode>,
    new_name: &[u8],
    kind: FileKind,
    hides: bool,
) -> SysResult<()> {
    let target = to.directory().ok_or(Errno::ENOTDIR)?;
    let meets_whiteout = target.lookup(new_name).is_ok_and(|found| marks::is_whiteout(&*found));
    if meets_whiteout && kind == FileKind::Directory {
        // A directory does not replace a device; the whiteout goes where it may be needed.
        names.rename(name, to, new_name, RenameMode::Exchange)?;
        return if hides { Ok(()) } else { names.unlink(name) };
    }
    if !hides {
        return names.rename(name, to, new_name, RenameMode::Replace);
    }
    match names.rename(name, to, new_name, RenameMode::Whiteout) {
        // A host file system that cannot leave a whiteout behind.
        Err(Errno::EINVAL) => {
            names.rename(name, to, new_name, RenameMode::Replace)?;
            marks::add_whiteout(names, name)
        }
        result => result,
    }
}

impl Directory for OverlayInode {
    fn lookup(&self, name: &[u8]) -> SysResult<Rc<dyn Inode>> {
        Ok(self.find(name)?)
    }

    fn list(&self, from: u64, visit: &mut dyn FnMut(&DirEntry<'_>) -> bool) -> SysResult<()> {
        if !self.is_upper_only() {
            return self.with_listing(|listing| listing.visit(from, visit));
        }
        let real = self.real()?;
        let device = real.metadata()?.device;
        let directory = real.directory().ok_or(Errno::ENOTDIR)?;
        directory.list(from, &mut |entry| {
            let inode = self.shared.number(device, entry.inode);
            visit(&DirEntry { inode, ..*entry })
        })
    }

    fn version(&self) -> Option<Version> {
        // One that is merged keeps its names itself.
        if self.is_upper_only() { self.real().ok()?.directory()?.version() } else { None }
    }

    fn learn_names(&self) {
        if !self.is_upper_only() {
            // Whoever lists it is told of what went wrong.
            let _ = self.with_listing(|_| ());
        }
    }

    fn stored_size(&self) -> Option<u64> {
        // The upper layer of one that is merged is small or was listed before.
        if self.is_upper_only() {
            return self.real().ok()?.directory()?.stored_size();
        }
        self.lowers.iter().map(|lower| lower.directory()?.stored_size()).sum()
    }

    fn file_after(&self, name: &[u8]) -> Option<Rc<[u8]>> {
        self.listing.borrow().as_ref()?.file_after(name)
    }

    fn create(&self, name: &[u8], new: &NewInode<'_>) -> SysResult<Rc<dyn Inode>> {
        let layer = require_upper(&self.shared)?;
        if name == work::NAME && self.is_top() {
            return Err(Errno::EPERM);
        }
        let upper = self.copy_up()?;
        let directory = upper.directory().ok_or(Errno::ENOTDIR)?;
        let has_whiteout = directory.lookup(name).is_ok_and(|found| marks::is_whiteout(&*found));
        let is_opaque = has_whiteout && new.kind == NewKind::Directory;
        match &self.shared.work {
            Some(work) if has_whiteout => {
                let ready = work.fresh_name();
                let created = work.names()?.create(&ready, new)?;
                if is_opaque {
                    marks::set_opaque(&*created, layer.kind)?;
                }
                work.publish(&ready, new.kind.kind(), &upper, name)?;
            }
            _ => {
                if has_whiteout {
                    directory.unlink(name)?;
                }
                let created = directory.create(name, new);
                if has_whiteout && created.is_err() {
                    marks::add_whiteout(directory, name)?;
                }
                let created = created?;
                if is_opaque {
                    marks::set_opaque(&*created, layer.kind)?;
                }
            }
        }
        let inode = self.find(name)?;
        self.listed(name, &inode);
        Ok(inode)
    }

    fn create_unnamed(&self, new: &NewInode<'_>) -> SysResult<Rc<dyn Inode>> {
        let upper = self.copy_up()?;
        let created = upper.directory().ok_or(Errno::ENOTDIR)?.create_unnamed(new)?;
        Ok(Self::with(&self.shared, Some(created), Vec::new(), None)?)
    }

    fn link(&self, name: &[u8], target: &Rc<dyn Inode>) -> SysResult<()> {
        let target = Self::overlay_directory(target)?;
        let real = target.copy_up()?;
        let upper = self.copy_up()?;
        let directory = upper.directory().ok_or(Errno::ENOTDIR)?;
        let has_whiteout = directory.lookup(name).is_ok_and(|found| marks::is_whiteout(&*found));
        match &self.shared.work {
            Some(work) if has_whiteout => {
                let ready = work.fresh_name();
                work.names()?.link(&ready, &real)?;
                work.publish(&ready, target.kind(), &upper, name)?;
            }
            _ => {
                if has_whiteout {
                    directory.unlink(name)?;
                }
                directory.link(name, &real)?;
            }
        }
        if target.place.borrow().is_none() {
            target.set_place(self, name)?;
        }
        self.listed(name, target);
        Ok(())
    }

    fn unlink(&self, name: &[u8]) -> SysResult<()> {
        let child = self.find(name)?;
        self.remove_name(name, &child)
    }

    fn rmdir(&self, name: &[u8]) -> SysResult<()> {
        let child = self.find(name)?;
        if child.kind() != FileKind::Directory {
            return Err(Errno::ENOTDIR);
        }
        if !child.is_empty()? {
            return Err(Errno::ENOTEMPTY);
        }
        self.remove_name(name, &child)
    }

    fn rename(
        &self,
        name: &[u8],
        new_directory: &Rc<dyn Inode>,
        new_name: &[u8],
        mode: RenameMode,
    ) -> SysResult<()> {
        let target = Self::overlay_directory(new_directory)?;
        let moved = self.find(name)?;
        let replaced = match target.find(new_name) {
            Ok(replaced) => Some(replaced),
            Err(Errno::ENOENT) => None,
            Err(errno) => return Err(errno),
        };
        moved.prepare_move()?;
        let from = self.copy_up()?;
        let to = target.copy_up()?;
        let names = from.directory().ok_or(Errno::ENOTDIR)?;
        if let (RenameMode::Exchange, Some(other)) = (mode, &replaced) {
            other.prepare_move()?;
            names.rename(name, &to, new_name, RenameMode::Exchange)?;
            other.set_place(self, name)?;
            self.listed(name, other);
        } else {
            if let Some(replaced) = &replaced
                && replaced.kind() == FileKind::Directory
            {
                if !replaced.is_empty()? {
                    return Err(Errno::ENOTEMPTY);
                }
                if let Some(real) = &*replaced.upper.borrow() {
                    clear_directory(&**real)?;
                }
            }
            let hides = mode == RenameMode::Whiteout || self.is_in_lowers(name)?;
            move_name(names, name, &to, new_name, moved.kind(), hides)?;
            self.unlisted(name);
        }
        moved.set_place(target, new_name)?;
        target.listed(new_name, &moved);
        Ok(())
    }
}
