//! `/sys`.

use kernel_files::pseudo::Listing;
use linux_abi::SysResult;

use crate::Sources;
use crate::cgroup::memory_used;

pub(crate) fn root(sources: &Sources) -> Listing {
    let sources = sources.clone();
    Listing::new()
        .directory("block", Listing::new)
        .directory("bus", || {
            let bus = || {
                Listing::new().directory("devices", Listing::new).directory("drivers", Listing::new)
            };
            Listing::new().directory("cpu", bus).directory("pci", bus).directory("usb", bus)
        })
        .directory("class", || {
            Listing::new()
                .directory("block", Listing::new)
                .directory("net", || Listing::new().link("lo", "../../devices/virtual/net/lo"))
                .directory("tty", Listing::new)
        })
        .directory("dev", || {
            Listing::new().directory("block", Listing::new).directory("char", Listing::new)
        })
        .directory("devices", move || devices(&sources))
        .directory("firmware", Listing::new)
        .directory("fs", || Listing::new().directory("cgroup", Listing::new))
        .directory("kernel", kernel)
        .directory("module", Listing::new)
        .directory("power", Listing::new)
}

fn devices(sources: &Sources) -> Listing {
    let sources = sources.clone();
    Listing::new()
        .directory("system", move || {
            let (cpus, nodes) = (sources.clone(), sources.clone());
            Listing::new()
                .directory("cpu", move || processors(&cpus))
                .directory("node", move || nodes_of(&nodes))
        })
        .directory("virtual", || {
            Listing::new().directory("net", || Listing::new().directory("lo", loopback))
        })
}

fn processors(sources: &Sources) -> Listing {
    let mut listing = Listing::new().constant("kernel_max", "8191\n").constant("offline", "\n");
    for name in ["online", "possible", "present"] {
        let list = format!("{}\n", sources.facts.cpu_list()).into_bytes();
        listing = listing.file(name, move || Ok(list.clone()));
    }
    for cpu in 0..sources.facts.n_cpus() {
        listing = listing.directory(&format!("cpu{cpu}"), move || processor(cpu));
    }
    listing
}

/// Each processor is a core of its own in one package.
fn processor(cpu: usize) -> Listing {
    Listing::new().directory("topology", move || {
        let number = format!("{cpu}\n").into_bytes();
        let mask =
            format!("{:x}\n", 1_u128.checked_shl(u32::try_from(cpu).unwrap_or(0)).unwrap_or(0));
        let mask = mask.into_bytes();
        let mut listing =
            Listing::new().constant("physical_package_id", "0\n").constant("die_id", "0\n");
        for name in ["core_id", "core_cpus_list", "thread_siblings_list"] {
            let number = number.clone();
            listing = listing.file(name, move || Ok(number.clone()));
        }
        for name in ["core_cpus", "thread_siblings"] {
            let mask = mask.clone();
            listing = listing.file(name, move || Ok(mask.clone()));
        }
        listing
    })
}

/// A bit for each of the first `n` processors, in groups of 32 as Linux shows them.
fn cpu_map(n: usize) -> String {
    let full = std::iter::repeat_n(String::from("ffffffff"), n / 32);
    let rest = (!n.is_multiple_of(32)).then(|| format!("{:x}", (1_u64 << (n % 32)) - 1));
    rest.into_iter().chain(full).collect::<Vec<_>>().join(",")
}

/// One memory node with all processors.
fn nodes_of(sources: &Sources) -> Listing {
    let cpus = format!("{}\n", sources.facts.cpu_list()).into_bytes();
    let map = format!("{}\n", cpu_map(sources.facts.n_cpus())).into_bytes();
    let memory = sources.clone();
    Listing::new()
        .constant("has_cpu", "0\n")
        .constant("has_memory", "0\n")
        .constant("online", "0\n")
        .constant("possible", "0\n")
        .directory("node0", move || {
            let cpus = cpus.clone();
            let (map, memory) = (map.clone(), memory.clone());
            Listing::new()
                .file("cpulist", move || Ok(cpus.clone()))
                .file("cpumap", move || Ok(map.clone()))
                .constant("distance", "10\n")
                .file("meminfo", move || node_memory(&memory))
        })
}

fn node_memory(sources: &Sources) -> SysResult<Vec<u8>> {
    let total = sources.facts.memory_total() / 1024;
    let free = total.saturating_sub(memory_used(&sources.kernel) / 1024);
    Ok(format!(
        "Node 0 MemTotal:       {total:>8} kB\nNode 0 MemFree:        {free:>8} kB\nNode 0 \
         MemUsed:        {:>8} kB\n",
        total - free
    )
    .into_bytes())
}

fn loopback() -> Listing {
    Listing::new()
        .constant("addr_assign_type", "0\n")
        .constant("addr_len", "6\n")
        .constant("address", "00:00:00:00:00:00\n")
        .constant("broadcast", "00:00:00:00:00:00\n")
        .constant("carrier", "1\n")
        .constant("dev_id", "0x0\n")
        .constant("dormant", "0\n")
        .constant("flags", "0x9\n")
        .constant("ifindex", "1\n")
        .constant("iflink", "1\n")
        .constant("link_mode", "0\n")
        .constant("mtu", "65536\n")
        .constant("operstate", "unknown\n")
        .constant("tx_queue_len", "1000\n")
        .constant("type", "772\n")
        .constant("uevent", "INTERFACE=lo\nIFINDEX=1\n")
}

fn kernel() -> Listing {
    Listing::new()
        .directory("debug", Listing::new)
        .directory("mm", || {
            Listing::new().directory("hugepages", Listing::new).directory(
                "transparent_hugepage",
                || {
                    Listing::new()
                        .constant("defrag", "always defer defer+madvise [madvise] never\n")
                        .constant("enabled", "always [madvise] never\n")
                        .constant("hpage_pmd_size", "2097152\n")
                        .constant("shmem_enabled", "always within_size advise [never] deny force\n")
                        .constant("use_zero_page", "1\n")
                },
            )
        })
        .directory("security", Listing::new)
        .constant("fscaps", "1\n")
        .constant("uevent_seqnum", "0\n")
}
