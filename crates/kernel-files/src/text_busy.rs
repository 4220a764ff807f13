//! Who writes to a file and who runs it: never both at a time (`ETXTBSY`).

use std::cell::Cell;
use std::rc::Rc;

use linux_abi::{Errno, SysResult};

use crate::inode::Inode;

/// How many write to a file (positive) or run it (negative).
#[derive(Default)]
struct Users(Cell<i64>);

/// The right to write to a file, or to run it; given back when dropped.
pub struct InUse {
    users: Rc<Users>,
    /// Keeps the counter where others find it.
    _inode: Rc<dyn Inode>,
    change: i64,
}

impl InUse {
    /// For who opens the file for writing; `ETXTBSY` while it runs.
    pub fn for_writing(inode: &Rc<dyn Inode>) -> SysResult<Self> {
        Self::take(inode, 1)
    }

    /// For who runs the file; `ETXTBSY` while it is open for writing.
    pub fn for_running(inode: &Rc<dyn Inode>) -> SysResult<Self> {
        Self::take(inode, -1)
    }

    fn take(inode: &Rc<dyn Inode>, change: i64) -> SysResult<Self> {
        let users = inode.attachments().get_or_attach(Users::default);
        let now = users.0.get();
        if now.signum() == -change {
            return Err(Errno::ETXTBSY);
        }
        users.0.set(now + change);
        Ok(Self { users, _inode: Rc::clone(inode), change })
    }
}

/// How many have a file open for writing; negative is how many run it.
pub(crate) fn n_writers(inode: &dyn Inode) -> i64 {
    inode.attachments().get::<Users>().map_or(0, |users| users.0.get())
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.users.0.set(self.users.0.get() - self.change);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inode::FileSystem as _;
    use crate::tmpfs::{Limits, Tmpfs};

    #[test]
    fn a_file_is_not_written_while_it_runs() {
        let inode = Tmpfs::new(Limits::default(), 0o755, 0, 0).root();
        let running = InUse::for_running(&inode).unwrap();
        assert_eq!(InUse::for_writing(&inode).err(), Some(Errno::ETXTBSY));
        drop(running);
        let writing = InUse::for_writing(&inode).unwrap();
        assert_eq!(InUse::for_running(&inode).err(), Some(Errno::ETXTBSY));
        drop(writing);
        assert!(InUse::for_running(&inode).is_ok());
    }
}
