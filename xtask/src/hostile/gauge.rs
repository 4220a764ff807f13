//! How much memory all processes of a sandbox hold together, seen from outside.
//!
//! By a control group of the host's where one can be made, which misses nothing. Else by looking again and again: memory of
//! each process that is its own, and the blocks of all memory files that any of them has open or mapped. That sees neither
//! page tables nor what the host's kernel has for processes, and the command says so.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::residue::Process;

/// Where control groups of memory are, in version 1.
const GROUPS: &str = "/sys/fs/cgroup/memory";
/// Where all are, in version 2.
const UNIFIED_GROUPS: &str = "/sys/fs/cgroup";

/// Measures one sandbox.
pub struct Gauge {
    group: Option<Group>,
    most: u64,
}

/// A control group around a sandbox. Goes when this goes.
struct Group {
    folder: PathBuf,
    /// Where the sandbox's starter is, if that is a group inside: a sandbox puts its processes into a group of version 2
    /// that it makes beside its own, and that is then inside as well.
    inner: Option<PathBuf>,
}

impl Group {
    /// One of either version.
    fn new(name: &str) -> Option<Self> {
        let name = format!("belljar-hostile-{}-{name}", std::process::id());
        Self::of_version_1(Path::new(GROUPS), &name)
            .or_else(|| Self::of_version_2(Path::new(UNIFIED_GROUPS), &name))
    }

    fn of_version_1(groups: &Path, name: &str) -> Option<Self> {
        let folder = groups.join(name);
        std::fs::create_dir(&folder).ok()?;
        let group = Self { folder, inner: None };
        group.peak().is_some().then_some(group)
    }

    fn of_version_2(groups: &Path, name: &str) -> Option<Self> {
        let given = std::fs::read_to_string(groups.join("cgroup.subtree_control")).ok()?;
        // To switch it on is for the host's owner.
        given.split_whitespace().find(|controller| *controller == "memory")?;
        let folder = groups.join(name);
        let inner = folder.join("starter");
        std::fs::create_dir_all(&inner).ok()?;
        let group = Self { folder, inner: Some(inner) };
        for controller in ["+memory", "+pids"] {
            // Without them a sandbox makes no group of its own, which is as well.
            let _ = std::fs::write(group.folder.join("cgroup.subtree_control"), controller);
        }
        group.peak().is_some().then_some(group)
    }

    /// Whoever writes its id there is inside, with all its children.
    fn door(&self) -> PathBuf {
        self.inner.as_ref().unwrap_or(&self.folder).join("cgroup.procs")
    }

    /// The most that was held; before Linux 5.19, version 2 tells only what is held now.
    fn peak(&self) -> Option<u64> {
        let read = |file: &str| {
            std::fs::read_to_string(self.folder.join(file)).ok()?.trim().parse::<u64>().ok()
        };
        read("memory.max_usage_in_bytes")
            .or_else(|| read("memory.peak"))
            .or_else(|| read("memory.current"))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Fails while a process is left, which is told elsewhere.
        if let Some(inner) = &self.inner {
            let _ = std::fs::remove_dir(inner);
        }
        let _ = std::fs::remove_dir(&self.folder);
    }
}

impl Gauge {
    /// One for the sandbox of this name.
    pub fn new(name: &str) -> Self {
        Self { group: Group::new(name), most: 0 }
    }

    /// Whether a gauge misses nothing here, found out by making one.
    pub fn sees_everything() -> bool {
        Group::new("try").is_some()
    }

    /// Whoever writes its id there is measured, with all its children.
    pub fn door(&self) -> Option<PathBuf> {
        self.group.as_ref().map(Group::door)
    }

    /// Whether it has to look at processes, because nobody else does.
    pub fn needs_looks(&self) -> bool {
        self.group.is_none()
    }

    /// Looks at these processes, if nobody else does.
    pub fn look(&mut self, processes: &[Process]) {
        let held = match &self.group {
            Some(group) => group.peak().unwrap_or(0),
            None => held_by(processes),
        };
        self.most = self.most.max(held);
    }

    /// The most bytes that were held at one time.
    pub fn most(&self) -> u64 {
        let peak = self.group.as_ref().and_then(Group::peak).unwrap_or(0);
        self.most.max(peak)
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
    fn a_group_of_version_2_is_made_where_memory_is_delegated() {
        let groups = tempfile::tempdir().unwrap();
        let control = groups.path().join("cgroup.subtree_control");
        assert!(Group::of_version_2(groups.path(), "none").is_none());
        std::fs::write(&control, "cpu pids\n").unwrap();
        assert!(Group::of_version_2(groups.path(), "none").is_none());
        std::fs::write(&control, "cpu memory pids\n").unwrap();
        // The host would have put this file there.
        let folder = groups.path().join("one");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("memory.peak"), "4096\n").unwrap();
        let group = Group::of_version_2(groups.path(), "one").unwrap();
        assert_eq!(group.peak(), Some(4096));
        assert_eq!(group.door(), folder.join("starter/cgroup.procs"));
        drop(group);
        assert!(!folder.join("starter").exists());
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
