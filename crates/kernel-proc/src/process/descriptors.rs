//! `fd` and `fdinfo`.

use std::any::Any;
use std::rc::Rc;

use kernel_files::inode::DirEntry;
use kernel_files::metadata::FileKind;
use kernel_files::pseudo::{Link, Names, PseudoInode};
use kernel_files::{Location, OpenFile};
use linux_abi::{Errno, Fd, SysResult};

use super::Context;
use crate::anonymous::location_of;

/// A directory with a name for each open descriptor.
pub(super) struct Descriptors {
    context: Context,
    is_info: bool,
}

impl Descriptors {
    pub(super) fn links(context: Context) -> Self {
        Self { context, is_info: false }
    }

    pub(super) fn infos(context: Context) -> Self {
        Self { context, is_info: true }
    }

    fn make(&self, parent: &PseudoInode, name: &[u8], fd: Fd) -> SysResult<Rc<PseudoInode>> {
        let descriptor = Descriptor { context: self.context.clone(), fd };
        let file = descriptor.file()?;
        if self.is_info {
            return Ok(parent.file_in(name, 0o444, move || info(&descriptor)));
        }
        // The bits say how the file is open.
        let flags = file.flags();
        let mode = 0o100
            | if flags.can_read() { 0o400 } else { 0 }
            | if flags.can_write() { 0o200 } else { 0 };
        Ok(parent.link_in(name, descriptor).with_mode(mode))
    }
}

impl Names for Descriptors {
    fn lookup(&self, parent: &PseudoInode, name: &[u8]) -> SysResult<Rc<PseudoInode>> {
        let text = std::str::from_utf8(name).map_err(|_| Errno::ENOENT)?;
        let is_plain = text == "0" || !text.starts_with(['0', '+', '-']);
        let number = text.parse().ok().filter(|_| is_plain).ok_or(Errno::ENOENT)?;
        self.make(parent, name, Fd(number))
    }

    fn list(
        &self,
        parent: &PseudoInode,
        from: u64,
        visit: &mut dyn FnMut(&DirEntry<'_>) -> bool,
    ) -> SysResult<()> {
        // A process that has ended has none.
        let Ok(thread) = self.context.subject.thread() else { return Ok(()) };
        thread.process().settle();
        let files = thread.files();
        let numbers: Vec<Fd> = files.borrow().numbers().collect();
        let kind = if self.is_info { FileKind::Regular } else { FileKind::Symlink };
        for fd in numbers {
            let number = u64::try_from(fd.0).unwrap_or(0);
            let next = number + 3;
            if next <= from {
                continue;
            }
            let name = number.to_string();
            let inode = parent.number_of(name.as_bytes());
            if !visit(&DirEntry { name: name.as_bytes(), inode, kind, next }) {
                break;
            }
        }
        Ok(())
    }
}

struct Descriptor {
    context: Context,
    fd: Fd,
}

impl Descriptor {
    fn file(&self) -> SysResult<Rc<OpenFile>> {
        let thread = self.context.subject.thread().map_err(|_| Errno::ENOENT)?;
        thread.process().settle();
        thread.file(self.fd).map_err(|_| Errno::ENOENT)
    }
}

impl Link for Descriptor {
    fn read(&self, _caller: Option<&dyn Any>) -> SysResult<Vec<u8>> {
        let file = self.file()?;
        match file.location() {
            Some(location) => {
                let root = self.context.subject.thread()?.fs().root();
                Ok(location.display_path(&root))
            }
            None => Ok(file.ops().describe().into_bytes()),
        }
    }

    fn target(&self) -> Option<SysResult<Location>> {
        Some(self.file().map(|file| location_of(&file, &self.context.nameless)))
    }
}

fn info(descriptor: &Descriptor) -> SysResult<Vec<u8>> {
    let file = descriptor.file()?;
    let thread = descriptor.context.subject.thread()?;
    let closes = thread.files().borrow().is_close_on_exec(descriptor.fd)?;
    let flags = file.flags().bits() | if closes { 0o2_000_000 } else { 0 };
    let mount = file.location().map_or(descriptor.context.nameless.id, |place| place.mount.id);
    let inode = file.metadata().map_or(0, |metadata| metadata.inode);
    Ok(format!(
        "pos:\t{}\nflags:\t0{flags:o}\nmnt_id:\t{mount}\nino:\t{inode}\n{}",
        file.offset(),
        file.ops().fdinfo()
    )
    .into_bytes())
}
