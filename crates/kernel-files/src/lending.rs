//! Files that are lent to the guest process that uses them.
//!
//! A guest process can use a host file, a pipe, `/dev/null` or `/dev/zero` by itself, without asking
//! the kernel each time. The kernel lends what is used often, through a [`Lender`] for each guest
//! process, and takes it back when the descriptor is closed, or when the kernel has to see every
//! use again: when somebody begins to watch files, or when a file gets another content below the
//! same name.

use std::cell::{Cell, RefCell};
use std::os::fd::OwnedFd;
use std::rc::{Rc, Weak};

use host_sys::{errno_of, rustix};
use linux_abi::SysResult;
use rustix::fs::SeekFrom;

use crate::notify;
use crate::open_file::OpenFile;

/// Descriptors that one guest process uses without asking.
pub trait Lender {
    /// Whether this process uses the table with this id, and no other.
    fn serves(&self, table: u64) -> bool;
    /// The process is over.
    fn is_over(&self) -> bool;
    /// Takes back what was lent for a descriptor.
    fn take_back(&self, fd: u32);
    /// Takes everything back.
    fn take_all_back(&self);
}

/// What is lent.
pub enum Loan {
    /// `/dev/null`.
    Null,
    /// `/dev/zero`.
    Zero,
    /// A host file, open for reading: a descriptor of its own, which shares its position with the
    /// open file from when it is lent.
    File(Rc<OwnedFd>),
    /// A side of a pipe of the host's: a descriptor of its own.
    Pipe(Rc<OwnedFd>),
}

thread_local! {
    /// Those who have lent something since everything was taken back.
    static LENDERS: RefCell<Vec<Weak<dyn Lender>>> = const { RefCell::new(Vec::new()) };
}

/// Remembers one who lends from now on, until [`take_all_back`].
pub fn remember(lender: Weak<dyn Lender>) {
    LENDERS.with_borrow_mut(|lenders| {
        if lenders.len() == lenders.capacity() {
            // Those that are over need no room.
            lenders.retain(|lender| lender.strong_count() > 0);
        }
        lenders.push(lender);
    });
}

/// Takes everything back from everybody. Costs as much as was lent since the last time.
pub fn take_all_back() {
    for lender in LENDERS.take() {
        if let Some(lender) = lender.upgrade() {
            lender.take_all_back();
        }
    }
}

/// Reads that are worth this much make a file be lent.
const WORTH: u32 = 3;
/// So many bytes of a read count as much as the read itself.
const BYTES_OF_ONE: usize = 16 << 10;

/// How an open file is being used, and where its position is.
#[derive(Default)]
pub(crate) struct Use {
    worth: Cell<u32>,
    /// Once it was lent, the host keeps the position.
    host: RefCell<Option<Rc<OwnedFd>>>,
    offset: Cell<u64>,
}

impl Use {
    /// `n` bytes were moved by the kernel.
    pub(crate) fn count(&self, n: usize) {
        if n == 0 {
            self.worth.set(0); // at the end of a file there is nothing more to come
            return;
        }
        let more = u32::try_from(n / BYTES_OF_ONE).unwrap_or(WORTH).saturating_add(1);
        self.worth.set(self.worth.get().saturating_add(more));
    }

    /// Whether it is time to lend. Says so once, until it has been used as much again.
    pub(crate) fn is_worth_lending(&self) -> bool {
        let is_worth = self.worth.get() >= WORTH;
        if is_worth {
            self.worth.set(0);
        }
        is_worth
    }

    pub(crate) fn offset(&self) -> u64 {
        match &*self.host.borrow() {
            // A regular file has a position.
            Some(host) => rustix::fs::tell(host).unwrap_or(0),
            None => self.offset.get(),
        }
    }

    pub(crate) fn set_offset(&self, offset: u64) {
        match &*self.host.borrow() {
            Some(host) => {
                // Positions that the host does not know are the kernel's to refuse before.
                let _ = rustix::fs::seek(host, SeekFrom::Start(offset));
            }
            None => self.offset.set(offset),
        }
    }

    /// The descriptor by which it was lent before.
    pub(crate) fn host(&self) -> Option<Rc<OwnedFd>> {
        self.host.borrow().clone()
    }

    /// From now on the position is that of `host`.
    pub(crate) fn move_to(&self, host: &Rc<OwnedFd>) -> SysResult<()> {
        rustix::fs::seek(host, SeekFrom::Start(self.offset.get())).map_err(errno_of)?;
        *self.host.borrow_mut() = Some(Rc::clone(host));
        Ok(())
    }
}

impl OpenFile {
    /// The kernel has moved `n` bytes for a call on this file.
    pub fn count_use(&self, n: usize) {
        self.usage().count(n);
    }

    /// Whether the file is used so much that lending it is worth it. Says so once, until it has been
    /// used as much again.
    pub fn is_worth_lending(&self) -> bool {
        self.usage().is_worth_lending()
    }

    /// What to lend of this file.
    pub fn loan(&self) -> Option<Loan> {
        if notify::is_watched() {
            return None;
        }
        if let Some(host) = self.usage().host() {
            return Some(Loan::File(host));
        }
        let loan = self.ops().lend()?;
        if let Loan::File(host) = &loan {
            self.usage().move_to(host).ok()?;
        }
        Some(loan)
    }
}
