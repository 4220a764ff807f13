//! How long data is expected to live: `F_GET_RW_HINT`, `F_SET_RW_HINT`.
//!
//! Linux hands the hint to the disk. Here it is kept with the file and told.

use std::cell::Cell;
use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_files::OpenFile;
use kernel_files::permission::is_owner;
use kernel_tasks::Thread;
use linux_abi::{Errno, SysResult};

/// `RWH_WRITE_LIFE_EXTREME`, the highest there is.
const LONGEST: u64 = 5;

#[derive(Default)]
struct WriteHint(Cell<u64>);

/// The hint of the inode or, if there is none, of the open file.
fn hint_of(file: &OpenFile) -> Rc<WriteHint> {
    let attachments = file.inode().map_or(file.attachments(), |inode| inode.attachments());
    attachments.get_or_attach(WriteHint::default)
}

pub(super) fn get(thread: &Thread, file: &OpenFile, argument: u64) -> SysResult<u64> {
    UserPtr::new(argument).write(&thread.memory(), &hint_of(file).0.get())?;
    Ok(0)
}

pub(super) fn set(thread: &Thread, file: &OpenFile, argument: u64) -> SysResult<u64> {
    if let Some(inode) = file.inode()
        && !is_owner(inode.ownership()?, &thread.credentials())
    {
        return Err(Errno::EPERM);
    }
    let hint: u64 = UserPtr::new(argument).read(&thread.memory())?;
    if hint > LONGEST {
        return Err(Errno::EINVAL);
    }
    hint_of(file).0.set(hint);
    Ok(0)
}
