//! Counters that can be waited for. See eventfd(2).

use std::any::Any;
use std::cell::Cell;
use std::rc::Rc;

use kernel_core::io::{Sink, Source};
use kernel_core::wait::{PollEvents, WaitQueue};
use kernel_files::open_file::SeekTo;
use kernel_files::{FileOps, OpenFile};
use linux_abi::files::OpenFlags;
use linux_abi::{Errno, SysResult};

/// What a read does to the counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A read returns the counter and sets it to zero.
    Counter,
    /// A read returns 1 and takes 1 away (`EFD_SEMAPHORE`).
    Semaphore,
}

/// An eventfd.
pub struct EventFd {
    count: Cell<u64>,
    mode: Mode,
    queue: WaitQueue,
}

impl EventFd {
    /// An open eventfd with this counter. `flags` may have `O_NONBLOCK`.
    pub fn open(count: u32, mode: Mode, flags: OpenFlags) -> Rc<OpenFile> {
        let ops = Self { count: Cell::new(count.into()), mode, queue: WaitQueue::new() };
        OpenFile::new(Rc::new(ops), (flags & OpenFlags::NONBLOCK) | OpenFlags::RDWR)
    }

    /// Adds to the counter from inside the kernel. Stops at the top instead of waiting.
    pub fn signal(&self, n: u64) {
        self.count.set(self.count.get().saturating_add(n));
        self.queue.wake(PollEvents::IN);
    }
}

impl FileOps for EventFd {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn read(&self, _file: &OpenFile, sink: &mut dyn Sink, _offset: u64) -> SysResult<usize> {
        if sink.remaining() < size_of::<u64>() {
            return Err(Errno::EINVAL);
        }
        let count = self.count.get();
        if count == 0 {
            return Err(Errno::EAGAIN);
        }
        let value = if self.mode == Mode::Semaphore { 1 } else { count };
        self.count.set(count - value);
        self.queue.wake(PollEvents::OUT);
        // As in Linux, the counter has changed even if the value cannot be handed over.
        sink.put(&value.to_ne_bytes())
    }

    fn write(&self, _file: &OpenFile, source: &mut dyn Source, _offset: u64) -> SysResult<usize> {
        let mut bytes = [0; size_of::<u64>()];
        if source.remaining() != bytes.len() {
            return Err(Errno::EINVAL);
        }
        if source.take(&mut bytes)? < bytes.len() {
            return Err(Errno::EFAULT);
        }
        let value = u64::from_ne_bytes(bytes);
        if value == u64::MAX {
            return Err(Errno::EINVAL);
        }
        // The counter's highest value is one below the highest number.
        match self.count.get().checked_add(value) {
            Some(sum) if sum < u64::MAX => self.count.set(sum),
            _ => return Err(Errno::EAGAIN),
        }
        self.queue.wake(PollEvents::IN);
        Ok(bytes.len())
    }

    fn poll(&self, _file: &OpenFile) -> PollEvents {
        let count = self.count.get();
        let mut events = PollEvents::empty();
        events.set(PollEvents::IN, count > 0);
        events.set(PollEvents::ERR, count == u64::MAX);
        events.set(PollEvents::OUT, count < u64::MAX - 1);
        events
    }

    fn queue(&self) -> Option<WaitQueue> {
        Some(self.queue.clone())
    }

    fn is_moved_by_calls(&self) -> bool {
        true
    }

    fn seek(&self, file: &OpenFile, _to: SeekTo) -> SysResult<u64> {
        Ok(file.offset())
    }

    fn describe(&self) -> String {
        String::from("anon_inode:[eventfd]")
    }

    fn fdinfo(&self) -> String {
        let semaphore = u8::from(self.mode == Mode::Semaphore);
        format!("eventfd-count: {:16x}\neventfd-semaphore: {semaphore}\n", self.count.get())
    }
}

#[cfg(test)]
mod tests {
    use kernel_core::io::{SliceSource, VecSink};

    use super::*;

    fn read(file: &OpenFile) -> SysResult<u64> {
        let mut sink = VecSink::new(8);
        file.read(&mut sink)?;
        Ok(u64::from_ne_bytes(sink.bytes.try_into().unwrap()))
    }

    fn write(file: &OpenFile, value: u64) -> SysResult<usize> {
        file.write(&mut SliceSource::new(&value.to_ne_bytes()))
    }

    #[test]
    fn a_read_takes_everything_or_one() {
        let counter = EventFd::open(3, Mode::Counter, OpenFlags::empty());
        assert_eq!(write(&counter, 4), Ok(8));
        assert_eq!(read(&counter), Ok(7));
        assert_eq!(read(&counter), Err(Errno::EAGAIN));
        let semaphore = EventFd::open(2, Mode::Semaphore, OpenFlags::empty());
        assert_eq!(read(&semaphore), Ok(1));
        assert_eq!(read(&semaphore), Ok(1));
        assert_eq!(read(&semaphore), Err(Errno::EAGAIN));
    }

    #[test]
    fn the_counter_does_not_pass_its_top() {
        let file = EventFd::open(0, Mode::Counter, OpenFlags::empty());
        assert_eq!(write(&file, u64::MAX), Err(Errno::EINVAL));
        assert_eq!(write(&file, u64::MAX - 1), Ok(8));
        assert_eq!(file.ops().poll(&file), PollEvents::IN);
        assert_eq!(write(&file, 1), Err(Errno::EAGAIN));
        assert_eq!(write(&file, 0), Ok(8));
        assert_eq!(read(&file), Ok(u64::MAX - 1));
        assert_eq!(file.ops().poll(&file), PollEvents::OUT);
    }

    #[test]
    fn short_buffers_are_refused() {
        let file = EventFd::open(1, Mode::Counter, OpenFlags::empty());
        assert_eq!(file.read(&mut VecSink::new(7)), Err(Errno::EINVAL));
        assert_eq!(file.write(&mut SliceSource::new(&[0; 7])), Err(Errno::EINVAL));
    }
}
