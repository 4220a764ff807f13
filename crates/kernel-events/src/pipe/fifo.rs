//! Pipes that have a name: what hangs on an inode of type FIFO.

use std::rc::Rc;

use kernel_core::wait::PollEvents;
use kernel_files::inode::OpenRequest;
use kernel_files::special::FifoOpener;
use kernel_files::{FileOps, Inode};
use linux_abi::files::OpenFlags;
use linux_abi::{Errno, SysResult};

use super::{Awaited, Owner, Pipe, PipeEnd};

/// The pipe behind a FIFO's inode. Its contents live as long as somebody has it open.
pub struct Fifo {
    pipe: Rc<Pipe>,
}

impl Fifo {
    /// A FIFO that nobody has open.
    pub fn new() -> Self {
        // `stat` asks the inode, so it does not matter whose the pipe is.
        Self { pipe: Pipe::new(Owner::default()) }
    }

    /// Opens the FIFO with the access mode and `O_NONBLOCK` of `flags`. The end counts as open from
    /// now on; [`FileOps::finish_open`] tells whether it must wait for a partner. Dropping it takes
    /// everything back.
    pub fn open(&self, flags: OpenFlags) -> SysResult<Rc<PipeEnd>> {
        let pipe = &self.pipe;
        let (reads, writes) = (flags.can_read(), flags.can_write());
        let blocks = !flags.contains(OpenFlags::NONBLOCK);
        let n_opens = (pipe.reader_opens.get(), pipe.writer_opens.get());
        let (has_no_readers, has_no_writers) = (pipe.n_readers.get() == 0, pipe.has_no_writers());
        let mut end = match (reads, writes) {
            (true, true) => PipeEnd::new(pipe, true, true),
            (true, false) => PipeEnd::new(pipe, true, false),
            (false, true) if has_no_readers && !blocks => return Err(Errno::ENXIO),
            (false, true) => PipeEnd::new(pipe, false, true),
            (false, false) => return Err(Errno::EINVAL),
        };
        match (reads, writes) {
            (true, false) if has_no_writers && blocks => {
                end.awaited = Some(Awaited::Writer { n_opens: n_opens.1 });
            }
            (true, false) if has_no_writers => end.unwritten_at = Some(n_opens.1),
            (false, true) if has_no_readers => {
                end.awaited = Some(Awaited::Reader { n_opens: n_opens.0 });
            }
            _ => {}
        }
        pipe.wake_readers(PollEvents::all());
        pipe.wake_writers(PollEvents::all());
        Ok(Rc::new(end))
    }
}

impl Default for Fifo {
    fn default() -> Self {
        Self::new()
    }
}

/// Opens the FIFOs of every file system.
pub struct Fifos;

impl FifoOpener for Fifos {
    fn open(&self, inode: &Rc<dyn Inode>, request: &OpenRequest<'_>) -> SysResult<Rc<dyn FileOps>> {
        let fifo = inode.attachments().get_or_attach(Fifo::new);
        Ok(fifo.open(request.flags)?)
    }
}
