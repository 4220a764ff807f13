//! The hostile guests: they know where the shim and the channel are.

use std::fmt::Write;
use std::mem::offset_of;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use channel_abi::{Slot, layout};

use crate::command::{project, succeed};

/// Builds the guests. Returns where they are: a copy in `folder`, so that a long run keeps its guests
/// when somebody builds others.
pub fn build(folder: &Path) -> Result<PathBuf> {
    let built = project().join("target/hostile-guests");
    let headers = project().join("target/hostile-layout");
    std::fs::create_dir_all(&headers)?;
    let (file, text) = (headers.join("layout.h"), header()?);
    // Only if it is news: everything would be built again.
    if std::fs::read_to_string(&file).ok().as_ref() != Some(&text) {
        std::fs::write(&file, text)?;
    }
    let mut command = Command::new(project().join("guest-tests/build"));
    succeed(command.arg(&built).arg("hostile").env("LAYOUT", &headers))?;
    let copies = folder.join("guests");
    std::fs::create_dir(&copies)?;
    for entry in std::fs::read_dir(&built)? {
        let entry = entry?;
        std::fs::copy(entry.path(), copies.join(entry.file_name()))?;
    }
    Ok(copies)
}

/// What the guests know, as a header file for C.
fn header() -> Result<String> {
    let segments = segments(guest_process::shim::PROGRAM).context("the shim is no program")?;
    let is_text = |segment: &&Segment| segment.flags & EXECUTE != 0;
    let is_data = |segment: &&Segment| segment.flags & WRITE != 0;
    let text = segments.iter().find(is_text).context("the shim has no text")?;
    let data = segments.iter().rfind(is_data).context("the shim has no data")?;
    let mut header = String::from("/* Written by `cargo xtask hostile`. */\n");
    let mut define = |name: &str, value: u64| {
        // Writing to a string does not fail.
        let _ = writeln!(header, "#define {name} {value:#x}");
    };
    define("SHIM_ADDRESS", layout::SHIM_BASE);
    define("BELL_ADDRESS", layout::BELL_ADDRESS);
    define("CHANNEL_ADDRESS", layout::CHANNEL_ADDRESS);
    define("BELL_BYTES", layout::BELL_SIZE as u64);
    define("CHANNEL_HEADER_BYTES", layout::CHANNEL_HEADER as u64);
    define("SLOT_BYTES", layout::SLOT_SIZE as u64);
    define("SLOT_HOST_TID", offset_of!(Slot, host_tid) as u64);
    for (name, segment) in [("TEXT", text), ("DATA", data)] {
        let start = segment.address - layout::SHIM_BASE;
        define(&format!("SHIM_{name}_START"), start);
        define(&format!("SHIM_{name}_END"), start + segment.size);
    }
    Ok(header)
}

const EXECUTE: u32 = 1;
const WRITE: u32 = 2;

/// A `PT_LOAD` header.
struct Segment {
    flags: u32,
    address: u64,
    size: u64,
}

/// The segments of a 64-bit ELF program of ours.
fn segments(program: &[u8]) -> Option<Vec<Segment>> {
    const PT_LOAD: u64 = 1;
    let number = |at: usize, size: usize| {
        let bytes = program.get(at..at + size)?;
        Some(bytes.iter().rev().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte)))
    };
    let first = usize::try_from(number(32, 8)?).ok()?;
    let mut segments = Vec::new();
    for index in 0..usize::try_from(number(56, 2)?).ok()? {
        let at = first + 56 * index;
        if number(at, 4)? == PT_LOAD {
            let flags = u32::try_from(number(at + 4, 4)?).ok()?;
            segments.push(Segment {
                flags,
                address: number(at + 16, 8)?,
                size: number(at + 40, 8)?,
            });
        }
    }
    Some(segments)
}
