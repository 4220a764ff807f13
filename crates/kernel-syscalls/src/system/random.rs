//! `getrandom(2)`.

use std::rc::Rc;

use host_sys::{errno_of, rustix};
use kernel_core::io::MAX_RW_COUNT;
use kernel_core::memory::{UserMemory, UserPtr};
use kernel_tasks::Thread;
use linux_abi::system::grnd;
use linux_abi::{Errno, SysResult};

/// How much is fetched at a time.
const CHUNK: usize = 4096;
/// The most that one call gives, so that the kernel answers others soon. As from an interrupted
/// call, the guest gets less than it wanted and asks again.
const MAX_AT_ONCE: usize = 1 << 20;

/// Fills a buffer with random bytes of the host.
pub(crate) fn getrandom(
    thread: &Rc<Thread>,
    buffer: UserPtr<u8>,
    length: usize,
    flags: u32,
) -> SysResult<usize> {
    let contradiction = grnd::RANDOM | grnd::INSECURE;
    if flags & !(grnd::NONBLOCK | contradiction) != 0 || flags & contradiction == contradiction {
        return Err(Errno::EINVAL);
    }
    let memory = thread.memory();
    let length = length.min(MAX_RW_COUNT).min(MAX_AT_ONCE);
    let mut done = 0;
    while done < length {
        let mut chunk = [0; CHUNK];
        let chunk = chunk.get_mut(..(length - done).min(CHUNK)).unwrap_or_default();
        rustix::rand::getrandom(&mut *chunk, rustix::rand::GetRandomFlags::empty())
            .map_err(errno_of)?;
        match memory.write_some(buffer.offset(done).address(), chunk) {
            Ok(n) if n == chunk.len() => done += n,
            Ok(n) => return Ok(done + n),
            Err(_) if done > 0 => return Ok(done),
            Err(errno) => return Err(errno),
        }
    }
    Ok(done)
}
