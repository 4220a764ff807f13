//! How much memory all processes of a sandbox hold together, seen from outside.
//!
//! By a control group of the host's where one can be made (version 1: a sandbox leaves one of version 2 for its own), which
//! misses nothing. Else by looking again and again: memory of each process that is its own, and the blocks of all memory
//! files that any of them has open or mapped.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::residue::Process;

/// Where control groups of memory are, in version 1.
const GROUPS: &str = "/sys/fs/cgroup/memory";

/// Measures one sandbox.
pub struct Gauge {
    group: Option<PathBuf>,
    most: u64,
}

impl Gauge {
    /// One for the sandbox of this name.
    pub fn new(name: &str) -> Self {
        let id = std::process::id();
        let group = Path::new(GROUPS).join(format!("belljar-hostile-{id}-{name}"));
        let is_made = std::fs::create_dir(&group).is_ok();
        let group = is_made.then_some(group);
        let gauge = Self { group, most: 0 };
        match gauge.peak_of_group() {
            Some(_) => gauge,
            None => Self { group: None, most: 0 },
        }
    }

    /// Whoever writes its id there is measured, with all its children.
    pub fn door(&self) -> Option<PathBuf> {
        self.group.as_ref().map(|group| group.join("cgroup.procs"))
    }

    fn peak_of_group(&self) -> Option<u64> {
        let file = self.group.as_ref()?.join("memory.max_usage_in_bytes");
        std::fs::read_to_string(file).ok()?.trim().parse().ok()
    }

    /// Looks at these processes, if nobody else does.
    pub fn look(&mut self, processes: &[Process]) {
        if self.group.is_none() {
            self.most = self.most.max(held_by(processes));
        }
    }

    /// The most bytes that were held at one time.
    pub fn most(&self) -> u64 {
        self.peak_of_group().unwrap_or(self.most)
    }
}

impl Drop for Gauge {
    fn drop(&mut self) {
        if let Some(group) = &self.group {
            // Fails while a process is left, which is told elsewhere.
            let _ = std::fs::remove_dir(group);
        }
    }
}

/// What processes hold now.
fn held_by(processes: &[Process]) -> u64 {
    let (mut own, mut mapped) = (0, 0);
    for process in processes {
        let file = format!("/proc/{}/smaps_rollup", process.id);
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let shared = bytes_of(&text, "Pss_Shmem:");
        own += bytes_of(&text, "Pss:").saturating_sub(shared);
        mapped += shared;
    }
    // What is mapped is of a memory file that somebody has open, or of nobody's.
    own + mapped.max(in_memory_files(processes))
}

/// The blocks of all memory files that processes have open, each once.
fn in_memory_files(processes: &[Process]) -> u64 {
    let mut files: HashMap<u64, u64> = HashMap::new();
    for process in processes {
        let folder = format!("/proc/{}/fd", process.id);
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let target = std::fs::read_link(entry.path()).unwrap_or_default();
            if target.to_string_lossy().starts_with("/memfd:")
                && let Ok(status) = std::fs::metadata(entry.path())
            {
                files.insert(status.ino(), status.blocks() * 512);
            }
        }
    }
    files.values().sum()
}

/// A number of an `smaps_rollup`, which is in KiB there.
fn bytes_of(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let word = line.and_then(|line| line.split_whitespace().next());
    word.and_then(|word| word.parse::<u64>().ok()).unwrap_or(0) << 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_by_their_whole_name() {
        let text = "Rss: 9 kB\nPss:                 123 kB\nPss_Shmem:  4 kB\n";
        assert_eq!((bytes_of(text, "Pss:"), bytes_of(text, "Pss_Shmem:")), (123 << 10, 4 << 10));
        assert_eq!(bytes_of(text, "Swap:"), 0);
    }

    #[test]
    fn a_memory_file_counts_once_however_many_have_it() {
        let before = in_memory_files(&[here()]);
        let file = rustix::fs::memfd_create("gauge", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        rustix::io::pwrite(&file, &vec![1; 8 << 20], 0).unwrap();
        let _again = file.try_clone().unwrap();
        let after = in_memory_files(&[here(), here()]);
        assert!((8 << 20..16 << 20).contains(&(after - before)), "{before} and then {after}");
    }

    fn here() -> Process {
        Process { id: std::process::id(), parent: 0, started: 0, ticks: 0 }
    }
}
