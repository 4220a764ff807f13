//! What `/proc` tells of the system as a whole.

mod load;
mod memory;

use std::rc::Rc;

use kernel_core::timers::boot_time;
use kernel_files::pseudo::Listing;
use kernel_tasks::kernel::{RELEASE, VERSION};
use linux_abi::SysResult;
use linux_abi::time::NANOS_PER_SEC;

use crate::{Sources, sysctl};

/// The file systems that can be mounted, and whether each needs a device.
const FILE_SYSTEMS: &str = "nodev\tsysfs\nnodev\ttmpfs\nnodev\tproc\nnodev\tcgroup2\nnodev\tdevtmpfs\n\
                            nodev\tpipefs\nnodev\tsockfs\nnodev\tdevpts\nnodev\toverlay\n\
                            nodev\tmqueue\n";

const DEVICES: &str = "Character devices:\n  1 mem\n  5 /dev/tty\n  5 /dev/console\n  5 /dev/ptmx\n\
                       \u{20}10 misc\n128 ptm\n136 pts\n\nBlock devices:\n";

const CGROUPS: &str = "#subsys_name\thierarchy\tnum_cgroups\tenabled\n\
                       cpu\t0\t1\t1\nmemory\t0\t1\t1\npids\t0\t1\t1\n";

type Maker = fn(&Sources) -> SysResult<Vec<u8>>;

/// Files whose text is made from the sources.
const MADE: [(&str, Maker); 8] = [
    ("cpuinfo", |sources| sources.facts.cpuinfo()),
    ("interrupts", interrupts),
    ("loadavg", load::average),
    ("meminfo", memory::meminfo),
    ("stat", load::stat),
    ("uptime", uptime),
    ("version", version),
    ("vmstat", memory::vmstat),
];

/// Files that always say the same.
const CONSTANT: [(&str, &str); 12] = [
    ("cgroups", CGROUPS),
    ("cmdline", "console=none\n"),
    ("crypto", ""),
    ("devices", DEVICES),
    ("diskstats", ""),
    ("execdomains", "0-0\tLinux           \t[kernel]\n"),
    ("filesystems", FILE_SYSTEMS),
    ("kallsyms", ""),
    ("locks", ""),
    ("modules", ""),
    ("partitions", "major minor  #blocks  name\n\n"),
    ("swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"),
];

pub(crate) fn listing(sources: &Sources) -> Listing {
    let mut listing = Listing::new();
    for (name, make) in MADE {
        let sources = sources.clone();
        listing = listing.file(name, move || make(&sources));
    }
    for (name, text) in CONSTANT {
        listing = listing.constant(name, text);
    }
    let sources = sources.clone();
    listing
        .link("mounts", "self/mounts")
        .link("net", "self/net")
        .directory("sys", move || sysctl::root(&sources))
        .directory("fs", Listing::new)
        .directory("driver", Listing::new)
        .directory("bus", Listing::new)
        .directory("irq", Listing::new)
        .directory("tty", || {
            Listing::new().constant("drivers", "").constant("ldiscs", "n_tty       0\n")
        })
}

fn uptime(sources: &Sources) -> SysResult<Vec<u8>> {
    let hundredths = boot_time() / (NANOS_PER_SEC / 100);
    let idle = load::idle_hundredths(sources)?;
    let show = |value: u64| format!("{}.{:02}", value / 100, value % 100);
    Ok(format!("{} {}\n", show(hundredths), show(idle)).into_bytes())
}

fn version(_sources: &Sources) -> SysResult<Vec<u8>> {
    Ok(format!("Linux version {RELEASE} (belljar@sandbox) (rustc) {VERSION}\n").into_bytes())
}

/// The head of the table: a sandbox has no interrupts.
fn interrupts(sources: &Sources) -> SysResult<Vec<u8>> {
    let mut text = String::from("    ");
    for cpu in 0..sources.facts.n_cpus() {
        text.push_str(&format!("       CPU{cpu}"));
    }
    text.push('\n');
    Ok(text.into_bytes())
}

impl std::fmt::Debug for Sources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sources").field("facts", &Rc::as_ptr(&self.facts)).finish_non_exhaustive()
    }
}
