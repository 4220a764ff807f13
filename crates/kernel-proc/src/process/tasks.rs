//! `task`: a directory for each thread.

use std::rc::Rc;

use kernel_files::inode::DirEntry;
use kernel_files::metadata::FileKind;
use kernel_files::pseudo::{Names, PseudoInode};
use linux_abi::{Errno, SysResult};

use super::{Context, Subject, new_directory};
use crate::root::parse_id;

pub(super) struct Tasks {
    pub(super) context: Context,
}

impl Names for Tasks {
    fn lookup(&self, parent: &PseudoInode, name: &[u8]) -> SysResult<Rc<PseudoInode>> {
        let process = self.context.subject.process().map_err(|_| Errno::ENOENT)?;
        let thread = parse_id(name).and_then(|tid| process.thread(tid)).ok_or(Errno::ENOENT)?;
        let Context { sources, nameless, .. } = &self.context;
        Ok(new_directory(parent, name, Subject::of_task(&thread), sources, nameless))
    }

    fn n_directories(&self) -> u32 {
        let process = self.context.subject.process();
        process.map_or(0, |process| u32::try_from(process.n_threads()).unwrap_or(u32::MAX - 2))
    }

    fn list(
        &self,
        parent: &PseudoInode,
        from: u64,
        visit: &mut dyn FnMut(&DirEntry<'_>) -> bool,
    ) -> SysResult<()> {
        let process = self.context.subject.process().map_err(|_| Errno::ENOENT)?;
        for thread in process.threads() {
            let next = u64::from(thread.tid().0) + 3;
            if next <= from {
                continue;
            }
            let name = thread.tid().0.to_string();
            let inode = parent.number_of(name.as_bytes());
            let kind = FileKind::Directory;
            if !visit(&DirEntry { name: name.as_bytes(), inode, kind, next }) {
                break;
            }
        }
        Ok(())
    }
}
