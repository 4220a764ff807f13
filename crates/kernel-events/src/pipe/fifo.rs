//! Pipes that have a name: what an inode of type FIFO holds.

use std::rc::Rc;

use kernel_core::wait::PollEvents;
use linux_abi::files::OpenFlags;
use linux_abi::{Errno, SysResult};

use super::{Owner, Pipe, PipeEnd};

/// The pipe behind a FIFO's inode, kept with the inode's attachments. Its contents live as long as
/// somebody has it open.
#[derive(Clone)]
pub struct Fifo {
    pipe: Rc<Pipe>,
}

impl Default for Fifo {
    fn default() -> Self {
        // `stat` asks the inode, so it does not matter whose the pipe is.
        Self { pipe: Pipe::new(Owner::default()) }
    }
}

impl Fifo {
    /// A FIFO that nobody has open.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens the FIFO with the access mode and `O_NONBLOCK` of `flags`, and waits for a partner
    /// where fifo(7) says so. Dropping the future half-way takes the open back, so a caller that
    /// is interrupted has nothing to undo.
    pub async fn open(&self, flags: OpenFlags) -> SysResult<Rc<PipeEnd>> {
        let is_nonblocking = flags.contains(OpenFlags::NONBLOCK);
        match (flags.can_read(), flags.can_write()) {
            (true, true) => Ok(self.add_end(true, true, None)),
            (true, false) => self.open_for_reading(is_nonblocking).await,
            (false, true) => self.open_for_writing(is_nonblocking).await,
            (false, false) => Err(Errno::EINVAL),
        }
    }

    async fn open_for_reading(&self, is_nonblocking: bool) -> SysResult<Rc<PipeEnd>> {
        let pipe = &self.pipe;
        let n_opens = pipe.writer_opens.get();
        if is_nonblocking {
            let unwritten_at = pipe.has_no_writers().then_some(n_opens);
            return Ok(self.add_end(true, false, unwritten_at));
        }
        let end = self.add_end(true, false, None);
        while pipe.has_no_writers() && pipe.writer_opens.get() == n_opens {
            pipe.either.wait(PollEvents::MSG).await;
        }
        Ok(end)
    }

    async fn open_for_writing(&self, is_nonblocking: bool) -> SysResult<Rc<PipeEnd>> {
        let pipe = &self.pipe;
        if is_nonblocking && pipe.n_readers.get() == 0 {
            return Err(Errno::ENXIO);
        }
        let n_opens = pipe.reader_opens.get();
        let end = self.add_end(false, true, None);
        while pipe.n_readers.get() == 0 && pipe.reader_opens.get() == n_opens {
            pipe.either.wait(PollEvents::MSG).await;
        }
        Ok(end)
    }

    /// Adds a side, and tells those who wait for a partner. `MSG` is no readiness of a pipe, so
    /// only they hear it.
    fn add_end(&self, reads: bool, writes: bool, unwritten_at: Option<u64>) -> Rc<PipeEnd> {
        let mut end = PipeEnd::new(&self.pipe, reads, writes);
        end.unwritten_at = unwritten_at;
        self.pipe.either.wake(PollEvents::MSG);
        Rc::new(end)
    }
}
