//! System V IPC and POSIX message queues: one file per call or small family.

mod messages;
mod mqueue;
mod msgctl;
mod semaphores;
mod semctl;
mod shared_memory;
#[cfg(test)]
mod tests;

use linux_abi::{Errno, SysResult};

pub(crate) use messages::{msgget, msgrcv, msgsnd};
pub(crate) use mqueue::{
    mq_getsetattr, mq_notify, mq_open, mq_timedreceive, mq_timedsend, mq_unlink,
};
pub(crate) use msgctl::msgctl;
pub(crate) use semaphores::{semget, semop, semtimedop};
pub(crate) use semctl::semctl;
pub(crate) use shared_memory::{shmat, shmctl, shmdt, shmget};

/// An id as a guest passes it; `EINVAL` if it is negative.
fn id_of(id: i32) -> SysResult<u32> {
    u32::try_from(id).map_err(|_| Errno::EINVAL)
}

/// A count for a structure that has only room for an `int`.
fn to_i32(n: usize) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}
