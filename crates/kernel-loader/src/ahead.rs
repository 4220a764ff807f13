//! The copy of the host's own dynamic loader, made before a program asks for it.
//!
//! Nearly every guest's first program needs it, and the process that starts a sandbox has nothing
//! else to do then. It is used if it turns out that the program's interpreter is this very file,
//! unchanged.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use linux_abi::SysResult;

use crate::elf::Program;
use crate::prepared::{self, Layout, PreparedInterpreters, Signature};

/// Where programs of this processor have their loader.
const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";

/// The memory of a copy, empty at first. One process fills it, another one, with the same
/// descriptor, uses it.
pub struct CopyAhead(OwnedFd);

impl CopyAhead {
    /// Without a copy in it.
    pub fn new() -> SysResult<Self> {
        prepared::new_memory().map(Self)
    }

    /// Makes the copy. Returns what file it is of; `None` if it would not be worth its time, or
    /// cannot be made.
    pub fn fill(&self) -> Option<Signature> {
        if host_sys::cpuid_is_dear() { self.copy_loader() } else { None }
    }

    fn copy_loader(&self) -> Option<Signature> {
        let file = OwnedFd::from(File::open(LOADER).ok()?);
        let signature = prepared::signature(&file)?;
        let bytes = prepared::read_whole(&file).ok()??;
        let read = |offset: u64, length: usize| {
            let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..));
            let rest = rest.unwrap_or_default();
            Ok(rest.get(..length).unwrap_or(rest).to_vec())
        };
        let loader = Program::read_with(&read).ok()?;
        let layout = Layout::of(&loader)?;
        prepared::fill(&self.0, bytes, &loader, &layout, true).ok()?.then_some(signature)
    }

    /// Offers a copy that was made of the file with this signature.
    pub fn offer(self, signature: Signature, to: &PreparedInterpreters) {
        to.offer(signature, self.0);
    }
}

impl AsFd for CopyAhead {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_sys::rustix;

    #[test]
    fn a_copy_that_is_complete_cannot_be_changed() {
        let copy = CopyAhead::new().unwrap();
        let signature = copy.copy_loader().unwrap();
        let file = OwnedFd::from(File::open(LOADER).unwrap());
        assert_eq!(prepared::signature(&file), Some(signature));
        assert!(rustix::fs::fstat(&copy).unwrap().st_size > 0);
        assert_eq!(rustix::io::pwrite(&copy, b"x", 0), Err(rustix::io::Errno::PERM));
    }
}
