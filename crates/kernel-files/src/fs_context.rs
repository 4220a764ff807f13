//! Where a process is in the tree.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use kernel_core::credentials::Credentials;
use kernel_core::user_namespace::UserNamespace;
use linux_abi::SysResult;

use crate::inode::OpenGuard;
use crate::known_directories::KnownDirectories;
use crate::mount::{Location, MountNamespace};
use crate::special::SpecialFiles;

/// Root, working directory, `umask` and mounts of a process. Threads that were created with
/// `CLONE_FS` share one; `fork` makes a [copy](Self::duplicate).
pub struct FsContext {
    root: RefCell<Location>,
    cwd: RefCell<Location>,
    /// Whoever is in a directory can ask about it even when it is gone.
    cwd_guard: RefCell<OpenGuard>,
    umask: Cell<u32>,
    namespace: RefCell<Rc<MountNamespace>>,
    special: Rc<SpecialFiles>,
    known: KnownDirectories,
}

impl FsContext {
    /// At the root of `namespace`, with the usual `umask`.
    pub fn new(
        namespace: Rc<MountNamespace>,
        root: Location,
        special: Rc<SpecialFiles>,
    ) -> Rc<Self> {
        Rc::new(Self {
            cwd: RefCell::new(root.clone()),
            cwd_guard: RefCell::default(),
            root: RefCell::new(root),
            umask: Cell::new(0o022),
            namespace: RefCell::new(namespace),
            special,
            known: KnownDirectories::default(),
        })
    }

    /// A copy that changes on its own from now on.
    pub fn duplicate(&self) -> Rc<Self> {
        Rc::new(Self {
            root: self.root.clone(),
            cwd: self.cwd.clone(),
            cwd_guard: self.cwd_guard.clone(),
            umask: self.umask.clone(),
            namespace: self.namespace.clone(),
            special: Rc::clone(&self.special),
            known: KnownDirectories::default(),
        })
    }

    /// Another context at the top of the same tree, for those who only need some place to be.
    pub fn at_top(&self) -> SysResult<Rc<Self>> {
        Ok(Self::new(self.namespace(), self.namespace().root()?, Rc::clone(&self.special)))
    }

    /// The directory that `/` means.
    pub fn root(&self) -> Location {
        self.root.borrow().clone()
    }

    /// Changes the directory that `/` means (`chroot`).
    pub fn set_root(&self, root: Location) {
        *self.root.borrow_mut() = root;
        self.known.clear();
    }

    /// The directory that relative paths start at.
    pub fn cwd(&self) -> Location {
        self.cwd.borrow().clone()
    }

    /// Changes the directory that relative paths start at (`chdir`).
    pub fn set_cwd(&self, cwd: Location) {
        // Without it all is well for as long as the directory is there.
        let guard = cwd.dentry.inode().and_then(|inode| {
            inode.directory().map_or(Ok(None), |directory| directory.prepare_open())
        });
        *self.cwd_guard.borrow_mut() = guard.unwrap_or(None);
        *self.cwd.borrow_mut() = cwd;
    }

    /// The permission bits that new files do not get.
    pub fn umask(&self) -> u32 {
        self.umask.get()
    }

    /// Changes the `umask`. Returns the old one.
    pub fn set_umask(&self, umask: u32) -> u32 {
        self.umask.replace(umask & 0o777)
    }

    /// The mounts that the process sees.
    pub fn namespace(&self) -> Rc<MountNamespace> {
        Rc::clone(&self.namespace.borrow())
    }

    /// Gives the process mounts of its own (`unshare(CLONE_NEWNS)`).
    /// They belong to the user namespace `owner`.
    pub fn unshare_mounts(&self, owner: &Rc<UserNamespace>) -> SysResult<()> {
        let (copy, mounts) = self.namespace().copy(owner)?;
        for place in [&self.root, &self.cwd] {
            let mut place = place.borrow_mut();
            if let Some(mount) = mounts.get(&place.mount.id) {
                place.mount = Rc::clone(mount);
            }
        }
        *self.namespace.borrow_mut() = copy;
        self.known.clear();
        Ok(())
    }

    /// Goes to the root of other mounts (`setns`).
    pub fn enter_mounts(&self, namespace: &Rc<MountNamespace>) -> SysResult<()> {
        let root = namespace.root()?;
        self.set_root(root.clone());
        self.set_cwd(root);
        *self.namespace.borrow_mut() = Rc::clone(namespace);
        Ok(())
    }

    /// Whether `/` is the top of the tree of mounts, as it is without `chroot`.
    pub fn is_at_namespace_root(&self) -> bool {
        self.namespace().root().is_ok_and(|root| root.is_same(&self.root()))
    }

    /// Where absolute paths have led lately.
    pub(crate) fn known_directories(&self) -> &KnownDirectories {
        &self.known
    }

    /// Who opens devices.
    pub fn special(&self) -> &Rc<SpecialFiles> {
        &self.special
    }
}

/// Who looks for a file, and from where.
#[derive(Clone, Copy)]
pub struct Access<'a> {
    /// Where the caller is in the tree.
    pub fs: &'a FsContext,
    /// Who it is.
    pub credentials: &'a Rc<Credentials>,
    /// The caller (a `kernel_tasks::Thread`), for what depends on who asks.
    pub caller: &'a dyn Any,
}
