//! The root of `/proc`: processes and what is told of the system.

use std::any::Any;
use std::rc::Rc;

use kernel_files::Mount;
use kernel_files::inode::{Caching, DirEntry};
use kernel_files::metadata::FileKind;
use kernel_files::pseudo::{Link, Listing, Names, PseudoInode};
use kernel_tasks::Thread;
use linux_abi::{Errno, Pid, SysResult};

use crate::process::{Subject, new_directory};
use crate::{Sources, anonymous, system};

/// The names in `/proc`.
pub(crate) struct Root {
    sources: Sources,
    /// Everything but the processes.
    fixed: Listing,
    nameless: Rc<Mount>,
}

/// Positions from here on are those of processes.
const FIRST_PROCESS: u64 = 1 << 10;

impl Root {
    pub(crate) fn new(sources: &Sources) -> Self {
        let fixed = system::listing(sources)
            .with("self", |parent, name| parent.link_in(name, OwnProcess))
            .with("thread-self", |parent, name| parent.link_in(name, OwnThread));
        Self { sources: sources.clone(), fixed, nameless: anonymous::new_mount() }
    }

    /// The process or thread of this number. Threads are not listed, but found.
    fn subject(&self, name: &[u8]) -> Option<Subject> {
        let id = parse_id(name)?;
        let ids = &self.sources.kernel.ids;
        match ids.process(id) {
            Some(process) => Some(Subject::of_process(&process)),
            None => Some(Subject::of_thread_as_process(&ids.thread(id)?)),
        }
    }
}

/// A number as `/proc` writes it: digits without leading zeroes.
pub(crate) fn parse_id(name: &[u8]) -> Option<Pid> {
    let text = std::str::from_utf8(name).ok()?;
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    if is_plain { text.parse().ok().map(Pid) } else { None }
}

impl Names for Root {
    fn lookup(&self, parent: &PseudoInode, name: &[u8]) -> SysResult<Rc<PseudoInode>> {
        if !name.first().is_some_and(u8::is_ascii_digit) {
            return self.fixed.lookup(parent, name);
        }
        let subject = self.subject(name).ok_or(Errno::ENOENT)?;
        Ok(new_directory(parent, name, subject, &self.sources, &self.nameless))
    }

    fn list(
        &self,
        parent: &PseudoInode,
        from: u64,
        visit: &mut dyn FnMut(&DirEntry<'_>) -> bool,
    ) -> SysResult<()> {
        if from < FIRST_PROCESS {
            let mut has_room = true;
            self.fixed.list(parent, from, &mut |entry| {
                has_room = visit(entry);
                has_room
            })?;
            if !has_room {
                return Ok(());
            }
        }
        let mut next = u32::try_from(from.saturating_sub(FIRST_PROCESS)).unwrap_or(u32::MAX);
        while let Some(process) = self.sources.kernel.ids.next_process(Pid(next)) {
            let name = process.pid.0.to_string();
            next = process.pid.0.saturating_add(1);
            let entry = DirEntry {
                name: name.as_bytes(),
                inode: parent.number_of(name.as_bytes()),
                kind: FileKind::Directory,
                next: FIRST_PROCESS + u64::from(next),
            };
            if !visit(&entry) {
                break;
            }
        }
        Ok(())
    }

    fn caching(&self) -> Caching {
        Caching::Volatile
    }
}

fn caller_of(caller: Option<&dyn Any>) -> SysResult<&Thread> {
    Thread::of_caller(caller.ok_or(Errno::ENOENT)?)
}

/// `/proc/self`.
struct OwnProcess;

impl Link for OwnProcess {
    fn read(&self, caller: Option<&dyn Any>) -> SysResult<Vec<u8>> {
        Ok(caller_of(caller)?.process().pid.0.to_string().into_bytes())
    }
}

/// `/proc/thread-self`.
struct OwnThread;

impl Link for OwnThread {
    fn read(&self, caller: Option<&dyn Any>) -> SysResult<Vec<u8>> {
        let thread = caller_of(caller)?;
        Ok(format!("{}/task/{}", thread.process().pid.0, thread.tid().0).into_bytes())
    }
}
