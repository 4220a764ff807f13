//! The side of the process that starts a sandbox.

use std::io::{self, BufReader, PipeWriter, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use egress::audit_log::AuditLog;
use host_sys::rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use host_sys::rustix::termios::isatty;
use host_sys::{Forked, Namespace, map_users};
use kernel_files::copy_out::list_changes;
use kernel_files::root::kept_tree;
use kernel_terminals::keyboard::Keys;
use linux_abi::Errno;
use sandbox::{
    Control, ControlError, End, ExitReport, LayerReport, LayerState, ProgramError, Sandbox,
    StartError, Streams, TerminalEvent, Usage, WaitError,
};
use sandbox_spec::{Change, ConnectionRecord, HeldPlace, SandboxSpec};

use crate::ahead::Ahead;
use crate::control::{self, Ending, News, Order, Purpose, Refusal, Used};
use crate::control_group::{self, ControlGroup};
use crate::kernel_process::Starter;
use crate::porter::{self, Known, Line, Porter};
use crate::{NAME, capabilities, held_places, kernel_process, namespaces};

/// What a process dies of that breaks its filter.
const SIGSYS: i32 = 31;
/// What the host kills by that has no memory left.
const SIGKILL: u8 = 9;
/// How much later than the kernel process itself its starter ends it for the time that is over.
const GRACE: Duration = Duration::from_secs(5);
/// How long a sandbox whose time is limited may take to start, beside that time: a root may be a large
/// archive, or on a slow disk.
const START_GRACE: Duration = Duration::from_secs(20);

/// Starts a kernel process, and waits until it has loaded the program.
pub fn start(spec: &SandboxSpec, streams: Streams) -> Result<Box<dyn Sandbox>, StartError> {
    // The kernel process needs the result, and need not wait for it.
    host_sys::begin_to_count_ticks();
    let Some(program) = spec.program.first() else { return Err(StartError::NoProgram) };
    check_host()?;
    let spec = &*held_places::hold(spec)?;
    let host = |step| move |cause| StartError::Host { step, cause };
    let (porter, line) = porter::start(spec)?.unzip();
    let audit = if porter.is_none() { porter::open_audit(spec)? } else { None };
    let group = control_group::make(spec);
    let ahead = Ahead::new(spec);
    let (keys, keyboard) = match has_terminal(&streams) {
        true => io::pipe().map(|(theirs, ours)| (Some(ours), Some(theirs))),
        false => Ok((None, None)),
    }
    .map_err(host("make a pipe"))?;
    let (ours, theirs) = UnixStream::pair().map_err(host("make a socket"))?;
    let (forked, namespaces) = namespaces::fork().map_err(host("start the kernel process"))?;
    let pid = match forked {
        Forked::Parent(pid) => pid,
        Forked::Child => {
            drop((ours, keys));
            let starter = Starter { socket: theirs, keyboard };
            close_what_is_not_ours(spec, &streams, &starter, line.as_ref(), &ahead);
            kernel_process::run(spec, namespaces, streams, starter, line, ahead);
        }
    };
    let has_pid_namespace = namespaces.contains(&Namespace::Pid);
    // Guest processes that the kernel process did not know would outlive it.
    host_sys::adopt_orphans(!has_pid_namespace).map_err(host("adopt guest processes"))?;
    if namespaces.contains(&Namespace::User) {
        map_users(pid).map_err(host("map users"))?;
    }
    let group = group.and_then(|group| match group.take(pid) {
        Ok(()) => Ok(group),
        Err(error) => Err(LayerState::Unavailable(error.to_string())),
    });
    let (group, state) = match group {
        Ok(group) => (Some(group), LayerState::InForce),
        Err(state) => (None, state),
    };
    let begin = Order::Begin(control_group::report(state));
    control::send(&ours, &begin).map_err(host("start the kernel process"))?;
    drop((theirs, keyboard, streams, line));
    ahead.make(spec, &ours);
    let writer = ours.try_clone().map_err(host("copy a descriptor"))?;
    let mut handle = Handle {
        pid,
        reader: BufReader::new(ours),
        remote: Remote { orders: writer, keys },
        has_ended: false,
        reaped: None,
        porter,
        audit,
        group,
        layers: Vec::new(),
        connections: Vec::new(),
        lists_changes: spec.lists_changes,
        started: Instant::now(),
        ends_by: None,
        has_pid_namespace,
    };
    let news = handle.news_of_start(spec.limits.timeout);
    match news.map_err(host("hear of the kernel process"))? {
        Some(News::Started(layers)) => {
            handle.layers = layers;
            handle.set_time(spec.limits.timeout);
            Ok(Box::new(handle))
        }
        Some(News::Refused(refusal)) => Err(refused(PathBuf::from(program), refusal, spec)),
        Some(_) | None => Err(StartError::KernelDied(handle.obituary())),
    }
}

/// Whether a sandbox can be started here at all.
fn check_host() -> Result<(), StartError> {
    if capabilities::is_nested() {
        return Err(StartError::Nested);
    }
    match capabilities::obstacles().into_iter().next() {
        Some(reason) => Err(StartError::HostUnsuitable { backend: NAME, reason }),
        None => Ok(()),
    }
}

/// What differs from the root in the folder that keeps writes. Nothing of a guest's runs, so this
/// process itself may look: it is done as the kernel does it, beneath the folder.
pub fn kept_changes(spec: &SandboxSpec) -> Result<Vec<Change>, StartError> {
    let tree = kept_tree(spec)
        .map_err(|error| refused(PathBuf::new(), crate::tree::refusal(error), spec))?;
    list_changes(&tree).map_err(|errno| StartError::Host {
        step: "compare the files with the root",
        cause: io::Error::from_raw_os_error(errno.code().into()),
    })
}

fn has_terminal(streams: &Streams) -> bool {
    [&streams.input, &streams.output, &streams.errors].into_iter().flatten().any(isatty)
}

/// In the kernel process: closes what the starter has open for itself. A pipe that the starter
/// closes would otherwise stay open in here.
fn close_what_is_not_ours(
    spec: &SandboxSpec,
    streams: &Streams,
    starter: &Starter,
    line: Option<&Line>,
    ahead: &Ahead,
) {
    let streams = [&streams.input, &streams.output, &streams.errors];
    let mut kept: Vec<BorrowedFd<'_>> = streams.into_iter().flatten().map(AsFd::as_fd).collect();
    kept.push(starter.socket.as_fd());
    kept.extend(starter.keyboard.as_ref().map(AsFd::as_fd));
    kept.extend(line.map(|line| line.socket.as_fd()));
    kept.extend(ahead.descriptors());
    kept.extend(spec.held_places().filter_map(HeldPlace::descriptor));
    if host_sys::close_all_but(&kept).is_err() {
        std::process::exit(1);
    }
}

fn refused(program: PathBuf, refusal: Refusal, spec: &SandboxSpec) -> StartError {
    use std::os::unix::ffi::OsStringExt;
    let path = |bytes: Vec<u8>| PathBuf::from(std::ffi::OsString::from_vec(bytes));
    match refusal {
        Refusal::CommandNotFound => ProgramError::CommandNotFound(program).into(),
        Refusal::InterpreterNotFound(interpreter) => {
            ProgramError::InterpreterNotFound { program, interpreter: path(interpreter) }.into()
        }
        Refusal::Denied(program) => ProgramError::DeniedByPolicy(path(program)).into(),
        Refusal::Program(code) => {
            let errno = Errno::from_code(code).unwrap_or(Errno::EIO);
            ProgramError::from_errno(program, errno).into()
        }
        Refusal::WorkingDirectory => StartError::WorkingDirectory(spec.working_directory.clone()),
        Refusal::Path { purpose, path: which, errno, reason } => StartError::Path {
            purpose: match purpose {
                Purpose::Root => "use as root",
                Purpose::Mount => "mount",
                Purpose::Trace => "write the trace to",
                Purpose::Overlay => "keep the guest's writes in",
                Purpose::Output => "copy to",
            },
            path: path(which),
            cause: match reason {
                Some(reason) => io::Error::other(reason),
                None => io::Error::from_raw_os_error(errno),
            },
        },
        Refusal::Step { step, errno } => {
            let cause = io::Error::from_raw_os_error(errno);
            StartError::Host {
                step: "set the sandbox up",
                cause: io::Error::new(cause.kind(), format!("{step}: {cause}")),
            }
        }
        Refusal::Layer(report) => StartError::LayerUnavailable {
            layer: report.layer,
            reason: report.reason_against().unwrap_or_default().to_owned(),
        },
    }
}

/// A running sandbox.
struct Handle {
    pid: Pid,
    reader: BufReader<UnixStream>,
    remote: Remote,
    /// The kernel process has said how the sandbox ended, and ends by itself. The host takes its time
    /// to take it apart, in which its starter has other things to do.
    has_ended: bool,
    reaped: Option<String>,
    porter: Option<Porter>,
    /// The audit log, where there is no porter that writes it.
    audit: Option<AuditLog>,
    group: Option<ControlGroup>,
    connections: Vec<ConnectionRecord>,
    lists_changes: bool,
    layers: Vec<LayerReport>,
    started: Instant,
    /// When no guest may run any more, whatever the kernel process does; `None` once none does.
    ends_by: Option<Instant>,
    /// The host ends every guest process with the kernel process.
    has_pid_namespace: bool,
}

impl Handle {
    /// The time of the start, or of the guest, begins.
    fn set_time(&mut self, limit: Option<Duration>) {
        self.started = Instant::now();
        let time = limit.and_then(|time| time.checked_add(GRACE));
        self.ends_by = time.and_then(|time| self.started.checked_add(time));
    }

    /// The next news of the kernel process. One that does not end its guests in time is stuck, and is
    /// ended: the host gives no news of it then.
    fn news(&mut self) -> io::Result<Option<News>> {
        if let Some(ends_by) = self.ends_by {
            let left = ends_by.saturating_duration_since(Instant::now());
            // Zero would mean: for ever.
            let left = left.max(Duration::from_millis(1));
            self.reader.get_ref().set_read_timeout(Some(left))?;
        }
        let news = control::receive(&mut self.reader);
        if matches!(news, Ok(Some(News::NoneRuns))) {
            self.ends_by = None;
            self.reader.get_ref().set_read_timeout(None)?;
        }
        news
    }

    /// The first news of the kernel process, if it comes in time.
    fn news_of_start(&mut self, limit: Option<Duration>) -> io::Result<Option<News>> {
        self.set_time(limit.and_then(|time| time.checked_add(START_GRACE)));
        self.news().map_err(|cause| match cause.kind() {
            // What is left of it goes with the handle.
            io::ErrorKind::WouldBlock => io::Error::other("it is not ready in time"),
            _ => cause,
        })
    }

    /// Writes the audit log where there is no porter that does. What a kernel process has kept from
    /// leaving and has not told is lost, and the log says that. Returns how many lines are missing.
    fn write_offline(&mut self, known: Known) -> u64 {
        let audit = self.audit.take();
        audit.map_or(0, |audit| porter::write_offline(audit, &self.connections, known))
    }

    /// What is known of a sandbox whose kernel process had to be ended.
    fn report_of_stuck(&mut self) -> ExitReport {
        let _ = kill_process(self.pid, Signal::KILL);
        self.obituary();
        self.has_ended = true;
        let offline = self.write_offline(Known::NotAll);
        let seen = self.porter.take().map(Porter::finish).unwrap_or_default();
        self.connections.extend(seen.connections);
        ExitReport {
            end: End::TimedOut,
            usage: usage(&Used { wall: self.started.elapsed(), ..Used::default() }),
            changes: None,
            not_copied: Vec::new(),
            activity: None,
            containment: std::mem::take(&mut self.layers),
            memory_kills: Vec::new(),
            memory_kills_by_host: self.group.take().map_or(0, |it| it.n_memory_kills()),
            audit_lost: offline.saturating_add(seen.audit_lost),
            more_connections: seen.more,
        }
    }

    /// Waits for the kernel process, and says how it ended.
    fn obituary(&mut self) -> String {
        if let Some(words) = &self.reaped {
            return words.clone();
        }
        let words = match waitpid(Some(self.pid), WaitOptions::empty()) {
            Ok(Some((_, status))) => match (status.terminating_signal(), status.exit_status()) {
                (Some(SIGSYS), _) => "it made a host call that its own filter forbids".to_owned(),
                (Some(signal), _) => format!("killed by signal {signal}"),
                (None, Some(kernel_process::PANICKED)) => {
                    "an assertion of its own failed: please report the words above".to_owned()
                }
                (None, Some(code)) => format!("exit code {code}"),
                (None, None) => "unknown status".to_owned(),
            },
            _ => "unknown status".to_owned(),
        };
        if !self.has_pid_namespace {
            host_sys::end_children_of_program(guest_process::zygote::PROGRAM_NAME);
        }
        self.reaped = Some(words.clone());
        words
    }
}

impl Sandbox for Handle {
    fn wait_with(&mut self, tell: &mut dyn FnMut(TerminalEvent)) -> Result<ExitReport, WaitError> {
        let (mut changes, mut not_copied) = (Vec::new(), Vec::new());
        let mut activity = None;
        loop {
            let news = match self.news() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(self.report_of_stuck());
                }
                news => news.map_err(|cause| WaitError::Host {
                    step: "hear of the kernel process",
                    cause,
                })?,
            };
            match news {
                Some(News::Ended(ending, used, blocked)) => {
                    self.has_ended = true;
                    // Both keep account of processes, and it is complete when there is none left.
                    if self.porter.is_some() || self.group.is_some() {
                        self.obituary();
                    }
                    self.connections = blocked;
                    let offline = self.write_offline(Known::All);
                    let seen = self.porter.take().map(Porter::finish).unwrap_or_default();
                    self.connections.extend(seen.connections);
                    let audit_lost = offline.saturating_add(seen.audit_lost);
                    let changes = self.lists_changes.then_some(changes);
                    let group = self.group.take();
                    let memory_kills_by_host = group.map_or(0, |it| it.n_memory_kills());
                    let ending = match ending {
                        Ending::Signaled(SIGKILL, _) if memory_kills_by_host > 0 => {
                            Ending::MemoryExceeded
                        }
                        ending => ending,
                    };
                    let (end, usage) = (end(ending)?, usage(&used));
                    let memory_kills = used.memory_kills;
                    let containment = std::mem::take(&mut self.layers);
                    return Ok(ExitReport {
                        end,
                        usage,
                        changes,
                        not_copied,
                        activity,
                        containment,
                        memory_kills,
                        memory_kills_by_host,
                        audit_lost,
                        more_connections: seen.more,
                    });
                }
                Some(News::KeysWanted) => tell(TerminalEvent::KeysWanted),
                Some(News::Stopped) => tell(TerminalEvent::Stopped),
                Some(News::Changes(some)) => changes.extend(some),
                Some(News::NotCopied(failed)) => not_copied = failed,
                Some(News::Activity(seen)) => activity = Some(seen),
                Some(News::Started(_) | News::Refused(_) | News::NoneRuns) => {}
                None => return Err(WaitError::KernelDied(self.obituary())),
            }
        }
    }

    fn connections(&self) -> &[ConnectionRecord] {
        &self.connections
    }

    fn control(&self) -> Box<dyn Control> {
        self.remote.clone_box()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.reaped.is_none() {
            if !self.has_ended {
                // Every guest process ends with the kernel process.
                let _ = kill_process(self.pid, Signal::KILL);
            }
            self.obituary();
        }
        // Whoever has been told the end has written it.
        self.write_offline(Known::NotAll);
    }
}

/// How a sandbox ended that was not broken.
fn end(ending: Ending) -> Result<End, WaitError> {
    Ok(match ending {
        Ending::Exited(code) => End::Exited { code },
        Ending::Signaled(signal, core) => End::Signaled { signal, core },
        Ending::TimedOut => End::TimedOut,
        Ending::MemoryExceeded => End::MemoryExceeded,
        Ending::CpuTimeExceeded => End::CpuTimeExceeded,
        Ending::OutputExceeded => End::OutputExceeded,
        Ending::Killed => End::Killed,
        Ending::ZygoteDied => return Err(WaitError::ZygoteDied),
        Ending::ProcessesHidden => return Err(WaitError::ProcessesHidden),
    })
}

fn usage(used: &Used) -> Usage {
    Usage {
        wall_time: used.wall,
        user_time: used.user,
        system_time: used.system,
        kernel_time: used.kernel,
        peak_memory: used.peak_memory,
        system_calls: used.calls,
        processes: used.processes,
        is_disk_full: used.is_disk_full,
    }
}

/// Sends orders, also from another thread.
struct Remote {
    orders: UnixStream,
    /// Where the kernel process hears who has the keys, if there is a terminal.
    keys: Option<PipeWriter>,
}

impl Remote {
    fn send(&self, order: Order) -> Result<(), ControlError> {
        Ok(control::send(&self.orders, &order)?)
    }

    fn try_clone(&self) -> io::Result<Self> {
        let keys = self.keys.as_ref().map(PipeWriter::try_clone).transpose()?;
        Ok(Self { orders: self.orders.try_clone()?, keys })
    }
}

/// Stands for a sandbox to which no descriptor could be copied.
struct Unreachable;

impl Control for Unreachable {
    fn signal(&self, _signal: u8) -> Result<(), ControlError> {
        Err(ControlError::Host(io::ErrorKind::NotConnected.into()))
    }

    fn give_keys(&self, _n_shown: Option<usize>) -> Result<(), ControlError> {
        self.signal(0)
    }

    fn kill(&self) -> Result<(), ControlError> {
        self.signal(0)
    }

    fn clone_box(&self) -> Box<dyn Control> {
        Box::new(Self)
    }
}

impl Control for Remote {
    fn signal(&self, signal: u8) -> Result<(), ControlError> {
        self.send(Order::Signal(signal))
    }

    fn give_keys(&self, n_shown: Option<usize>) -> Result<(), ControlError> {
        let Some(mut keys) = self.keys.as_ref() else { return Ok(()) };
        let message = n_shown.map_or(Keys::NotNow, |n_shown| Keys::Ours { n_shown });
        Ok(keys.write_all(&message.to_bytes())?)
    }

    fn kill(&self) -> Result<(), ControlError> {
        self.send(Order::Kill)
    }

    fn clone_box(&self) -> Box<dyn Control> {
        match self.try_clone() {
            Ok(other) => Box::new(other),
            Err(_) => Box::new(Unreachable),
        }
    }
}
