//! The namespaces of a thread, but for mounts, which its [`FsContext`] has, and users, which its
//! credentials have.
//!
//! All of them are data of this kernel: the host takes no part in them.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use kernel_core::credentials::{Credentials, cap};
use kernel_core::facts;
use kernel_core::user_namespace::{UserNamespace, new_number};
use kernel_core::wait::{PollEvents, WaitQueue};
use kernel_events::ipc::Ipc;
use kernel_files::FsContext;
use kernel_sockets::Network;
use linux_abi::tasks::CloneFlags;
use linux_abi::{Errno, Pid, SysResult};

use crate::cgroup::Cgroup;
use crate::{Kernel, Thread};

mod file;

pub use file::{NamespaceFile, NamespaceRef};

/// How many namespaces of each kind a sandbox may have at a time.
const MAX_OF_A_KIND: usize = 1024;

/// What every namespace has.
pub struct Tag {
    /// What `/proc/<pid>/ns` shows.
    pub number: u64,
    /// The user namespace that it belongs to.
    pub owner: Rc<UserNamespace>,
    /// Counts it among those of its kind, as long as it is there.
    _counted: Rc<()>,
}

/// Counts the namespaces of one kind.
#[derive(Default)]
struct Counter(RefCell<Rc<()>>);

impl Counter {
    /// A namespace of a user namespace; `ENOSPC` if there are too many.
    fn tag(&self, number: u64, owner: &Rc<UserNamespace>) -> SysResult<Tag> {
        let counted = Rc::clone(&self.0.borrow());
        if Rc::strong_count(&counted) > MAX_OF_A_KIND {
            return Err(Errno::ENOSPC);
        }
        Ok(Tag { number, owner: Rc::clone(owner), _counted: counted })
    }
}

/// Host name and domain name.
pub struct UtsNamespace {
    /// Its number and owner.
    pub tag: Tag,
    hostname: RefCell<Vec<u8>>,
    domainname: RefCell<Vec<u8>>,
    n_changes: Cell<u64>,
    changed: WaitQueue,
}

impl UtsNamespace {
    /// The name that `uname` shows.
    pub fn hostname(&self) -> Vec<u8> {
        self.hostname.borrow().clone()
    }

    /// Replaces the host name.
    pub fn set_hostname(&self, name: Vec<u8>) {
        *self.hostname.borrow_mut() = name;
        self.note_change();
    }

    /// The NIS domain name that `uname` shows.
    pub fn domainname(&self) -> Vec<u8> {
        self.domainname.borrow().clone()
    }

    /// Replaces the domain name.
    pub fn set_domainname(&self, name: Vec<u8>) {
        *self.domainname.borrow_mut() = name;
        self.note_change();
    }

    fn note_change(&self) {
        self.n_changes.set(self.n_changes.get() + 1);
        self.changed.wake(PollEvents::PRI | PollEvents::ERR);
    }

    /// How often a name has changed, and who is woken when one does.
    pub fn changes(&self) -> (u64, WaitQueue) {
        (self.n_changes.get(), self.changed.clone())
    }
}

/// System V IPC and POSIX message queues.
pub struct IpcNamespace {
    /// Its number and owner.
    pub tag: Tag,
    /// What is in it.
    pub ipc: Rc<Ipc>,
}

/// Interfaces, ports and abstract names of sockets.
pub struct NetNamespace {
    /// Its number and owner.
    pub tag: Tag,
    /// What is in it.
    pub network: Rc<Network>,
}

/// Which control group is seen as the root.
pub struct CgroupNamespace {
    /// Its number and owner.
    pub tag: Tag,
    /// The root.
    pub root: Rc<Cgroup>,
}

/// The namespaces of a thread. Shared and never changed in place.
#[derive(Clone)]
pub struct Namespaces {
    /// Host name and domain name.
    pub uts: Rc<UtsNamespace>,
    /// System V IPC and message queues.
    pub ipc: Rc<IpcNamespace>,
    /// The network.
    pub net: Rc<NetNamespace>,
    /// Where control groups begin.
    pub cgroup: Rc<CgroupNamespace>,
}

/// What the kernel keeps of all namespaces.
#[derive(Default)]
pub struct NamespaceRegistry {
    uts: Counter,
    ipc: Counter,
    net: Counter,
    cgroup: Counter,
    /// Each is told when processes fork, execute and end.
    all_ipc: RefCell<Vec<Weak<Ipc>>>,
}

/// The numbers of the first namespaces, as on Linux.
mod first {
    pub(super) const CGROUP: u64 = 4_026_531_835;
    pub(super) const UTS: u64 = 4_026_531_838;
    pub(super) const IPC: u64 = 4_026_531_839;
    pub(super) const NET: u64 = 4_026_531_840;
}

impl NamespaceRegistry {
    /// The namespaces that a sandbox starts with.
    pub(crate) fn initial(
        &self,
        hostname: Vec<u8>,
        network: &Rc<Network>,
        cgroups: &Rc<Cgroup>,
    ) -> SysResult<Namespaces> {
        let owner = UserNamespace::initial();
        let ipc = Rc::<Ipc>::default();
        self.all_ipc.borrow_mut().push(Rc::downgrade(&ipc));
        Ok(Namespaces {
            uts: Rc::new(UtsNamespace {
                tag: self.uts.tag(first::UTS, &owner)?,
                hostname: RefCell::new(hostname),
                domainname: RefCell::new(b"(none)".to_vec()),
                n_changes: Cell::new(0),
                changed: WaitQueue::new(),
            }),
            ipc: Rc::new(IpcNamespace { tag: self.ipc.tag(first::IPC, &owner)?, ipc }),
            net: Rc::new(NetNamespace {
                tag: self.net.tag(first::NET, &owner)?,
                network: Rc::clone(network),
            }),
            cgroup: Rc::new(CgroupNamespace {
                tag: self.cgroup.tag(first::CGROUP, &owner)?,
                root: Rc::clone(cgroups),
            }),
        })
    }

    fn new_uts(&self, old: &UtsNamespace, owner: &Rc<UserNamespace>) -> SysResult<UtsNamespace> {
        Ok(UtsNamespace {
            tag: self.uts.tag(new_number(), owner)?,
            hostname: old.hostname.clone(),
            domainname: old.domainname.clone(),
            n_changes: Cell::new(0),
            changed: WaitQueue::new(),
        })
    }

    fn new_ipc(&self, owner: &Rc<UserNamespace>) -> SysResult<IpcNamespace> {
        let tag = self.ipc.tag(new_number(), owner)?;
        let ipc = Rc::<Ipc>::default();
        let mut all = self.all_ipc.borrow_mut();
        all.retain(|other| other.strong_count() > 0);
        all.push(Rc::downgrade(&ipc));
        Ok(IpcNamespace { tag, ipc })
    }

    fn new_net(&self, old: &Network, owner: &Rc<UserNamespace>) -> SysResult<NetNamespace> {
        let tag = self.net.tag(new_number(), owner)?;
        Ok(NetNamespace { tag, network: old.new_namespace() })
    }

    fn each_ipc(&self, tell: impl Fn(&Ipc)) {
        let all: Vec<Rc<Ipc>> = self.all_ipc.borrow().iter().filter_map(Weak::upgrade).collect();
        for ipc in all {
            tell(&ipc);
        }
    }

    /// A process has forked: its child has what it has attached.
    pub(crate) fn process_forked(&self, parent: Pid, child: Pid) {
        self.each_ipc(|ipc| ipc.process_forked(parent, child));
    }

    /// A process runs another program, in other memory.
    pub(crate) fn process_executed(&self, pid: Pid) {
        self.each_ipc(|ipc| ipc.process_executed(pid));
    }

    /// A process has ended.
    pub(crate) fn process_ended(&self, pid: Pid) {
        self.each_ipc(|ipc| ipc.process_ended(pid));
    }
}

/// What a thread is about to have: by `clone` for its child, by `unshare` for itself.
pub(crate) struct Surroundings {
    pub(crate) credentials: Rc<Credentials>,
    pub(crate) namespaces: Rc<Namespaces>,
    /// Another context, where mounts are to be its own.
    pub(crate) fs: Option<Rc<FsContext>>,
}

/// The kinds that this kernel does not have more than one of.
const REFUSED: CloneFlags = CloneFlags::NEWPID.union(CloneFlags::NEWTIME);

impl Thread {
    /// Its namespaces.
    pub fn namespaces(&self) -> Rc<Namespaces> {
        Rc::clone(&self.namespaces.borrow())
    }

    /// The System V IPC and message queues that it sees.
    pub fn ipc(&self) -> Rc<Ipc> {
        Rc::clone(&self.namespaces.borrow().ipc.ipc)
    }

    /// The network that it is in.
    pub fn network(&self) -> Rc<Network> {
        Rc::clone(&self.namespaces.borrow().net.network)
    }

    /// The namespaces that `flags` ask for, made from this thread's. `EPERM` without the right to.
    pub(crate) fn new_surroundings(&self, flags: CloneFlags) -> SysResult<Surroundings> {
        let mut all = Surroundings {
            credentials: self.credentials(),
            namespaces: self.namespaces(),
            fs: None,
        };
        if !flags.intersects(CloneFlags::NAMESPACES) {
            return Ok(all);
        }
        // Whoever is born into it sees other owners and other mounts.
        facts::changed();
        if flags.intersects(REFUSED) {
            return Err(Errno::EPERM);
        }
        if flags.contains(CloneFlags::NEWUSER) {
            if !self.fs().is_at_namespace_root() {
                return Err(Errno::EPERM);
            }
            let namespace = UserNamespace::new(&all.credentials)?;
            all.credentials = Rc::new(all.credentials.in_new_user_namespace(&namespace));
        }
        let others = CloneFlags::NAMESPACES - CloneFlags::NEWUSER;
        if !flags.intersects(others) {
            return Ok(all);
        }
        if !all.credentials.has_own(cap::SYS_ADMIN) {
            return Err(Errno::EPERM);
        }
        let owner = &all.credentials.user_namespace;
        let registry = &self.kernel().namespaces;
        let mut new = (*all.namespaces).clone();
        if flags.contains(CloneFlags::NEWUTS) {
            new.uts = Rc::new(registry.new_uts(&new.uts, owner)?);
        }
        if flags.contains(CloneFlags::NEWIPC) {
            new.ipc = Rc::new(registry.new_ipc(owner)?);
        }
        if flags.contains(CloneFlags::NEWNET) {
            new.net = Rc::new(registry.new_net(&new.net.network, owner)?);
        }
        if flags.contains(CloneFlags::NEWCGROUP) {
            let tag = registry.cgroup.tag(new_number(), owner)?;
            new.cgroup = Rc::new(CgroupNamespace { tag, root: self.process().cgroup() });
        }
        if flags.contains(CloneFlags::NEWNS) {
            let fs = self.fs().duplicate();
            fs.unshare_mounts(owner)?;
            all.fs = Some(fs);
        }
        all.namespaces = Rc::new(new);
        Ok(all)
    }

    /// Gives the thread namespaces of its own (`unshare`).
    pub fn unshare_namespaces(&self, flags: CloneFlags) -> SysResult<()> {
        let new = self.new_surroundings(flags)?;
        if let Some(fs) = new.fs {
            self.set_fs(fs);
        }
        self.set_namespaces(new.namespaces);
        if flags.contains(CloneFlags::NEWUSER) {
            self.set_credentials(new.credentials);
        }
        Ok(())
    }

    /// Enters other namespaces (`setns`). The caller has checked that it may.
    pub fn set_namespaces(&self, namespaces: Rc<Namespaces>) {
        *self.namespaces.borrow_mut() = namespaces;
    }

    /// Enters an existing user namespace, with every capability there.
    pub fn enter_user_namespace(&self, namespace: &Rc<UserNamespace>) {
        let new = self.credentials().in_new_user_namespace(namespace);
        self.set_credentials(Rc::new(new));
    }
}

impl Kernel {
    /// The namespaces that the sandbox started with.
    pub fn first_namespaces(&self) -> Rc<Namespaces> {
        Rc::clone(&self.first_namespaces)
    }
}
