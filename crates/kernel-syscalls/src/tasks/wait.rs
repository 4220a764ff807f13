//! `wait4(2)`, `waitid(2)`.

use std::rc::Rc;

use kernel_core::memory::{UserMemory, UserPtr};
use kernel_core::wait::PollEvents;
use kernel_tasks::Thread;
use kernel_tasks::process::{ChildEvent, ChildSelector, WaitFor};
use linux_abi::signals::SigInfo;
use linux_abi::tasks::{Rusage, WaitOptions, id_type};
use linux_abi::{Errno, Fd, Pid, Restart, SysResult, WaitResult};
use zerocopy::{FromZeros, IntoBytes};

use super::pidfd::pidfd_of;
use super::usage::usage_with_children;

/// What `wait4` and `waitid` both take.
const COMMON: WaitOptions = WaitOptions::NOHANG
    .union(WaitOptions::STOPPED)
    .union(WaitOptions::CONTINUED)
    .union(WaitOptions::NOTHREAD)
    .union(WaitOptions::ALL)
    .union(WaitOptions::CLONE);

/// Waits for a child to end, to stop or to go on.
pub(crate) async fn wait4(
    thread: Rc<Thread>,
    pid: i32,
    status: UserPtr<u32>,
    options: u32,
    usage: UserPtr<Rusage>,
) -> WaitResult<u32> {
    let options = WaitOptions::from_bits(options)
        .filter(|&options| COMMON.contains(options))
        .ok_or(Errno::EINVAL)?;
    let selector = match pid {
        i32::MIN => return Err(Errno::ESRCH.into()),
        -1 => ChildSelector::Any,
        0 => ChildSelector::Group(thread.process().group().pgid),
        1.. => ChildSelector::Pid(Pid(pid.unsigned_abs())),
        _ => ChildSelector::Group(Pid(pid.unsigned_abs())),
    };
    let Some(event) = wait(&thread, &selector, options | WaitOptions::EXITED).await? else {
        return Ok(0);
    };
    status.write_if_wanted(&thread.memory(), &event.status.0)?;
    write_usage(&thread, &event, usage)?;
    Ok(event.pid.0)
}

/// Like [`wait4`], with more choice and more to tell.
pub(crate) async fn waitid(
    thread: Rc<Thread>,
    kind: u32,
    id: i32,
    info: UserPtr<SigInfo>,
    options: u32,
    usage: UserPtr<Rusage>,
) -> WaitResult<()> {
    let outcomes = WaitOptions::EXITED | WaitOptions::STOPPED | WaitOptions::CONTINUED;
    let mut options = WaitOptions::from_bits(options)
        .filter(|&options| options.intersects(outcomes))
        .ok_or(Errno::EINVAL)?;
    let (selector, must_not_wait) = select(&thread, kind, id)?;
    let asked_not_to_wait = options.contains(WaitOptions::NOHANG);
    options.set(WaitOptions::NOHANG, asked_not_to_wait || must_not_wait);
    let event = wait(&thread, &selector, options).await?;
    if event.is_none() && must_not_wait && !asked_not_to_wait {
        return Err(Errno::EAGAIN.into());
    }
    if let Some(event) = &event {
        write_usage(&thread, event, usage)?;
    }
    write_info(&thread, info, event.map_or(SigInfo::new_zeroed(), |event| event.info))?;
    Ok(())
}

/// Which children, and whether the pidfd that names them does not block.
fn select(thread: &Thread, kind: u32, id: i32) -> SysResult<(ChildSelector, bool)> {
    let number = || u32::try_from(id).map_err(|_| Errno::EINVAL);
    Ok(match kind {
        id_type::P_ALL => (ChildSelector::Any, false),
        id_type::P_PID if id != 0 => (ChildSelector::Pid(Pid(number()?)), false),
        id_type::P_PGID if id == 0 => (ChildSelector::Group(thread.process().group().pgid), false),
        id_type::P_PGID => (ChildSelector::Group(Pid(number()?)), false),
        id_type::P_PIDFD => {
            number()?;
            let file = thread.file(Fd(id))?;
            (ChildSelector::Pid(pidfd_of(&file)?.pid), file.is_nonblocking())
        }
        _ => return Err(Errno::EINVAL),
    })
}

async fn wait(
    thread: &Rc<Thread>,
    selector: &ChildSelector,
    options: WaitOptions,
) -> WaitResult<Option<ChildEvent>> {
    let mut wanted = WaitFor::empty();
    for (option, want) in [
        (WaitOptions::EXITED, WaitFor::END),
        (WaitOptions::STOPPED, WaitFor::STOP),
        (WaitOptions::CONTINUED, WaitFor::CONTINUE),
        (WaitOptions::NOWAIT, WaitFor::PEEK),
        (WaitOptions::CLONE, WaitFor::CLONES),
        (WaitOptions::ALL, WaitFor::ALL_KINDS),
        (WaitOptions::NOTHREAD, WaitFor::OWN),
    ] {
        wanted.set(want, options.contains(option));
    }
    let process = thread.process();
    loop {
        if let Some(event) = process.take_child_event(selector, wanted, thread.tid())? {
            return Ok(Some(event));
        }
        if options.contains(WaitOptions::NOHANG) {
            return Ok(None);
        }
        let change = process.child_events().wait(PollEvents::IN);
        thread.interruptible(Restart::IfAsked, change).await?;
    }
}

fn write_usage(thread: &Thread, event: &ChildEvent, usage: UserPtr<Rusage>) -> SysResult<()> {
    if usage.is_null() {
        return Ok(());
    }
    usage.write(&thread.memory(), &usage_with_children(&event.child))
}

/// Writes what `waitid` tells, and, as Linux, not the padding and the rest of the structure.
fn write_info(thread: &Thread, place: UserPtr<SigInfo>, info: SigInfo) -> SysResult<()> {
    if place.is_null() {
        return Ok(());
    }
    let memory = thread.memory();
    for range in [0..12, 16..28] {
        let address = place.address().wrapping_add(range.start as u64);
        memory.write(address, info.as_bytes().get(range).unwrap_or_default())?;
    }
    Ok(())
}
