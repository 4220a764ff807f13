//! Nodes of pseudo file systems.

use std::any::Any;
use std::cell::Cell;
use std::rc::{Rc, Weak};

use linux_abi::time::Timespec;
use linux_abi::{Errno, SysResult};

use super::PseudoFs;
use super::file::{OpenText, TextFile};
use crate::attachments::Attachments;
use crate::inode::{Caching, DirEntry, Directory, Inode, OpenRequest};
use crate::metadata::{AttributeChange, DeviceNumber, FileKind, Metadata, Ownership, timestamp};
use crate::mount::Location;
use crate::open_file::FileOps;

/// The names in a pseudo directory.
pub trait Names {
    /// The node of this name. `parent` is the directory itself, to make nodes in.
    fn lookup(&self, parent: &PseudoInode, name: &[u8]) -> SysResult<Rc<PseudoInode>>;

    /// Shows the entries from position `from` on, as [`Directory::list`] does.
    fn list(
        &self,
        parent: &PseudoInode,
        from: u64,
        visit: &mut dyn FnMut(&DirEntry<'_>) -> bool,
    ) -> SysResult<()>;

    /// How many directories in it its link count tells of. Linux counts them all; few programs
    /// look, and it must cost little, so only the count of threads is told.
    fn n_directories(&self) -> u32 {
        0
    }

    /// Whether names may be remembered.
    fn caching(&self) -> Caching {
        Caching::Volatile
    }
}

/// A symbolic link of a pseudo file system.
pub trait Link {
    /// The path that it holds, for the caller (a `kernel_tasks::Thread`) if there is one.
    fn read(&self, caller: Option<&dyn Any>) -> SysResult<Vec<u8>>;

    /// The place that it leads to, if it is a magic link.
    fn target(&self) -> Option<SysResult<Location>> {
        None
    }
}

impl<F: Fn() -> SysResult<Vec<u8>>> Link for F {
    fn read(&self, _caller: Option<&dyn Any>) -> SysResult<Vec<u8>> {
        self()
    }
}

enum Body {
    File(Rc<dyn TextFile>),
    Directory(Rc<dyn Names>),
    Link(Rc<dyn Link>),
    Device(DeviceNumber),
}

/// Who owns a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    /// The user.
    pub uid: u32,
    /// The group.
    pub gid: u32,
}

/// A file, directory, link or device of a pseudo file system.
pub struct PseudoInode {
    fs: Weak<PseudoFs>,
    number: u64,
    /// Permission bits.
    mode: Cell<u32>,
    owner: Cell<Owner>,
    created: Cell<Timespec>,
    body: Body,
    attachments: Attachments,
}

/// The number of the root.
const ROOT: u64 = 1;

impl PseudoInode {
    fn new(fs: Weak<PseudoFs>, number: u64, mode: u32, body: Body) -> Rc<Self> {
        Rc::new(Self {
            fs,
            number,
            mode: Cell::new(mode),
            owner: Cell::default(),
            created: Cell::new(timestamp()),
            body,
            attachments: Attachments::default(),
        })
    }

    /// The top directory of `fs`.
    pub fn root(fs: &Rc<PseudoFs>, names: impl Names + 'static) -> Rc<Self> {
        Self::new(Rc::downgrade(fs), ROOT, 0o555, Body::Directory(Rc::new(names)))
    }

    /// A directory in this one.
    pub fn directory_in(&self, name: &[u8], mode: u32, names: impl Names + 'static) -> Rc<Self> {
        self.node_in(name, mode, Body::Directory(Rc::new(names)))
    }

    /// A file in this directory.
    pub fn file_in(&self, name: &[u8], mode: u32, text: impl TextFile + 'static) -> Rc<Self> {
        self.node_in(name, mode, Body::File(Rc::new(text)))
    }

    /// A symbolic link in this directory.
    pub fn link_in(&self, name: &[u8], link: impl Link + 'static) -> Rc<Self> {
        self.node_in(name, 0o777, Body::Link(Rc::new(link)))
    }

    /// A character device in this directory.
    pub fn device_in(&self, name: &[u8], mode: u32, device: DeviceNumber) -> Rc<Self> {
        self.node_in(name, mode, Body::Device(device))
    }

    fn node_in(&self, name: &[u8], mode: u32, body: Body) -> Rc<Self> {
        let node = Self::new(self.fs.clone(), self.number_of(name), mode, body);
        node.owner.set(self.owner.get());
        node
    }

    /// This node, owned by somebody else. Nodes belong to the owner of their directory at first.
    #[must_use]
    pub fn owned_by(self: Rc<Self>, owner: Owner) -> Rc<Self> {
        self.owner.set(owner);
        self
    }

    /// This node with other permissions.
    #[must_use]
    pub fn with_mode(self: Rc<Self>, mode: u32) -> Rc<Self> {
        self.mode.set(mode);
        self
    }

    /// This node, made at another time.
    #[must_use]
    pub fn made_at(self: Rc<Self>, created: Timespec) -> Rc<Self> {
        self.created.set(created);
        self
    }

    /// Its number.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The number that a node of this name in this directory has: always the same, without a
    /// table of all nodes (FNV-1a over the directory's number and the name).
    pub fn number_of(&self, name: &[u8]) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in self.number.to_le_bytes().iter().chain(name) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        // Small enough for programs that keep it in a signed number, and not that of the root.
        (hash >> 16) | 2
    }

    /// What kind of file it is.
    pub fn file_kind(&self) -> FileKind {
        match self.body {
            Body::File(_) => FileKind::Regular,
            Body::Directory(_) => FileKind::Directory,
            Body::Link(_) => FileKind::Symlink,
            Body::Device(_) => FileKind::CharacterDevice,
        }
    }

    /// How many names it has in `stat`.
    fn n_links(&self) -> u32 {
        match &self.body {
            Body::Directory(names) => 2 + names.n_directories(),
            _ => 1,
        }
    }
}

impl Inode for PseudoInode {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn kind(&self) -> FileKind {
        self.file_kind()
    }

    fn metadata(&self) -> SysResult<Metadata> {
        let fs = self.fs.upgrade().ok_or(Errno::EIO)?;
        let created = self.created.get();
        let size = if matches!(self.body, Body::File(_)) { fs.kind.file_size } else { 0 };
        let special = match self.body {
            Body::Device(device) => device,
            _ => DeviceNumber::default(),
        };
        Ok(Metadata {
            device: fs.device,
            inode: self.number,
            mode: self.file_kind().mode_bits() | self.mode.get(),
            n_links: self.n_links(),
            uid: self.owner.get().uid,
            gid: self.owner.get().gid,
            special,
            size,
            block_size: 1024,
            n_blocks: 0,
            accessed: created,
            modified: created,
            changed: created,
            created: None,
        })
    }

    fn ownership(&self) -> SysResult<Ownership> {
        let Owner { uid, gid } = self.owner.get();
        Ok(Ownership { mode: self.file_kind().mode_bits() | self.mode.get(), uid, gid })
    }

    fn set_attributes(&self, change: &AttributeChange) -> SysResult<()> {
        let old = self.owner.get();
        self.mode.set(change.mode.unwrap_or(self.mode.get()));
        self.owner
            .set(Owner { uid: change.uid.unwrap_or(old.uid), gid: change.gid.unwrap_or(old.gid) });
        Ok(())
    }

    fn attachments(&self) -> &Attachments {
        &self.attachments
    }

    fn directory(&self) -> Option<&dyn Directory> {
        matches!(self.body, Body::Directory(_)).then_some(self)
    }

    fn read_link(&self) -> SysResult<Vec<u8>> {
        self.read_link_for(None)
    }

    fn read_link_for(&self, caller: Option<&dyn Any>) -> SysResult<Vec<u8>> {
        match &self.body {
            Body::Link(link) => link.read(caller),
            _ => Err(Errno::EINVAL),
        }
    }

    fn magic_target(&self) -> Option<SysResult<Location>> {
        match &self.body {
            Body::Link(link) => link.target(),
            _ => None,
        }
    }

    fn open(&self, request: &OpenRequest<'_>) -> Option<SysResult<Rc<dyn FileOps>>> {
        let Body::File(text) = &self.body else { return None };
        if let Some(opened) = text.open(request) {
            return Some(opened);
        }
        Some(text.bind(request).map(|bound| {
            let source = bound.unwrap_or_else(|| Rc::clone(text));
            Rc::new(OpenText::new(source)) as Rc<dyn FileOps>
        }))
    }
}

impl Directory for PseudoInode {
    fn lookup(&self, name: &[u8]) -> SysResult<Rc<dyn Inode>> {
        match &self.body {
            Body::Directory(names) => Ok(names.lookup(self, name)?),
            _ => Err(Errno::ENOTDIR),
        }
    }

    fn list(&self, from: u64, visit: &mut dyn FnMut(&DirEntry<'_>) -> bool) -> SysResult<()> {
        match &self.body {
            Body::Directory(names) => names.list(self, from, visit),
            _ => Err(Errno::ENOTDIR),
        }
    }

    fn knows_all_names(&self) -> bool {
        self.fs.upgrade().is_some_and(|fs| fs.kind.knows_all_names)
    }

    fn caching(&self) -> Caching {
        match &self.body {
            Body::Directory(names) => names.caching(),
            _ => Caching::Stable,
        }
    }
}
