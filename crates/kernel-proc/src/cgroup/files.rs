//! The files of a group: what each says, and what it takes.
//!
//! Limits on memory and processor time are the sandbox's own: a group tells what it uses, and
//! refuses to be limited (`EOPNOTSUPP`) rather than to pretend.

use std::rc::Rc;

use kernel_tasks::Process;
use kernel_tasks::cgroup::{Cgroup, Controllers, EventFile};
use linux_abi::{Errno, Pid, SysResult};

use super::open::OpenControl;

type Read = fn(&OpenControl) -> SysResult<String>;
type Write = fn(&OpenControl, &str) -> SysResult<()>;

/// One file of every group.
pub(super) struct ControlFile {
    pub(super) name: &'static str,
    pub(super) mode: u32,
    pub(super) read: Option<Read>,
    pub(super) write: Option<Write>,
    /// Whose readers are told of changes.
    pub(super) event: Option<EventFile>,
    /// Whose controller must be there.
    controller: Controllers,
    at_root: bool,
    elsewhere: bool,
    /// It may be written at the root of a namespace from within.
    pub(super) is_delegated: bool,
}

impl ControlFile {
    /// Whether a group has this file.
    pub(super) fn is_in(&self, group: &Cgroup) -> bool {
        let is_placed = if group.is_root() { self.at_root } else { self.elsewhere };
        is_placed && group.available().contains(self.controller)
    }

    const fn read_only(name: &'static str, read: Read) -> Self {
        Self {
            name,
            mode: 0o444,
            read: Some(read),
            write: None,
            event: None,
            controller: Controllers::empty(),
            at_root: true,
            elsewhere: true,
            is_delegated: false,
        }
    }

    const fn value(name: &'static str, read: Read, write: Write) -> Self {
        Self { mode: 0o644, write: Some(write), ..Self::read_only(name, read) }
    }

    const fn not_at_root(self) -> Self {
        Self { at_root: false, ..self }
    }

    const fn only_at_root(self) -> Self {
        Self { elsewhere: false, ..self }
    }

    const fn delegated(self) -> Self {
        Self { is_delegated: true, ..self }
    }

    const fn of(self, controller: Controllers) -> Self {
        Self { controller, ..self }
    }

    const fn event(self, event: EventFile) -> Self {
        Self { event: Some(event), ..self }
    }
}

pub(super) static FILES: &[ControlFile] = &[
    ControlFile::read_only("cgroup.controllers", |it| line(it.group.available().names())),
    ControlFile::read_only("cgroup.events", events).event(EventFile::Group).not_at_root(),
    ControlFile::value("cgroup.freeze", freeze, set_freeze).not_at_root(),
    ControlFile { mode: 0o200, read: None, ..ControlFile::value("cgroup.kill", events, kill) }
        .not_at_root(),
    ControlFile::value(
        "cgroup.max.depth",
        |it| limit(it.group.max_depth().get()),
        |it, text| parse_limit(text).map(|max| it.group.max_depth().set(max)),
    ),
    ControlFile::value(
        "cgroup.max.descendants",
        |it| limit(it.group.max_descendants().get()),
        |it, text| parse_limit(text).map(|max| it.group.max_descendants().set(max)),
    ),
    ControlFile::value("cgroup.procs", procs, move_process).delegated(),
    ControlFile::read_only("cgroup.stat", |it| {
        line(format!("nr_descendants {}\nnr_dying_descendants 0", it.group.n_descendants()))
    }),
    ControlFile::value("cgroup.subtree_control", |it| names(it.group.enabled()), change_enabled)
        .delegated(),
    ControlFile::value("cgroup.threads", threads, |_, _| Err(Errno::EOPNOTSUPP)).delegated(),
    ControlFile::value("cgroup.type", |_| line("domain"), |_, _| Err(Errno::EOPNOTSUPP))
        .not_at_root(),
    ControlFile::value(
        "cpu.max",
        |_| line("max 100000"),
        |_, text| only(text, &["max", "max 100000"]),
    )
    .of(Controllers::CPU),
    ControlFile::read_only("cpu.stat", cpu_stat),
    ControlFile::value("cpu.weight", |_| line("100"), |_, text| only(text, &["100"]))
        .of(Controllers::CPU),
    ControlFile::read_only("memory.current", |it| line(it.group.memory())).of(Controllers::MEMORY),
    ControlFile::value("memory.high", |_| line("max"), |_, text| only(text, &["max"]))
        .of(Controllers::MEMORY),
    ControlFile::read_only("memory.max", sandbox_memory).of(Controllers::MEMORY).only_at_root(),
    ControlFile::value("memory.max", |_| line("max"), |_, text| only(text, &["max"]))
        .of(Controllers::MEMORY)
        .not_at_root(),
    ControlFile::read_only("memory.swap.max", |_| line("0")).of(Controllers::MEMORY),
    ControlFile::read_only("pids.current", |it| line(it.group.pids.current.get()))
        .of(Controllers::PIDS),
    ControlFile::read_only("pids.events", |it| {
        line(format!("max {}", it.group.pids.n_refused.get()))
    })
    .of(Controllers::PIDS)
    .event(EventFile::Pids)
    .not_at_root(),
    ControlFile::read_only("pids.events.local", |it| {
        line(format!("max {}", it.group.pids.n_refused_here.get()))
    })
    .of(Controllers::PIDS)
    .event(EventFile::PidsLocal)
    .not_at_root(),
    ControlFile::read_only("pids.max", |it| line(it.sources.kernel.max_tasks()))
        .of(Controllers::PIDS)
        .only_at_root(),
    ControlFile::value(
        "pids.max",
        |it| limit(it.group.pids.max.get()),
        |it, text| parse_limit(text).map(|max| it.group.pids.max.set(max)),
    )
    .of(Controllers::PIDS)
    .not_at_root(),
    ControlFile::read_only("pids.peak", |it| line(it.group.pids.peak.get()))
        .of(Controllers::PIDS)
        .not_at_root(),
];

fn line(text: impl std::fmt::Display) -> SysResult<String> {
    Ok(format!("{text}\n"))
}

fn names(controllers: Controllers) -> SysResult<String> {
    if controllers.is_empty() { Ok(String::new()) } else { line(controllers.names()) }
}

fn limit(max: Option<u32>) -> SysResult<String> {
    max.map_or_else(|| line("max"), line)
}

fn parse_limit(text: &str) -> SysResult<Option<u32>> {
    if text == "max" {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| Errno::EINVAL)
}

/// Takes what changes nothing, and says of the rest that it is not offered.
fn only(text: &str, fine: &[&str]) -> SysResult<()> {
    if fine.contains(&text) { Ok(()) } else { Err(Errno::EOPNOTSUPP) }
}

fn events(it: &OpenControl) -> SysResult<String> {
    let frozen = it.group.is_frozen();
    line(format!("populated {}\nfrozen {}", u8::from(it.group.is_populated()), u8::from(frozen)))
}

fn freeze(it: &OpenControl) -> SysResult<String> {
    line(u8::from(it.group.wants_frozen()))
}

fn set_freeze(it: &OpenControl, text: &str) -> SysResult<()> {
    match text.parse::<i32>().map_err(|_| Errno::EINVAL)? {
        0 => it.group.set_frozen(false),
        1 => it.group.set_frozen(true),
        _ => return Err(Errno::ERANGE),
    }
    Ok(())
}

fn kill(it: &OpenControl, text: &str) -> SysResult<()> {
    if text.parse::<i32>().map_err(|_| Errno::EINVAL)? != 1 {
        return Err(Errno::ERANGE);
    }
    it.group.kill_all();
    Ok(())
}

fn procs(it: &OpenControl) -> SysResult<String> {
    let pids = it.group.processes().into_iter().map(|process| process.pid.0);
    Ok(pids.map(|pid| format!("{pid}\n")).collect())
}

fn threads(it: &OpenControl) -> SysResult<String> {
    let threads = it.group.processes().into_iter().flat_map(|process| process.threads());
    Ok(threads.map(|thread| format!("{}\n", thread.tid().0)).collect())
}

fn move_process(it: &OpenControl, text: &str) -> SysResult<()> {
    let number: u32 = text.parse().map_err(|_| Errno::EINVAL)?;
    let process: Rc<Process> = match number {
        0 => it.writer()?,
        number => {
            let ids = &it.sources.kernel.ids;
            let by_thread = || ids.thread(Pid(number)).map(|thread| Rc::clone(thread.process()));
            ids.process(Pid(number)).or_else(by_thread).ok_or(Errno::ESRCH)?
        }
    };
    let from = process.cgroup();
    it.sources.kernel.cgroups.check_move(&from, &it.group, &it.opener, &it.seen_root)?;
    process.move_to_cgroup(&it.group);
    Ok(())
}

/// `+pids -cpu`: which controllers children get, and which they lose.
fn change_enabled(it: &OpenControl, text: &str) -> SysResult<()> {
    let (mut on, mut off) = (Controllers::empty(), Controllers::empty());
    for word in text.split_ascii_whitespace() {
        let (sign, name) = word.split_at_checked(1).ok_or(Errno::EINVAL)?;
        let controller = Controllers::by_name(name).ok_or(Errno::EINVAL)?;
        match sign {
            "+" => (on, off) = (on | controller, off - controller),
            "-" => (on, off) = (on - controller, off | controller),
            _ => return Err(Errno::EINVAL),
        }
    }
    it.group.change_enabled(on, off)
}

fn cpu_stat(it: &OpenControl) -> SysResult<String> {
    let (user, system) = it.group.times();
    let (user, system) = (user / 1000, system / 1000);
    line(format!("usage_usec {}\nuser_usec {user}\nsystem_usec {system}", user + system))
}

fn sandbox_memory(it: &OpenControl) -> SysResult<String> {
    it.sources.facts.memory_limit.map_or_else(|| line("max"), line)
}
