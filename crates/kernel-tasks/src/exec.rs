//! Finding and starting a program: what `execve` does between its arguments and the new image.

use std::rc::Rc;

use kernel_core::credentials::Credentials;
use kernel_core::io::VecSink;
use kernel_core::supervisor::{self, ProcessEvent, Right};
use kernel_files::landlock;
use kernel_files::notify::{self, Event};
use kernel_files::open::{Fresh, open_location};
use kernel_files::permission::{self, Want};
use kernel_files::text_busy::InUse;
use kernel_files::walk::{LastLink, lookup};
use kernel_files::{Access, FileKind, Location, MapRequest, OpenFile};
use kernel_loader::{LoadRequest, load};
use linux_abi::files::{MountFlags, OpenFlags};
use linux_abi::tasks::rlimit;
use linux_abi::{Errno, SysResult};

use crate::Thread;
use crate::identity::{self, FileIds};
use crate::process::Program;
use crate::thread::NewProgram;

mod script;

pub use script::{Script, parse_script};

/// How many scripts may be each other's interpreters.
const MAX_SCRIPTS: u32 = 5;

const SET_USER_ID: u32 = 0o4000;
const SET_GROUP_ID: u32 = 0o2000;
const GROUP_EXECUTE: u32 = 0o010;

/// Which file to run.
pub enum Executable<'a> {
    /// The file that a path names, from `start` if it is relative.
    Path {
        /// Where relative paths begin.
        start: &'a Location,
        /// The path.
        path: &'a [u8],
        /// Whether a symbolic link at its end is followed.
        last_link: LastLink,
    },
    /// The file behind a descriptor (`AT_EMPTY_PATH`).
    File(&'a Location),
}

/// What to run.
pub struct ExecRequest<'a> {
    /// The file.
    pub executable: Executable<'a>,
    /// The path by which the program, or the interpreter of a script, finds the file.
    pub name: &'a [u8],
    /// The file is behind a descriptor that `execve` closes, so that no interpreter could open
    /// it.
    pub is_closed_on_exec: bool,
    /// The arguments.
    pub argv: Vec<Vec<u8>>,
    /// The environment.
    pub envp: Vec<Vec<u8>>,
}

/// How many bytes arguments and environment may take together, with a pointer for each.
pub fn argument_limit(thread: &Thread) -> u64 {
    const LEAST: u64 = 128 << 10;
    const MOST: u64 = 6 << 20;
    let stack = thread.process().limit(rlimit::STACK).map_or(MOST, |limit| limit.current);
    (stack / 4).clamp(LEAST, MOST)
}

/// Runs another program in the process of `thread`. If this fails nothing has changed.
pub fn execute(thread: &Rc<Thread>, request: ExecRequest<'_>) -> SysResult<()> {
    thread.exec(prepare(thread, request)?)
}

/// Finds and loads a program for [`Thread::exec`].
pub fn prepare(thread: &Rc<Thread>, request: ExecRequest<'_>) -> SysResult<NewProgram> {
    let ExecRequest { executable, name, is_closed_on_exec, mut argv, envp } = request;
    if argv.is_empty() {
        argv.push(Vec::new());
    }
    let finder = Finder::new(thread);
    let mut file = finder.open_program(&executable)?;
    let mut interpreted: Vec<u8> = name.to_vec();
    let mut n_scripts = 0;
    while let Some(script) = parse_script(&first_bytes(&file)?)? {
        if is_closed_on_exec {
            return Err(Errno::ENOENT);
        }
        n_scripts += 1;
        if n_scripts > MAX_SCRIPTS {
            return Err(Errno::ELOOP);
        }
        let tail = argv.split_off(1);
        argv = [Some(script.interpreter.clone()), script.argument, Some(interpreted)]
            .into_iter()
            .flatten()
            .chain(tail)
            .collect();
        let start = &finder.fs.cwd();
        let path = &script.interpreter;
        let last_link = LastLink::Follow;
        file = finder.open_program(&Executable::Path { start, path, last_link })?;
        interpreted = script.interpreter;
    }
    finder.load(&file, name, &argv, &envp)
}

fn first_bytes(file: &OpenFile) -> SysResult<Vec<u8>> {
    let mut sink = VecSink::new(script::HEAD_SIZE);
    while sink.bytes.len() < script::HEAD_SIZE {
        let offset = sink.bytes.len() as u64;
        if file.ops().read(file, &mut sink, offset)? == 0 {
            break;
        }
    }
    Ok(sink.bytes)
}

/// Looks for files as the caller does.
struct Finder<'a> {
    thread: &'a Rc<Thread>,
    fs: Rc<kernel_files::FsContext>,
    credentials: Rc<Credentials>,
}

impl<'a> Finder<'a> {
    fn new(thread: &'a Rc<Thread>) -> Self {
        Self { thread, fs: thread.fs(), credentials: thread.credentials() }
    }

    fn access<'b>(&'b self, credentials: &'b Rc<Credentials>) -> Access<'b> {
        Access { fs: &self.fs, credentials, caller: &**self.thread }
    }

    fn open_path(&self, path: &[u8]) -> SysResult<Rc<OpenFile>> {
        let start = &self.fs.cwd();
        self.open(&Executable::Path { start, path, last_link: LastLink::Follow })
    }

    /// Opens a program, or a script, that shall be run.
    fn open_program(&self, executable: &Executable<'_>) -> SysResult<Rc<OpenFile>> {
        let file = self.open(executable)?;
        if let Some(supervisor) = supervisor::get() {
            let location = file.location().ok_or(Errno::EACCES)?;
            // A memory file has a name, but no path that a rule could allow.
            let path = location.full_path().unwrap_or_else(|| location.dentry.name().to_vec());
            supervisor.check(Right::Run, &path)?;
        }
        Ok(file)
    }

    /// Opens a file for execution. That takes the permission to execute, not to read.
    fn open(&self, executable: &Executable<'_>) -> SysResult<Rc<OpenFile>> {
        let location = match executable {
            Executable::Path { start, path, last_link } => {
                lookup(&self.access(&self.credentials), start, path, *last_link)?
            }
            Executable::File(location) => (*location).clone(),
        };
        let inode = location.inode()?;
        match inode.kind() {
            FileKind::Regular => {}
            FileKind::Symlink => return Err(Errno::ELOOP),
            _ => return Err(Errno::EACCES),
        }
        if location.mount.flags().contains(MountFlags::NO_EXEC) {
            return Err(Errno::EACCES);
        }
        permission::check(&**inode, &self.credentials, Want::EXECUTE)?;
        landlock::check(&self.credentials, &location, kernel_core::landlock::fs::EXECUTE)?;
        let kernel = Rc::new(Credentials::of_user(0, 0));
        let opened =
            open_location(&self.access(&kernel), &location, OpenFlags::empty(), Fresh::No)?;
        let file = opened.into_file()?;
        notify::at(&location, Event::Open);
        notify::at(&location, Event::Access);
        Ok(file)
    }

    fn load(
        &self,
        file: &Rc<OpenFile>,
        name: &[u8],
        argv: &[Vec<u8>],
        envp: &[Vec<u8>],
    ) -> SysResult<NewProgram> {
        let location = file.location().cloned().ok_or(Errno::EACCES)?;
        let (credentials, secure) =
            identity::after_exec(&self.credentials, self.file_ids(&location)?);
        let stack_limit = self.thread.process().limit(rlimit::STACK)?.current;
        let loaded = load(&LoadRequest {
            program: file,
            name,
            argv,
            envp,
            open: &|path| {
                let file = self.open_path(path)?;
                self.note_mapping(&file);
                Ok(file)
            },
            ids: credentials.shown_ids(),
            secure,
            stack_limit,
            // A tracer shall see the code as it was written.
            interpreters: (!self.thread.is_traced()).then_some(&self.thread.kernel().interpreters),
        })?;
        self.note_mapping(file);
        if let Some((interpreter, copy)) = &loaded.prepared {
            self.thread.note_mapping(interpreter, copy);
        }
        let unreadable =
            permission::check(&**location.inode()?, &self.credentials, Want::READ).is_err();
        let base_name = name.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        let heap_start = loaded.image.brk;
        let command_line = joined(argv);
        if let Some(supervisor) = supervisor::get() {
            let path = location.full_path().unwrap_or_else(|| location.dentry.name().to_vec());
            let event = ProcessEvent::Executed(&path, &command_line);
            supervisor.process(self.thread.process().pid, event);
        }
        Ok(NewProgram {
            image: loaded.image,
            program: Program {
                location: Some(location.clone()),
                executable: location.display_path(&self.fs.root()),
                command_line,
                environment: joined(envp),
                auxiliary_vector: loaded.auxiliary_vector,
                strings: loaded.strings,
                heap_start,
            },
            in_use: InUse::for_running(location.inode()?)?,
            name: base_name.to_vec(),
            credentials: Rc::new(credentials),
            is_secret: secure || unreadable,
        })
    }

    /// Whether another process has the same root and working directory, and could move them.
    fn shares_fs_with_others(&self) -> bool {
        let threads = self.thread.process().threads();
        let own = threads.iter().filter(|thread| Rc::ptr_eq(&thread.fs(), &self.fs)).count();
        // One handle more is this finder's.
        Rc::strong_count(&self.fs) > own + 1
    }

    /// A program is about to be mapped: `/proc/<pid>/maps` shall know its path.
    fn note_mapping(&self, file: &OpenFile) {
        let request = MapRequest { shared: false, writable: false, offset: 0, length: 1 };
        // A file that cannot be mapped is refused by the loader, in its own words.
        if let Ok(mapped) = file.ops().map(file, request) {
            self.thread.note_mapping(file, &mapped);
        }
    }

    /// What the set-id bits of a file ask for, if the thread and the mount let them.
    fn file_ids(&self, location: &Location) -> SysResult<FileIds> {
        let denied = self.thread.attributes().no_new_privs
            || self.thread.is_traced_by_the_powerless()
            || self.shares_fs_with_others()
            || location.mount.flags().contains(MountFlags::NO_SUID);
        if denied {
            return Ok(FileIds::default());
        }
        let owner = location.inode()?.ownership()?;
        let group_bits = SET_GROUP_ID | GROUP_EXECUTE;
        let namespace = &self.thread.credentials().user_namespace;
        if namespace.uid(owner.uid).is_none() || namespace.gid(owner.gid).is_none() {
            return Ok(FileIds::default());
        }
        Ok(FileIds {
            set_uid: (owner.mode & SET_USER_ID != 0).then_some(owner.uid),
            set_gid: (owner.mode & group_bits == group_bits).then_some(owner.gid),
        })
    }
}

/// The strings one after the other, each with its terminating zero.
fn joined(strings: &[Vec<u8>]) -> Vec<u8> {
    strings.iter().flat_map(|string| string.iter().copied().chain([0])).collect()
}
