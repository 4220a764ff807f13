//! What `/proc/<pid>` and `/proc/<pid>/task/<tid>` show.

mod cgroup;
mod descriptors;
mod id_maps;
mod identity;
mod limits;
mod maps;
mod memory_file;
mod mounts;
mod namespaces;
mod places;
mod stat;
mod status;
mod tasks;

use std::any::Any;
use std::rc::{Rc, Weak};

use kernel_core::user_namespace::UserNamespace;
use kernel_files::Mount;
use kernel_files::inode::{DirEntry, Inode, OpenRequest};
use kernel_files::metadata::FileKind;
use kernel_files::pseudo::{Listing, Names, Owner, PseudoInode, TextFile};
use kernel_tasks::pidfd::NamedProcess;
use kernel_tasks::process::Flags;
use kernel_tasks::{HostFile, Process, Thread};
use linux_abi::{Errno, SysResult};

use crate::{Sources, network};

/// The process, or the thread, that a directory tells of.
#[derive(Clone)]
pub(crate) struct Subject {
    process: Weak<Process>,
    /// `None` for whichever thread the process has, as `/proc/<pid>` means it.
    thread: Option<Weak<Thread>>,
    /// A directory beneath `task`, which tells of the thread alone.
    is_task: bool,
}

impl Subject {
    pub(crate) fn of_process(process: &Rc<Process>) -> Self {
        Self { process: Rc::downgrade(process), thread: None, is_task: false }
    }

    /// A thread by its number at the top, which shows as a process does.
    pub(crate) fn of_thread_as_process(thread: &Rc<Thread>) -> Self {
        Self {
            process: Rc::downgrade(thread.process()),
            thread: Some(Rc::downgrade(thread)),
            is_task: false,
        }
    }

    fn of_task(thread: &Rc<Thread>) -> Self {
        Self { is_task: true, ..Self::of_thread_as_process(thread) }
    }

    /// The process; `ESRCH` if it was waited for.
    fn process(&self) -> SysResult<Rc<Process>> {
        let process = self.process.upgrade().ok_or(Errno::ESRCH)?;
        let is_known = process.kernel().ids.process(process.pid).is_some();
        if is_known { Ok(process) } else { Err(Errno::ESRCH) }
    }

    /// A living thread; `ESRCH` if there is none, as in a process that waits to be waited for.
    fn thread(&self) -> SysResult<Rc<Thread>> {
        match &self.thread {
            Some(thread) => {
                thread.upgrade().filter(|thread| !thread.has_exited()).ok_or(Errno::ESRCH)
            }
            None => self.process()?.any_thread().ok_or(Errno::ESRCH),
        }
    }

    /// What the host tells of the process; empty if there is no host process any more.
    fn host_text(&self, file: HostFile) -> String {
        let text = self.thread().and_then(|thread| thread.machine().host_text(file));
        String::from_utf8_lossy(&text.unwrap_or_default()).into_owned()
    }

    /// Who owns the files: the process's user, or root if others may not look inside.
    fn owner(&self) -> Owner {
        let Ok(thread) = self.thread() else { return Owner::default() };
        if !thread.process().has_flag(Flags::DUMPABLE) {
            return Owner::default();
        }
        let credentials = thread.credentials();
        Owner { uid: credentials.euid, gid: credentials.egid }
    }
}

/// What the nodes of a process are made from.
#[derive(Clone)]
struct Context {
    subject: Subject,
    sources: Sources,
    nameless: Rc<Mount>,
    /// Where ids are counted for whoever reads; the sandbox's own for nobody.
    reader: Rc<UserNamespace>,
}

impl Context {
    /// The mappings of the process in the host's words.
    fn host_maps(&self) -> String {
        self.subject.host_text(HostFile::Maps)
    }
}

type Reader = fn(&Context) -> SysResult<Vec<u8>>;
type Writer = fn(&Context, &[u8]) -> SysResult<()>;

/// One name of a process's directory.
#[derive(Clone, Copy)]
enum Node {
    Text(Reader),
    /// A text that can be written.
    Value(Reader, Writer),
    Memory,
    /// The control group.
    Cgroup,
    /// A list of mounts.
    Mounts(mounts::Show),
    /// What ids mean.
    IdMap(id_maps::MapFile),
    Place(places::Place),
    Descriptors,
    DescriptorInfo,
    Tasks,
    Namespaces,
    Network,
    Attributes,
}

struct Entry {
    name: &'static str,
    mode: u32,
    node: Node,
    /// Only in the directory of a process, not in that of a thread.
    process_only: bool,
    /// Only in the directory of a thread.
    task_only: bool,
    /// Only for those who may look into the process, whatever the mode says.
    is_private: bool,
}

const fn entry(name: &'static str, mode: u32, node: Node) -> Entry {
    Entry { name, mode, node, process_only: false, task_only: false, is_private: false }
}

const fn process_entry(name: &'static str, mode: u32, node: Node) -> Entry {
    Entry { name, mode, node, process_only: true, task_only: false, is_private: false }
}

const fn private_entry(name: &'static str, mode: u32, node: Node) -> Entry {
    Entry { name, mode, node, process_only: false, task_only: false, is_private: true }
}

const fn task_entry(name: &'static str, mode: u32, node: Node) -> Entry {
    Entry { name, mode, node, process_only: false, task_only: true, is_private: false }
}

const ENTRIES: &[Entry] = &[
    process_entry("task", 0o555, Node::Tasks),
    entry("attr", 0o555, Node::Attributes),
    private_entry("auxv", 0o400, Node::Text(identity::auxv)),
    task_entry("children", 0o444, Node::Text(identity::children)),
    entry("cgroup", 0o444, Node::Cgroup),
    entry("cmdline", 0o444, Node::Text(identity::command_line)),
    entry("comm", 0o644, Node::Value(identity::name, identity::set_name)),
    process_entry(
        "coredump_filter",
        0o644,
        Node::Value(identity::core_filter, identity::set_core_filter),
    ),
    entry("cwd", 0o777, Node::Place(places::Place::WorkingDirectory)),
    private_entry("environ", 0o400, Node::Text(identity::environment)),
    entry("exe", 0o777, Node::Place(places::Place::Executable)),
    entry("fd", 0o500, Node::Descriptors),
    entry("fdinfo", 0o555, Node::DescriptorInfo),
    entry("gid_map", 0o644, Node::IdMap(id_maps::MapFile::Groups)),
    private_entry("io", 0o400, Node::Text(stat::io)),
    entry("limits", 0o444, Node::Text(limits::text)),
    entry("loginuid", 0o644, Node::Text(|_| Ok(b"4294967295".to_vec()))),
    private_entry("maps", 0o444, Node::Text(maps::maps)),
    private_entry("mem", 0o600, Node::Memory),
    entry("mountinfo", 0o444, Node::Mounts(mounts::mountinfo)),
    entry("mounts", 0o444, Node::Mounts(mounts::mounts)),
    process_entry("mountstats", 0o400, Node::Mounts(mounts::mountstats)),
    entry("net", 0o555, Node::Network),
    entry("ns", 0o511, Node::Namespaces),
    entry("oom_adj", 0o644, Node::Value(identity::oom_adj, identity::set_oom_adj)),
    entry("oom_score", 0o444, Node::Text(identity::oom_score)),
    entry(
        "oom_score_adj",
        0o644,
        Node::Value(identity::oom_score_adj, identity::set_oom_score_adj),
    ),
    // Physical addresses are nobody's business.
    entry("pagemap", 0o400, Node::Text(|_| Err(Errno::EPERM))),
    private_entry("personality", 0o400, Node::Text(identity::personality)),
    entry("root", 0o777, Node::Place(places::Place::Root)),
    entry("sched", 0o644, Node::Text(stat::sched)),
    entry("schedstat", 0o444, Node::Text(stat::schedstat)),
    entry("sessionid", 0o444, Node::Text(|_| Ok(b"4294967295".to_vec()))),
    entry("setgroups", 0o644, Node::IdMap(id_maps::MapFile::Setgroups)),
    private_entry("smaps", 0o444, Node::Text(maps::smaps)),
    private_entry("smaps_rollup", 0o444, Node::Text(maps::smaps_rollup)),
    private_entry("stack", 0o400, Node::Text(|_| Ok(Vec::new()))),
    entry("stat", 0o444, Node::Text(stat::stat)),
    entry("statm", 0o444, Node::Text(stat::statm)),
    entry("status", 0o444, Node::Text(status::text)),
    private_entry("syscall", 0o400, Node::Text(|_| Ok(b"running\n".to_vec()))),
    process_entry("timers", 0o444, Node::Text(|_| Ok(Vec::new()))),
    process_entry("timerslack_ns", 0o666, Node::Text(identity::timer_slack)),
    entry("uid_map", 0o644, Node::IdMap(id_maps::MapFile::Users)),
    entry("wchan", 0o444, Node::Text(|_| Ok(b"0".to_vec()))),
];

/// The directory of a process or thread, named `name` in `parent`.
pub(crate) fn new_directory(
    parent: &PseudoInode,
    name: &[u8],
    subject: Subject,
    sources: &Sources,
    nameless: &Rc<Mount>,
) -> Rc<PseudoInode> {
    let owner = subject.owner();
    let process = subject.process.clone();
    let is_task = subject.is_task;
    let context = Context {
        subject,
        sources: sources.clone(),
        nameless: Rc::clone(nameless),
        reader: UserNamespace::initial(),
    };
    let directory = parent.directory_in(name, 0o555, Directory { context }).owned_by(owner);
    if !is_task {
        directory.attachments().set(Rc::new(NamedProcess(process)));
    }
    directory
}

struct Directory {
    context: Context,
}

impl Directory {
    fn entries(&self) -> impl Iterator<Item = &'static Entry> + use<> {
        let is_task = self.context.subject.is_task;
        ENTRIES.iter().filter(
            move |entry| {
                if is_task { !entry.process_only } else { !entry.task_only }
            },
        )
    }
}

impl Names for Directory {
    fn lookup(&self, parent: &PseudoInode, name: &[u8]) -> SysResult<Rc<PseudoInode>> {
        // Whoever holds the directory of a process that is no more learns so.
        self.context.subject.process()?;
        let entry =
            self.entries().find(|entry| entry.name.as_bytes() == name).ok_or(Errno::ENOENT)?;
        Ok(make_node(parent, entry, &self.context))
    }

    fn list(
        &self,
        parent: &PseudoInode,
        from: u64,
        visit: &mut dyn FnMut(&DirEntry<'_>) -> bool,
    ) -> SysResult<()> {
        self.context.subject.process().map_err(|_| Errno::ENOENT)?;
        let skip = usize::try_from(from.saturating_sub(2)).unwrap_or(usize::MAX);
        for (entry, next) in self.entries().zip(3..).skip(skip) {
            let name = entry.name.as_bytes();
            let (inode, kind) = (parent.number_of(name), entry.node.kind());
            if !visit(&DirEntry { name, inode, kind, next }) {
                break;
            }
        }
        Ok(())
    }
}

impl Node {
    fn kind(&self) -> FileKind {
        match self {
            Self::Text(_)
            | Self::Value(..)
            | Self::Memory
            | Self::Cgroup
            | Self::Mounts(_)
            | Self::IdMap(_) => FileKind::Regular,
            Self::Place(_) => FileKind::Symlink,
            _ => FileKind::Directory,
        }
    }
}

fn make_node(parent: &PseudoInode, entry: &Entry, context: &Context) -> Rc<PseudoInode> {
    let (name, mode) = (entry.name.as_bytes(), entry.mode);
    let context = context.clone();
    match entry.node {
        Node::Text(read) => {
            let is_private = entry.is_private;
            parent.file_in(name, mode, Text { context, read, write: None, is_private })
        }
        Node::Value(read, write) => {
            let (write, is_private) = (Some(write), entry.is_private);
            parent.file_in(name, mode, Text { context, read, write, is_private })
        }
        Node::Cgroup => parent.file_in(name, mode, cgroup::CgroupFile { context }),
        Node::Mounts(show) => parent.file_in(name, mode, mounts::MountsFile { context, show }),
        Node::IdMap(which) => parent.file_in(name, mode, id_maps::IdMapFile { context, which }),
        Node::Memory => parent.file_in(name, mode, memory_file::Memory { context }),
        Node::Place(place) => parent.link_in(name, places::PlaceLink { context, place }),
        Node::Descriptors => {
            parent.directory_in(name, mode, descriptors::Descriptors::links(context))
        }
        Node::DescriptorInfo => {
            parent.directory_in(name, mode, descriptors::Descriptors::infos(context))
        }
        Node::Tasks => parent.directory_in(name, mode, tasks::Tasks { context }),
        Node::Namespaces => parent.directory_in(name, mode, namespaces::Namespaces { context }),
        Node::Network => {
            let of_thread = context.subject.thread().map(|thread| thread.network());
            let network = of_thread.unwrap_or_else(|_| Rc::clone(&context.sources.kernel.network));
            parent.directory_in(name, mode, network::listing(&network))
        }
        Node::Attributes => parent.directory_in(name, mode, attributes()),
    }
}

/// `attr`: what a Linux without a security module shows.
fn attributes() -> Listing {
    ["current", "exec", "fscreate", "keycreate", "prev", "sockcreate"]
        .into_iter()
        .fold(Listing::new(), |listing, name| listing.file(name, || Err(Errno::EINVAL)))
}

/// A file whose text a function makes.
struct Text {
    context: Context,
    read: Reader,
    write: Option<Writer>,
    is_private: bool,
}

/// Whether the caller may look into the process; nobody minds if it has ended.
fn check_inspection(subject: &Subject, caller: &dyn Any) -> SysResult<()> {
    let Ok(other) = subject.thread() else { return Ok(()) };
    let is_allowed = Thread::of_caller(caller)?.may_inspect(&other);
    if is_allowed { Ok(()) } else { Err(Errno::EACCES) }
}

impl TextFile for Text {
    fn read(&self) -> SysResult<Vec<u8>> {
        (self.read)(&self.context)
    }

    fn write(&self, text: &[u8]) -> SysResult<()> {
        let write = self.write.ok_or(Errno::EACCES)?;
        write(&self.context, text)
    }

    fn bind(&self, request: &OpenRequest<'_>) -> SysResult<Option<Rc<dyn TextFile>>> {
        if self.is_private {
            check_inspection(&self.context.subject, request.caller)?;
        }
        let reader = &request.credentials.user_namespace;
        if reader.is_initial() {
            return Ok(None);
        }
        let context = Context { reader: Rc::clone(reader), ..self.context.clone() };
        Ok(Some(Rc::new(Self { context, ..*self })))
    }
}

/// A number that was written as text.
fn parse_number<T: std::str::FromStr>(text: &[u8]) -> SysResult<T> {
    let text = std::str::from_utf8(text).map_err(|_| Errno::EINVAL)?;
    text.trim_end_matches('\0').trim().parse().map_err(|_| Errno::EINVAL)
}
