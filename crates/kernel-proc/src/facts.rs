//! What is known of the machine.

use std::fs::File;
use std::os::fd::AsFd;

use host_sys::rustix;
use kernel_tasks::thread::CpuSet;
use linux_abi::{Errno, SysResult};

/// The longest text that is taken from a file of the host's.
const MAX_HOST_TEXT: usize = 4 << 20;

/// A file of the host's that is open for good, so that it can be read when nothing can be opened
/// any more.
struct HostText {
    file: Option<File>,
}

impl HostText {
    fn open(path: &str) -> Self {
        Self { file: File::open(path).ok() }
    }

    /// Its text now; `EIO` if the host does not have it.
    fn read(&self) -> SysResult<Vec<u8>> {
        let file = self.file.as_ref().ok_or(Errno::EIO)?;
        let mut text = Vec::new();
        let mut chunk = vec![0; 16 << 10];
        while text.len() < MAX_HOST_TEXT {
            let n = rustix::io::pread(file.as_fd(), &mut *chunk, text.len() as u64)
                .map_err(host_sys::errno_of)?;
            if n == 0 {
                break;
            }
            text.extend_from_slice(chunk.get(..n).unwrap_or_default());
        }
        Ok(text)
    }
}

/// What is known of the machine: the host, as far as the sandbox shows it, and the sandbox's limits.
pub struct SystemFacts {
    /// How much memory the sandbox may use, if that is limited.
    pub memory_limit: Option<u64>,
    n_cpus: usize,
    boot_id: String,
    cpuinfo: HostText,
    meminfo: HostText,
    stat: HostText,
}

impl SystemFacts {
    /// What the host tells now. Opens what has to be read later.
    pub fn new(memory_limit: Option<u64>) -> Self {
        Self {
            memory_limit,
            n_cpus: usize::try_from(CpuSet::all().count()).unwrap_or(1).max(1),
            boot_id: random_uuid(),
            cpuinfo: HostText::open("/proc/cpuinfo"),
            meminfo: HostText::open("/proc/meminfo"),
            stat: HostText::open("/proc/stat"),
        }
    }

    /// How many processors there are for guests.
    pub fn n_cpus(&self) -> usize {
        self.n_cpus
    }

    /// The processors as a list: `0-3`, or `0` for one.
    pub fn cpu_list(&self) -> String {
        match self.n_cpus {
            1 => String::from("0"),
            n => format!("0-{}", n - 1),
        }
    }

    /// An id of this sandbox's life.
    pub fn boot_id(&self) -> &str {
        &self.boot_id
    }

    /// The host's `/proc/cpuinfo`, without the processors that guests do not have.
    pub fn cpuinfo(&self) -> SysResult<Vec<u8>> {
        let text = String::from_utf8_lossy(&self.cpuinfo.read()?).into_owned();
        let mut shown = String::new();
        for (number, block) in text
            .split("\n\n")
            .filter(|block| !block.trim().is_empty())
            .take(self.n_cpus)
            .enumerate()
        {
            for line in block.trim_start_matches('\n').lines() {
                // Guests count their processors from 0 on.
                if line.starts_with("processor") {
                    shown.push_str(&format!("processor\t: {number}\n"));
                } else {
                    shown.push_str(line);
                    shown.push('\n');
                }
            }
            shown.push('\n');
        }
        Ok(shown.into_bytes())
    }

    /// The host's `/proc/meminfo` as names and kilobytes, in order.
    pub fn host_memory(&self) -> SysResult<Vec<(String, u64)>> {
        let text = self.meminfo.read()?;
        Ok(String::from_utf8_lossy(&text)
            .lines()
            .filter_map(|line| {
                let (name, value) = line.split_once(':')?;
                let value = value.split_whitespace().next()?.parse().ok()?;
                Some((name.to_owned(), value))
            })
            .collect())
    }

    /// How much memory there is for guests, in bytes.
    pub fn memory_total(&self) -> u64 {
        let info = rustix::system::sysinfo();
        let host = u64::from(info.mem_unit).saturating_mul(info.totalram);
        self.memory_limit.map_or(host, |limit| limit.min(host))
    }

    /// The lines of the host's `/proc/stat` that tell of processor time, for guests' processors.
    pub fn cpu_time_lines(&self) -> SysResult<String> {
        let text = self.stat.read()?;
        let text = String::from_utf8_lossy(&text);
        let mut shown = String::new();
        for line in text.lines().filter(|line| line.starts_with("cpu")).take(self.n_cpus + 1) {
            shown.push_str(line);
            shown.push('\n');
        }
        Ok(shown)
    }
}

/// A random UUID of version 4.
pub(crate) fn random_uuid() -> String {
    let mut bytes = [0; 16];
    // A host without randomness would have failed long before.
    let _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    let mut number = u128::from_be_bytes(bytes);
    number &= !(0xf000 << 64 | 0xc000 << 48);
    number |= 0x4000 << 64 | 0x8000 << 48;
    let text = format!("{number:032x}");
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default().to_owned();
    [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
}
