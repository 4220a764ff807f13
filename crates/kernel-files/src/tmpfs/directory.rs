//! Directories in memory.

use std::collections::BTreeMap;
use std::rc::Rc;

use kernel_core::ledger::{ALLOCATION, Charge, Kind};
use linux_abi::{Errno, SysResult};

use super::inode::{Body, MemoryInode};
use crate::inode::{DirEntry, Directory, Inode, NewInode, NewKind, RenameMode};
use crate::metadata::{DeviceNumber, FileKind};
use crate::name_map::NameMap;

/// The first position of an entry: 1 and 2 come after `.` and `..`.
const FIRST_POSITION: u64 = 3;

/// The size that Linux's memory file system shows for each entry.
const ENTRY_SIZE: u64 = 20;

/// One name.
struct Entry {
    position: u64,
    inode: Rc<MemoryInode>,
    _charge: Charge,
}

/// A charge for a name; `ENOSPC` if there is no room.
fn charge_for(name: &[u8]) -> SysResult<Charge> {
    let memory = (2 * size_of::<Entry>() + name.len()) as u64 + 3 * ALLOCATION;
    Charge::new(Kind::Inodes, memory).map_err(|_| Errno::ENOSPC)
}

/// The names in a directory. Each keeps its position for life, so that listing goes on where it
/// stopped whatever happens in between.
#[derive(Default)]
pub struct Entries {
    by_name: NameMap<Entry>,
    by_position: BTreeMap<u64, Rc<[u8]>>,
    last_position: u64,
}

impl Entries {
    fn find(&self, name: &[u8]) -> SysResult<&Rc<MemoryInode>> {
        self.by_name.get(name).map(|entry| &entry.inode).ok_or(Errno::ENOENT)
    }

    fn insert(&mut self, name: &[u8], inode: Rc<MemoryInode>, charge: Charge) {
        let name: Rc<[u8]> = Rc::from(name);
        self.last_position = self.last_position.max(FIRST_POSITION) + 1;
        self.by_position.insert(self.last_position, Rc::clone(&name));
        let position = self.last_position;
        self.by_name.insert(name, Entry { position, inode, _charge: charge });
    }

    fn remove(&mut self, name: &[u8]) -> SysResult<Rc<MemoryInode>> {
        let entry = self.by_name.remove(name).ok_or(Errno::ENOENT)?;
        self.by_position.remove(&entry.position);
        Ok(entry.inode)
    }

    /// Puts another file in the place of a name.
    fn replace(&mut self, name: &[u8], inode: Rc<MemoryInode>) -> Option<Rc<MemoryInode>> {
        let entry = self.by_name.get_mut(name)?;
        Some(std::mem::replace(&mut entry.inode, inode))
    }

    /// What `stat` shows as the size of the directory.
    pub fn size(&self) -> u64 {
        (self.by_name.len() as u64 + 2) * ENTRY_SIZE
    }

    /// Empties the directory.
    pub fn take_all(&mut self) -> Vec<Rc<MemoryInode>> {
        self.by_position.clear();
        std::mem::take(&mut self.by_name).into_values().map(|entry| entry.inode).collect()
    }
}

impl MemoryInode {
    fn entries(&self) -> SysResult<&std::cell::RefCell<Entries>> {
        match &self.body {
            Body::Directory(entries) => Ok(entries),
            _ => Err(Errno::ENOTDIR),
        }
    }

    fn is_empty_directory(&self) -> bool {
        self.entries().is_ok_and(|entries| entries.borrow().by_name.is_empty())
    }

    fn is_directory(&self) -> bool {
        matches!(self.body, Body::Directory(_))
    }

    /// A name of `child` has been removed from this directory.
    fn lost(&self, child: &MemoryInode) {
        if child.is_directory() {
            child.n_links.set(0);
            self.add_links(-1);
        } else {
            child.add_links(-1);
        }
    }

    fn exchange(&self, name: &[u8], other: &MemoryInode, other_name: &[u8]) -> SysResult<()> {
        let one = Rc::clone(self.entries()?.borrow().find(name)?);
        let two = Rc::clone(other.entries()?.borrow().find(other_name)?);
        self.entries()?.borrow_mut().replace(name, Rc::clone(&two));
        other.entries()?.borrow_mut().replace(other_name, Rc::clone(&one));
        let balance = i32::from(two.is_directory()) - i32::from(one.is_directory());
        self.add_links(balance);
        other.add_links(-balance);
        one.touch_changed();
        two.touch_changed();
        Ok(())
    }
}

impl Directory for MemoryInode {
    fn lookup(&self, name: &[u8]) -> SysResult<Rc<dyn Inode>> {
        Ok(Rc::clone(self.entries()?.borrow().find(name)?) as Rc<dyn Inode>)
    }

    fn list(&self, from: u64, visit: &mut dyn FnMut(&DirEntry<'_>) -> bool) -> SysResult<()> {
        let entries = self.entries()?.borrow();
        // A position names the place after an entry, so the next one is larger.
        for (&position, name) in entries.by_position.range(from + 1..) {
            let Ok(inode) = entries.find(name) else { continue };
            let kind = inode.kind();
            if !visit(&DirEntry { name, inode: inode.number, kind, next: position }) {
                break;
            }
        }
        Ok(())
    }

    fn create(&self, name: &[u8], new: &NewInode<'_>) -> SysResult<Rc<dyn Inode>> {
        let charge = charge_for(name)?;
        let inode = MemoryInode::new(&self.space, new)?;
        self.entries()?.borrow_mut().insert(name, Rc::clone(&inode), charge);
        if inode.is_directory() {
            self.add_links(1);
        }
        self.touch_modified();
        Ok(inode)
    }

    fn create_unnamed(&self, new: &NewInode<'_>) -> SysResult<Rc<dyn Inode>> {
        let inode = MemoryInode::new(&self.space, new)?;
        inode.n_links.set(0);
        Ok(inode)
    }

    fn link(&self, name: &[u8], target: &Rc<dyn Inode>) -> SysResult<()> {
        let target = target.as_any().downcast_ref::<MemoryInode>().ok_or(Errno::EXDEV)?;
        let target = target.this.upgrade().ok_or(Errno::ENOENT)?;
        if !Rc::ptr_eq(&target.space, &self.space) {
            return Err(Errno::EXDEV);
        }
        let charge = charge_for(name)?;
        target.add_links(1);
        self.entries()?.borrow_mut().insert(name, target, charge);
        self.touch_modified();
        Ok(())
    }

    fn unlink(&self, name: &[u8]) -> SysResult<()> {
        let removed = self.entries()?.borrow_mut().remove(name)?;
        self.lost(&removed);
        self.touch_modified();
        Ok(())
    }

    fn rmdir(&self, name: &[u8]) -> SysResult<()> {
        let entries = self.entries()?;
        let child = Rc::clone(entries.borrow().find(name)?);
        if !child.is_directory() {
            return Err(Errno::ENOTDIR);
        }
        if !child.is_empty_directory() {
            return Err(Errno::ENOTEMPTY);
        }
        let removed = entries.borrow_mut().remove(name)?;
        self.lost(&removed);
        self.touch_modified();
        Ok(())
    }

    fn rename(
        &self,
        name: &[u8],
        new_directory: &Rc<dyn Inode>,
        new_name: &[u8],
        mode: RenameMode,
    ) -> SysResult<()> {
        let target = new_directory.as_any().downcast_ref::<MemoryInode>().ok_or(Errno::EXDEV)?;
        if mode == RenameMode::Exchange {
            self.exchange(name, target, new_name)?;
        } else {
            let whiteout = match mode {
                RenameMode::Whiteout => Some((self.new_whiteout()?, charge_for(name)?)),
                _ => None,
            };
            let charge = charge_for(new_name)?;
            let replaced = target.entries()?.borrow().find(new_name).ok().cloned();
            if let Some(replaced) = &replaced {
                if replaced.is_directory() && !replaced.is_empty_directory() {
                    return Err(Errno::ENOTEMPTY);
                }
                target.entries()?.borrow_mut().remove(new_name)?;
                target.lost(replaced);
            }
            let moved = self.entries()?.borrow_mut().remove(name)?;
            if moved.is_directory() {
                self.add_links(-1);
                target.add_links(1);
            }
            moved.touch_changed();
            target.entries()?.borrow_mut().insert(new_name, moved, charge);
            if let Some((whiteout, charge)) = whiteout {
                self.entries()?.borrow_mut().insert(name, whiteout, charge);
            }
        }
        self.touch_modified();
        target.touch_modified();
        Ok(())
    }
}

impl MemoryInode {
    fn new_whiteout(&self) -> SysResult<Rc<MemoryInode>> {
        let kind = NewKind::CharacterDevice(DeviceNumber::new(0, 0));
        debug_assert!(kind.kind() == FileKind::CharacterDevice);
        MemoryInode::new(&self.space, &NewInode { kind, mode: 0, uid: 0, gid: 0 })
    }
}
