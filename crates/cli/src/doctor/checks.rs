//! The single checks. Each tries the thing itself; none guesses from a version number, except for
//! the version number.

use std::fs;
use std::path::Path;

use host_sys::rustix;
use rustix::fs::{Mode, OFlags, ResolveFlags};
use serde::Serialize;

use crate::probe::Probe;

/// One thing that was looked at.
#[derive(Debug, Serialize)]
pub struct Check {
    /// What.
    pub name: &'static str,
    /// How it is.
    #[serde(flatten)]
    pub finding: Finding,
}

/// How it is.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case", tag = "finding")]
pub enum Finding {
    /// As it should be.
    Good {
        /// What was found.
        detail: String,
    },
    /// Not as it should be.
    Lacking {
        /// What was found.
        detail: String,
        /// What that means for sandboxes on this host.
        consequence: &'static str,
    },
}

/// Every check, in the order in which they matter.
pub fn all() -> Vec<Check> {
    let mut checks = vec![
        check("kernel 5.10 or newer", kernel_version(), "older kernels are not supported"),
        check("x86-64", architecture(), "the kernel backend needs an x86-64 host"),
        check(
            "seccomp filters",
            host_sys::seccomp_trap_available().map(|()| String::new()).map_err(words),
            "no guest can be contained: the kernel backend does not start",
        ),
        check("openat2", openat2(), "host folders cannot be mounted safely"),
        check("memfd", memfd(), "channels and shared memory cannot be made"),
        check("pidfd", pidfd(), "guest processes cannot be tracked reliably"),
        check("FSGSBASE", fsgsbase(), "the shim cannot find its per-thread state"),
        check("reading guest memory", guest_memory(), "large buffers cannot be read"),
        check("CPUs", cpus(), "every system call costs two context switches"),
        check(
            "landlock",
            host_sys::landlock_abi().map(|abi| format!("version {abi}")).map_err(words),
            "the kernel process is not confined to its mounts by landlock",
        ),
    ];
    for probe in Probe::ALL {
        checks.push(check(
            probe.name(),
            probe.try_it().map(|()| String::new()),
            "this boundary around the sandbox is missing",
        ));
    }
    checks.push(check(
        "cgroup v2 delegation",
        control_group(),
        "limits are kept by Belljar's kernel and rlimits only",
    ));
    checks.push(check("/dev/kvm", kvm(), "micro-VMs cannot be started; the kernel backend can"));
    checks
}

fn check(name: &'static str, finding: Result<String, String>, consequence: &'static str) -> Check {
    let finding = match finding {
        Ok(detail) => Finding::Good { detail },
        Err(detail) => Finding::Lacking { detail, consequence },
    };
    Check { name, finding }
}

fn words(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn kernel_version() -> Result<String, String> {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) if (major, minor) >= (5, 10) => Ok(release),
        _ => Err(release),
    }
}

fn architecture() -> Result<String, String> {
    let machine = rustix::system::uname().machine().to_string_lossy().into_owned();
    if machine == "x86_64" { Ok(String::new()) } else { Err(machine) }
}

fn openat2() -> Result<String, String> {
    let root = rustix::fs::open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    root.and_then(|root| rustix::fs::openat2(root, ".", flags, Mode::empty(), resolve))
        .map(|_| String::new())
        .map_err(words)
}

fn memfd() -> Result<String, String> {
    let flags = rustix::fs::MemfdFlags::CLOEXEC | rustix::fs::MemfdFlags::ALLOW_SEALING;
    rustix::fs::memfd_create("belljar-doctor", flags).map(|_| String::new()).map_err(words)
}

fn pidfd() -> Result<String, String> {
    let own = rustix::process::getpid();
    rustix::process::pidfd_open(own, rustix::process::PidfdFlags::empty())
        .map(|_| String::new())
        .map_err(words)
}

fn fsgsbase() -> Result<String, String> {
    const HWCAP2_FSGSBASE: usize = 1 << 1;
    let (_, second) = rustix::param::linux_hwcap();
    if second & HWCAP2_FSGSBASE != 0 {
        Ok(String::new())
    } else {
        Err("not offered by the processor or the host's kernel".to_owned())
    }
}

/// Yama may forbid what the kernel process does with its own guests.
fn guest_memory() -> Result<String, String> {
    match fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope") {
        Ok(scope) if matches!(scope.trim(), "2" | "3") => {
            Err(format!("kernel.yama.ptrace_scope is {}", scope.trim()))
        }
        // Without Yama, and with its milder settings, a process may read its descendants.
        _ => Ok(String::new()),
    }
}

fn cpus() -> Result<String, String> {
    match std::thread::available_parallelism() {
        Ok(n) if n.get() > 1 => Ok(n.to_string()),
        Ok(_) => Err("one only".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Whether this process may make control groups below its own.
fn control_group() -> Result<String, String> {
    let lines = fs::read_to_string("/proc/self/cgroup").map_err(words)?;
    let own = lines
        .lines()
        .find_map(|line| line.strip_prefix("0::"))
        .ok_or("this host has no unified hierarchy")?;
    let mount = mount_of_cgroup2().ok_or("the unified hierarchy is not mounted")?;
    let folder = Path::new(&mount).join(own.trim_start_matches('/'));
    let controllers = fs::read_to_string(folder.join("cgroup.controllers")).map_err(words)?;
    let missing: Vec<_> = ["memory", "pids"]
        .into_iter()
        .filter(|name| !controllers.split_whitespace().any(|known| known == *name))
        .collect();
    if !missing.is_empty() {
        return Err(format!("no {} controller here", missing.join(" and no ")));
    }
    rustix::fs::access(&folder, rustix::fs::Access::WRITE_OK)
        .map(|()| folder.display().to_string())
        .map_err(|error| format!("{}: {error}", folder.display()))
}

fn mount_of_cgroup2() -> Option<String> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    mounts.lines().find_map(|line| {
        let mut fields = line.split(' ');
        let (path, kind) = (fields.nth(1)?, fields.next()?);
        (kind == "cgroup2").then(|| path.to_owned())
    })
}

fn kvm() -> Result<String, String> {
    fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/kvm")
        .map(|_| String::new())
        .map_err(words)
}
