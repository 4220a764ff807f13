//! `process_madvise(2)`.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_tasks::Thread;
use linux_abi::{Errno, Fd, SysResult};

const MADV_COLD: u32 = 20;
const MADV_PAGEOUT: u32 = 21;
const MADV_WILLNEED: u32 = 3;
const MADV_COLLAPSE: u32 = 25;
const IOV_MAX: usize = 1024;

/// Advice about the memory of another process. All that is allowed concerns speed alone, so the
/// ranges are checked and nothing is done.
pub(crate) fn process_madvise(
    thread: &Rc<Thread>,
    process: Fd,
    ranges: UserPtr<[u64; 2]>,
    n_ranges: usize,
    advice: u32,
    flags: u32,
) -> SysResult<u64> {
    if flags != 0 {
        return Err(Errno::EINVAL);
    }
    if n_ranges > IOV_MAX {
        return Err(Errno::EINVAL);
    }
    let ranges = ranges.read_many(&thread.memory(), n_ranges)?;
    thread.file(process)?;
    if !matches!(advice, MADV_COLD | MADV_PAGEOUT | MADV_WILLNEED | MADV_COLLAPSE) {
        return Err(Errno::EINVAL);
    }
    Ok(ranges.iter().fold(0u64, |sum, [_, length]| sum.saturating_add(*length)))
}
