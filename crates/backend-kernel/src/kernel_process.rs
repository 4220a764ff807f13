//! The kernel process: sets itself up, starts the first program, answers guests.

use std::cell::Cell;
use std::io::{BufReader, PipeReader};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::Duration;

use host_sys::{Namespace, SignalDescriptor, rustix};
use kernel_core::clock_steps;
use kernel_core::credentials::Credentials;
use kernel_core::host_events::{HostEvents, Watch as Watched};
use kernel_core::supervisor::{self, Supervisor};
use kernel_core::timers;
use kernel_core::wait::WaitQueue;
use kernel_files::host_stream::OutputBudget;
use kernel_sockets::egress::Egress;
use kernel_tasks::process::CpuTimes;
use kernel_tasks::signals::{send_to_group, send_to_process};
use kernel_tasks::{Kernel, KernelOptions};
use kernel_terminals::Terminal;
use linux_abi::signals::{SigInfo, Signal};
use linux_abi::{Errno, SysResult};
use sandbox::{LayerReport, Streams};
use sandbox_spec::{ConnectionRecord, NetworkPolicy, SandboxSpec};

use crate::ahead::{Ahead, Awaited};
use crate::border::{self, Border};
use crate::control::{self, Ending, News, Order, Refusal, Used};
use crate::engine::Engine;
use crate::engine::start::new_engine;
use crate::first_program::NoMachine;
use crate::limits::Watch;
use crate::porter::Line;
use crate::results::Results;
use crate::supervision::Supervision;
use crate::terminal_jobs::{self, JobWatch};
use crate::{capabilities, first_program, lockdown, trace, tree};

/// What the kernel process has of the process that started it.
pub struct Starter {
    /// Orders come from here, news go there.
    pub socket: UnixStream,
    /// Who has the keys, if there is a terminal.
    pub keyboard: Option<PipeReader>,
}

/// Is the kernel process, to the end of the sandbox. Never returns.
pub fn run(
    spec: &SandboxSpec,
    namespaces: &[Namespace],
    streams: Streams,
    starter: Starter,
    line: Option<Line>,
    ahead: Ahead,
) -> ! {
    end_at_panic();
    let Starter { socket: starter, keyboard } = starter;
    let mut orders = BufReader::new(&starter);
    // What the starter blocks for its own use is no business of the guest's processes.
    if host_sys::unblock_all_signals().is_err() {
        host_sys::exit_at_once(1);
    }
    let started = match control::receive(&mut orders) {
        Ok(Some(Order::Begin(group))) => {
            let mut layers = capabilities::layers(namespaces);
            lockdown::note(&mut layers, group);
            let streams = (streams, keyboard);
            Sandbox::start(spec, layers, streams, &starter, line, Awaited { ahead, orders })
        }
        _ => host_sys::exit_at_once(1), // the starter is gone
    };
    // The host takes everything apart at once; one by one takes longer, and the starter waits.
    match started {
        Ok(sandbox) => {
            let ended = sandbox.serve(&starter);
            let told = sandbox.tell_activity(&starter);
            let told = told.and_then(|()| control::send(&starter, &ended));
            host_sys::exit_at_once(i32::from(told.is_err()))
        }
        Err(refusal) => {
            let _ = control::send(&starter, &News::Refused(refusal));
            host_sys::exit_at_once(0)
        }
    }
}

/// What the kernel process ends with when an assertion of its own fails.
pub const PANICKED: i32 = 101;

/// Has a panic end the process after it was told, by a call that its filter knows.
fn end_at_panic() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        tell(panic);
        host_sys::exit_at_once(PANICKED);
    }));
}

pub(crate) fn step(what: &'static str) -> impl Fn(rustix::io::Errno) -> Refusal {
    move |errno| Refusal::Step { step: what.to_owned(), errno: errno.raw_os_error() }
}

pub(crate) fn kernel_step(what: &'static str) -> impl Fn(Errno) -> Refusal {
    move |errno| Refusal::Step { step: what.to_owned(), errno: errno.code().into() }
}

pub(crate) fn io_step(what: &'static str) -> impl Fn(std::io::Error) -> Refusal {
    move |error| Refusal::Step {
        step: what.to_owned(),
        errno: error.raw_os_error().unwrap_or(rustix::io::Errno::IO.raw_os_error()),
    }
}

/// As many host processes as the mechanism has room for.
pub const MOST_TASKS: u32 = 4000;

/// What the guest may write to its standard streams. More ends the sandbox, after the call that
/// wanted more.
fn output_budget(
    spec: &SandboxSpec,
    kernel: &Rc<Kernel>,
    because: &Rc<Cell<Option<Ending>>>,
) -> Option<Rc<OutputBudget>> {
    let (kernel, because) = (Rc::downgrade(kernel), Rc::clone(because));
    let end = move || {
        let Some(kernel) = kernel.upgrade() else { return };
        // Said at once: the guest may end by itself before the next timer.
        because.set(Some(Ending::OutputExceeded));
        let timers = Rc::clone(&kernel);
        timers.timers.at(timers::now(), move || kernel.kill_all());
    };
    Some(OutputBudget::new(spec.limits.output?.0, end))
}

struct Sandbox {
    engine: Rc<Engine>,
    kernel: Rc<Kernel>,
    terminal: Option<Rc<Terminal>>,
    started: timers::Instant,
    /// When the time of the specification is over.
    deadline: Option<timers::Instant>,
    /// The first process has ended.
    is_over: Cell<bool>,
    ended_because: Rc<Cell<Option<Ending>>>,
    watch: Rc<Watch>,
    supervision: Option<Rc<Supervision>>,
    children: SignalDescriptor,
    /// Children and orders.
    _watches: [Watched; 2],
    /// Whether the first process is stopped, if that concerns a terminal.
    _job: Option<Rc<JobWatch>>,
    results: Results,
    border: Option<Rc<Border>>,
}

impl Sandbox {
    fn start(
        spec: &SandboxSpec,
        mut layers: Vec<LayerReport>,
        (streams, keyboard): (Streams, Option<PipeReader>),
        starter: &UnixStream,
        line: Option<Line>,
        mut awaited: Awaited<'_>,
    ) -> Result<Self, Refusal> {
        let ignored = host_sys::ignored_signals();
        let children = become_kernel_process()?;
        let host_events = HostEvents::new().map_err(kernel_step("watch the host"))?;
        clock_steps::watch(&host_events).map_err(kernel_step("watch the clock"))?;
        let options = KernelOptions {
            hostname: spec.hostname.as_bytes().to_vec(),
            max_tasks: spec.limits.processes.unwrap_or(MOST_TASKS).min(MOST_TASKS),
            memory_limit: spec.limits.memory.map(|size| size.0),
        };
        let kernel = Kernel::new(options, host_events).map_err(kernel_step("make the kernel"))?;
        let border = open_border(spec, &kernel, line)?;
        // Folders that are made for the user get the user's mask.
        let results = Results::open(spec, tree::build(spec, &kernel)?)?;
        // From here on files are made for the guest, whose own mask the kernel has applied.
        rustix::process::umask(rustix::fs::Mode::empty());
        let fs = results.context();
        let supervision = Supervision::of(spec, &fs);
        supervisor::set(supervision.clone().map(|supervision| supervision as Rc<dyn Supervisor>));
        let (uid, gid) = (spec.identity.uid, spec.identity.gid);
        let ended_because = Rc::default();
        let budget = output_budget(spec, &kernel, &ended_because);
        let events = &kernel.host_events;
        let keyboard = terminal_jobs::keyboard(keyboard, starter, &kernel, &ended_because)?;
        let streams = tree::open_streams(streams, &kernel, events, uid, budget.as_ref(), keyboard)
            .map_err(kernel_step("open the streams"))?;
        // What the host has to open for us is open; what comes now is held to the mounts.
        let tracer = trace::open(spec)?;
        lockdown::note(&mut layers, awaited.restrict_files(spec));
        let engine = new_engine(&kernel, tracer)?;
        if let Some(supervision) = &supervision {
            supervision.set_engine(&engine);
        }
        let watches =
            watch_the_host(&engine, &children, starter).map_err(kernel_step("watch the host"))?;
        let mut credentials = Credentials::of_user(uid, gid);
        credentials.groups = spec.identity.groups.clone().into();
        let thread = kernel
            .spawn_first(NoMachine::new(&engine), Rc::new(credentials), streams.files, fs)
            .map_err(kernel_step("make the first process"))?;
        first_program::set_limits(&thread, &spec.limits);
        first_program::inherit_ignored(&thread, &ignored);
        if let Some(terminal) = &streams.terminal {
            first_program::take_terminal(&thread, terminal);
        }
        let job = JobWatch::of(streams.terminal.as_ref(), &kernel, starter)?;
        awaited.offer_loader(&kernel.interpreters);
        first_program::start(spec, &thread).map_err(|refusal| match &supervision {
            Some(supervision) => supervision.denied_program().map_or(refusal, Refusal::Denied),
            None => refusal,
        })?;
        lockdown::note(&mut layers, lockdown::restrict_calls());
        lockdown::check(spec, &layers)?;
        engine.start_prepared();
        control::send(starter, &News::Started(layers)).map_err(io_step("report"))?;
        let sandbox = Self {
            watch: Watch::new(&engine, &kernel, &spec.limits, &ended_because),
            engine,
            kernel,
            terminal: streams.terminal,
            started: timers::now(),
            deadline: deadline(spec),
            is_over: Cell::new(false),
            ended_because,
            supervision,
            children,
            _watches: watches,
            _job: job,
            results,
            border,
        };
        sandbox.set_timeout();
        Ok(sandbox)
    }

    fn set_timeout(&self) {
        let Some(deadline) = self.deadline else { return };
        let (kernel, because) = (Rc::clone(&self.kernel), Rc::clone(&self.ended_because));
        self.kernel.timers.at(deadline, move || {
            because.set(Some(Ending::TimedOut));
            kernel.kill_all();
        });
    }

    fn serve(&self, starter: &UnixStream) -> News {
        let engine = &self.engine;
        let _ = starter.set_nonblocking(true);
        let mut orders = BufReader::new(starter);
        self.watch.set();
        engine.serve_until(
            || self.kernel.first_status().is_some() || engine.has_lost_its_zygote(),
            |has_news| {
                if has_news {
                    while self.children.read().is_ok() {}
                    self.obey(&mut orders);
                }
                self.watch.set();
            },
        );
        let spent = self.kernel.cpu_times();
        if engine.has_lost_its_zygote() && self.ended_because.get().is_none() {
            self.ended_because.set(Some(Ending::ZygoteDied));
        }
        engine.kill_all();
        self.is_over.set(true);
        if self.deadline.is_some() {
            // If it does not arrive, the starter is gone or ends us.
            let _ = control::send(starter, &News::NoneRuns);
        }
        self.show_output(&mut orders);
        let _ = starter.set_nonblocking(false);
        // What is done from here on is not the guest's.
        supervisor::set(None);
        // Nobody waits for the results of a sandbox that was told to end.
        if self.ended_because.get() != Some(Ending::Killed) {
            self.results.deliver(starter);
        }
        self.results.tidy();
        if let Some(border) = &self.border {
            border.finish();
        }
        self.ending(spent)
    }

    /// Waits until a terminal that is slower than the guest was has shown everything, or nobody
    /// wants to wait for that any longer.
    fn show_output(&self, orders: &mut BufReader<&UnixStream>) {
        /// How often to look for orders meanwhile.
        const PATIENCE: Duration = Duration::from_millis(20);
        let Some(terminal) = &self.terminal else { return };
        while !matches!(self.ended_because.get(), Some(Ending::Killed | Ending::TimedOut))
            && !terminal.show(PATIENCE)
        {
            if self.deadline.is_some_and(|deadline| deadline <= timers::now()) {
                self.ended_because.set(Some(Ending::TimedOut));
            }
            self.obey(orders);
        }
    }

    /// Does what the starter orders. When the starter is gone, nobody waits for the guest.
    fn obey(&self, orders: &mut BufReader<&UnixStream>) {
        loop {
            match control::receive::<Order>(orders) {
                Ok(Some(Order::Begin(_) | Order::Files(_) | Order::Loader(_))) => {}
                Ok(Some(Order::Signal(number))) => self.signal(number),
                Ok(Some(Order::Kill)) | Ok(None) => {
                    self.ended_because.set(Some(Ending::Killed));
                    self.kernel.kill_all();
                    return;
                }
                Err(_) => return, // nothing more for now
            }
        }
    }

    /// A signal to `belljar` goes to the first process; what a terminal makes goes to the
    /// foreground of the guest's terminal, whose window may have changed, or to the job that the
    /// first process leads.
    fn signal(&self, number: u8) {
        let Some(signal) = Signal::new(number.into()) else { return };
        if signal == Signal::SIGWINCH
            && let Some(terminal) = &self.terminal
        {
            return tree::follow_host_size(terminal);
        }
        if self.is_over.get() {
            // Only the terminal is waited for, and nobody inside is left to take a signal.
            self.ended_because.set(Some(Ending::Killed));
        }
        let Some(first) = self.kernel.first() else { return };
        // As from the kernel: nobody inside sent it.
        let info = SigInfo::kernel(signal);
        let is_key = matches!(signal, Signal::SIGINT | Signal::SIGQUIT | Signal::SIGTSTP);
        let foreground = self.terminal.as_ref().filter(|_| is_key).and_then(|it| it.foreground());
        match foreground.and_then(|group| self.kernel.ids.group(group)) {
            Some(group) => send_to_group(&group, signal, info),
            None if is_key || signal == Signal::SIGCONT => {
                send_to_group(&first.group(), signal, info);
            }
            None => _ = send_to_process(&first, signal, info),
        }
    }

    /// Tells the starter what the guest did, if anybody looked on.
    fn tell_activity(&self, starter: &UnixStream) -> std::io::Result<()> {
        let Some(supervision) = &self.supervision else { return Ok(()) };
        control::send(starter, &News::Activity(Box::new(supervision.activity())))
    }

    fn ending(&self, spent: CpuTimes) -> News {
        let used = Used {
            wall: Duration::from_nanos(timers::now().0 - self.started.0),
            user: Duration::from_nanos(spent.user),
            system: Duration::from_nanos(spent.system),
            kernel: own_cpu_time(),
            calls: self.engine.n_calls.get(),
            processes: self.kernel.n_forks(),
            peak_memory: self.watch.peak(),
            memory_kills: self.watch.kills(),
            is_disk_full: self.results.is_disk_full(),
        };
        if let Some(ending) = self.ended_because.get() {
            return News::Ended(ending, used, self.blocked());
        }
        let ending = self.kernel.first_status().map_or(Ending::Killed, |status| {
            match (status.signal(), status.code()) {
                (Some(signal), _) => {
                    let number = u8::try_from(signal.number()).unwrap_or(9);
                    Ending::Signaled(number, status.dumped_core())
                }
                (None, code) => {
                    let code = code.unwrap_or(0) & 0xff;
                    Ending::Exited(u8::try_from(code).unwrap_or(0))
                }
            }
        });
        News::Ended(ending, used, self.blocked())
    }

    /// What guests wanted of the network in vain, where nothing may leave.
    fn blocked(&self) -> Vec<ConnectionRecord> {
        self.kernel.network.blocked.list().into_iter().map(border::offline_record).collect()
    }
}

/// Lays down what the starter has and a kernel process must not have. Returns who tells of children.
fn become_kernel_process() -> Result<SignalDescriptor, Refusal> {
    const SIGCHLD: u8 = 17;
    // What a terminal or a user sends to the whole job is the starter's, who passes it on.
    host_sys::ignore_signals(&terminal_jobs::OF_THE_STARTER)
        .map_err(io_step("leave signals to the starter"))?;
    host_sys::die_with_parent().map_err(io_step("die with the starter"))?;
    // Before the zygote starts, so that no guest process ever has more than this one.
    host_sys::drop_privileges().map_err(io_step("drop privileges"))?;
    // Every connection that leaves, and every host file in use, is a descriptor of this process.
    host_sys::raise_file_limit().map_err(io_step("raise the limit of open files"))?;
    let children = SignalDescriptor::new(&[SIGCHLD]).map_err(io_step("watch processes"))?;
    children.set_nonblocking().map_err(io_step("watch processes"))?;
    Ok(children)
}

/// Has a sleeping kernel get up for guests, timers, children and orders. A host without descriptors
/// refuses: better now than to sleep for ever.
fn watch_the_host(
    engine: &Engine,
    children: &SignalDescriptor,
    starter: &UnixStream,
) -> SysResult<[Watched; 2]> {
    engine.set_alarms()?;
    let quiet = WaitQueue::new();
    let children = engine.host_events.watch(children.as_fd(), quiet.clone())?;
    Ok([children, engine.host_events.watch(starter.as_fd(), quiet)?])
}

/// When the time of a sandbox that starts now is over.
fn deadline(spec: &SandboxSpec) -> Option<timers::Instant> {
    let nanos = u64::try_from(spec.limits.timeout?.as_nanos()).unwrap_or(u64::MAX);
    Some(timers::now().after(nanos))
}

/// The CPU time of this process.
fn own_cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let nanos = u32::try_from(time.tv_nsec).unwrap_or(0);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), nanos)
}

/// Connects the guests' network with the porter, if there is one.
fn open_border(
    spec: &SandboxSpec,
    kernel: &Kernel,
    line: Option<Line>,
) -> Result<Option<Rc<Border>>, Refusal> {
    let network = &kernel.network;
    network.blocked.watch_for(border::is_metadata);
    if spec.network == NetworkPolicy::None {
        network.forbid_internet();
    }
    let Some(Line { socket, has_ipv6 }) = line else { return Ok(None) };
    let routes = match &spec.network {
        NetworkPolicy::Allow(rules) => egress::policy::Policy::new(rules.clone()).loopback_routes(),
        _ => Vec::new(),
    };
    let border = Border::new(network, &kernel.host_events, socket, routes)
        .map_err(kernel_step("watch the porter"))?;
    if matches!(spec.network, NetworkPolicy::Allow(_)) {
        let egress: Rc<dyn Egress> = Rc::<Border>::clone(&border);
        network.set_egress(egress, has_ipv6);
    }
    Ok(Some(border))
}
