//! `unshare(2)`, `setns(2)`.

use std::rc::Rc;

use kernel_core::credentials::cap;
use kernel_core::user_namespace::UserNamespace;
use kernel_files::MountNamespace;
use kernel_tasks::namespaces::{NamespaceFile, NamespaceRef, Namespaces};
use kernel_tasks::pidfd::Pidfd;
use kernel_tasks::{Process, Thread};
use linux_abi::tasks::CloneFlags;
use linux_abi::{Errno, Fd, SysResult};

use super::pidfd::may_inspect_process;

/// Stops sharing: descriptors, root and working directory, namespaces.
pub(crate) fn unshare(thread: &Rc<Thread>, flags: u64) -> SysResult<()> {
    let known = CloneFlags::NAMESPACES
        | CloneFlags::THREAD
        | CloneFlags::FS
        | CloneFlags::VM
        | CloneFlags::SIGHAND
        | CloneFlags::FILES
        | CloneFlags::SYSVSEM;
    let flags = CloneFlags::from_bits(flags).filter(|&flags| known.contains(flags));
    let mut flags = flags.ok_or(Errno::EINVAL)?;
    if flags.contains(CloneFlags::NEWUSER) {
        flags |= CloneFlags::THREAD | CloneFlags::FS;
    }
    if flags.contains(CloneFlags::NEWNS) {
        flags |= CloneFlags::FS;
    }
    let of_threads = CloneFlags::THREAD | CloneFlags::SIGHAND | CloneFlags::VM;
    if flags.intersects(of_threads) && thread.process().n_threads() > 1 {
        return Err(Errno::EINVAL);
    }
    let namespaces = flags & CloneFlags::NAMESPACES;
    if flags.contains(CloneFlags::FS) {
        thread.unshare_fs();
    }
    thread.unshare_namespaces(namespaces)?;
    if flags.contains(CloneFlags::FILES) {
        thread.unshare_files();
    }
    Ok(())
}

/// Enters a namespace that a descriptor names, or those of the process that a pidfd names.
pub(crate) fn setns(thread: &Rc<Thread>, fd: Fd, kinds: u32) -> SysResult<()> {
    let file = thread.file(fd)?;
    let kinds = CloneFlags::from_bits_retain(kinds.into());
    if let Some(pidfd) = file.ops_as::<Pidfd>() {
        if kinds.is_empty() || !CloneFlags::NAMESPACES.contains(kinds) {
            return Err(Errno::EINVAL);
        }
        return enter_those_of(thread, pidfd.process(), kinds);
    }
    let namespace = NamespaceFile::of(&file).ok_or(Errno::EINVAL)?;
    if !kinds.is_empty() && kinds != namespace.kind() {
        return Err(Errno::EINVAL);
    }
    let mut new = Entered::of(thread);
    new.enter(thread, namespace)?;
    new.commit(thread)
}

fn enter_those_of(thread: &Rc<Thread>, process: &Rc<Process>, kinds: CloneFlags) -> SysResult<()> {
    let other = process.any_thread().filter(|_| !process.is_dead()).ok_or(Errno::ESRCH)?;
    if !may_inspect_process(thread, process) {
        return Err(Errno::EPERM);
    }
    let namespaces = other.namespaces();
    let user = Rc::clone(&other.credentials().user_namespace);
    let all = [
        NamespaceRef::User(user),
        NamespaceRef::Mount(other.fs().namespace()),
        NamespaceRef::Uts(Rc::clone(&namespaces.uts)),
        NamespaceRef::Ipc(Rc::clone(&namespaces.ipc)),
        NamespaceRef::Net(Rc::clone(&namespaces.net)),
        NamespaceRef::Cgroup(Rc::clone(&namespaces.cgroup)),
    ];
    let mut new = Entered::of(thread);
    let mut left = kinds;
    for namespace in all {
        if kinds.contains(namespace.kind()) {
            left -= namespace.kind();
            new.enter(thread, namespace)?;
        }
    }
    // Those of which there is only one are entered already.
    if !ONLY_ONE.contains(left) {
        return Err(Errno::EINVAL);
    }
    new.commit(thread)
}

const ONLY_ONE: CloneFlags = CloneFlags::NEWPID.union(CloneFlags::NEWTIME);

/// What is about to be entered, once all of it may be.
struct Entered {
    user: Option<Rc<UserNamespace>>,
    mounts: Option<Rc<MountNamespace>>,
    others: Namespaces,
}

impl Entered {
    fn of(thread: &Thread) -> Self {
        Self { user: None, mounts: None, others: (*thread.namespaces()).clone() }
    }

    /// Checks that a namespace may be entered, and notes it.
    fn enter(&mut self, thread: &Rc<Thread>, namespace: NamespaceRef) -> SysResult<()> {
        let mut who = (*thread.credentials()).clone();
        if let Some(user) = &self.user {
            who = who.in_new_user_namespace(user);
        }
        let may_enter = |owner: &UserNamespace| {
            if owner.grants(&who, cap::SYS_ADMIN) && who.has_own(cap::SYS_ADMIN) {
                Ok(())
            } else {
                Err(Errno::EPERM)
            }
        };
        // One handle is the thread's, one is made here.
        let shares_fs = Rc::strong_count(&thread.fs()) > 2;
        match namespace {
            NamespaceRef::User(user) => {
                if user == who.user_namespace || thread.process().n_threads() > 1 || shares_fs {
                    return Err(Errno::EINVAL);
                }
                if !user.grants(&who, cap::SYS_ADMIN) {
                    return Err(Errno::EPERM);
                }
                self.user = Some(user);
            }
            NamespaceRef::Mount(mounts) => {
                may_enter(&mounts.owner)?;
                if !who.has_own(cap::SYS_CHROOT) {
                    return Err(Errno::EPERM);
                }
                if shares_fs {
                    return Err(Errno::EINVAL);
                }
                self.mounts = Some(mounts);
            }
            NamespaceRef::Uts(uts) => {
                may_enter(&uts.tag.owner)?;
                self.others.uts = uts;
            }
            NamespaceRef::Ipc(ipc) => {
                may_enter(&ipc.tag.owner)?;
                self.others.ipc = ipc;
            }
            NamespaceRef::Net(net) => {
                may_enter(&net.tag.owner)?;
                self.others.net = net;
            }
            NamespaceRef::Cgroup(cgroup) => {
                may_enter(&cgroup.tag.owner)?;
                self.others.cgroup = cgroup;
            }
            NamespaceRef::Only(..) => may_enter(&UserNamespace::initial())?,
        }
        Ok(())
    }

    fn commit(self, thread: &Rc<Thread>) -> SysResult<()> {
        if let Some(mounts) = &self.mounts {
            thread.fs().enter_mounts(mounts)?;
        }
        thread.set_namespaces(Rc::new(self.others));
        if let Some(user) = &self.user {
            thread.enter_user_namespace(user);
        }
        Ok(())
    }
}
