//! Open regular files.

use std::any::Any;
use std::rc::Rc;

use kernel_core::io::{Sink, Source};
use kernel_core::wait::PollEvents;
use linux_abi::files::OpenFlags;
use linux_abi::{Errno, SysResult};

use crate::inode::{Content, Inode, OpenGuard, WriteAt};
use crate::lending::Loan;
use crate::open_file::{FileOps, MapRequest, MappedFile, OpenFile};
use crate::text_busy::InUse;

/// An open regular file: a position on top of an inode's content.
pub struct RegularFile {
    inode: Rc<dyn Inode>,
    _guard: OpenGuard,
    /// Held by who may write.
    writes: Option<InUse>,
}

impl RegularFile {
    /// An open file on `inode`, which has content and gave `guard` for it.
    pub fn new(inode: Rc<dyn Inode>, guard: OpenGuard, writes: Option<InUse>) -> Self {
        let file = Self { inode, _guard: guard, writes };
        file.count_reader(1);
        file
    }

    /// Those who can only read are counted, for leases.
    fn count_reader(&self, change: i32) {
        if self.writes.is_none() {
            let n_readers = &self.inode.attachments().n_readers;
            n_readers.set(n_readers.get().saturating_add_signed(change));
        }
    }

    fn content(&self) -> SysResult<&dyn Content> {
        self.inode.content().ok_or(Errno::EINVAL)
    }
}

impl Drop for RegularFile {
    fn drop(&mut self) {
        self.count_reader(-1);
    }
}

impl FileOps for RegularFile {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn inode(&self) -> Option<&Rc<dyn Inode>> {
        Some(&self.inode)
    }

    fn is_seekable(&self) -> bool {
        true
    }

    fn read(&self, file: &OpenFile, sink: &mut dyn Sink, offset: u64) -> SysResult<usize> {
        let n = self.content()?.read(sink, offset)?;
        file.touch_accessed(&*self.inode);
        Ok(n)
    }

    fn write(&self, file: &OpenFile, source: &mut dyn Source, offset: u64) -> SysResult<usize> {
        let appends = file.flags().contains(OpenFlags::APPEND);
        let at = if appends { WriteAt::End } else { WriteAt::Offset(offset) };
        let (n, end) = self.content()?.write(source, at)?;
        if appends {
            file.set_offset(end);
        }
        Ok(n)
    }

    fn lend(&self) -> Option<Loan> {
        Some(Loan::File(Rc::new(self.inode.content()?.lend()?)))
    }

    fn poll(&self, _file: &OpenFile) -> PollEvents {
        PollEvents::READABLE | PollEvents::WRITABLE
    }

    fn map(&self, file: &OpenFile, request: MapRequest) -> SysResult<MappedFile> {
        let mapped = self.content()?.map(request)?;
        file.touch_accessed(&*self.inode);
        Ok(mapped)
    }
}
