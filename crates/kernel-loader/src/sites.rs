//! Instructions of a program that leave it: system calls, and questions to the processor.
//!
//! Bytes that look like one may be part of another instruction. So the function around them is
//! walked from its first instruction on, and only what the walk meets counts. A function with an
//! instruction that is not known, or in which the walk does not end at its end, has no sites.

use crate::code;
use crate::functions::Functions;

/// An instruction to be replaced. Addresses are those before the program is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    /// `mov $number, %eax; syscall`, at this address.
    Call {
        /// Where the `mov` is.
        address: u64,
        /// The number.
        number: u16,
    },
    /// `cpuid`, at this address.
    Question {
        /// Where it is.
        address: u64,
    },
}

const CALL: [u8; 2] = [0x0f, 0x05];
const CPUID: [u8; 2] = [0x0f, 0xa2];
/// The length of `mov $number, %eax`.
pub const MOV_LENGTH: usize = 5;

/// The sites in `text`, which begins at `address`.
pub fn find(text: &[u8], address: u64, functions: &Functions<'_>) -> Vec<Site> {
    let mut sites = Vec::new();
    let mut at = 0;
    while let Some(next) = text.get(at..).and_then(next_candidate) {
        let candidate = at + next;
        // Past the function, or past the candidate if it is in none.
        at = walk_around(text, address, candidate, functions, &mut sites).unwrap_or(candidate + 2);
    }
    sites
}

fn next_candidate(text: &[u8]) -> Option<usize> {
    text.windows(2).position(|pair| pair == CALL || pair == CPUID)
}

/// Walks over the function around a candidate. Returns where it ends.
fn walk_around(
    text: &[u8],
    address: u64,
    candidate: usize,
    functions: &Functions<'_>,
    sites: &mut Vec<Site>,
) -> Option<usize> {
    let (start, end) = functions.around(address + candidate as u64)?;
    let start = usize::try_from(start.checked_sub(address)?).ok()?;
    let end = usize::try_from(end.checked_sub(address)?).ok()?;
    let known = sites.len();
    let whole = text.get(..end)?;
    let mut at = start;
    let mut number = None;
    while at < end {
        let Some(length) = whole.get(at..).and_then(code::length) else {
            sites.truncate(known);
            break;
        };
        let instruction = whole.get(at..at + length)?;
        if instruction == CPUID {
            sites.push(Site::Question { address: address + at as u64 });
        } else if let (true, Some(number)) = (instruction == CALL, number) {
            let address = address + (at - MOV_LENGTH) as u64;
            sites.push(Site::Call { address, number });
        }
        number = match instruction {
            [0xb8, low, high, 0, 0] => Some(u16::from_le_bytes([*low, *high])),
            _ => None,
        };
        at += length;
    }
    Some(end.max(candidate + 2))
}
