//! Descriptors from the kernel.
//!
//! The kernel numbers its messages and names in a reply the last one that belongs to it. Several
//! threads may wait for messages at once: whoever reads one stores it for its owner.

use core::sync::atomic::{AtomicI32, AtomicU64, Ordering::Relaxed};

use channel_abi::layout::{FILE_CACHE, SOCKET_FD};
use channel_abi::lent;

use crate::host::{self, errno, nr};
use crate::process::Lock;
use crate::usermem::address_of;

/// Held while descriptors are received and used.
pub static LOCK: Lock = Lock::new();

/// The number of the last message that was received.
static RECEIVED: AtomicU64 = AtomicU64::new(0);

/// Files that were mapped or read lately.
static FILES: [AtomicI32; FILE_CACHE] = [const { AtomicI32::new(-1) }; FILE_CACHE];

/// Channels and sockets for forks that other threads are about to make: number, two descriptors.
const MAX_FORKS: usize = 16;
static FORKS: [(AtomicU64, AtomicI32, AtomicI32); MAX_FORKS] =
    [const { (AtomicU64::new(0), AtomicI32::new(-1), AtomicI32::new(-1)) }; MAX_FORKS];

/// A message that brings a fork's descriptors, not a file for the cache.
pub const FORK_MESSAGE: u64 = u64::MAX;

#[repr(C)]
struct Message {
    name: u64,
    name_length: u64,
    pieces: u64,
    n_pieces: u64,
    control: u64,
    control_length: u64,
    flags: u64,
}

/// Receives one message: two words of data and up to `fds.len()` descriptors. Ends the process if
/// the kernel is gone.
pub fn receive(words: &mut [u64; 2], fds: &mut [i32]) -> usize {
    let mut control = [0u64; 16];
    let piece = [address_of(words), 16];
    let mut message = Message {
        name: 0,
        name_length: 0,
        pieces: address_of(&piece),
        n_pieces: 1,
        control: core::ptr::from_mut(&mut control).expose_provenance() as u64,
        control_length: size_of_val(&control) as u64,
        flags: 0,
    };
    loop {
        let at = core::ptr::from_mut(&mut message).expose_provenance() as u64;
        match host::call3(nr::RECVMSG, SOCKET_FD as u64, at, 0) {
            errno::EINTR => {}
            n if n <= 0 => host::exit_group(host::KERNEL_GONE),
            _ => break,
        }
    }
    // The control data is one header of two words, then descriptors, two to a word.
    let control = core::hint::black_box(&control);
    let n =
        if message.control_length >= 16 { (control[0] as usize).saturating_sub(16) / 4 } else { 0 };
    for (index, fd) in fds.iter_mut().enumerate().take(n) {
        let word = control.get(2 + index / 2).copied().unwrap_or(0);
        *fd = (word >> (index % 2 * 32)) as u32 as i32;
    }
    n
}

/// Receives messages up to the one with this number. The lock must be held.
fn receive_until(number: u64) {
    while RECEIVED.load(Relaxed) < number {
        let mut words = [0; 2];
        let mut fds = [-1; 2];
        receive(&mut words, &mut fds);
        let [sequence, place] = *core::hint::black_box(&words);
        RECEIVED.store(sequence, Relaxed);
        if place == FORK_MESSAGE {
            for (owner, channel, socket) in &FORKS {
                if owner.load(Relaxed) == 0 {
                    owner.store(sequence, Relaxed);
                    channel.store(fds[0], Relaxed);
                    socket.store(fds[1], Relaxed);
                    break;
                }
            }
        } else if place & lent::MESSAGE != 0 {
            crate::lent::accept(place & !lent::MESSAGE, fds[0]);
        } else if let Some(file) = FILES.get(place as usize) {
            host::close(file.swap(fds[0], Relaxed));
        }
    }
}

/// The descriptor at this place of the cache, after message `number` if it is a new one. The lock
/// must be held until the descriptor has been used.
pub fn file(place: usize, number: u64) -> i32 {
    receive_until(number);
    FILES.get(place).map_or(-1, |file| file.load(Relaxed))
}

/// Closes the descriptor at this place of the cache. The lock must be held.
pub fn forget(place: usize) {
    if let Some(file) = FILES.get(place) {
        host::close(file.swap(-1, Relaxed));
    }
}

/// Receives what messages up to `number` bring.
pub fn catch_up(number: u64) {
    LOCK.lock();
    receive_until(number);
    LOCK.unlock();
}

/// The two descriptors of message `number`. The lock must be held.
pub fn fork_descriptors(number: u64) -> [i32; 2] {
    receive_until(number);
    for (owner, channel, socket) in &FORKS {
        if owner.load(Relaxed) == number {
            owner.store(0, Relaxed);
            return [channel.load(Relaxed), socket.load(Relaxed)];
        }
    }
    [-1, -1]
}

/// A new process has a socket of its own, whose messages are numbered from one.
pub fn reset_numbering() {
    RECEIVED.store(0, Relaxed);
    for (owner, ..) in &FORKS {
        owner.store(0, Relaxed);
    }
}
