//! `memfd_create(2)`.

use std::rc::Rc;

use kernel_core::memory::{CString, UserPtr};
use kernel_files::memfd::{Memfd, MemfdOptions};
use kernel_tasks::Thread;
use linux_abi::{Errno, Fd, SysResult};

const CLOEXEC: u32 = 0x01;
const ALLOW_SEALING: u32 = 0x02;
const NOEXEC_SEAL: u32 = 0x08;
const EXEC: u32 = 0x10;

/// The longest name with its zero: `NAME_MAX` less the `memfd:` before it.
const MAX_NAME: usize = 250;

/// Makes a file in memory that has no name in any directory.
pub(crate) fn memfd_create(
    thread: &Rc<Thread>,
    name: UserPtr<CString>,
    flags: u32,
) -> SysResult<Fd> {
    // Huge pages (MFD_HUGETLB) are not to be had, as on a host without any reserved.
    if flags & !(CLOEXEC | ALLOW_SEALING | NOEXEC_SEAL | EXEC) != 0
        || flags & (NOEXEC_SEAL | EXEC) == NOEXEC_SEAL | EXEC
    {
        return Err(Errno::EINVAL);
    }
    let name = match name.read_string(&thread.memory(), MAX_NAME) {
        Err(Errno::ENAMETOOLONG) => return Err(Errno::EINVAL),
        name => name?,
    };
    let credentials = thread.credentials();
    let options = MemfdOptions {
        may_be_sealed: flags & ALLOW_SEALING != 0,
        no_exec: flags & NOEXEC_SEAL != 0,
        uid: credentials.fsuid,
        gid: credentials.fsgid,
    };
    thread.add_file(Memfd::open(&name, options)?, flags & CLOEXEC != 0)
}
