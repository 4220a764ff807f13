//! The kernel process: sets itself up, starts the first program, answers guests.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::sync::atomic::Ordering::SeqCst;

use guest_process::staging::StagingTable;
use guest_process::{SharedBell, Zygote, filter};
use host_sys::{SignalDescriptor, rustix};
use kernel_core::credentials::Credentials;
use kernel_core::executor::Executor;
use kernel_core::host_events::HostEvents;
use kernel_core::timers;
use kernel_core::wait::WaitQueue;
use kernel_files::{FdTable, OpenFile};
use kernel_tasks::{Kernel, KernelOptions, Thread};
use linux_abi::files::OpenFlags;
use linux_abi::{Errno, SysResult};
use sandbox::{CapabilityReport, Streams};
use sandbox_spec::{SandboxSpec, Trace};

use crate::control::{self, Ending, News, Purpose, Refusal, Used};
use crate::engine::Engine;
use crate::engine::wait::Policy;
use crate::first_program::NoMachine;
use crate::trace::Tracer;
use crate::{staging, tree};

/// What this backend can promise here.
pub fn capabilities() -> CapabilityReport {
    CapabilityReport { backend: crate::NAME, obstacles: Vec::new(), layers: Vec::new() }
}

/// Is the kernel process, to the end of the sandbox. Never returns.
pub fn run(spec: &SandboxSpec, streams: Streams, starter: UnixStream) -> ! {
    let code = match Sandbox::start(spec, streams, &starter) {
        Ok(sandbox) => {
            let ended = sandbox.serve(&starter);
            match control::send(&starter, &ended) {
                Ok(()) => 0,
                Err(_) => 1,
            }
        }
        Err(refusal) => {
            let _ = control::send(&starter, &News::Refused(refusal));
            0
        }
    };
    std::process::exit(code);
}

fn step(what: &'static str) -> impl Fn(rustix::io::Errno) -> Refusal {
    move |errno| Refusal::Step { step: what.to_owned(), errno: errno.raw_os_error() }
}

fn kernel_step(what: &'static str) -> impl Fn(Errno) -> Refusal {
    move |errno| Refusal::Step { step: what.to_owned(), errno: errno.code().into() }
}

struct Sandbox {
    engine: Rc<Engine>,
    kernel: Rc<Kernel>,
    started: timers::Instant,
    ended_because: Rc<Cell<Option<Ending>>>,
    children: SignalDescriptor,
}

impl Sandbox {
    fn start(spec: &SandboxSpec, streams: Streams, starter: &UnixStream) -> Result<Self, Refusal> {
        const SIGCHLD: u8 = 17;
        let io_step = |what: &'static str| {
            move |error: std::io::Error| Refusal::Step {
                step: what.to_owned(),
                errno: error.raw_os_error().unwrap_or(5),
            }
        };
        let children = SignalDescriptor::new(&[SIGCHLD]).map_err(io_step("watch processes"))?;
        children.set_nonblocking().map_err(io_step("watch processes"))?;
        let tracer = tracer(spec)?;
        let engine = new_engine(tracer)?;
        let options = KernelOptions {
            hostname: spec.hostname.as_bytes().to_vec(),
            ..KernelOptions::default()
        };
        let kernel = Kernel::new(options, engine.host_events.clone())
            .map_err(kernel_step("make the kernel"))?;
        *engine.kernel.borrow_mut() = Some(Rc::clone(&kernel));
        let thread = first_thread(spec, streams, &engine, &kernel)?;
        start_program(spec, &thread)?;
        engine.start_prepared();
        control::send(starter, &News::Started).map_err(io_step("report"))?;
        Ok(Self { engine, kernel, started: timers::now(), ended_because: Rc::default(), children })
    }

    fn serve(&self, starter: &UnixStream) -> News {
        let engine = &self.engine;
        let quiet = WaitQueue::new();
        // None of these can fail for descriptors of their kinds.
        let _doorbell = engine.host_events.watch(engine.doorbell.as_fd(), quiet.clone());
        let _timer = engine.host_events.watch(engine.timer(), quiet.clone());
        let _children = engine.host_events.watch(self.children.as_fd(), quiet.clone());
        let _orders = engine.host_events.watch(starter.as_fd(), quiet);
        let _ = starter.set_nonblocking(true);
        engine.serve_until(|| self.kernel.first_status().is_some());
        engine.kill_all();
        let _ = starter.set_nonblocking(false);
        self.ending()
    }

    fn ending(&self) -> News {
        let used = Used {
            wall: std::time::Duration::from_nanos(timers::now().0 - self.started.0),
            calls: self.engine.n_calls.get(),
            processes: self.kernel.n_forks(),
            ..Used::default()
        };
        if let Some(ending) = self.ended_because.get() {
            return News::Ended(ending, used);
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
        News::Ended(ending, used)
    }
}

fn tracer(spec: &SandboxSpec) -> Result<Option<Tracer>, Refusal> {
    match &spec.trace {
        Trace::Off => Ok(None),
        Trace::Stderr => {
            let copy = std::io::stderr().as_fd().try_clone_to_owned();
            Ok(copy.ok().map(|fd| Tracer::new(File::from(fd))))
        }
        Trace::File(path) => {
            File::create(path).map(|file| Some(Tracer::new(file))).map_err(|error| Refusal::Path {
                purpose: Purpose::Trace,
                path: path.as_os_str().as_bytes().to_vec(),
                errno: error.raw_os_error().unwrap_or(5),
            })
        }
    }
}

fn new_engine(tracer: Option<Tracer>) -> Result<Rc<Engine>, Refusal> {
    /// A site is rewritten at its fourth trap: before that it does not pay.
    const REWRITE_AFTER: u32 = 4;
    let flags = rustix::event::EventfdFlags::CLOEXEC | rustix::event::EventfdFlags::NONBLOCK;
    let doorbell = rustix::event::eventfd(0, flags).map_err(step("make the doorbell"))?;
    let bell = SharedBell::new().map_err(step("make the bell"))?;
    bell.get().rewrite_after.store(REWRITE_AFTER, SeqCst);
    let entries = staging::entries();
    let program = filter::assemble(filter::RULES);
    let table = StagingTable::new(&entries, &program).map_err(step("make the staging table"))?;
    let zygote =
        Zygote::start(&bell, &table, doorbell.as_fd()).map_err(step("start the zygote"))?;
    let n_cpus = std::thread::available_parallelism().map_or(1, Into::into);
    let ring: OwnedFd =
        rustix::io::fcntl_dupfd_cloexec(&doorbell, 0).map_err(step("copy a descriptor"))?;
    let notify = Box::new(move || {
        let _ = rustix::io::write(&ring, &1u64.to_ne_bytes());
    });
    let engine = Rc::new(Engine {
        bell,
        staging: table,
        entries,
        doorbell,
        zygote: RefCell::new(Some(zygote)),
        executor: RefCell::new(Executor::new(notify)),
        host_events: HostEvents::new().map_err(kernel_step("watch the host"))?,
        timers: timers::Timers::new(),
        kernel: RefCell::default(),
        spaces: RefCell::default(),
        free_numbers: RefCell::default(),
        pool: RefCell::default(),
        starting: RefCell::default(),
        dying: RefCell::default(),
        hot: RefCell::default(),
        places: RefCell::default(),
        current: RefCell::default(),
        wakes: RefCell::default(),
        n_threads: Cell::default(),
        n_parked: Cell::default(),
        policy: Policy::new(n_cpus).map_err(step("make a timer"))?,
        n_calls: Cell::default(),
        tracer,
    });
    engine.fill_pool().map_err(kernel_step("fork host processes"))?;
    Ok(engine)
}

fn first_thread(
    spec: &SandboxSpec,
    streams: Streams,
    engine: &Rc<Engine>,
    kernel: &Rc<Kernel>,
) -> Result<Rc<Thread>, Refusal> {
    let fs = tree::build(spec).map_err(kernel_step("build the tree of files"))?;
    let mut files = FdTable::default();
    for stream in [streams.input, streams.output, streams.errors].into_iter().flatten() {
        let ops = Rc::new(tree::TempStream(File::from(stream)));
        files
            .add(OpenFile::new(ops, OpenFlags::RDWR), 0, 16, false)
            .map_err(kernel_step("open the streams"))?;
    }
    let credentials = Rc::new(Credentials::of_user(spec.identity.uid, spec.identity.gid));
    kernel
        .spawn_first(NoMachine::new(engine), credentials, Rc::new(RefCell::new(files)), fs)
        .map_err(kernel_step("make the first process"))
}

fn start_program(spec: &SandboxSpec, thread: &Rc<Thread>) -> Result<(), Refusal> {
    let argv: Vec<Vec<u8>> = spec.program.iter().map(|word| word.as_bytes().to_vec()).collect();
    let envp: Vec<Vec<u8>> =
        spec.environment.iter().map(|(k, v)| [k.as_bytes(), b"=", v.as_bytes()].concat()).collect();
    let fs = thread.fs();
    let credentials = thread.credentials();
    let access = kernel_files::Access { fs: &fs, credentials: &credentials, caller: &**thread };
    let open = |path: &[u8]| -> SysResult<Rc<OpenFile>> {
        let how = kernel_files::open::OpenHow {
            flags: OpenFlags::empty(),
            mode: 0,
            resolve: linux_abi::files::ResolveFlags::empty(),
        };
        kernel_files::open::open(&access, &fs.cwd(), path, &how)?.into_file()
    };
    let name = argv.first().cloned().unwrap_or_default();
    let run = || -> SysResult<()> {
        let program = open(&name)?;
        let loaded = kernel_loader::load(&kernel_loader::LoadRequest {
            program: &program,
            name: &name,
            argv: &argv,
            envp: &envp,
            open: &open,
            ids: [credentials.uid, credentials.euid, credentials.gid, credentials.egid],
            secure: false,
            stack_limit: 8 << 20,
        })?;
        thread.exec(kernel_tasks::thread::NewProgram {
            image: loaded.image,
            program: Default::default(),
            name: name.clone(),
            credentials: credentials.clone(),
            is_secret: false,
        })
    };
    run().map_err(|errno| Refusal::Program(errno.code().into()))
}
