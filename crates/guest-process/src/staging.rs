//! The staging table, the filter and the facts, which guests see read-only.

use std::os::fd::BorrowedFd;

use channel_abi::Facts;
use channel_abi::layout::{FACTS_OFFSET, FILTER_OFFSET, STAGING_SIZE};
use channel_abi::staging::{CALLS, Entry};
use rustix::io::Errno;

use crate::shared::SharedMemory;
use host_sys::seccomp::Instruction;

/// The staging table of one sandbox, with the guests' filter behind it.
#[derive(Debug)]
pub struct StagingTable {
    memory: SharedMemory,
    filter_length: usize,
}

impl StagingTable {
    /// Publishes a table and a filter.
    pub fn new(entries: &[Entry; CALLS], filter: &[Instruction]) -> Result<Self, Errno> {
        let memory = SharedMemory::for_reading("staging", STAGING_SIZE)?;
        let mut bytes = Vec::with_capacity(STAGING_SIZE);
        for entry in entries {
            bytes.push(entry.any);
            bytes.extend(entry.reserved);
            for part in entry.parts {
                bytes.extend([part.kind, part.length_argument]);
                bytes.extend(part.length.to_le_bytes());
            }
        }
        bytes.resize(FILTER_OFFSET, 0);
        for instruction in filter {
            bytes.extend(instruction.to_bytes());
        }
        if !memory.write(0, &bytes) {
            return Err(Errno::NOSPC);
        }
        Ok(Self { memory, filter_length: filter.len() })
    }

    /// The descriptor to hand to the zygote.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.memory.file()
    }

    /// How often what guests may have kept has changed.
    pub fn facts(&self) -> &Facts {
        self.memory.at(FACTS_OFFSET)
    }

    /// How many instructions the filter has.
    pub fn filter_length(&self) -> usize {
        self.filter_length
    }
}
