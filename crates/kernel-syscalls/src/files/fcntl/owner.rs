//! Who is told about readiness by a signal.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_files::OpenFile;
use kernel_tasks::Thread;
use linux_abi::files::{fcntl as command, owner};
use linux_abi::{Errno, Pid, SysResult};

use super::super::async_signal::Ownership;
use crate::handler::FromRegister;

pub(in super::super) fn answer(
    thread: &Rc<Thread>,
    file: &Rc<OpenFile>,
    request: u32,
    argument: u64,
) -> SysResult<u64> {
    let kept = Ownership::of(file);
    match request {
        command::SETOWN => {
            let id = i32::from_register(argument);
            let kind = if id < 0 { owner::PGRP } else { owner::PID };
            let id = id.checked_abs().ok_or(Errno::EINVAL)?;
            check_exists(thread, id)?;
            kept.id.set(id);
            kept.named_by.set(user_of(thread));
            kept.kind.set(kind);
            Ok(0)
        }
        command::GETOWN => {
            let is_group = kept.kind.get() == owner::PGRP;
            let id = if is_group { -kept.id.get() } else { kept.id.get() };
            Ok(i64::from(id).cast_unsigned())
        }
        command::SETOWN_EX => {
            let [kind, id]: [i32; 2] = UserPtr::new(argument).read(&thread.memory())?;
            if !(owner::TID..=owner::PGRP).contains(&kind) {
                return Err(Errno::EINVAL);
            }
            check_exists(thread, id)?;
            kept.kind.set(kind);
            kept.id.set(id);
            kept.named_by.set(user_of(thread));
            Ok(0)
        }
        command::GETOWN_EX => {
            let value = [kept.kind.get(), kept.id.get()];
            UserPtr::new(argument).write(&thread.memory(), &value)?;
            Ok(0)
        }
        command::SETSIG => {
            let signal = i32::from_register(argument);
            if !(0..=64).contains(&signal) {
                return Err(Errno::EINVAL);
            }
            kept.signal.set(signal);
            Ok(0)
        }
        _ => Ok(i64::from(kept.signal.get()).cast_unsigned()),
    }
}

/// Names the caller's process, if nobody is named.
pub(super) fn own_unless_owned(thread: &Thread, ownership: &Ownership) {
    if ownership.id.get() == 0 {
        ownership.kind.set(owner::PID);
        ownership.id.set(thread.process().pid.0.cast_signed());
        ownership.named_by.set(user_of(thread));
    }
}

/// `ESRCH` unless there is a task or a group of this number; zero means nobody.
fn check_exists(thread: &Thread, id: i32) -> SysResult<()> {
    if id == 0 {
        return Ok(());
    }
    let id = Pid(u32::try_from(id).map_err(|_| Errno::ESRCH)?);
    let ids = &thread.kernel().ids;
    let exists = ids.thread(id).is_some() || ids.process(id).is_some() || ids.group(id).is_some();
    if exists { Ok(()) } else { Err(Errno::ESRCH) }
}

/// Real and effective user of the caller.
fn user_of(thread: &Thread) -> (u32, u32) {
    let credentials = thread.credentials();
    (credentials.uid, credentials.euid)
}
