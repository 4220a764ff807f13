//! `F_NOTIFY`: changes in a directory are told by a signal.
//!
//! The watch hangs on the open file itself, so that both go together.

use std::rc::Rc;

use kernel_files::dnotify::{Dnotify, change};
use kernel_files::{FileKind, OpenFile};
use kernel_tasks::Thread;
use linux_abi::{Errno, Fd, SysResult};

use super::super::async_signal::{MESSAGE, Ownership};
use super::owner::own_unless_owned;
use crate::handler::FromRegister;

/// Starts or extends the watch of a directory; without any change to watch for, ends it.
pub(super) fn watch(
    thread: &Rc<Thread>,
    fd: Fd,
    file: &Rc<OpenFile>,
    argument: u64,
) -> SysResult<u64> {
    let wanted = u32::from_register(argument);
    if wanted & !change::MULTISHOT == 0 {
        file.attachments().remove::<Dnotify>();
        return Ok(0);
    }
    thread.kernel().settle();
    let inode = file.location().ok_or(Errno::ENOTDIR)?.inode()?;
    if inode.kind() != FileKind::Directory {
        return Err(Errno::ENOTDIR);
    }
    let ownership = Ownership::of(file);
    own_unless_owned(thread, &ownership);
    if let Some(known) = file.attachments().get::<Dnotify>() {
        known.add(wanted);
        return Ok(0);
    }
    let kernel = Rc::downgrade(thread.kernel());
    let tell = move || {
        if let Some(kernel) = kernel.upgrade() {
            ownership.tell(&kernel, fd, MESSAGE);
        }
    };
    file.attachments().set(Dnotify::new(inode, wanted, tell));
    Ok(0)
}
