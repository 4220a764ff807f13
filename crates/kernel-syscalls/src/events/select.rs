//! `select(2)`, `pselect6(2)`.
//!
//! Both write back how much of the time is left, and an interrupted call that starts again without
//! a handler begins with that.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_core::wait::PollEvents;
use kernel_events::poll::{Entry, PollSet};
use kernel_files::descriptors::NR_OPEN;
use kernel_tasks::Thread;
use linux_abi::events::SigSetArgument;
use linux_abi::time::{Timespec, Timeval};
use linux_abi::{Errno, Fd, Interrupted, Restart, SysResult, WaitResult};

use super::poll::write_time_left;
use super::wait_arguments::{Timeout, read_mask};

/// Bits of a word in an `fd_set`.
const WORD_BITS: usize = 64;

/// What makes a descriptor ready for each of the three sets.
const SET_EVENTS: [PollEvents; 3] = [
    PollEvents::READABLE.union(PollEvents::RDBAND).union(PollEvents::ALWAYS),
    PollEvents::WRITABLE.union(PollEvents::WRBAND).union(PollEvents::ERR),
    PollEvents::PRI,
];

type FdSets = [UserPtr<u64>; 3];

/// Waits until a descriptor in one of the sets is ready.
pub(crate) async fn select(
    thread: Rc<Thread>,
    n: i32,
    read: UserPtr<u64>,
    write: UserPtr<u64>,
    except: UserPtr<u64>,
    timeval: UserPtr<Timeval>,
) -> WaitResult<u64> {
    let timeout = match timeval.non_null() {
        Some(timeval) => normalized(timeval.read(&thread.memory())?)?,
        None => Timeout::Never,
    };
    let result = select_files(&thread, n, [read, write, except], timeout).await;
    let Some(left) = timeout.left() else { return result };
    match timeval.write(&thread.memory(), &Timeval::from_nanos(left)) {
        Err(_) if matches!(result, Err(Interrupted::Signal(_))) => Err(Errno::EINTR.into()),
        _ => result,
    }
}

/// Like [`select`], to the nanosecond, and under another signal mask.
pub(crate) async fn pselect6(
    thread: Rc<Thread>,
    n: i32,
    read: UserPtr<u64>,
    write: UserPtr<u64>,
    except: UserPtr<u64>,
    timespec: UserPtr<Timespec>,
    mask: UserPtr<SigSetArgument>,
) -> WaitResult<u64> {
    let mask = match mask.non_null() {
        Some(mask) => mask.read(&thread.memory())?,
        None => SigSetArgument::default(),
    };
    let timeout = Timeout::from_timespec(&thread, timespec)?;
    let mask = read_mask(&thread, UserPtr::new(mask.address), mask.size)?;
    let call = select_files(&thread, n, [read, write, except], timeout);
    let result = thread.with_mask(mask, call).await;
    write_time_left(&thread, timespec, timeout, result)
}

/// `select` takes more than a second's worth of microseconds.
fn normalized(timeval: Timeval) -> SysResult<Timeout> {
    let seconds = u64::try_from(timeval.tv_sec).map_err(|_| Errno::EINVAL)?;
    let micros = u64::try_from(timeval.tv_usec).map_err(|_| Errno::EINVAL)?;
    let nanos = seconds.saturating_mul(1_000_000_000).saturating_add(micros.saturating_mul(1000));
    Ok(Timeout::from_nanos(nanos))
}

async fn select_files(
    thread: &Rc<Thread>,
    n: i32,
    sets: FdSets,
    timeout: Timeout,
) -> WaitResult<u64> {
    let n = u32::try_from(n).map_err(|_| Errno::EINVAL)?.min(NR_OPEN);
    let n = usize::try_from(n).map_err(|_| Errno::EINVAL)?;
    let asked = read_sets(thread, sets, n)?;
    let (numbers, entries) = entries(thread, &asked, n)?;
    let mut set = PollSet::new(entries);
    if !set.scan() && timeout != Timeout::Zero {
        let restart = Restart::IfNoHandler;
        thread.interruptible_until(restart, timeout.deadline(), set.wait()).await?;
    }
    let mut n_ready = 0;
    for ((pointer, asked), events) in sets.into_iter().zip(asked).zip(SET_EVENTS) {
        let mut ready = vec![0_u64; asked.len()];
        for (&number, entry) in numbers.iter().zip(&set.entries) {
            if is_in(&asked, number) && entry.ready.intersects(events) {
                insert(&mut ready, number);
                n_ready += 1;
            }
        }
        if !pointer.is_null() && !ready.is_empty() {
            pointer.write_many(&thread.memory(), &ready)?;
        }
    }
    Ok(n_ready)
}

/// The sets as the guest has them, cut to `n` descriptors. A set that is not there is empty.
fn read_sets(thread: &Rc<Thread>, sets: FdSets, n: usize) -> SysResult<[Vec<u64>; 3]> {
    let mut words = [Vec::new(), Vec::new(), Vec::new()];
    for (words, pointer) in words.iter_mut().zip(sets) {
        if pointer.is_null() {
            continue;
        }
        *words = pointer.read_many(&thread.memory(), n.div_ceil(WORD_BITS))?;
    }
    Ok(words)
}

/// Every descriptor that is in a set, with what it is asked for. `EBADF` if one is not open.
fn entries(
    thread: &Rc<Thread>,
    asked: &[Vec<u64>; 3],
    n: usize,
) -> SysResult<(Vec<usize>, Vec<Entry>)> {
    let (mut numbers, mut entries) = (Vec::new(), Vec::new());
    for word in 0..n.div_ceil(WORD_BITS) {
        let mut bits = asked.iter().filter_map(|set| set.get(word)).fold(0, |all, set| all | set);
        while bits != 0 {
            let number = word * WORD_BITS + bits.trailing_zeros() as usize;
            bits &= bits - 1;
            if number >= n {
                break;
            }
            let sets = asked.iter().zip(SET_EVENTS).filter(|(set, _)| is_in(set, number));
            let events = sets.fold(PollEvents::empty(), |all, (_, events)| all | events);
            let fd = i32::try_from(number).map(Fd).map_err(|_| Errno::EBADF)?;
            numbers.push(number);
            entries.push(Entry::of_file(thread.file(fd)?, events));
        }
    }
    Ok((numbers, entries))
}

fn is_in(set: &[u64], number: usize) -> bool {
    set.get(number / WORD_BITS).is_some_and(|word| word >> (number % WORD_BITS) & 1 == 1)
}

fn insert(set: &mut [u64], number: usize) {
    if let Some(word) = set.get_mut(number / WORD_BITS) {
        *word |= 1 << (number % WORD_BITS);
    }
}
