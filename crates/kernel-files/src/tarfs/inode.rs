//! Files of an archive.

use std::any::Any;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;

use host_sys::{errno_of, rustix};
use kernel_core::io::{Sink, Source};
use kernel_core::ledger::{Charge, Kind};
use linux_abi::files::mode;
use linux_abi::time::Timespec;
use linux_abi::{Errno, SysResult};

use super::index::{Extended, time_of};
use super::sparse::{Bytes, Found, Piece};
use crate::attachments::Attachments;
use crate::inode::{Content, DirEntry, Directory, Extent, Inode, WriteAt, XattrMode, Xattrs};
use crate::metadata::{AttributeChange, DeviceNumber, FileKind, Metadata, Ownership};
use crate::open_file::{MapRequest, MappedFile, allocate_map_ids};
use crate::xattr_map::XattrMap;

/// What holes are read as.
static ZEROES: [u8; 16 << 10] = [0; 16 << 10];

/// What a file of an archive consists of.
pub(super) enum Body {
    Regular { host: Rc<OwnedFd>, bytes: Bytes },
    Directory(RefCell<BTreeMap<Vec<u8>, Rc<TarInode>>>),
    Symlink(Vec<u8>),
    Special(FileKind, DeviceNumber),
}

/// A file of an archive.
pub struct TarInode {
    device: DeviceNumber,
    number: u64,
    mode: Cell<u32>,
    uid: Cell<u32>,
    gid: Cell<u32>,
    n_links: Cell<u32>,
    modified: Cell<Timespec>,
    body: Body,
    /// A copy that starts at a page, for mappings: files in an archive start anywhere.
    mapped: OnceCell<(MappedFile, Charge)>,
    xattrs: XattrMap,
    attachments: Attachments,
}

impl TarInode {
    pub(super) fn new(device: DeviceNumber, number: u64, body: Body) -> Rc<Self> {
        Rc::new(Self {
            device,
            number,
            mode: Cell::new(0o644),
            uid: Cell::new(0),
            gid: Cell::new(0),
            n_links: Cell::new(1),
            modified: Cell::default(),
            body,
            mapped: OnceCell::new(),
            xattrs: XattrMap::default(),
            attachments: Attachments::default(),
        })
    }

    pub(super) fn directory(device: DeviceNumber, number: u64, bits: u32) -> Rc<Self> {
        let inode = Self::new(device, number, Body::Directory(RefCell::default()));
        inode.mode.set(bits);
        inode
    }

    pub(super) fn whiteout(device: DeviceNumber, number: u64) -> Rc<Self> {
        let body = Body::Special(FileKind::CharacterDevice, DeviceNumber::default());
        Self::new(device, number, body)
    }

    pub(super) fn set_mode(&self, bits: u32) {
        self.mode.set(bits & mode::CHANGEABLE);
    }

    pub(super) fn set_opaque(&self) {
        // A new attribute in an empty map: nothing there can be too long.
        let _ = self.xattrs.set(b"trusted.overlay.opaque", b"y", XattrMode::CreateOrReplace);
    }

    pub(super) fn describe_as(&self, header: &tar::Header, extended: &Extended) {
        let id =
            |id: std::io::Result<u64>| id.ok().and_then(|id| u32::try_from(id).ok()).unwrap_or(0);
        self.set_mode(header.mode().unwrap_or(self.mode.get()));
        self.uid.set(id(header.uid()));
        self.gid.set(id(header.gid()));
        self.modified.set(extended.modified.unwrap_or_else(|| time_of(header)));
        for (name, value) in &extended.xattrs {
            // What is too much for a file is left out.
            let _ = self.xattrs.set(name, value, XattrMode::CreateOrReplace);
        }
    }

    pub(super) fn is_directory(&self) -> bool {
        matches!(self.body, Body::Directory(_))
    }

    pub(super) fn find(&self, name: &[u8]) -> Option<Rc<Self>> {
        match &self.body {
            Body::Directory(names) => names.borrow().get(name).cloned(),
            _ => None,
        }
    }

    pub(super) fn add(&self, name: &[u8], inode: Rc<Self>) {
        if let Body::Directory(names) = &self.body {
            names.borrow_mut().insert(name.to_vec(), inode);
        }
    }

    pub(super) fn add_name(&self) {
        self.n_links.set(self.n_links.get().saturating_add(1));
    }
}

impl Drop for TarInode {
    /// Frees a whole tree in a loop: it may be deeper than the stack.
    fn drop(&mut self) {
        let Body::Directory(names) = &mut self.body else { return };
        let mut pending: Vec<Rc<Self>> = std::mem::take(names.get_mut()).into_values().collect();
        while let Some(child) = pending.pop() {
            let Some(mut child) = Rc::into_inner(child) else { continue };
            if let Body::Directory(names) = &mut child.body {
                pending.extend(std::mem::take(names.get_mut()).into_values());
            }
        }
    }
}

impl Inode for TarInode {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn kind(&self) -> FileKind {
        match &self.body {
            Body::Regular { .. } => FileKind::Regular,
            Body::Directory(_) => FileKind::Directory,
            Body::Symlink(_) => FileKind::Symlink,
            Body::Special(kind, _) => *kind,
        }
    }

    fn metadata(&self) -> SysResult<Metadata> {
        let size = match &self.body {
            Body::Regular { bytes, .. } => bytes.size,
            Body::Symlink(target) => target.len() as u64,
            Body::Directory(_) => 4096,
            Body::Special(..) => 0,
        };
        let special = match self.body {
            Body::Special(_, device) => device,
            _ => DeviceNumber::default(),
        };
        let stored = match &self.body {
            Body::Regular { bytes, .. } => bytes.stored,
            _ => size,
        };
        let time = self.modified.get();
        Ok(Metadata {
            device: self.device,
            inode: self.number,
            mode: self.mode.get() | self.kind().mode_bits(),
            n_links: self.n_links.get(),
            uid: self.uid.get(),
            gid: self.gid.get(),
            special,
            size,
            block_size: 4096,
            n_blocks: stored.div_ceil(512),
            accessed: time,
            modified: time,
            changed: time,
            created: None,
        })
    }

    fn ownership(&self) -> SysResult<Ownership> {
        let mode = self.mode.get() | self.kind().mode_bits();
        Ok(Ownership { mode, uid: self.uid.get(), gid: self.gid.get() })
    }

    fn set_attributes(&self, _change: &AttributeChange) -> SysResult<()> {
        Err(Errno::EROFS)
    }

    fn is_steady(&self) -> bool {
        true // nothing here ever changes
    }

    fn is_frozen(&self) -> bool {
        true
    }

    fn attachments(&self) -> &Attachments {
        &self.attachments
    }

    fn directory(&self) -> Option<&dyn Directory> {
        self.is_directory().then_some(self as &dyn Directory)
    }

    fn content(&self) -> Option<&dyn Content> {
        matches!(self.body, Body::Regular { .. }).then_some(self as &dyn Content)
    }

    fn xattrs(&self) -> Option<&dyn Xattrs> {
        Some(&self.xattrs)
    }

    fn read_link(&self) -> SysResult<Vec<u8>> {
        match &self.body {
            Body::Symlink(target) => Ok(target.clone()),
            _ => Err(Errno::EINVAL),
        }
    }
}

impl Directory for TarInode {
    fn lookup(&self, name: &[u8]) -> SysResult<Rc<dyn Inode>> {
        Ok(self.find(name).ok_or(Errno::ENOENT)?)
    }

    fn list(&self, from: u64, visit: &mut dyn FnMut(&DirEntry<'_>) -> bool) -> SysResult<()> {
        let Body::Directory(names) = &self.body else { return Err(Errno::ENOTDIR) };
        let skip = usize::try_from(from.saturating_sub(3)).unwrap_or(usize::MAX);
        for (index, (name, inode)) in names.borrow().iter().enumerate().skip(skip) {
            let next = 4 + index as u64;
            if !visit(&DirEntry { name, inode: inode.number, kind: inode.kind(), next }) {
                break;
            }
        }
        Ok(())
    }
}

impl TarInode {
    /// The bytes of the file, in a memfd of their own.
    fn copy(&self) -> SysResult<(MappedFile, Charge)> {
        let Body::Regular { host, bytes } = &self.body else { return Err(Errno::ENODEV) };
        let length = bytes.pieces.iter().map(|piece| piece.length).sum();
        let charge = Charge::new(Kind::SharedMemory, length).map_err(|_| Errno::ENOMEM)?;
        let flags = rustix::fs::MemfdFlags::CLOEXEC | rustix::fs::MemfdFlags::ALLOW_SEALING;
        let memory = rustix::fs::memfd_create("archived", flags).map_err(errno_of)?;
        rustix::fs::ftruncate(&memory, bytes.size).map_err(errno_of)?;
        let mut buffer = vec![0; 1 << 20];
        for &Piece { offset, length, start } in &bytes.pieces {
            let mut done = 0;
            while done < length {
                let n = rustix::io::pread(&**host, &mut *buffer, start + done).map_err(errno_of)?;
                let left = usize::try_from(length - done).unwrap_or(usize::MAX);
                let part = buffer.get(..n.min(left)).unwrap_or_default();
                if part.is_empty() {
                    return Err(Errno::EIO);
                }
                let n = rustix::io::pwrite(&memory, part, offset + done).map_err(errno_of)?;
                done += n as u64;
            }
        }
        // Nobody may write to it any more: all guests that map the file share it.
        let seals = rustix::fs::SealFlags::WRITE
            | rustix::fs::SealFlags::GROW
            | rustix::fs::SealFlags::SHRINK;
        let _ = rustix::fs::fcntl_add_seals(&memory, seals);
        let id = allocate_map_ids();
        Ok((MappedFile { host: Rc::new(memory), id, is_for_once: false }, charge))
    }
}

impl Content for TarInode {
    fn size(&self) -> SysResult<u64> {
        Ok(self.metadata()?.size)
    }

    fn read(&self, sink: &mut dyn Sink, offset: u64) -> SysResult<usize> {
        let Body::Regular { host, bytes } = &self.body else { return Err(Errno::EINVAL) };
        let mut n_read = 0;
        while sink.remaining() > 0 {
            let at = offset.saturating_add(n_read as u64);
            if at >= bytes.size {
                break;
            }
            let as_length = |left: u64| usize::try_from(left).unwrap_or(usize::MAX);
            let moved = match bytes.at(at) {
                Found::Data(start, left) => {
                    sink.put_from_host(host.as_fd(), Some(start), as_length(left))
                }
                Found::Hole(left) => {
                    sink.put(ZEROES.get(..as_length(left).min(ZEROES.len())).unwrap_or_default())
                }
            };
            match moved {
                Ok(0) => break,
                Ok(n) => n_read += n,
                Err(errno) if n_read == 0 => return Err(errno),
                Err(_) => break,
            }
        }
        Ok(n_read)
    }

    fn seek_extent(&self, extent: Extent, offset: u64) -> SysResult<u64> {
        let Body::Regular { bytes, .. } = &self.body else { return Err(Errno::EINVAL) };
        let mut at = offset;
        while at < bytes.size {
            let (found, left) = match bytes.at(at) {
                Found::Data(_, left) => (Extent::Data, left),
                Found::Hole(left) => (Extent::Hole, left),
            };
            if found == extent {
                return Ok(at);
            }
            at += left;
        }
        // The end counts as a hole.
        if extent == Extent::Hole && offset < bytes.size {
            Ok(bytes.size)
        } else {
            Err(Errno::ENXIO)
        }
    }

    fn write(&self, _source: &mut dyn Source, _at: WriteAt) -> SysResult<(usize, u64)> {
        Err(Errno::EROFS)
    }

    fn truncate(&self, _size: u64) -> SysResult<()> {
        Err(Errno::EROFS)
    }

    fn map(&self, request: MapRequest) -> SysResult<MappedFile> {
        if request.shared && request.writable {
            return Err(Errno::EROFS);
        }
        if let Some(mapped) = self.mapped.get() {
            return Ok(mapped.0.clone());
        }
        let copy = self.copy()?;
        Ok(self.mapped.get_or_init(|| copy).0.clone())
    }
}
