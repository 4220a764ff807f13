//! Folders of groups, and the files in them as inodes.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use kernel_files::FileOps;
use kernel_files::attachments::Attachments;
use kernel_files::inode::{
    Caching, DirEntry, Directory, Inode, NewInode, NewKind, OpenRequest, Xattrs,
};
use kernel_files::metadata::{AttributeChange, FileKind, Metadata, Ownership};
use kernel_files::notify::{self, Event};
use kernel_files::xattr_map::XattrMap;
use kernel_tasks::cgroup::{Cgroup, EventFile, Observer};
use linux_abi::{Errno, SysResult};

use super::CgroupFs;
use super::files::{ControlFile, FILES};
use super::open::OpenControl;

/// Who owns a node, and who may do what.
struct Access {
    mode: Cell<u32>,
    owner: Cell<(u32, u32)>,
}

impl Access {
    fn change(&self, change: &AttributeChange) {
        let (uid, gid) = self.owner.get();
        self.mode.set(change.mode.unwrap_or(self.mode.get()) & 0o7777);
        self.owner.set((change.uid.unwrap_or(uid), change.gid.unwrap_or(gid)));
    }
}

fn new_number() -> u64 {
    thread_local!(static NEXT: Cell<u64> = const { Cell::new(1) });
    let number = NEXT.get();
    NEXT.set(number + 1);
    number
}

/// The folder of a group.
pub(super) struct GroupDirectory {
    fs: Weak<CgroupFs>,
    group: Rc<Cgroup>,
    number: u64,
    access: Access,
    files: RefCell<BTreeMap<&'static str, Rc<ControlInode>>>,
    children: RefCell<BTreeMap<Vec<u8>, Rc<GroupDirectory>>>,
    xattrs: XattrMap,
    attachments: Attachments,
    me: Weak<Self>,
}

impl GroupDirectory {
    pub(super) fn new(
        fs: &Rc<CgroupFs>,
        group: &Rc<Cgroup>,
        mode: u32,
        owner: (u32, u32),
    ) -> Rc<Self> {
        let directory = Rc::new_cyclic(|me| Self {
            fs: Rc::downgrade(fs),
            group: Rc::clone(group),
            number: new_number(),
            access: Access { mode: Cell::new(mode), owner: Cell::new(owner) },
            files: RefCell::default(),
            children: RefCell::default(),
            xattrs: XattrMap::default(),
            attachments: Attachments::default(),
            me: Weak::clone(me),
        });
        // So is the group found by those who have the folder open.
        directory.attachments.set(Rc::clone(group));
        let observer: Weak<dyn Observer> = Weak::<Self>::clone(&directory.me);
        group.set_observer(observer);
        directory
    }

    /// The inode of a file, which is made when it is first asked for.
    fn file(&self, file: &'static ControlFile) -> Rc<ControlInode> {
        let mut files = self.files.borrow_mut();
        let made = files.entry(file.name).or_insert_with(|| {
            Rc::new(ControlInode {
                fs: self.fs.clone(),
                group: Rc::clone(&self.group),
                file,
                number: new_number(),
                access: Access {
                    mode: Cell::new(file.mode),
                    owner: Cell::new(self.access.owner.get()),
                },
                attachments: Attachments::default(),
            })
        });
        Rc::clone(made)
    }

    fn shown_files(&self) -> impl Iterator<Item = &'static ControlFile> {
        FILES.iter().filter(|file| file.is_in(&self.group))
    }
}

impl Observer for GroupDirectory {
    fn changed(&self, event: EventFile) {
        let inode = self.files.borrow().values().find(|it| it.file.event == Some(event)).cloned();
        if let Some(inode) = inode {
            notify::of_inode(&*inode, Event::Modify);
        }
    }
}

impl Inode for GroupDirectory {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn kind(&self) -> FileKind {
        FileKind::Directory
    }

    fn metadata(&self) -> SysResult<Metadata> {
        let (uid, gid) = self.access.owner.get();
        Ok(Metadata {
            device: self.fs.upgrade().ok_or(Errno::EIO)?.device,
            inode: self.number,
            mode: FileKind::Directory.mode_bits() | self.access.mode.get(),
            n_links: 2 + u32::try_from(self.children.borrow().len()).unwrap_or(0),
            uid,
            gid,
            ..Metadata::anonymous(FileKind::Directory, self.number)
        })
    }

    fn set_attributes(&self, change: &AttributeChange) -> SysResult<()> {
        self.access.change(change);
        Ok(())
    }

    fn attachments(&self) -> &Attachments {
        &self.attachments
    }

    fn directory(&self) -> Option<&dyn Directory> {
        Some(self)
    }

    fn xattrs(&self) -> Option<&dyn Xattrs> {
        Some(&self.xattrs)
    }
}

/// Entries beneath this position are files, those from it on are groups.
const FIRST_GROUP: u64 = 1 << 10;

impl Directory for GroupDirectory {
    fn lookup(&self, name: &[u8]) -> SysResult<Rc<dyn Inode>> {
        if self.group.is_removed() {
            return Err(Errno::ENOENT);
        }
        if let Some(child) = self.children.borrow().get(name) {
            return Ok(Rc::clone(child) as Rc<dyn Inode>);
        }
        let file = self.shown_files().find(|file| file.name.as_bytes() == name);
        Ok(self.file(file.ok_or(Errno::ENOENT)?))
    }

    fn list(&self, from: u64, visit: &mut dyn FnMut(&DirEntry<'_>) -> bool) -> SysResult<()> {
        if self.group.is_removed() {
            return Ok(());
        }
        for (file, next) in self.shown_files().zip(3..) {
            if next <= from {
                continue;
            }
            let inode = self.file(file).number;
            let name = file.name.as_bytes();
            if !visit(&DirEntry { name, inode, kind: FileKind::Regular, next }) {
                return Ok(());
            }
        }
        // A group keeps its position while others come and go: it is that of its number.
        let mut children: Vec<_> =
            self.children.borrow().iter().map(|(name, it)| (it.number, name.clone())).collect();
        children.sort_unstable();
        for (inode, name) in children {
            let next = FIRST_GROUP + inode;
            if next <= from {
                continue;
            }
            if !visit(&DirEntry { name: &name, inode, kind: FileKind::Directory, next }) {
                break;
            }
        }
        Ok(())
    }

    fn caching(&self) -> Caching {
        Caching::Volatile
    }

    fn create(&self, name: &[u8], new: &NewInode<'_>) -> SysResult<Rc<dyn Inode>> {
        match new.kind {
            NewKind::Directory => {}
            NewKind::Regular => return Err(Errno::EACCES),
            _ => return Err(Errno::EPERM),
        }
        if name.contains(&b'\n') {
            return Err(Errno::EINVAL);
        }
        let fs = self.fs.upgrade().ok_or(Errno::EIO)?;
        let owner = (new.uid, new.gid);
        let group = self.group.create(name, owner)?;
        let directory = Self::new(&fs, &group, new.mode & 0o7777, owner);
        self.children.borrow_mut().insert(name.to_vec(), Rc::clone(&directory));
        Ok(directory)
    }

    fn rmdir(&self, name: &[u8]) -> SysResult<()> {
        if !self.children.borrow().contains_key(name) {
            return Err(Errno::ENOTDIR);
        }
        self.group.remove(name)?;
        self.children.borrow_mut().remove(name);
        Ok(())
    }
}

/// A file of a group.
pub(super) struct ControlInode {
    fs: Weak<CgroupFs>,
    group: Rc<Cgroup>,
    file: &'static ControlFile,
    number: u64,
    access: Access,
    attachments: Attachments,
}

impl Inode for ControlInode {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn kind(&self) -> FileKind {
        FileKind::Regular
    }

    fn metadata(&self) -> SysResult<Metadata> {
        let Ownership { mode, uid, gid } = self.ownership()?;
        Ok(Metadata {
            device: self.fs.upgrade().ok_or(Errno::EIO)?.device,
            inode: self.number,
            mode,
            uid,
            gid,
            ..Metadata::anonymous(FileKind::Regular, self.number)
        })
    }

    fn ownership(&self) -> SysResult<Ownership> {
        let (uid, gid) = self.access.owner.get();
        let mode = FileKind::Regular.mode_bits() | self.access.mode.get();
        Ok(Ownership { mode, uid, gid })
    }

    fn set_attributes(&self, change: &AttributeChange) -> SysResult<()> {
        self.access.change(change);
        if self.file.name == "cgroup.procs" {
            self.group.procs_access.set(self.ownership()?);
        }
        Ok(())
    }

    fn attachments(&self) -> &Attachments {
        &self.attachments
    }

    fn open(&self, request: &OpenRequest<'_>) -> Option<SysResult<Rc<dyn FileOps>>> {
        let Some(fs) = self.fs.upgrade() else { return Some(Err(Errno::EIO)) };
        let open = OpenControl::new(&fs.sources, &self.group, self.file, request);
        Some(open.map(|open| Rc::new(open) as Rc<dyn FileOps>))
    }
}
