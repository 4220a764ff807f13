//! A read-only directory that shows files of other file systems by fixed names.
//!
//! The lowest layer of the default root is made of these: `/usr` is a folder of the host, `/etc` a
//! choice of its files.

use std::any::Any;
use std::collections::BTreeMap;
use std::rc::Rc;

use linux_abi::time::Timespec;
use linux_abi::{Errno, SysResult};

use crate::attachments::Attachments;
use crate::inode::{DirEntry, Directory, Inode};
use crate::metadata::{AttributeChange, DeviceNumber, FileKind, Metadata, timestamp};

/// Listing starts after `.` and `..`.
const FIRST_POSITION: u64 = 3;

/// A read-only directory with fixed names.
pub struct StaticDirectory {
    device: DeviceNumber,
    number: u64,
    mode: u32,
    made: Timespec,
    names: BTreeMap<Vec<u8>, Rc<dyn Inode>>,
    attachments: Attachments,
}

impl StaticDirectory {
    /// An empty directory of root's. `device` and `number` must name no other file.
    pub fn new(device: DeviceNumber, number: u64, mode: u32) -> Self {
        Self {
            device,
            number,
            mode,
            made: timestamp(),
            names: BTreeMap::new(),
            attachments: Attachments::default(),
        }
    }

    /// Adds a name.
    pub fn add(&mut self, name: &[u8], inode: Rc<dyn Inode>) {
        self.names.insert(name.to_vec(), inode);
    }
}

impl Inode for StaticDirectory {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn kind(&self) -> FileKind {
        FileKind::Directory
    }

    fn metadata(&self) -> SysResult<Metadata> {
        Ok(Metadata {
            device: self.device,
            inode: self.number,
            mode: self.mode | FileKind::Directory.mode_bits(),
            n_links: 2,
            uid: 0,
            gid: 0,
            special: DeviceNumber::default(),
            size: 4096,
            block_size: 4096,
            n_blocks: 8,
            accessed: self.made,
            modified: self.made,
            changed: self.made,
            created: Some(self.made),
        })
    }

    fn set_attributes(&self, _change: &AttributeChange) -> SysResult<()> {
        Err(Errno::EROFS)
    }

    fn is_steady(&self) -> bool {
        true // nothing here ever changes
    }

    fn attachments(&self) -> &Attachments {
        &self.attachments
    }

    fn directory(&self) -> Option<&dyn Directory> {
        Some(self)
    }
}

impl Directory for StaticDirectory {
    fn lookup(&self, name: &[u8]) -> SysResult<Rc<dyn Inode>> {
        self.names.get(name).cloned().ok_or(Errno::ENOENT)
    }

    fn list(&self, from: u64, visit: &mut dyn FnMut(&DirEntry<'_>) -> bool) -> SysResult<()> {
        let skip = usize::try_from(from.saturating_sub(FIRST_POSITION)).unwrap_or(usize::MAX);
        for (index, (name, inode)) in self.names.iter().enumerate().skip(skip) {
            let next = FIRST_POSITION + 1 + index as u64;
            let number = inode.metadata()?.inode;
            if !visit(&DirEntry { name, inode: number, kind: inode.kind(), next }) {
                break;
            }
        }
        Ok(())
    }
}
