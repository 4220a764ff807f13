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
        let walked = walk_around(text, address, at..candidate, functions, &mut sites);
        at = walked.unwrap_or(candidate + 2);
    }
    sites
}

/// Where the next bytes are that may be a site. The second byte is searched for: the first is that of
/// every sixth instruction.
fn next_candidate(text: &[u8]) -> Option<usize> {
    let seconds = memchr::memchr2_iter(CALL[1], CPUID[1], text);
    seconds.filter_map(|second| second.checked_sub(1)).find(|&at| text.get(at) == Some(&CALL[0]))
}

/// Walks over the function around the end of `gap`, which nobody has walked over yet. Returns where
/// it ends.
fn walk_around(
    text: &[u8],
    address: u64,
    gap: std::ops::Range<usize>,
    functions: &Functions<'_>,
    sites: &mut Vec<Site>,
) -> Option<usize> {
    let candidate = gap.end;
    let (start, end) = functions.around(address + candidate as u64)?;
    let start = usize::try_from(start.checked_sub(address)?).ok()?;
    if start < gap.start {
        return None; // functions do not overlap, and none is walked twice
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::{Decoder, DecoderOptions, Mnemonic};
    use object::{Object, ObjectSection, ObjectSegment};

    /// Every site in this machine's dynamic loader is one that a full decoder finds, and none of
    /// its questions is missed.
    #[test]
    fn sites_are_real_instructions() {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let line = maps.lines().find(|line| line.contains("/ld-linux")).unwrap();
        let bytes = std::fs::read(line.split_whitespace().nth(5).unwrap()).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let place = |address: u64| {
            file.segments().find_map(|segment| {
                let (offset, size) = segment.file_range();
                let into = address.checked_sub(segment.address()).filter(|into| *into < size)?;
                usize::try_from(offset + into).ok()
            })
        };
        let table = file.section_by_name(".eh_frame_hdr").unwrap().address();
        let functions = Functions::new(&bytes, table, &place).unwrap();
        let text = file.section_by_name(".text").unwrap();
        let found = find(text.data().unwrap(), text.address(), &functions);

        let (mut calls, mut questions, mut mov) = (Vec::new(), Vec::new(), 0);
        let options = DecoderOptions::NONE;
        let mut decoder = Decoder::with_ip(64, text.data().unwrap(), text.address(), options);
        for instruction in &mut decoder {
            match instruction.mnemonic() {
                Mnemonic::Syscall if mov + 5 == instruction.ip() => calls.push(mov),
                Mnemonic::Cpuid => questions.push(instruction.ip()),
                Mnemonic::Mov => mov = instruction.ip(),
                _ => {}
            }
        }
        let mut found_questions = Vec::new();
        for site in &found {
            match *site {
                Site::Call { address, .. } => assert!(calls.contains(&address), "{address:#x}"),
                Site::Question { address } => found_questions.push(address),
            }
        }
        assert_eq!(found_questions, questions);
        assert!(found.len() > questions.len() + 10, "{} of {}", found.len(), calls.len());
    }

    /// Whatever a file says of its functions and code, the walk ends.
    #[test]
    fn any_bytes_have_sites_or_none() {
        let mut seed = 1u64;
        let mut random = move || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(seed >> 33).unwrap()
        };
        let place = |address: u64| usize::try_from(address).ok();
        for _ in 0..2000 {
            let mut file = table_of_one_function(8);
            file[0x108] = u8::try_from(random() % 40).unwrap();
            for _ in 0..random() % 60 {
                let at = 0x10c + random() % (file.len() - 0x10c);
                file[at] = u8::try_from(random() & 0xff).unwrap();
            }
            let text: Vec<u8> = (0..64)
                .map(|_| [0x0f, 0x05, 0xa2, 0xb8, 0x66, 0xc3, 0, 0xff][random() % 8])
                .collect();
            if let Some(functions) = Functions::new(&file, 0x100, &place) {
                for site in find(&text, 0x1000, &functions) {
                    let (Site::Call { address, .. } | Site::Question { address }) = site;
                    assert!((0x1000..0x1040).contains(&address));
                }
            }
        }
    }

    #[test]
    fn bytes_inside_another_instruction_are_no_site() {
        // mov $0x050fa20f, %eax; cpuid; ret
        let text = [0xb8, 0x0f, 0xa2, 0x0f, 0x05, 0x0f, 0xa2, 0xc3];
        let mut sites = Vec::new();
        let file = table_of_one_function(8);
        let place = |address: u64| usize::try_from(address).ok();
        let functions = Functions::new(&file, 0x100, &place).unwrap();
        walk_around(&text, 0x1000, 0..1, &functions, &mut sites);
        assert_eq!(sites, [Site::Question { address: 0x1005 }]);
        // The walk must end where the function does.
        sites.clear();
        let file = table_of_one_function(6);
        let functions = Functions::new(&file, 0x100, &place).unwrap();
        walk_around(&text, 0x1000, 0..1, &functions, &mut sites);
        assert_eq!(sites, []);
    }

    /// A table at 0x100 of one function at 0x1000, with its entry at 0x200.
    fn table_of_one_function(length: u32) -> Vec<u8> {
        let mut file = vec![0; 0x300];
        let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
        put(0x100, &[1, 0x1b, 0x03, 0x3b]);
        put(0x108, &1u32.to_le_bytes());
        put(0x10c, &(0x1000i32 - 0x100).to_le_bytes());
        put(0x110, &(0x200i32 - 0x100).to_le_bytes());
        put(0x208, &(0x1000i32 - 0x208).to_le_bytes());
        put(0x20c, &length.to_le_bytes());
        file
    }
}
