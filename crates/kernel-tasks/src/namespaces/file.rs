//! Descriptors of namespaces: what `/proc/<pid>/ns` leads to, for `setns(2)` and `ioctl_ns(2)`.

use std::any::Any;
use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_core::user_namespace::UserNamespace;
use kernel_files::attachments::Attachments;
use kernel_files::inode::{Inode, OpenRequest};
use kernel_files::metadata::{AttributeChange, DeviceNumber, FileKind, Metadata};
use kernel_files::{FileOps, Ioctl, MountNamespace, OpenFile};
use linux_abi::tasks::CloneFlags;
use linux_abi::{Errno, SysResult};

use super::{CgroupNamespace, IpcNamespace, NetNamespace, UtsNamespace};
use crate::Thread;

/// A namespace of any kind.
#[derive(Clone)]
pub enum NamespaceRef {
    /// Of users.
    User(Rc<UserNamespace>),
    /// Of mounts.
    Mount(Rc<MountNamespace>),
    /// Of names.
    Uts(Rc<UtsNamespace>),
    /// Of System V IPC and message queues.
    Ipc(Rc<IpcNamespace>),
    /// Of networks.
    Net(Rc<NetNamespace>),
    /// Of control groups.
    Cgroup(Rc<CgroupNamespace>),
    /// A kind of which there is only one: its flag, its name and its number.
    Only(CloneFlags, &'static str, u64),
}

impl NamespaceRef {
    /// Which kind it is, as `clone` names it.
    pub fn kind(&self) -> CloneFlags {
        match self {
            Self::User(_) => CloneFlags::NEWUSER,
            Self::Mount(_) => CloneFlags::NEWNS,
            Self::Uts(_) => CloneFlags::NEWUTS,
            Self::Ipc(_) => CloneFlags::NEWIPC,
            Self::Net(_) => CloneFlags::NEWNET,
            Self::Cgroup(_) => CloneFlags::NEWCGROUP,
            Self::Only(kind, ..) => *kind,
        }
    }

    /// Its number.
    pub fn number(&self) -> u64 {
        match self {
            Self::User(it) => it.number,
            Self::Mount(it) => it.number,
            Self::Uts(it) => it.tag.number,
            Self::Ipc(it) => it.tag.number,
            Self::Net(it) => it.tag.number,
            Self::Cgroup(it) => it.tag.number,
            Self::Only(_, _, number) => *number,
        }
    }

    /// The user namespace that it belongs to; for a user namespace, the one it was made in.
    /// `None` for the first one.
    pub fn owner(&self) -> Option<Rc<UserNamespace>> {
        match self {
            Self::User(it) => it.parent().cloned(),
            Self::Mount(it) => Some(Rc::clone(&it.owner)),
            Self::Uts(it) => Some(Rc::clone(&it.tag.owner)),
            Self::Ipc(it) => Some(Rc::clone(&it.tag.owner)),
            Self::Net(it) => Some(Rc::clone(&it.tag.owner)),
            Self::Cgroup(it) => Some(Rc::clone(&it.tag.owner)),
            Self::Only(..) => Some(UserNamespace::initial()),
        }
    }

    /// What `/proc/<pid>/ns` shows: `uts:[4026531838]`.
    pub fn text(&self) -> String {
        let name = match self {
            Self::User(_) => "user",
            Self::Mount(_) => "mnt",
            Self::Uts(_) => "uts",
            Self::Ipc(_) => "ipc",
            Self::Net(_) => "net",
            Self::Cgroup(_) => "cgroup",
            Self::Only(_, name, _) => name,
        };
        format!("{name}:[{}]", self.number())
    }
}

/// An open namespace, and the inode that leads to it.
pub struct NamespaceFile {
    /// The namespace.
    pub namespace: NamespaceRef,
    device: DeviceNumber,
    attachments: Attachments,
}

impl NamespaceFile {
    /// The file of a namespace, on a file system with this device number.
    pub fn new(namespace: NamespaceRef, device: DeviceNumber) -> Rc<Self> {
        Rc::new(Self { namespace, device, attachments: Attachments::default() })
    }

    /// Whether an inode is that of a namespace.
    pub fn is(inode: &dyn Inode) -> bool {
        inode.as_any().is::<Self>()
    }

    /// The namespace that an open file names, if it names one.
    pub fn of(file: &OpenFile) -> Option<NamespaceRef> {
        file.ops_as::<OpenNamespace>().map(|open| open.0.clone())
    }

    /// A descriptor of a namespace that is at no place.
    pub fn open_anonymous(namespace: NamespaceRef) -> Rc<OpenFile> {
        OpenFile::new(Rc::new(OpenNamespace(namespace)), linux_abi::files::OpenFlags::empty())
    }
}

impl Inode for NamespaceFile {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn kind(&self) -> FileKind {
        FileKind::Regular
    }

    fn metadata(&self) -> SysResult<Metadata> {
        Ok(Metadata {
            device: self.device,
            inode: self.namespace.number(),
            mode: FileKind::Regular.mode_bits() | 0o444,
            n_links: 1,
            ..Metadata::anonymous(FileKind::Regular, self.namespace.number())
        })
    }

    fn set_attributes(&self, _change: &AttributeChange) -> SysResult<()> {
        Err(Errno::EPERM)
    }

    fn attachments(&self) -> &Attachments {
        &self.attachments
    }

    fn open(&self, _request: &OpenRequest<'_>) -> Option<SysResult<Rc<dyn FileOps>>> {
        Some(Ok(Rc::new(OpenNamespace(self.namespace.clone()))))
    }
}

const NS_GET_USERNS: u32 = 0xb701;
const NS_GET_PARENT: u32 = 0xb702;
const NS_GET_NSTYPE: u32 = 0xb703;
const NS_GET_OWNER_UID: u32 = 0xb704;

struct OpenNamespace(NamespaceRef);

impl OpenNamespace {
    /// A descriptor of a user namespace; `EPERM` if it is not within the caller's.
    fn open_related(&self, thread: &Thread, user: Option<Rc<UserNamespace>>) -> SysResult<u64> {
        let user = user.ok_or(Errno::EPERM)?;
        if !user.is_within(&thread.credentials().user_namespace) {
            return Err(Errno::EPERM);
        }
        let fd = thread.add_file(NamespaceFile::open_anonymous(NamespaceRef::User(user)), true)?;
        u64::try_from(fd.0).map_err(|_| Errno::EBADF)
    }
}

impl FileOps for OpenNamespace {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn describe(&self) -> String {
        self.0.text()
    }

    fn ioctl(&self, _file: &OpenFile, ioctl: &Ioctl<'_>) -> SysResult<u64> {
        let thread = Thread::of_caller(ioctl.caller)?;
        match ioctl.command {
            NS_GET_USERNS => self.open_related(thread, self.0.owner()),
            NS_GET_PARENT => match &self.0 {
                NamespaceRef::User(user) => self.open_related(thread, user.parent().cloned()),
                NamespaceRef::Only(CloneFlags::NEWPID, ..) => Err(Errno::EPERM),
                _ => Err(Errno::EINVAL),
            },
            NS_GET_NSTYPE => Ok(self.0.kind().bits()),
            NS_GET_OWNER_UID => {
                let NamespaceRef::User(user) = &self.0 else { return Err(Errno::EINVAL) };
                let uid = thread.credentials().user_namespace.shown_uid(user.owner());
                UserPtr::new(ioctl.argument).write(ioctl.memory, &uid)?;
                Ok(0)
            }
            _ => Err(Errno::ENOTTY),
        }
    }
}
