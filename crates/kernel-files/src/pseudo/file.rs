//! Files whose text is made when it is read.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use kernel_core::io::{Sink, Source};
use kernel_core::ledger::{Charge, Kind};
use kernel_core::wait::{PollEvents, WaitQueue};
use linux_abi::{Errno, SysResult};

use super::NOT_WRITABLE;
use crate::inode::OpenRequest;
use crate::open_file::{FileOps, OpenFile};

/// The longest text that one write may hand over.
const MAX_WRITE: usize = 4096;

/// What a file shows, and what happens when it is written.
pub trait TextFile {
    /// The text, as it is now.
    fn read(&self) -> SysResult<Vec<u8>>;

    /// Takes what one `write` wrote.
    fn write(&self, text: &[u8]) -> SysResult<()> {
        let _ = text;
        Err(NOT_WRITABLE)
    }

    /// The text as whoever opens it sees it, if that is not the same for everybody.
    fn bind(&self, request: &OpenRequest<'_>) -> SysResult<Option<Rc<dyn TextFile>>> {
        let _ = request;
        Ok(None)
    }

    /// For a text that can be polled: how often it has changed, and who is woken when it does.
    fn changes(&self) -> Option<(u64, WaitQueue)> {
        None
    }

    /// Makes the object behind a new open file, if it is no plain text.
    fn open(&self, request: &OpenRequest<'_>) -> Option<SysResult<Rc<dyn FileOps>>> {
        let _ = request;
        None
    }
}

impl<F: Fn() -> SysResult<Vec<u8>>> TextFile for F {
    fn read(&self) -> SysResult<Vec<u8>> {
        self()
    }
}

/// A pair of closures is a file that can be written too.
impl<R, W> TextFile for (R, W)
where
    R: Fn() -> SysResult<Vec<u8>>,
    W: Fn(&[u8]) -> SysResult<()>,
{
    fn read(&self) -> SysResult<Vec<u8>> {
        self.0()
    }

    fn write(&self, text: &[u8]) -> SysResult<()> {
        self.1(text)
    }
}

/// An open text. It is made anew whenever reading starts at the front, so that a reader sees one
/// state from begin to end.
pub(super) struct OpenText {
    source: Rc<dyn TextFile>,
    text: RefCell<Option<Vec<u8>>>,
    /// How many changes a poll has told of.
    n_told: Cell<u64>,
    /// For the text, which guests can make long.
    charge: RefCell<Charge>,
}

impl OpenText {
    pub(super) fn new(source: Rc<dyn TextFile>) -> Self {
        let n_told = Cell::new(source.changes().map_or(0, |(n, _)| n));
        let charge = RefCell::new(Charge::none(Kind::OpenFiles));
        Self { source, text: RefCell::default(), n_told, charge }
    }
}

impl FileOps for OpenText {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn read(&self, _file: &OpenFile, sink: &mut dyn Sink, offset: u64) -> SysResult<usize> {
        if offset == 0 || self.text.borrow().is_none() {
            // A text that is not kept is not charged while the new one is made.
            self.text.take();
            let text = self.source.read()?;
            let memory = text.capacity() as u64;
            self.charge.borrow_mut().resize(memory).map_err(|_| Errno::ENOMEM)?;
            *self.text.borrow_mut() = Some(text);
        }
        let text = self.text.borrow();
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        match text.as_ref().and_then(|text| text.get(start..)) {
            Some(rest) if !rest.is_empty() => sink.put(rest),
            _ => Ok(0),
        }
    }

    fn write(&self, _file: &OpenFile, source: &mut dyn Source, _offset: u64) -> SysResult<usize> {
        let mut text = vec![0; source.remaining().min(MAX_WRITE)];
        let n = source.take(&mut text)?;
        self.source.write(text.get(..n).unwrap_or_default())?;
        Ok(n)
    }

    fn poll(&self, _file: &OpenFile) -> PollEvents {
        let usual = PollEvents::READABLE | PollEvents::WRITABLE;
        match self.source.changes() {
            // Whoever asks is told once.
            Some((n, _)) if self.n_told.replace(n) != n => {
                usual | PollEvents::PRI | PollEvents::ERR
            }
            _ => usual,
        }
    }

    fn queue(&self) -> Option<WaitQueue> {
        self.source.changes().map(|(_, queue)| queue)
    }

    fn is_seekable(&self) -> bool {
        true
    }

    fn end_to_seek_from(&self, file: &OpenFile) -> SysResult<u64> {
        // Files of `/sys` say that they are a page long, those of `/proc` that they are empty.
        match file.metadata()?.size {
            0 => Err(Errno::EINVAL),
            size => Ok(size),
        }
    }
}
