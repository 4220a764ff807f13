//! `mem`: the memory of a process as a file.

use std::any::Any;
use std::cell::Cell;
use std::rc::Rc;

use kernel_core::io::{Sink, Source};
use kernel_core::memory::UserMemory;
use kernel_core::wait::WaitQueue;
use kernel_files::inode::OpenRequest;
use kernel_files::pseudo::TextFile;
use kernel_files::{FileOps, OpenFile};
use kernel_tasks::Thread;
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
        Some(Ok(Rc::new(OpenMemory {
            subject: self.context.subject.clone(),
            program: self.context.subject.process().map_or(0, |process| process.n_programs()),
            is_poking: Cell::default(),
        })))
    }
}

struct OpenMemory {
    subject: Subject,
    /// Which of its programs the process ran when the file was opened.
    program: u64,
    /// A word of memory that the process may only read is on its way.
    is_poking: Cell<bool>,
}

impl OpenMemory {
    /// A thread that has the memory; `None` once the process has ended or runs another program.
    fn thread(&self) -> Option<Rc<Thread>> {
        let thread = self.subject.thread().ok()?;
        (thread.process().n_programs() == self.program).then_some(thread)
    }

    /// Writes what is in the first word to memory that a thread, which stands still for a tracer, may
    /// only read. `EAGAIN` until its shim has done it.
    fn write_by_force(&self, thread: &Thread, offset: u64, bytes: &[u8]) -> SysResult<usize> {
        const WORD: usize = size_of::<u64>();
        let machine = thread.machine();
        let address = offset & !(WORD as u64 - 1);
        let skip = usize::try_from(offset - address).unwrap_or(0);
        let n = bytes.len().min(WORD - skip);
        if self.is_poking.replace(false) {
            return match machine.poke_outcome() {
                Some(Ok(())) => Ok(n),
                Some(Err(_)) => Err(Errno::EIO),
                None => {
                    self.is_poking.set(true);
                    Err(Errno::EAGAIN)
                }
            };
        }
        let mut word = [0; WORD];
        thread.memory().read(address, &mut word).map_err(|_| Errno::EIO)?;
        for (to, from) in word.iter_mut().skip(skip).zip(bytes) {
            *to = *from;
        }
        machine.begin_poke(address, u64::from_le_bytes(word)).map_err(|_| Errno::EIO)?;
        self.is_poking.set(true);
        Err(Errno::EAGAIN)
    }
}

impl FileOps for OpenMemory {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn read(&self, _file: &OpenFile, sink: &mut dyn Sink, offset: u64) -> SysResult<usize> {
        // A process without memory is at its end.
        let Some(thread) = self.thread() else { return Ok(0) };
        let mut bytes = vec![0; sink.remaining().min(CHUNK)];
        let n = thread.memory().read_some(offset, &mut bytes).map_err(|_| Errno::EIO)?;
        sink.put(bytes.get(..n).unwrap_or_default())
    }

    fn write(&self, _file: &OpenFile, source: &mut dyn Source, offset: u64) -> SysResult<usize> {
        let Some(thread) = self.thread() else { return Ok(0) };
        let mut bytes = vec![0; source.remaining().min(CHUNK)];
        let n = source.take(&mut bytes)?;
        let bytes = bytes.get(..n).unwrap_or_default();
        match thread.memory().write_some(offset, bytes) {
            Err(_) if thread.trace_stop().is_some() => self.write_by_force(&thread, offset, bytes),
            result => result.map_err(|_| Errno::EIO),
        }
    }

    fn queue(&self) -> Option<WaitQueue> {
        self.thread().map(|thread| thread.machine().poke_queue())
    }

    fn is_seekable(&self) -> bool {
        true
    }

    fn end_to_seek_from(&self, _file: &OpenFile) -> SysResult<u64> {
        Err(Errno::EINVAL) // memory has no end
    }
}
