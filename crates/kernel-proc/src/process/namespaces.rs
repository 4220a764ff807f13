//! `ns`: links to the namespaces of a process.

use std::any::Any;
use std::rc::Rc;

use kernel_files::Location;
use kernel_files::dentry::Dentry;
use kernel_files::inode::DirEntry;
use kernel_files::metadata::FileKind;
use kernel_files::pseudo::{Link, Names, PseudoInode};
use kernel_tasks::Thread;
use kernel_tasks::namespaces::{NamespaceFile, NamespaceRef};
use linux_abi::tasks::CloneFlags;
use linux_abi::{Errno, SysResult};

use super::Context;

/// The names in `ns`.
const NAMES: [&str; 10] = [
    "cgroup",
    "ipc",
    "mnt",
    "net",
    "pid",
    "pid_for_children",
    "time",
    "time_for_children",
    "user",
    "uts",
];

/// The namespace of a thread that goes by this name.
fn namespace(thread: &Thread, name: &str) -> Option<NamespaceRef> {
    let all = thread.namespaces();
    Some(match name {
        "cgroup" => NamespaceRef::Cgroup(Rc::clone(&all.cgroup)),
        "ipc" => NamespaceRef::Ipc(Rc::clone(&all.ipc)),
        "mnt" => NamespaceRef::Mount(thread.fs().namespace()),
        "net" => NamespaceRef::Net(Rc::clone(&all.net)),
        "pid" | "pid_for_children" => NamespaceRef::Only(CloneFlags::NEWPID, "pid", 4_026_531_836),
        "time" | "time_for_children" => {
            NamespaceRef::Only(CloneFlags::NEWTIME, "time", 4_026_531_834)
        }
        "user" => NamespaceRef::User(Rc::clone(&thread.credentials().user_namespace)),
        "uts" => NamespaceRef::Uts(Rc::clone(&all.uts)),
        _ => return None,
    })
}

/// The directory `ns`.
pub(super) struct Namespaces {
    pub(super) context: Context,
}

impl Names for Namespaces {
    fn lookup(&self, parent: &PseudoInode, name: &[u8]) -> SysResult<Rc<PseudoInode>> {
        let known = NAMES.iter().find(|known| known.as_bytes() == name).ok_or(Errno::ENOENT)?;
        Ok(parent.link_in(name, NamespaceLink { context: self.context.clone(), name: known }))
    }

    fn list(
        &self,
        parent: &PseudoInode,
        from: u64,
        visit: &mut dyn FnMut(&DirEntry<'_>) -> bool,
    ) -> SysResult<()> {
        let skip = usize::try_from(from.saturating_sub(2)).unwrap_or(usize::MAX);
        for (name, next) in NAMES.iter().zip(3..).skip(skip) {
            let name = name.as_bytes();
            let inode = parent.number_of(name);
            if !visit(&DirEntry { name, inode, kind: FileKind::Symlink, next }) {
                break;
            }
        }
        Ok(())
    }
}

struct NamespaceLink {
    context: Context,
    name: &'static str,
}

impl NamespaceLink {
    fn namespace(&self) -> SysResult<NamespaceRef> {
        let thread = self.context.subject.thread().map_err(|_| Errno::ENOENT)?;
        namespace(&thread, self.name).ok_or(Errno::ENOENT)
    }
}

impl Link for NamespaceLink {
    fn read(&self, _caller: Option<&dyn Any>) -> SysResult<Vec<u8>> {
        Ok(self.namespace()?.text().into_bytes())
    }

    fn target(&self) -> Option<SysResult<Location>> {
        Some(self.namespace().map(|namespace| {
            let mount = Rc::clone(&self.context.nameless);
            let text = namespace.text();
            let inode = NamespaceFile::new(namespace, mount.file_system.device());
            Location { mount, dentry: Dentry::detached(text.as_bytes(), inode) }
        }))
    }
}
