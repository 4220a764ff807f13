//! Calls as data, for a real guest: what to put into memory and which calls to make.
//!
//! The guest is `guest-tests/hostile/calls.c`. A file is a list of chunks, and a chunk a list of
//! records, all of them words of 64 bits: `0, address, length, bytes...` puts bytes into memory,
//! `1, number, six registers` makes a call, `2` ends the chunk. Each process of the guest runs the
//! first chunk, which makes objects of every kind, and then takes one after the other.

use std::cell::RefCell;
use std::io::{self, Write};

use fastrand::Rng;
use kernel_core::memory::UserMemory;
use linux_abi::{Errno, SysResult};

use crate::arguments::registers;
use crate::chooser::{Choice, Chooser, Reach};
use crate::memory::Arena;

const PUT: u64 = 0;
const CALL: u64 = 1;
const END: u64 = 2;
/// How many calls a chunk has.
const CALLS_PER_CHUNK: u64 = 200;
/// The first chunk is the prologue and little else.
const CALLS_OF_FIRST_CHUNK: u64 = 40;
/// Some calls have numbers that no call has.
const MOST_NUMBERS: u64 = 600;

/// Memory that keeps what is put there as records.
struct Recorder(RefCell<Vec<u8>>);

impl Recorder {
    fn words(&self, words: &[u64]) {
        self.0.borrow_mut().extend(words.iter().flat_map(|word| word.to_le_bytes()));
    }
}

impl UserMemory for Recorder {
    fn read_some(&self, _address: u64, _buffer: &mut [u8]) -> SysResult<usize> {
        Err(Errno::EFAULT)
    }

    fn write_some(&self, address: u64, bytes: &[u8]) -> SysResult<usize> {
        self.words(&[PUT, address, bytes.len() as u64]);
        let mut kept = self.0.borrow_mut();
        kept.extend(bytes);
        let padded = kept.len().next_multiple_of(8);
        kept.resize(padded, 0);
        Ok(bytes.len())
    }
}

/// Writes `n` calls from `seed`.
pub fn emit(seed: u64, n: u64, to: &mut dyn Write) -> io::Result<()> {
    let mut rng = Rng::with_seed(seed);
    let mut chooser = Chooser::new(Reach::Guest);
    let recorder = Recorder(RefCell::default());
    let mut left_in_chunk = CALLS_OF_FIRST_CHUNK;
    let mut made = 0;
    while made < n {
        let Some(Choice { call, focus }) = chooser.next(&mut rng) else { continue };
        let registers = registers(call, focus, &mut Arena::new(&recorder, &mut rng), &mut rng);
        let is_unknown = rng.u16(..500) == 0;
        let number = if is_unknown { rng.u64(..MOST_NUMBERS) } else { u64::from(call.number) };
        recorder.words(&[CALL, number]);
        recorder.words(&registers);
        made += 1;
        left_in_chunk -= 1;
        if left_in_chunk == 0 || made == n {
            left_in_chunk = CALLS_PER_CHUNK;
            recorder.words(&[END]);
            to.write_all(&recorder.0.borrow())?;
            recorder.0.borrow_mut().clear();
        }
    }
    to.flush()
}
