//! `semctl(2)`.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_events::ipc::permission::{Guarded, Want};
use kernel_events::ipc::semaphores::{SEMMNI, SEMMNS, SEMMSL, SEMOPM, SEMVMX, SemSet, Semaphores};
use kernel_tasks::Thread;
use linux_abi::events::sysv::{SemInfo, SemidDs, command};
use linux_abi::{Errno, SysResult};

use super::{id_of, to_i32};
use crate::handler::FromRegister;

/// Looks at a set, changes it or removes it.
pub(crate) fn semctl(
    thread: &Rc<Thread>,
    id: i32,
    number: i32,
    operation: i32,
    argument: u64,
) -> SysResult<i64> {
    let raw_id = id_of(id)?;
    let ipc = thread.ipc();
    let all = &ipc.semaphores;
    let who = thread.credentials();
    match operation {
        command::IPC_INFO | command::SEM_INFO => info(thread, all, operation, argument),
        command::IPC_STAT | command::SEM_STAT | command::SEM_STAT_ANY => {
            stat(thread, all, raw_id, operation, argument)
        }
        command::GETALL => {
            let set = readable(thread, all, raw_id)?;
            UserPtr::new(argument).write_many(&thread.memory(), &set.values())?;
            Ok(0)
        }
        command::SETALL => {
            let set = all.table().find(raw_id)?;
            set.permission().get().check(&who, Want::WRITE)?;
            let values = UserPtr::new(argument).read_many(&thread.memory(), set.len())?;
            set.set_all(&values, thread.process().pid)?;
            Ok(0)
        }
        command::SETVAL => {
            let value = i32::from_register(argument);
            if !(0..=SEMVMX).contains(&value) {
                return Err(Errno::ERANGE);
            }
            let set = all.table().find(raw_id)?;
            let number = usize::try_from(number).map_err(|_| Errno::EINVAL)?;
            set.get(number)?;
            set.permission().get().check(&who, Want::WRITE)?;
            set.set(number, value, thread.process().pid)?;
            Ok(0)
        }
        command::GETVAL | command::GETPID | command::GETNCNT | command::GETZCNT => {
            let set = readable(thread, all, raw_id)?;
            let number = usize::try_from(number).map_err(|_| Errno::EINVAL)?;
            one(&set, number, operation)
        }
        command::IPC_SET => {
            let new = UserPtr::<SemidDs>::new(argument).read(&thread.memory())?;
            all.change(raw_id, &new, &who).map(|()| 0)
        }
        command::IPC_RMID => all.remove(raw_id, &who).map(|()| 0),
        _ => Err(Errno::EINVAL),
    }
}

fn readable(thread: &Rc<Thread>, all: &Semaphores, id: u32) -> SysResult<Rc<SemSet>> {
    let set = all.table().find(id)?;
    set.permission().get().check(&thread.credentials(), Want::READ)?;
    Ok(set)
}

fn one(set: &SemSet, number: usize, operation: i32) -> SysResult<i64> {
    let (value, pid) = set.get(number)?;
    let (to_grow, for_zero) = set.n_waiting(number);
    Ok(match operation {
        command::GETVAL => value.into(),
        command::GETPID => pid.into(),
        command::GETNCNT => to_grow.into(),
        _ => for_zero.into(),
    })
}

fn stat(
    thread: &Rc<Thread>,
    all: &Semaphores,
    id: u32,
    operation: i32,
    argument: u64,
) -> SysResult<i64> {
    let (id, set) = match operation {
        command::IPC_STAT => (id, all.table().find(id)?),
        _ => all.table().find_by_index(id)?,
    };
    if operation != command::SEM_STAT_ANY {
        set.permission().get().check(&thread.credentials(), Want::READ)?;
    }
    UserPtr::new(argument).write(&thread.memory(), &set.show(id))?;
    Ok(if operation == command::IPC_STAT { 0 } else { id.into() })
}

fn info(thread: &Rc<Thread>, all: &Semaphores, operation: i32, argument: u64) -> SysResult<i64> {
    let (sets, semaphores) = match operation {
        command::SEM_INFO => (all.table().n_objects(), all.n_semaphores()),
        // Two constants that nothing looks at any more.
        _ => (20, usize::try_from(SEMVMX).unwrap_or(0)),
    };
    let info = SemInfo {
        semmap: to_i32(SEMMNS),
        semmni: to_i32(SEMMNI),
        semmns: to_i32(SEMMNS),
        semmnu: to_i32(SEMMNS),
        semmsl: to_i32(SEMMSL),
        semopm: to_i32(SEMOPM),
        semume: to_i32(SEMOPM),
        semusz: to_i32(sets),
        semvmx: SEMVMX,
        semaem: to_i32(semaphores),
    };
    UserPtr::new(argument).write(&thread.memory(), &info)?;
    Ok(all.table().highest_index().into())
}
