//! Changes to bytes, for parsers: what `cargo fuzz` does without its guidance, from a seed.

use fastrand::Rng;

/// No input grows longer.
const MAX_LENGTH: usize = 32 << 10;

/// Words at which lengths and offsets go wrong.
const WORDS: [u64; 12] =
    [0, 1, 0x7f, 0xff, 0x100, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, 1 << 47, 1 << 63, u64::MAX];

/// Changes some bytes, a few times. Takes parts of `other` as well.
pub fn mutate(bytes: &mut Vec<u8>, other: &[u8], rng: &mut Rng) {
    for _ in 0..1 << rng.u32(..5) {
        change(bytes, other, rng);
    }
    bytes.truncate(MAX_LENGTH);
}

fn change(bytes: &mut Vec<u8>, other: &[u8], rng: &mut Rng) {
    let at = rng.usize(..=bytes.len());
    match rng.u8(..10) {
        0 => flip(bytes, at, 1 << rng.u32(..8)),
        1 => overwrite(bytes, at, &[rng.u8(..)]),
        2 => bytes.truncate(at),
        3 => drop(bytes.drain(at..(at + rng.usize(..64)).min(bytes.len()))),
        4 => insert(bytes, at, &vec![rng.u8(..); rng.usize(..64)]),
        5 | 6 => {
            let word = rng.choice(&WORDS).copied().unwrap_or(0);
            let word = if rng.bool() { word.to_le_bytes() } else { word.to_be_bytes() };
            let size = *rng.choice(&[1_usize, 2, 4, 8]).unwrap_or(&8);
            overwrite(bytes, at, word.get(..size).unwrap_or(&word));
        }
        7 => {
            // A piece of itself, elsewhere.
            let piece = piece(bytes, rng).to_vec();
            insert(bytes, at, &piece);
        }
        8 => insert(bytes, at, piece(other, rng)),
        _ => overwrite(bytes, at, piece(other, rng)),
    }
}

fn piece<'a>(bytes: &'a [u8], rng: &mut Rng) -> &'a [u8] {
    let from = rng.usize(..=bytes.len());
    let to = (from + rng.usize(..256)).min(bytes.len());
    bytes.get(from..to).unwrap_or_default()
}

fn flip(bytes: &mut [u8], at: usize, bits: u8) {
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= bits;
    }
}

fn overwrite(bytes: &mut [u8], at: usize, with: &[u8]) {
    bytes.iter_mut().skip(at).zip(with).for_each(|(to, from)| *to = *from);
}

fn insert(bytes: &mut Vec<u8>, at: usize, what: &[u8]) {
    if bytes.len() < MAX_LENGTH {
        bytes.splice(at..at, what.iter().copied());
    }
}
