//! How much a sandbox may use.

use std::time::Duration;

use clap::Args;
use sandbox_spec::{
    ByteSize, LEAST_DISK, LEAST_FILE_SIZE, LEAST_MEMORY, LEAST_OUTPUT, Limits, SizeError,
    parse_duration,
};

/// Options that limit a sandbox.
#[derive(Args, Debug)]
#[command(next_help_heading = "Limits")]
pub struct LimitOptions {
    /// End after this time, with exit code 124
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub timeout: Option<Duration>,
    /// CPU time of all processes together
    #[arg(long = "cpu", alias = "cpu-time", value_name = "TIME", value_parser = parse_duration)]
    pub cpu_time: Option<Duration>,
    /// Memory of all processes and memory file systems together
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    pub memory: Option<ByteSize>,
    /// Processes and threads alive at one time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub processes: Option<u32>,
    /// Open files per process
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(4..))]
    pub files: Option<u32>,
    /// Bytes that may be written: to memory, and to the folder that keeps the writes aside
    #[arg(long, value_name = "SIZE", value_parser = disk)]
    pub disk: Option<ByteSize>,
    /// Size of one file
    #[arg(long, value_name = "SIZE", value_parser = file_size)]
    pub file_size: Option<ByteSize>,
    /// Bytes written to standard output and standard error
    #[arg(long, value_name = "SIZE", value_parser = output)]
    pub output_limit: Option<ByteSize>,
}

fn memory(text: &str) -> Result<ByteSize, SizeError> {
    ByteSize::parse_at_least(text, LEAST_MEMORY)
}

fn disk(text: &str) -> Result<ByteSize, SizeError> {
    ByteSize::parse_at_least(text, LEAST_DISK)
}

fn file_size(text: &str) -> Result<ByteSize, SizeError> {
    ByteSize::parse_at_least(text, LEAST_FILE_SIZE)
}

fn output(text: &str) -> Result<ByteSize, SizeError> {
    ByteSize::parse_at_least(text, LEAST_OUTPUT)
}

impl LimitOptions {
    /// Changes what was named and leaves the rest as it is.
    pub fn apply(&self, limits: &mut Limits) {
        limits.timeout = self.timeout.or(limits.timeout);
        limits.cpu_time = self.cpu_time.or(limits.cpu_time);
        limits.memory = self.memory.or(limits.memory);
        limits.processes = self.processes.or(limits.processes);
        limits.open_files = self.files.or(limits.open_files);
        limits.disk = self.disk.or(limits.disk);
        limits.file_size = self.file_size.or(limits.file_size);
        limits.output = self.output_limit.or(limits.output);
    }
}
