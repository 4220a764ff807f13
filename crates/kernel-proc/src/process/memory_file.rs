//! `mem`: the memory of a process as a file.

use std::any::Any;
use std::rc::Rc;

use kernel_core::io::{Sink, Source};
use kernel_core::memory::UserMemory;
use kernel_files::inode::OpenRequest;
use kernel_files::pseudo::TextFile;
use kernel_files::{FileOps, OpenFile};
use linux_abi::{Errno, SysResult};

use super::{Context, Subject, check_inspection};

/// How much is copied at a time.
const CHUNK: usize = 64 << 10;

pub(super) struct Memory {
    pub(super) context: Context,
}

impl TextFile for Memory {
    fn read(&self) -> SysResult<Vec<u8>> {
        Err(Errno::EIO)
    }

    fn open(&self, request: &OpenRequest<'_>) -> Option<SysResult<Rc<dyn FileOps>>> {
        if let Err(errno) = check_inspection(&self.context.subject, request.caller) {
            return Some(Err(errno));
        }
        Some(Ok(Rc::new(OpenMemory { subject: self.context.subject.clone() })))
    }
}

struct OpenMemory {
    subject: Subject,
}

impl FileOps for OpenMemory {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn read(&self, _file: &OpenFile, sink: &mut dyn Sink, offset: u64) -> SysResult<usize> {
        // A process without memory is at its end.
        let Ok(thread) = self.subject.thread() else { return Ok(0) };
        let mut bytes = vec![0; sink.remaining().min(CHUNK)];
        let n = thread.memory().read_some(offset, &mut bytes).map_err(|_| Errno::EIO)?;
        sink.put(bytes.get(..n).unwrap_or_default())
    }

    fn write(&self, _file: &OpenFile, source: &mut dyn Source, offset: u64) -> SysResult<usize> {
        let Ok(thread) = self.subject.thread() else { return Ok(0) };
        let mut bytes = vec![0; source.remaining().min(CHUNK)];
        let n = source.take(&mut bytes)?;
        let bytes = bytes.get(..n).unwrap_or_default();
        thread.memory().write_some(offset, bytes).map_err(|_| Errno::EIO)
    }

    fn is_seekable(&self) -> bool {
        true
    }

    fn end_to_seek_from(&self, _file: &OpenFile) -> SysResult<u64> {
        Err(Errno::EINVAL) // memory has no end
    }
}
