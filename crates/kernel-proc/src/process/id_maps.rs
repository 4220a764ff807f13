//! `uid_map`, `gid_map` and `setgroups`: what ids mean in the user namespace of a process.

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

use kernel_core::credentials::{Credentials, cap};
use kernel_core::io::{Sink, Source};
use kernel_core::user_namespace::{Extent, IdKind, MAX_EXTENTS, UserNamespace};
use kernel_files::inode::OpenRequest;
use kernel_files::pseudo::TextFile;
use kernel_files::{FileOps, Intent, OpenFile};
use kernel_tasks::{Kernel, Thread};
use linux_abi::{Errno, SysResult, WaitResult};

use super::Context;

/// The longest map that can be written: a page, as on Linux.
const MAX_MAP: usize = 4096;

/// Which of the files it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MapFile {
    Users,
    Groups,
    Setgroups,
}

/// One of the three files of a process.
pub(super) struct IdMapFile {
    pub(super) context: Context,
    pub(super) which: MapFile,
}

impl TextFile for IdMapFile {
    fn read(&self) -> SysResult<Vec<u8>> {
        // Always read through what `open` makes.
        Err(Errno::EINVAL)
    }

    fn open(&self, request: &OpenRequest<'_>) -> Option<SysResult<Rc<dyn FileOps>>> {
        Some(self.open_by(request))
    }
}

impl IdMapFile {
    fn open_by(&self, request: &OpenRequest<'_>) -> SysResult<Rc<dyn FileOps>> {
        let thread = self.context.subject.thread()?;
        let namespace = Rc::clone(&thread.credentials().user_namespace);
        let writes = request.flags.can_write();
        if self.which == MapFile::Setgroups
            && writes
            && !namespace.grants(request.credentials, cap::SYS_ADMIN)
        {
            return Err(Errno::EACCES);
        }
        Ok(Rc::new(OpenMap {
            kernel: Rc::clone(&self.context.sources.kernel),
            namespace,
            which: self.which,
            opener: Rc::new(request.credentials.clone()),
            writer: RefCell::default(),
        }))
    }
}

struct OpenMap {
    kernel: Rc<Kernel>,
    namespace: Rc<UserNamespace>,
    which: MapFile,
    opener: Rc<Credentials>,
    /// Who makes the call that is under way.
    writer: RefCell<Option<Rc<Credentials>>>,
}

impl OpenMap {
    fn text(&self) -> String {
        let reader = &self.opener.user_namespace;
        match self.which {
            MapFile::Users => self.namespace.show_map(IdKind::User, reader),
            MapFile::Groups => self.namespace.show_map(IdKind::Group, reader),
            MapFile::Setgroups if self.namespace.setgroups_is_allowed() => String::from("allow\n"),
            MapFile::Setgroups => String::from("deny\n"),
        }
    }

    fn set(&self, text: &[u8]) -> SysResult<()> {
        // What follows a zero is not looked at.
        let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
        let text = std::str::from_utf8(text).map_err(|_| Errno::EINVAL)?;
        let kind = match self.which {
            MapFile::Users => IdKind::User,
            MapFile::Groups => IdKind::Group,
            MapFile::Setgroups => {
                return match text.trim_end() {
                    "allow" => self.namespace.set_setgroups(true),
                    "deny" => self.namespace.set_setgroups(false),
                    _ => Err(Errno::EINVAL),
                };
            }
        };
        let writer = self.writer.borrow().clone().unwrap_or_else(|| Rc::clone(&self.opener));
        self.namespace.set_map(kind, &parse(text)?, &writer, &self.opener)?;
        // Who is in the namespace is somebody else from now on, as it seems.
        for process in self.kernel.ids.processes() {
            for thread in process.threads() {
                if thread.credentials().user_namespace == self.namespace {
                    thread.publish();
                }
            }
        }
        Ok(())
    }
}

/// The lines of a map; `EINVAL` unless each is three numbers.
fn parse(text: &str) -> SysResult<Vec<Extent>> {
    let mut lines = Vec::new();
    for line in text.trim_end_matches('\n').split('\n') {
        let numbers = line.split_ascii_whitespace().map(str::parse::<u32>);
        let numbers = numbers.collect::<Result<Vec<u32>, _>>().map_err(|_| Errno::EINVAL)?;
        let &[inside, kernel, n] = &*numbers else { return Err(Errno::EINVAL) };
        if lines.len() >= MAX_EXTENTS {
            return Err(Errno::EINVAL);
        }
        lines.push(Extent { inside, kernel, n });
    }
    Ok(lines)
}

impl FileOps for OpenMap {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn admit(&self, _file: &OpenFile, caller: &dyn Any, _intent: Intent) -> WaitResult {
        *self.writer.borrow_mut() = Thread::of_caller(caller).ok().map(Thread::credentials);
        Ok(())
    }

    fn read(&self, _file: &OpenFile, sink: &mut dyn Sink, offset: u64) -> SysResult<usize> {
        let text = self.text();
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        match text.as_bytes().get(start..) {
            Some(rest) if !rest.is_empty() => sink.put(rest),
            _ => Ok(0),
        }
    }

    fn write(&self, _file: &OpenFile, source: &mut dyn Source, offset: u64) -> SysResult<usize> {
        if offset != 0 || source.remaining() >= MAX_MAP {
            return Err(Errno::EINVAL);
        }
        let mut text = vec![0; source.remaining()];
        let n = source.take(&mut text)?;
        self.set(text.get(..n).unwrap_or_default())?;
        Ok(n)
    }

    fn is_seekable(&self) -> bool {
        true
    }
}
