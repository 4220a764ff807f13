//! Options about memory.

use std::rc::Rc;

use kernel_core::memory::{CString, UserPtr};
use kernel_tasks::Thread;
use linux_abi::{Errno, SysResult};

use super::Arguments;

const ANON_NAME: u64 = 0;
const MAX_NAME: usize = 80;
const PAGE: u64 = 4096;

/// Names anonymous memory for `/proc/<pid>/maps`. The name is checked and forgotten: mappings are
/// the host's, and nothing but that file would show it.
pub(super) fn name_mapping(
    thread: &Rc<Thread>,
    [what, start, length, name]: Arguments,
) -> SysResult<u64> {
    if what != ANON_NAME {
        return Err(Errno::EINVAL);
    }
    if name != 0 {
        let name = UserPtr::<CString>::new(name).read_string(&thread.memory(), MAX_NAME);
        let name = name.map_err(|errno| match errno {
            Errno::ENAMETOOLONG => Errno::EINVAL,
            other => other,
        })?;
        let is_plain = |byte: &u8| (0x20..0x7f).contains(byte) && !br"\`$[]".contains(byte);
        if !name.iter().all(is_plain) {
            return Err(Errno::EINVAL);
        }
    }
    let end = length.checked_next_multiple_of(PAGE).and_then(|length| start.checked_add(length));
    if start % PAGE != 0 || end.is_none() {
        return Err(Errno::EINVAL);
    }
    Ok(0)
}
