//! `/proc/sys`.

use std::cell::RefCell;
use std::rc::Rc;

use host_sys::rustix::rand::{GetRandomFlags, getrandom};
use kernel_core::credentials::cap;
use kernel_core::wait::WaitQueue;
use kernel_files::descriptors::NR_OPEN;
use kernel_files::inode::OpenRequest;
use kernel_files::pseudo::{Listing, TextFile};
use kernel_tasks::Thread;
use kernel_tasks::ids::PID_MAX;
use kernel_tasks::kernel::{RELEASE, VERSION};
use kernel_tasks::namespaces::UtsNamespace;
use linux_abi::{Errno, SysResult};

use crate::Sources;
use crate::facts::random_uuid;

/// The longest value that can be written.
const MAX_VALUE: usize = 256;

pub(crate) fn root(sources: &Sources) -> Listing {
    let sources = sources.clone();
    Listing::new()
        .directory("abi", Listing::new)
        .directory("crypto", || Listing::new().constant("fips_enabled", "0\n"))
        .directory("debug", Listing::new)
        .directory("dev", || {
            Listing::new().directory("tty", || Listing::new().constant("legacy_tiocsti", "0\n"))
        })
        .directory("fs", fs)
        .directory("kernel", move || kernel(&sources))
        .directory("net", net)
        .directory("user", user)
        .directory("vm", vm)
}

trait Values {
    /// Adds a value that root can change. Nothing depends on it, but what was written is read.
    fn value(self, name: &str, default: impl ToString) -> Self;
}

impl Values for Listing {
    fn value(self, name: &str, default: impl ToString) -> Self {
        let value = Rc::new(RefCell::new(format!("{}\n", default.to_string()).into_bytes()));
        self.with(name, move |parent, name| {
            let (shown, changed) = (Rc::clone(&value), Rc::clone(&value));
            let read = move || Ok(shown.borrow().clone());
            let write = move |text: &[u8]| {
                if text.len() > MAX_VALUE {
                    return Err(Errno::EINVAL);
                }
                *changed.borrow_mut() = [text.trim_ascii(), b"\n"].concat();
                Ok(())
            };
            parent.file_in(name, 0o644, (read, write))
        })
    }
}

fn fs() -> Listing {
    Listing::new()
        .directory("binfmt_misc", Listing::new)
        .directory("epoll", || Listing::new().value("max_user_watches", 5_000_000))
        .directory("inotify", || {
            Listing::new()
                .value("max_queued_events", 16_384)
                .value("max_user_instances", 1024)
                .value("max_user_watches", 524_288)
        })
        .directory("mqueue", || {
            Listing::new().value("msg_max", 10).value("msgsize_max", 8192).value("queues_max", 256)
        })
        .constant("aio-max-nr", "65536\n")
        .constant("aio-nr", "0\n")
        .constant("dentry-state", "0\t0\t45\t0\t0\t0\n")
        .value("file-max", i64::MAX)
        .constant("file-nr", "0\t0\t9223372036854775807\n")
        .value("lease-break-time", kernel_files::locks::BREAK_SECONDS)
        .value("leases-enable", 1)
        .value("mount-max", 10_000)
        .value("nr_open", NR_OPEN)
        .constant("overflowgid", "65534\n")
        .constant("overflowuid", "65534\n")
        .value("pipe-max-size", 1 << 20)
        .value("pipe-user-pages-hard", 0)
        .value("pipe-user-pages-soft", 16_384)
        .value("protected_fifos", 0)
        .value("protected_hardlinks", 1)
        .value("protected_regular", 0)
        .value("protected_symlinks", 1)
        .value("suid_dumpable", 0)
}

fn kernel(sources: &Sources) -> Listing {
    let (boot, tasks, last) = (sources.clone(), sources.clone(), sources.clone());
    Listing::new()
        .constant("arch", "x86_64\n")
        .file("cap_last_cap", || Ok(format!("{}\n", cap::LAST).into_bytes()))
        .value("core_pattern", "core")
        .value("core_uses_pid", 0)
        .value("dmesg_restrict", 1)
        .with("domainname", |parent, file| parent.file_in(file, 0o644, UtsFile::Domain))
        .with("hostname", |parent, file| parent.file_in(file, 0o644, UtsFile::Host))
        .value("kptr_restrict", 1)
        .value("msgmax", 8192)
        .value("msgmnb", 16_384)
        .value("msgmni", 32_000)
        .constant("ngroups_max", "65536\n")
        .file("ns_last_pid", move || Ok(format!("{}\n", last.kernel.ids.last().0).into_bytes()))
        .file("osrelease", || Ok(format!("{RELEASE}\n").into_bytes()))
        .constant("ostype", "Linux\n")
        .constant("overflowgid", "65534\n")
        .constant("overflowuid", "65534\n")
        .value("panic", 0)
        .value("perf_event_paranoid", 4)
        .file("pid_max", || Ok(format!("{PID_MAX}\n").into_bytes()))
        .value("printk", "4\t4\t1\t7")
        .directory("pty", || {
            Listing::new()
                .constant("max", "4096\n")
                .constant("nr", "0\n")
                .constant("reserve", "0\n")
        })
        .directory("random", move || random(&boot))
        .value("randomize_va_space", 2)
        .directory("seccomp", || Listing::new().constant("actions_avail", "\n"))
        .value("sem", "32000\t1024000000\t500\t32000")
        .value("shmall", 18_446_744_073_692_774_399_u64)
        .value("shmmax", 18_446_744_073_692_774_399_u64)
        .value("shmmni", 4096)
        .constant("tainted", "0\n")
        .file("threads-max", move || Ok(format!("{}\n", tasks.kernel.max_tasks()).into_bytes()))
        .value("unprivileged_bpf_disabled", 2)
        .file("version", || Ok(format!("{VERSION}\n").into_bytes()))
        .directory("yama", || Listing::new().value("ptrace_scope", 1))
}

/// A name that was written, as `sethostname` takes it.
/// A name of the UTS namespace of whoever opens the file.
#[derive(Clone, Copy)]
enum UtsFile {
    Host,
    Domain,
}

impl TextFile for UtsFile {
    fn read(&self) -> SysResult<Vec<u8>> {
        // Always read as somebody sees it.
        Err(Errno::EINVAL)
    }

    fn bind(&self, request: &OpenRequest<'_>) -> SysResult<Option<Rc<dyn TextFile>>> {
        let namespaces = Thread::of_caller(request.caller)?.namespaces();
        let may_write = namespaces.uts.tag.owner.grants(request.credentials, cap::SYS_ADMIN);
        if request.flags.can_write() && !may_write {
            return Err(Errno::EPERM);
        }
        Ok(Some(Rc::new(OpenUts { uts: Rc::clone(&namespaces.uts), which: *self })))
    }
}

struct OpenUts {
    uts: Rc<UtsNamespace>,
    which: UtsFile,
}

impl TextFile for OpenUts {
    fn read(&self) -> SysResult<Vec<u8>> {
        let name = match self.which {
            UtsFile::Host => self.uts.hostname(),
            UtsFile::Domain => self.uts.domainname(),
        };
        Ok([name, b"\n".to_vec()].concat())
    }

    fn write(&self, text: &[u8]) -> SysResult<()> {
        let name = host_name(text)?;
        match self.which {
            UtsFile::Host => self.uts.set_hostname(name),
            UtsFile::Domain => self.uts.set_domainname(name),
        }
        Ok(())
    }

    fn changes(&self) -> Option<(u64, WaitQueue)> {
        Some(self.uts.changes())
    }
}

fn host_name(text: &[u8]) -> SysResult<Vec<u8>> {
    let name = text.trim_ascii_end();
    if name.len() > 64 { Err(Errno::EINVAL) } else { Ok(name.to_vec()) }
}

fn random(sources: &Sources) -> Listing {
    let sources = sources.clone();
    Listing::new()
        .file("boot_id", move || Ok(format!("{}\n", sources.facts.boot_id()).into_bytes()))
        .file("entropy_avail", || {
            // The host gives random bytes without waiting as soon as it has any at all.
            let is_ready = getrandom(&mut [0_u8; 1], GetRandomFlags::NONBLOCK).is_ok();
            Ok(if is_ready { b"256\n".to_vec() } else { b"0\n".to_vec() })
        })
        .constant("poolsize", "256\n")
        .value("urandom_min_reseed_secs", 60)
        .file("uuid", || Ok(format!("{}\n", random_uuid()).into_bytes()))
        .value("write_wakeup_threshold", 256)
}

fn net() -> Listing {
    Listing::new()
        .directory("core", || {
            Listing::new()
                .value("default_qdisc", "pfifo_fast")
                .value("netdev_max_backlog", 1000)
                .value("optmem_max", 131_072)
                .value("rmem_default", 212_992)
                .value("rmem_max", 212_992)
                .value("somaxconn", 4096)
                .value("wmem_default", 212_992)
                .value("wmem_max", 212_992)
        })
        .directory("ipv4", ipv4)
        .directory("ipv6", || {
            Listing::new()
                .directory("conf", || {
                    let one = || Listing::new().value("disable_ipv6", 0).value("forwarding", 0);
                    Listing::new()
                        .directory("all", one)
                        .directory("default", one)
                        .directory("lo", one)
                })
                .value("bindv6only", 0)
        })
        .directory("unix", || Listing::new().value("max_dgram_qlen", 512))
}

fn ipv4() -> Listing {
    Listing::new()
        .value("ip_default_ttl", 64)
        .value("ip_forward", 0)
        .value("ip_local_port_range", "32768\t60999")
        .value("ip_local_reserved_ports", "")
        .value("ip_nonlocal_bind", 0)
        .value("ip_unprivileged_port_start", 1024)
        .value("ping_group_range", "0\t2147483647")
        .value("tcp_available_congestion_control", "reno cubic")
        .value("tcp_congestion_control", "cubic")
        .value("tcp_fin_timeout", 60)
        .value("tcp_fastopen", 1)
        .value("tcp_keepalive_intvl", 75)
        .value("tcp_keepalive_probes", 9)
        .value("tcp_keepalive_time", 7200)
        .value("tcp_max_syn_backlog", 4096)
        .value("tcp_rmem", "4096\t131072\t6291456")
        .value("tcp_sack", 1)
        .value("tcp_syncookies", 1)
        .value("tcp_timestamps", 1)
        .value("tcp_tw_reuse", 2)
        .value("tcp_window_scaling", 1)
        .value("tcp_wmem", "4096\t16384\t4194304")
}

fn user() -> Listing {
    let names = ["cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts"];
    // There are no other namespaces than the first ones.
    names.iter().fold(Listing::new(), |listing, name| {
        listing.constant(&format!("max_{name}_namespaces"), "0\n")
    })
}

fn vm() -> Listing {
    Listing::new()
        .value("dirty_background_ratio", 10)
        .value("dirty_ratio", 20)
        .value("drop_caches", 0)
        .value("max_map_count", 65_530)
        .value("min_free_kbytes", 67_584)
        .value("mmap_min_addr", 65_536)
        .value("nr_hugepages", 0)
        .value("oom_kill_allocating_task", 0)
        .value("overcommit_kbytes", 0)
        .value("overcommit_memory", 0)
        .value("overcommit_ratio", 50)
        .value("panic_on_oom", 0)
        .value("swappiness", 60)
        .value("vfs_cache_pressure", 100)
}
