//! The single checks. Each tries the thing itself; none guesses from a version number, except for
//! the version number.

use std::fs;
use std::path::Path;

use host_sys::rustix;
use sandbox_spec::printable_path;
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
        check(
            "openat2",
            host_sys::openat2_available().map(|()| String::new()).map_err(words),
            "host folders cannot be mounted safely: the kernel backend does not start",
        ),
        check(
            "close_range",
            host_sys::close_range_available().map(|()| String::new()).map_err(words),
            "descriptors could leak to guests: the kernel backend does not start",
        ),
        check("memfd", memfd(), "channels and shared memory cannot be made"),
        check("pidfd", pidfd(), "guest processes cannot be tracked reliably"),
        check(
            "FSGSBASE",
            host_sys::fsgsbase_available().map(|()| String::new()).map_err(words),
            "the shim cannot find its state of a thread: the kernel backend does not start",
        ),
        check(
            "XSAVE",
            if host_sys::xsave_available() { Ok(String::new()) } else { Err(String::new()) },
            "signals would lose registers: the kernel backend does not start",
        ),
        check(
            "reading guest memory",
            host_sys::descendants_readable().map(|()| String::new()).map_err(words),
            "system calls could not be answered: the kernel backend does not start",
        ),
        check(
            "clocks without a call",
            clock_source(),
            "reading the time costs a program inside a signal and a call",
        ),
        check("CPUs", cpus(), "every system call costs two context switches"),
        check(
            "landlock",
            host_sys::landlock_abi().map(|abi| format!("version {abi}")).map_err(words),
            "the kernel process is not confined to its mounts by landlock",
        ),
        check(
            "futex_waitv",
            if host_sys::futex_waitv_available() {
                Ok(String::new())
            } else {
                Err("Linux has it from 5.16 on".to_owned())
            },
            "programs inside are told that there is none, and wait otherwise",
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

/// Whether programs can read the host's clock by themselves, through the vDSO.
fn clock_source() -> Result<String, String> {
    const BY_THEMSELVES: [&str; 3] = ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page"];
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    match fs::read_to_string(path).as_deref().map(str::trim) {
        Ok(name) if !BY_THEMSELVES.contains(&name) => Err(format!("the clock source is {name}")),
        Ok(name) => Ok(name.to_owned()),
        Err(_) => Ok(String::new()),
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
        .map(|()| printable_path(&folder))
        .map_err(|error| format!("{}: {error}", printable_path(&folder)))
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
