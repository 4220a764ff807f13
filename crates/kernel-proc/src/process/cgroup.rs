//! `cgroup`: the control group of a process.

use std::rc::Rc;

use kernel_files::inode::OpenRequest;
use kernel_files::pseudo::TextFile;
use kernel_tasks::Thread;
use kernel_tasks::cgroup::Cgroup;
use linux_abi::SysResult;

use super::{Context, Subject};

/// The file.
pub(super) struct CgroupFile {
    pub(super) context: Context,
}

impl CgroupFile {
    fn seen_from(&self, root: Rc<Cgroup>) -> Seen {
        Seen { subject: self.context.subject.clone(), root }
    }
}

impl TextFile for CgroupFile {
    fn read(&self) -> SysResult<Vec<u8>> {
        self.seen_from(Rc::clone(&self.context.sources.kernel.cgroups.root)).read()
    }

    fn bind(&self, request: &OpenRequest<'_>) -> SysResult<Option<Rc<dyn TextFile>>> {
        let Ok(thread) = Thread::of_caller(request.caller) else { return Ok(None) };
        Ok(Some(Rc::new(self.seen_from(Rc::clone(&thread.namespaces().cgroup.root)))))
    }
}

/// A process's group, as seen by somebody whose groups begin at `root`.
struct Seen {
    subject: Subject,
    root: Rc<Cgroup>,
}

impl TextFile for Seen {
    fn read(&self) -> SysResult<Vec<u8>> {
        let group = self.subject.process()?.cgroup();
        let gone: &[u8] = if group.is_removed() { b" (deleted)" } else { b"" };
        Ok([b"0::", &*group.path_from(&self.root), gone, b"\n"].concat())
    }
}
