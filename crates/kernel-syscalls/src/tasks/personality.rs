//! `personality(2)`.

use std::rc::Rc;

use kernel_tasks::Thread;
use linux_abi::SysResult;

/// Asks without changing.
const QUERY: u32 = 0xffff_ffff;

/// Sets the execution domain of the calling thread. Returns the old one.
pub(crate) fn personality(thread: &Rc<Thread>, new: u32) -> SysResult<u32> {
    let old = thread.attributes().personality;
    if new != QUERY {
        thread.change_attributes(|attributes| attributes.personality = new);
    }
    Ok(old)
}
