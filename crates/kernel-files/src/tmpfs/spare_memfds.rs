//! Empty memfds, made while nobody waits for the kernel.
//!
//! A file in memory moves into a memfd when a guest maps it. To make one, and to open it a second time for reading only,
//! takes longer than all the rest; programs that map one file often map many.

use std::cell::{Cell, RefCell};
use std::os::fd::OwnedFd;

use host_sys::{errno_of, open_again, rustix};
use linux_abi::SysResult;
use rustix::fs::{MemfdFlags, OFlags};

/// How many are ready once one was needed.
const MAX_SPARE: usize = 2;

/// An empty memfd.
pub(super) struct EmptyMemfd {
    /// Open for reading and writing.
    pub host: OwnedFd,
    /// The same, open for reading only.
    pub read_only: OwnedFd,
}

thread_local! {
    /// The kernel has one thread, so these are those of the sandbox.
    static SPARE: RefCell<Vec<EmptyMemfd>> = const { RefCell::new(Vec::new()) };
    /// How many shall be made.
    static N_WANTED: Cell<usize> = const { Cell::new(0) };
}

impl EmptyMemfd {
    /// One that is ready, or a new one.
    pub fn take() -> SysResult<Self> {
        let ready = SPARE.with_borrow_mut(Vec::pop);
        N_WANTED.set(SPARE.with_borrow(|spare| MAX_SPARE - spare.len()));
        ready.map_or_else(Self::make, Ok)
    }

    fn make() -> SysResult<Self> {
        let host = rustix::fs::memfd_create("belljar", MemfdFlags::CLOEXEC).map_err(errno_of)?;
        let read_only = open_again(&host, OFlags::RDONLY).map_err(errno_of)?;
        Ok(Self { host, read_only })
    }
}

/// Makes one, if some are wanted. Called when nobody waits for the kernel.
#[inline]
pub fn make_one() {
    let wanted = N_WANTED.get();
    if wanted > 0 {
        N_WANTED.set(wanted - 1);
        // A host that has none left says so again when one is needed.
        if let Ok(memfd) = EmptyMemfd::make() {
            SPARE.with_borrow_mut(|spare| spare.push(memfd));
        }
    }
}

/// Closes all of them: the kernel needs their numbers.
pub(crate) fn close_all() {
    N_WANTED.set(0);
    let all = SPARE.with_borrow_mut(std::mem::take);
    drop(all);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn n_spare() -> usize {
        SPARE.with_borrow(Vec::len)
    }

    #[test]
    fn spares_are_made_for_those_who_need_them() {
        make_one();
        assert_eq!(n_spare(), 0, "nobody has needed one");
        let memfd = EmptyMemfd::take().unwrap();
        assert!(rustix::io::write(&memfd.read_only, b"x").is_err());
        rustix::io::pwrite(&memfd.host, b"x", 0).unwrap();
        assert_eq!(rustix::io::read(&memfd.read_only, &mut [0; 2]), Ok(1), "it is one file");
        for _ in 0..5 {
            make_one();
        }
        assert_eq!(n_spare(), MAX_SPARE);
        EmptyMemfd::take().unwrap();
        assert_eq!(n_spare(), MAX_SPARE - 1);
        close_all();
        make_one();
        assert_eq!(n_spare(), 0);
    }
}
