//! How long x86-64 instructions are.
//!
//! Enough to walk over a function from its first instruction to its last, and to know which of its
//! bytes begin one. What is not known for sure has no length: whoever walks gives up there.

/// What follows the opcode.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Nothing.
    Bare,
    /// So many bytes.
    Immediate(usize),
    /// Four bytes, two with an operand-size prefix.
    Word,
    /// An address.
    Address,
    /// An address, then so many bytes.
    AddressAnd(usize),
    /// An address, then four bytes, two with an operand-size prefix.
    AddressAndWord,
    /// An address and, for the first two of the group, that many bytes or a word.
    Group { word: bool },
    /// Not an instruction of 64-bit code, or not known.
    Unknown,
}

/// Prefixes that matter for the length.
#[derive(Default)]
struct Prefixes {
    operand_size: bool,
    address_size: bool,
    repeats: bool,
    wide: bool,
}

/// The length of the instruction that `code` begins with.
pub fn length(code: &[u8]) -> Option<usize> {
    /// Longer ones are refused by the processor.
    const MAX_LENGTH: usize = 15;
    let mut prefixes = Prefixes::default();
    let mut at = 0;
    loop {
        match *code.get(at)? {
            0x66 => prefixes.operand_size = true,
            0x67 => prefixes.address_size = true,
            0xf2 | 0xf3 => prefixes.repeats = true,
            0xf0 | 0x2e | 0x36 | 0x3e | 0x26 | 0x64 | 0x65 => {}
            _ => break,
        }
        at += 1;
    }
    let mut opcode = *code.get(at)?;
    if opcode & 0xf0 == 0x40 {
        prefixes.wide = opcode & 8 != 0;
        at += 1;
        opcode = *code.get(at)?;
    }
    at += 1;
    let shape = match opcode {
        0x0f => {
            let second = *code.get(at)?;
            at += 1;
            if matches!(second, 0x38 | 0x3a) {
                at += 1;
                if second == 0x38 { Shape::Address } else { Shape::AddressAnd(1) }
            } else {
                two_byte(second, &prefixes)
            }
        }
        0xc5 | 0xc4 | 0x62 => {
            let (skipped, map) = match opcode {
                0xc5 => (1, 1),
                0xc4 => (2, *code.get(at)? & 0x1f),
                _ => (3, *code.get(at)? & 0x07),
            };
            let operation = *code.get(at + skipped)?;
            at += skipped + 1;
            vector(map, operation, opcode == 0x62)
        }
        0xa0..=0xa3 => Shape::Immediate(if prefixes.address_size { 4 } else { 8 }),
        0xb8..=0xbf if prefixes.wide => Shape::Immediate(8),
        other => one_byte(other),
    };
    let whole = at + tail(code.get(at..)?, shape, &prefixes)?;
    (whole <= MAX_LENGTH && whole <= code.len()).then_some(whole)
}

/// How many bytes follow the opcode.
fn tail(rest: &[u8], shape: Shape, prefixes: &Prefixes) -> Option<usize> {
    let word = if prefixes.operand_size && !prefixes.wide { 2 } else { 4 };
    Some(match shape {
        Shape::Bare => 0,
        Shape::Immediate(n) => n,
        Shape::Word => word,
        Shape::Address => address(rest)?,
        Shape::AddressAnd(n) => address(rest)? + n,
        Shape::AddressAndWord => address(rest)? + word,
        Shape::Group { word: is_word } => {
            let is_test = rest.first()? >> 3 & 7 < 2;
            let operand = if is_word { word } else { 1 };
            address(rest)? + if is_test { operand } else { 0 }
        }
        Shape::Unknown => return None,
    })
}

/// How long the bytes are that say where an operand is.
fn address(rest: &[u8]) -> Option<usize> {
    let first = *rest.first()?;
    let (mode, register) = (first >> 6, first & 7);
    if mode == 3 {
        return Some(1);
    }
    let has_base = if register == 4 { rest.get(1)? & 7 } else { register } != 5;
    let displacement = match mode {
        1 => 1,
        2 => 4,
        _ if has_base => 0,
        _ => 4,
    };
    Some(1 + usize::from(register == 4) + displacement)
}

fn one_byte(opcode: u8) -> Shape {
    match opcode {
        0x00..=0x3f => match opcode & 7 {
            0..=3 => Shape::Address,
            4 => Shape::Immediate(1),
            5 => Shape::Word,
            _ => Shape::Unknown,
        },
        0x63 | 0x84..=0x8e | 0xd0..=0xd3 | 0xd8..=0xdf | 0xfe | 0xff => Shape::Address,
        0x68 | 0xa9 | 0xb8..=0xbf => Shape::Word,
        0x69 | 0x81 | 0xc7 => Shape::AddressAndWord,
        0x6b | 0x80 | 0x83 | 0xc0 | 0xc1 | 0xc6 => Shape::AddressAnd(1),
        0x6a | 0x70..=0x7f | 0xa8 | 0xb0..=0xb7 | 0xcd | 0xe0..=0xe7 | 0xeb => Shape::Immediate(1),
        0xe8 | 0xe9 => Shape::Immediate(4),
        0xc2 | 0xca => Shape::Immediate(2),
        0xc8 => Shape::Immediate(3),
        0xf6 => Shape::Group { word: false },
        0xf7 => Shape::Group { word: true },
        0x50..=0x5f | 0x6c..=0x6f | 0x90..=0x99 | 0x9b..=0x9f | 0xa4..=0xa7 | 0xaa..=0xaf => {
            Shape::Bare
        }
        0xc3 | 0xc9 | 0xcb | 0xcc | 0xcf | 0xd7 | 0xec..=0xef | 0xf1 | 0xf4 | 0xf5 => Shape::Bare,
        0xf8..=0xfd => Shape::Bare,
        _ => Shape::Unknown,
    }
}

fn two_byte(opcode: u8, prefixes: &Prefixes) -> Shape {
    match opcode {
        0x78 if prefixes.operand_size || prefixes.repeats => Shape::Unknown,
        0x05..=0x09 | 0x0b | 0x30..=0x35 | 0x37 | 0x77 | 0xa0..=0xa2 | 0xa8..=0xaa => Shape::Bare,
        0xc8..=0xcf => Shape::Bare,
        0x80..=0x8f => Shape::Immediate(4),
        0x70..=0x73 | 0xa4 | 0xac | 0xba | 0xc2 | 0xc4..=0xc6 => Shape::AddressAnd(1),
        0x04 | 0x0a | 0x0c | 0x0e | 0x0f | 0x24..=0x27 | 0x36 | 0x39..=0x3f => Shape::Unknown,
        0x7a | 0x7b | 0xa6 | 0xa7 => Shape::Unknown,
        _ => Shape::Address,
    }
}

/// Instructions with a VEX or EVEX prefix, by the map that it names.
fn vector(map: u8, opcode: u8, is_evex: bool) -> Shape {
    match (map, opcode) {
        (1, 0x77) if !is_evex => Shape::Bare,
        (1, 0x70..=0x73 | 0xc2 | 0xc4..=0xc6) | (3, _) => Shape::AddressAnd(1),
        (1 | 2, _) => Shape::Address,
        (5 | 6, _) if is_evex => Shape::Address,
        _ => Shape::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::{Decoder, DecoderOptions};
    use object::{Object, ObjectSection};

    /// The code of this test and of the libraries that it uses: every instruction that a full
    /// decoder finds there has the length that it says, or none.
    #[test]
    fn lengths_are_those_of_a_full_decoder() {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let mut files: Vec<&str> = maps
            .lines()
            .filter(|line| line.contains("r-xp"))
            .filter_map(|line| line.split_whitespace().nth(5).filter(|path| path.starts_with('/')))
            .collect();
        files.dedup();
        assert!(!files.is_empty());
        let (mut n_known, mut n_unknown) = (0u32, 0u32);
        for file in files {
            let bytes = std::fs::read(file).unwrap();
            let Ok(parsed) = object::File::parse(&*bytes) else { continue };
            let Some(text) = parsed.section_by_name(".text") else { continue };
            let text = text.data().unwrap();
            for instruction in &mut Decoder::new(64, text, DecoderOptions::NONE) {
                let at = usize::try_from(instruction.ip()).unwrap();
                if instruction.is_invalid() {
                    continue;
                }
                let code = &text[at..];
                match length(code) {
                    Some(length) => {
                        let code = &code[..instruction.len()];
                        assert_eq!(length, instruction.len(), "{file} {at:#x} {code:02x?}");
                        n_known += 1;
                    }
                    None => n_unknown += 1,
                }
            }
        }
        assert!(n_known > 100_000 && n_unknown < n_known / 1000, "{n_known} {n_unknown}");
    }

    #[test]
    fn what_is_cut_off_has_no_length() {
        for code in [&[][..], &[0x0f], &[0xb8, 1, 2, 3], &[0x66], &[0x48], &[0xc4, 0xe2]] {
            assert_eq!(length(code), None);
        }
        assert_eq!(length(&[0x66; 20]), None);
        assert_eq!(length(&[0x0f, 0xa2]), Some(2));
    }
}
