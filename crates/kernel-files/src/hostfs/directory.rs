//! Directories of the host.

use std::os::fd::OwnedFd;
use std::rc::Rc;

use host_sys::{errno_of, rustix};
use kernel_core::facts;
use linux_abi::{Errno, SysResult};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, RenameFlags, SeekFrom};

use super::beneath::{check_name, open_in};
use super::inode::{BELIEVED_NANOS, HostInode};
use super::kept::Kept;
use super::place::Place;
use super::version::version_of;
use crate::inode::{Caching, DirEntry, Directory, Inode, NewInode, NewKind, OpenGuard, RenameMode};
use crate::listings::Version;
use crate::metadata::FileKind;

/// Positions of the host are shown higher by this, because 1 and 2 are those after `.` and `..`.
const SHIFT: u64 = 3;
/// How much the host is asked for at a time.
const LISTING_BUFFER: usize = 32 << 10;
const MAX_POSITION: u64 = i64::MAX as u64;

/// Bits of a new file that may reach the host: no set-id bits.
const HOST_MODE: u32 = 0o1777;

fn kind_of(file_type: FileType) -> Option<FileKind> {
    Some(match file_type {
        FileType::RegularFile => FileKind::Regular,
        FileType::Directory => FileKind::Directory,
        FileType::Symlink => FileKind::Symlink,
        FileType::Fifo => FileKind::Fifo,
        FileType::Socket => FileKind::Socket,
        FileType::CharacterDevice => FileKind::CharacterDevice,
        FileType::BlockDevice => FileKind::BlockDevice,
        FileType::Unknown => return None,
    })
}

impl HostInode {
    /// The handle of this directory, for changes to it.
    fn writable(&self) -> SysResult<Rc<OwnedFd>> {
        if self.shared.options.read_only {
            return Err(Errno::EROFS);
        }
        facts::files_changed();
        self.n_changes.set(self.n_changes.get() + 1);
        self.directory_handle()
    }

    /// The file that is about to lose this name, and whether it is its last. Only if somebody
    /// counts what files take.
    fn going(&self, name: &[u8]) -> Option<(Rc<HostInode>, bool)> {
        self.shared.budget.as_ref()?;
        let inode = self.find(name).ok()?;
        let metadata = inode.metadata().ok()?;
        Some((inode, metadata.kind() == FileKind::Directory || metadata.n_links <= 1))
    }

    fn gone(&self, going: Option<(Rc<HostInode>, bool)>) {
        let Some((inode, is_last)) = going else { return };
        // What was found out about it just now does not hold any more.
        facts::files_changed();
        if is_last {
            inode.lost_last_name();
        } else {
            self.give_name();
        }
    }

    fn give_name(&self) {
        if let Some(budget) = &self.shared.budget {
            budget.give_name();
        }
    }

    fn host_directory(inode: &Rc<dyn Inode>) -> SysResult<&HostInode> {
        inode.as_any().downcast_ref().ok_or(Errno::EXDEV)
    }
}

impl Directory for HostInode {
    fn lookup(&self, name: &[u8]) -> SysResult<Rc<dyn Inode>> {
        Ok(self.find(name)?)
    }

    fn caching(&self) -> Caching {
        if self.shared.is_immutable() { Caching::Stable } else { Caching::Brief(BELIEVED_NANOS) }
    }

    fn notices_existing_names(&self) -> bool {
        !self.shared.options.read_only
    }

    fn list(&self, from: u64, visit: &mut dyn FnMut(&DirEntry<'_>) -> bool) -> SysResult<()> {
        if from >= MAX_POSITION {
            return Ok(()); // many host file systems put the end there
        }
        let handle = self.directory_handle()?;
        let opened;
        let directory = if self.handle_can_list() {
            &*handle
        } else {
            opened = self.open_for_listing()?;
            &opened
        };
        // Sought even for the start: the handle may have been used for listing before.
        let position = SeekFrom::Start(from.saturating_sub(SHIFT));
        rustix::fs::seek(directory, position).map_err(errno_of)?;
        let mut buffer = Vec::with_capacity(LISTING_BUFFER);
        let mut entries = RawDir::new(directory, buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(errno_of)?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." || !self.lists(name) {
                continue;
            }
            let kind = match kind_of(entry.file_type()) {
                Some(kind) => kind,
                // Some host file systems do not say.
                None => match self.find(name) {
                    Ok(inode) => inode.kind(),
                    Err(_) => continue,
                },
            };
            let next = entry.next_entry_cookie().min(MAX_POSITION - SHIFT) + SHIFT;
            let has_room = visit(&DirEntry { name, inode: entry.ino(), kind, next });
            if !has_room || next == MAX_POSITION && entries.is_buffer_empty() {
                break;
            }
        }
        Ok(())
    }

    fn version(&self) -> Option<Version> {
        if self.shared.is_immutable() {
            return None; // an overlay shows it, and keeps its names
        }
        let n_changes = self.n_changes.get();
        version_of(&self.shared, &*self.directory_handle().ok()?, n_changes)
    }

    fn stored_size(&self) -> Option<u64> {
        self.seen_size()
    }

    fn prepare_open(&self) -> SysResult<OpenGuard> {
        if self.shared.is_immutable() {
            return Ok(None);
        }
        // Whoever has opened a directory can ask about it even when it is gone.
        match self.directory_handle() {
            Ok(handle) => Ok(Some(Rc::new(handle))),
            Err(Errno::EACCES) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    fn create(&self, name: &[u8], new: &NewInode<'_>) -> SysResult<Rc<dyn Inode>> {
        check_name(name)?;
        self.check_name_is_free(name)?;
        let handle = self.writable()?;
        let keeps_owners = self.shared.options.keeps_owners;
        let kept = Kept { uid: new.uid, gid: new.gid, mode: new.mode };
        let bits = if keeps_owners { kept.host_mode(new.kind.kind()) } else { new.mode };
        let mode = Mode::from_raw_mode(bits & HOST_MODE);
        if let Some(budget) = &self.shared.budget {
            budget.require_file()?;
        }
        let mut opened = None;
        match new.kind {
            NewKind::Regular => {
                let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR;
                opened = Some(Rc::new(open_in(&*handle, name, flags, mode)?));
            }
            NewKind::Directory => {
                rustix::fs::mkdirat(&*handle, name, mode).map_err(errno_of)?;
            }
            NewKind::Symlink(target) => {
                rustix::fs::symlinkat(target, &*handle, name).map_err(errno_of)?;
            }
            NewKind::Fifo | NewKind::Socket => {
                let kind = match new.kind {
                    NewKind::Fifo => FileType::Fifo,
                    _ => FileType::Socket,
                };
                rustix::fs::mknodat(&*handle, name, kind, mode, 0).map_err(errno_of)?;
            }
            NewKind::CharacterDevice(device) if device == Default::default() => {
                // An overlay's whiteout, which Linux lets everybody make.
                let kind = FileType::CharacterDevice;
                rustix::fs::mknodat(&*handle, name, kind, Mode::empty(), 0).map_err(errno_of)?;
            }
            NewKind::CharacterDevice(_) | NewKind::BlockDevice(_) => return Err(Errno::EPERM),
        }
        let inode = match &opened {
            Some(opened) => self.made(name, opened)?,
            None => self.find(name)?,
        };
        inode.charge_new();
        if keeps_owners && new.kind.kind() != FileKind::CharacterDevice {
            match inode.keep(kept) {
                // Without attributes the file is whose the mount says, as in any host folder.
                Ok(()) | Err(Errno::EPERM) => {}
                Err(errno) => return Err(errno),
            }
        }
        if let Some(opened) = opened {
            // Whoever makes a file may write to it, even if its mode does not allow that later.
            inode.keep_open(&opened);
            inode.keep_from_being_shut_out(bits);
        }
        Ok(inode)
    }

    fn link(&self, name: &[u8], target: &Rc<dyn Inode>) -> SysResult<()> {
        check_name(name)?;
        self.check_name_is_free(name)?;
        let handle = self.writable()?;
        let target = Self::host_directory(target)?;
        let place = target.place().ok_or(Errno::EPERM)?;
        let from = place.parent.directory_handle()?;
        if let Some(budget) = &self.shared.budget {
            budget.take_name()?;
        }
        rustix::fs::linkat(&*from, &*place.name, &*handle, name, AtFlags::empty())
            .map_err(errno_of)
            .inspect_err(|_| self.give_name())?;
        target.linked_to(Place { parent: self.this()?, name: Rc::from(name) });
        Ok(())
    }

    fn unlink(&self, name: &[u8]) -> SysResult<()> {
        check_name(name)?;
        self.check_name_is_free(name)?;
        let handle = self.writable()?;
        let going = self.going(name);
        rustix::fs::unlinkat(&*handle, name, AtFlags::empty()).map_err(errno_of)?;
        self.gone(going);
        Ok(())
    }

    fn rmdir(&self, name: &[u8]) -> SysResult<()> {
        check_name(name)?;
        self.check_name_is_free(name)?;
        let handle = self.writable()?;
        let going = self.going(name);
        rustix::fs::unlinkat(&*handle, name, AtFlags::REMOVEDIR).map_err(errno_of)?;
        self.gone(going);
        Ok(())
    }

    fn rename(
        &self,
        name: &[u8],
        new_directory: &Rc<dyn Inode>,
        new_name: &[u8],
        mode: RenameMode,
    ) -> SysResult<()> {
        check_name(name)?;
        check_name(new_name)?;
        let from = self.writable()?;
        let target = Self::host_directory(new_directory)?;
        let to = target.writable()?;
        target.check_name_is_free(new_name)?;
        let moved = self.find(name)?;
        let flags = match mode {
            RenameMode::Replace => RenameFlags::empty(),
            RenameMode::Exchange => RenameFlags::EXCHANGE,
            RenameMode::Whiteout => RenameFlags::WHITEOUT,
        };
        let exchanged =
            if mode == RenameMode::Exchange { target.find(new_name).ok() } else { None };
        let going = match mode {
            RenameMode::Exchange => None,
            _ => target.going(new_name).filter(|(inode, _)| !Rc::ptr_eq(inode, &moved)),
        };
        rustix::fs::renameat_with(&*from, name, &*to, new_name, flags).map_err(errno_of)?;
        facts::files_changed();
        target.gone(going);
        if mode == RenameMode::Whiteout
            && let Ok(whiteout) = self.find(name)
        {
            whiteout.charge_new();
        }
        moved.moved_to(Place { parent: target.this()?, name: Rc::from(new_name) });
        if let Some(exchanged) = exchanged {
            exchanged.moved_to(Place { parent: self.this()?, name: Rc::from(name) });
        }
        Ok(())
    }
}
