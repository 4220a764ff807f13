//! `process_vm_readv(2)`, `process_vm_writev(2)`.

use std::rc::Rc;

use kernel_core::memory::{UserMemory, UserPtr};
use kernel_tasks::Thread;
use linux_abi::{Errno, Pid, SysResult};

const IOV_MAX: u64 = 1024;
/// How much is moved at a time.
const CHUNK: usize = 64 << 10;

/// An address and a length.
type Range = [u64; 2];

/// Copies memory of another process.
pub(crate) fn process_vm_readv(
    thread: &Rc<Thread>,
    pid: i32,
    local: UserPtr<Range>,
    n_local: u64,
    remote: UserPtr<Range>,
    n_remote: u64,
    flags: u64,
) -> SysResult<usize> {
    let (local, remote, other) = prepare(thread, pid, (local, n_local), (remote, n_remote), flags)?;
    transfer(&remote, &other.memory(), &local, &thread.memory())
}

/// Copies into memory of another process.
pub(crate) fn process_vm_writev(
    thread: &Rc<Thread>,
    pid: i32,
    local: UserPtr<Range>,
    n_local: u64,
    remote: UserPtr<Range>,
    n_remote: u64,
    flags: u64,
) -> SysResult<usize> {
    let (local, remote, other) = prepare(thread, pid, (local, n_local), (remote, n_remote), flags)?;
    transfer(&local, &thread.memory(), &remote, &other.memory())
}

type Prepared = (Vec<Range>, Vec<Range>, Rc<Thread>);

fn prepare(
    thread: &Rc<Thread>,
    pid: i32,
    (local, n_local): (UserPtr<Range>, u64),
    (remote, n_remote): (UserPtr<Range>, u64),
    flags: u64,
) -> SysResult<Prepared> {
    if flags != 0 {
        return Err(Errno::EINVAL);
    }
    let memory = thread.memory();
    let local = read_ranges(&memory, local, n_local)?;
    let remote = read_ranges(&memory, remote, n_remote)?;
    let pid = u32::try_from(pid).map_err(|_| Errno::ESRCH)?;
    let other = thread.kernel().ids.thread(Pid(pid)).ok_or(Errno::ESRCH)?;
    if !thread.may_inspect(&other) {
        return Err(Errno::EPERM);
    }
    Ok((local, remote, other))
}

fn read_ranges(memory: &dyn UserMemory, ranges: UserPtr<Range>, n: u64) -> SysResult<Vec<Range>> {
    if n > IOV_MAX {
        return Err(Errno::EINVAL);
    }
    let ranges = ranges.read_many(memory, usize::try_from(n).unwrap_or(0))?;
    let mut sum = 0u64;
    for [_, length] in &ranges {
        sum = sum
            .checked_add(*length)
            .filter(|&sum| sum <= i64::MAX.cast_unsigned())
            .ok_or(Errno::EINVAL)?;
    }
    Ok(ranges)
}

/// Moves bytes from one list of ranges to another. Stops at the first byte that cannot be moved.
fn transfer(
    from: &[Range],
    source: &dyn UserMemory,
    to: &[Range],
    target: &dyn UserMemory,
) -> SysResult<usize> {
    let mut to = to.iter().copied();
    let mut place: Range = [0, 0];
    let mut done = 0;
    for &[mut address, mut length] in from {
        while length > 0 {
            while place[1] == 0 {
                match to.next() {
                    Some(next) => place = next,
                    None => return Ok(done),
                }
            }
            let n = usize::try_from(length.min(place[1])).unwrap_or(CHUNK).min(CHUNK);
            let mut bytes = vec![0; n];
            let moved = source
                .read_some(address, &mut bytes)
                .and_then(|n| target.write_some(place[0], bytes.get(..n).unwrap_or_default()));
            match moved {
                Ok(moved) => {
                    done += moved;
                    if moved < n {
                        return Ok(done);
                    }
                    let moved = moved as u64;
                    address = address.wrapping_add(moved);
                    length -= moved;
                    place = [place[0].wrapping_add(moved), place[1] - moved];
                }
                Err(_) if done > 0 => return Ok(done),
                Err(errno) => return Err(errno),
            }
        }
    }
    Ok(done)
}
