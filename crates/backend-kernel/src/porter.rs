//! Starts the porter of a sandbox: the process that makes its connections, on the host's side.

use std::fs::File;
use std::io::{self, Read};
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use egress::audit_log::AuditLog;
use egress::ledger::{Account, Ledger};
use egress::policy::Decision;
use egress::porter::{self, Duty};
use egress::protocol;
use host_sys::beneath::ResultFile;
use host_sys::rustix;
use host_sys::rustix::process::{Pid, WaitOptions, waitpid};
use host_sys::{Forked, fork_into, lookup_host};
use sandbox::StartError;
use sandbox_spec::{ConnectionRecord, EgressRules, NetworkPolicy, SandboxSpec};

/// A porter, as the process that started it sees it.
pub struct Porter {
    pid: Pid,
    report: UnixStream,
}

/// What the kernel process has of a porter.
pub struct Line {
    /// To talk to it.
    pub socket: OwnedFd,
    /// Whether the host has a way out for IPv6.
    pub has_ipv6: bool,
}

/// Starts a porter if the specification gives it something to do. Returns it, and the line that
/// belongs to the kernel process. To be called before the kernel process is there, and by a process
/// of one thread.
pub fn start(spec: &SandboxSpec) -> Result<Option<(Porter, Line)>, StartError> {
    let rules = match &spec.network {
        NetworkPolicy::Allow(rules) => rules.clone(),
        _ if !spec.publish.is_empty() => EgressRules::default(),
        _ => return Ok(None),
    };
    let host = |cause| StartError::Host { step: "start the porter", cause };
    let audit = open_audit(spec)?;
    let published = publish(spec)?;
    let (line, kernel) = protocol::pair().map_err(|errno| host(errno.into()))?;
    let (report, theirs) = UnixStream::pair().map_err(host)?;
    let duty = Duty { rules, lookup: lookup_host, kernel, published, audit };
    match fork_into(&[]).map_err(host)? {
        Forked::Parent(pid) => {
            Ok(Some((Porter { pid, report }, Line { socket: line, has_ipv6: has_ipv6() })))
        }
        Forked::Child => be_porter(duty, theirs),
    }
}

/// Opens the audit log, empty.
pub fn open_audit(spec: &SandboxSpec) -> Result<Option<AuditLog>, StartError> {
    let Some(path) = &spec.audit else { return Ok(None) };
    let purpose = "write the audit log to";
    let file = ResultFile::create(path);
    let log = |file| Some(AuditLog::new(file, spec.audit_limit.0));
    file.map(log).map_err(|cause| StartError::Path { purpose, path: path.clone(), cause })
}

/// Listens on the published ports, while this process may still have the right to low ones.
fn publish(spec: &SandboxSpec) -> Result<Vec<(OwnedFd, u16)>, StartError> {
    let listen = |port| {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        Ok(OwnedFd::from(listener))
    };
    let ports = spec.publish.iter();
    ports
        .map(|ports| match listen(ports.host) {
            Ok(listener) => Ok((listener, ports.guest)),
            Err(cause) => Err(StartError::Publish { port: ports.host, cause }),
        })
        .collect()
}

/// Is the porter, to the end of the sandbox.
fn be_porter(duty: Duty, report: UnixStream) -> ! {
    let code = match give_up_what_is_not_needed(&duty, &report) {
        Ok(()) => i32::from(porter::run(duty, report).is_err()),
        Err(_) => 1,
    };
    std::process::exit(code);
}

/// The porter has no business with the guest's streams, nor with anything else of the starter's.
fn give_up_what_is_not_needed(duty: &Duty, report: &UnixStream) -> io::Result<()> {
    let mut kept: Vec<BorrowedFd<'_>> = vec![duty.kernel.as_fd(), report.as_fd()];
    kept.extend(duty.published.iter().map(|(listener, _)| listener.as_fd()));
    kept.extend(duty.audit.iter().map(|log| log.file().as_fd()));
    host_sys::close_all_but(&kept)?;
    let nothing = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing)?;
    rustix::stdio::dup2_stdout(&nothing)?;
    rustix::stdio::dup2_stderr(&nothing)?;
    // Signals that a terminal sends are the guest's business.
    rustix::process::setsid()?;
    host_sys::die_with_parent()?;
    host_sys::drop_privileges()
}

impl Porter {
    /// Waits for the porter's end, which is that of the kernel process, and for its account.
    pub fn finish(mut self) -> Account {
        let mut text = Vec::new();
        // A porter that has died has no records; what it let out it has written to the log.
        let _ = self.report.read_to_end(&mut text);
        serde_json::from_slice(&text).unwrap_or_default()
    }
}

impl Drop for Porter {
    fn drop(&mut self) {
        // It ends with the kernel process, or with the line to one that never came to be.
        let _ = waitpid(Some(self.pid), WaitOptions::empty());
    }
}

/// Whether everything is known of what was blocked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// The kernel process has told all of it.
    All,
    /// It was ended before it could.
    NotAll,
}

/// Writes what was blocked where there is no porter to the audit log. Returns how many lines it
/// should have and has not.
pub fn write_offline(audit: AuditLog, records: &[ConnectionRecord], known: Known) -> u64 {
    let mut ledger = Ledger::new(Some(audit));
    for record in records {
        let (verdict, reason, name) = (record.verdict, record.reason.clone(), record.name.clone());
        let decision = Decision { verdict, reason, name };
        ledger.decided(record.kind, record.address, &decision, None);
    }
    if known == Known::NotAll {
        ledger.cut_off();
    }
    ledger.finish().audit_lost
}

/// Nothing is sent.
fn has_ipv6() -> bool {
    UdpSocket::bind("[::]:0").is_ok_and(|socket| socket.connect("[2000::1]:9").is_ok())
}
