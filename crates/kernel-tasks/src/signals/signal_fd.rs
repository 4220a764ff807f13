//! Signals as a file.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use kernel_core::io::Sink;
use kernel_core::wait::{PollEvents, WaitQueue};
use kernel_files::{FileOps, Intent, OpenFile};
use linux_abi::files::OpenFlags;
use linux_abi::signals::{SigSet, SignalFdInfo};
use linux_abi::{Errno, SysResult, WaitResult};
use zerocopy::IntoBytes;

use crate::Thread;

/// A file from which a thread reads the signals that wait for it.
///
/// As on Linux it belongs to nobody: whoever reads it gets its own signals. Polling, which does
/// not say who asks, is answered for the last reader, and at first for the one who made it.
pub struct SignalFd {
    mask: Cell<SigSet>,
    reader: RefCell<Weak<Thread>>,
}

impl SignalFd {
    /// A new file for the signals in `mask`.
    pub fn open(thread: &Rc<Thread>, mask: SigSet, flags: OpenFlags) -> Rc<OpenFile> {
        let reader = RefCell::new(Rc::downgrade(thread));
        OpenFile::new(Rc::new(Self { mask: Cell::new(mask), reader }), flags | OpenFlags::RDWR)
    }

    /// Changes which signals are read.
    pub fn set_mask(&self, mask: SigSet) {
        self.mask.set(mask);
        if let Some(reader) = self.reader() {
            reader.process().signals.arrived.wake(PollEvents::READABLE);
        }
    }

    /// The last reader; another thread of its process if it has ended.
    fn reader(&self) -> Option<Rc<Thread>> {
        let reader = self.reader.borrow().upgrade()?;
        if reader.has_exited() { reader.process().any_thread() } else { Some(reader) }
    }
}

impl FileOps for SignalFd {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn admit(&self, _file: &OpenFile, caller: &dyn Any, intent: Intent) -> WaitResult {
        let reader = caller
            .downcast_ref::<Thread>()
            .or_else(|| caller.downcast_ref::<Rc<Thread>>().map(Rc::as_ref))
            .and_then(|thread| thread.kernel().ids.thread(thread.tid()));
        if let (Some(reader), Intent::Read) = (reader, intent) {
            *self.reader.borrow_mut() = Rc::downgrade(&reader);
        }
        Ok(())
    }

    fn read(&self, _file: &OpenFile, sink: &mut dyn Sink, _offset: u64) -> SysResult<usize> {
        let size = size_of::<SignalFdInfo>();
        if sink.remaining() < size {
            return Err(Errno::EINVAL);
        }
        let reader = self.reader().ok_or(Errno::EAGAIN)?;
        let mut n = 0;
        while sink.remaining() >= size
            && let Some((_, info)) = reader.take_signal(self.mask.get())
        {
            let record = SignalFdInfo::from_info(&info);
            if sink.put(record.as_bytes())? < size {
                return Err(Errno::EFAULT);
            }
            n += size;
        }
        if n == 0 { Err(Errno::EAGAIN) } else { Ok(n) }
    }

    fn poll(&self, _file: &OpenFile) -> PollEvents {
        let waiting = self.reader().map_or(SigSet::EMPTY, |reader| reader.pending_signals());
        if waiting.and(self.mask.get()).is_empty() {
            PollEvents::empty()
        } else {
            PollEvents::READABLE
        }
    }

    fn queue(&self) -> Option<WaitQueue> {
        let reader = self.reader();
        Some(reader.map_or_else(WaitQueue::new, |reader| reader.process().signals.arrived.clone()))
    }

    fn describe(&self) -> String {
        String::from("anon_inode:[signalfd]")
    }

    fn fdinfo(&self) -> String {
        format!("sigmask:\t{:016x}\n", self.mask.get().0)
    }
}
