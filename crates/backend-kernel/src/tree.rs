//! The tree of files that a guest sees, and its standard streams.

use std::cell::RefCell;
use std::os::unix::ffi::OsStrExt;
use std::rc::Rc;

use host_sys::rustix;
use kernel_core::credentials::Credentials;
use kernel_core::host_events::HostEvents;
use kernel_files::host_stream::{HostStream, OutputBudget};
use kernel_files::root::{Hooks, RootError, SandboxTree, default_root};
use kernel_files::special::SpecialFiles;
use kernel_files::walk::{LastLink, lookup};
use kernel_files::{Access, FdTable, FsContext, Mount, OpenFile};
use kernel_proc::{Sources, SystemFacts, cgroup_fs, proc_fs, sys_fs};
use kernel_tasks::Kernel;
use kernel_tasks::cgroup::CgroupDeviceGate;
use kernel_terminals::Terminal;
use kernel_terminals::keyboard::Keyboard;
use linux_abi::files::{MountFlags, OpenFlags};
use linux_abi::terminals::WindowSize;
use linux_abi::{Errno, Fd, SysResult};
use sandbox::Streams;
use sandbox_spec::SandboxSpec;

use crate::control::{Purpose, Refusal};

/// Builds the tree that the specification describes.
pub fn build(spec: &SandboxSpec, kernel: &Rc<Kernel>) -> Result<SandboxTree, Refusal> {
    let special = SpecialFiles::new();
    kernel.terminals.register(&special);
    special.set_gate(Rc::new(CgroupDeviceGate));
    let facts = Rc::new(SystemFacts::new(kernel.memory_limit()));
    let sources = Sources { kernel: Rc::clone(kernel), facts };
    let hooks = Hooks {
        proc: Some(proc_fs(&sources)),
        sys: Some(sys_fs(&sources)),
        devpts: Some(kernel.terminals.devpts()),
    };
    let tree = default_root(spec, &special, hooks).map_err(refusal)?;
    mount_cgroups(&tree.context, &sources);
    Ok(tree)
}

/// Why a folder cannot take a guest's writes.
const KEEPS_NOTHING: &str = "owners cannot be kept beside its files: its file system has no user \
                             attributes (a tmpfs has them from Linux 6.6 on)";

/// What a tree that cannot be made means for the sandbox.
pub fn refusal(error: RootError) -> Refusal {
    let mut reason = None;
    let (purpose, path, errno) = match error {
        RootError::Root { path, cause } => (Purpose::Root, path, cause),
        RootError::Archive { path, cause } => {
            reason = Some(cause.to_string());
            (Purpose::Root, path, cause.errno())
        }
        RootError::Overlay { path, cause } => {
            reason = match cause {
                Errno::EBUSY => Some(String::from("another sandbox uses it")),
                Errno::EEXIST | Errno::ENOTDIR => Some(String::from("it is no folder")),
                Errno::EOPNOTSUPP => Some(String::from(KEEPS_NOTHING)),
                _ => None,
            };
            (Purpose::Overlay, path, cause)
        }
        RootError::Output { path, cause } => {
            let is_file = matches!(cause, Errno::EEXIST | Errno::ENOTDIR);
            reason = is_file.then(|| String::from("it is no folder"));
            (Purpose::Output, path, cause)
        }
        RootError::Mount { source_path, destination, cause } => {
            let at = destination.display();
            reason = match cause {
                Errno::ENOTDIR => {
                    Some(format!("{at} has to be of the same kind, a folder or a file"))
                }
                Errno::EOPNOTSUPP => Some(String::from(KEEPS_NOTHING)),
                _ => None,
            };
            (Purpose::Mount, source_path, cause)
        }
    };
    let path = path.as_os_str().as_bytes().to_vec();
    Refusal::Path { purpose, path, errno: errno.code().into(), reason }
}

/// Puts the control groups into `/sys`, if the guest has a `/sys`.
fn mount_cgroups(context: &FsContext, sources: &Sources) {
    let nobody = Rc::new(Credentials::of_user(0, 0));
    let access = Access { fs: context, credentials: &nobody, caller: &() };
    let Ok(place) = lookup(&access, &context.root(), b"/sys/fs/cgroup", LastLink::Follow) else {
        return;
    };
    let flags = MountFlags::NO_SUID | MountFlags::NO_DEV | MountFlags::NO_EXEC;
    let flags = flags | MountFlags::RELATIVE_ATIME;
    let mount = Mount::of(cgroup_fs(sources), b"cgroup2", flags);
    let again =
        Mount::new(Rc::clone(&mount.file_system), Rc::clone(&mount.root), b"cgroup2", flags);
    context.special().register_file_system(&again);
    // Fails only if there are too many mounts, which then lack this one.
    let _ = context.namespace().mount(&mount, &place);
}

/// The standard streams of the first program, and the terminal that they are, if they are one.
pub struct OpenStreams {
    /// Descriptors 0 to 2.
    pub files: Rc<RefCell<FdTable>>,
    /// The terminal.
    pub terminal: Option<Rc<Terminal>>,
}

/// Opens the standard streams. Those that are the host's terminal become one terminal of the
/// sandbox.
pub fn open_streams(
    streams: Streams,
    kernel: &Kernel,
    events: &HostEvents,
    uid: u32,
    budget: Option<&Rc<OutputBudget>>,
    mut keyboard: Option<Keyboard>,
) -> SysResult<OpenStreams> {
    let mut table = FdTable::default();
    let mut terminal = None;
    let streams = [streams.input, streams.output, streams.errors];
    for (fd, stream) in (0..).map(Fd).zip(streams) {
        let Some(stream) = stream else { continue };
        let file = if rustix::termios::isatty(&stream) {
            let made = match &terminal {
                Some(made) => Rc::clone(made),
                // There is one wherever a stream is a terminal, and it is used once.
                None => {
                    let keyboard = keyboard.take().ok_or(Errno::ENXIO)?;
                    kernel.terminals.add_host(stream, keyboard, events, uid)?
                }
            };
            let flags = OpenFlags::RDWR | OpenFlags::LARGEFILE;
            let file = OpenFile::new(kernel.terminals.open_file(&made), flags);
            terminal = Some(made);
            file
        } else {
            let budget = budget.filter(|_| fd != Fd(0)).cloned();
            HostStream::open(stream, events, budget)?
        };
        table.replace(fd, file, 16, false)?;
    }
    Ok(OpenStreams { files: Rc::new(RefCell::new(table)), terminal })
}

/// The host's terminal may have another size: the guest's gets it too.
pub fn follow_host_size(terminal: &Terminal) {
    // Whichever stream is the terminal; the kernel process has the starter's streams.
    for stream in [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()] {
        if let Ok(size) = rustix::termios::tcgetwinsize(stream) {
            terminal.resize(WindowSize {
                rows: size.ws_row,
                columns: size.ws_col,
                width: size.ws_xpixel,
                height: size.ws_ypixel,
            });
            return;
        }
    }
}
