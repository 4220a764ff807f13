//! `msgctl(2)`.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_events::ipc::messages::{MSGMAX, MSGMNB, MSGMNI, MessageQueues};
use kernel_events::ipc::permission::{Guarded, Want};
use kernel_tasks::Thread;
use linux_abi::events::sysv::{MsgInfo, MsqidDs, command};
use linux_abi::{Errno, SysResult};

use super::{id_of, to_i32};

/// The unit of a pool that Linux no longer has, and still tells of.
const MSGSSZ: i32 = 16;

/// Looks at a queue, changes it or removes it.
pub(crate) fn msgctl(
    thread: &Rc<Thread>,
    id: i32,
    operation: i32,
    argument: u64,
) -> SysResult<u32> {
    let id = id_of(id)?;
    let ipc = thread.ipc();
    let all = &ipc.messages;
    let who = thread.credentials();
    match operation {
        command::IPC_INFO | command::MSG_INFO => info(thread, all, operation, argument),
        command::IPC_STAT | command::MSG_STAT | command::MSG_STAT_ANY => {
            let (id, queue) = match operation {
                command::IPC_STAT => (id, all.table().find(id)?),
                _ => all.table().find_by_index(id)?,
            };
            if operation != command::MSG_STAT_ANY {
                queue.permission().get().check(&who, Want::READ)?;
            }
            UserPtr::new(argument).write(&thread.memory(), &queue.show(id))?;
            Ok(if operation == command::IPC_STAT { 0 } else { id })
        }
        command::IPC_SET => {
            let new = UserPtr::<MsqidDs>::new(argument).read(&thread.memory())?;
            all.change(id, &new, &who).map(|()| 0)
        }
        command::IPC_RMID => all.remove(id, &who).map(|()| 0),
        _ => Err(Errno::EINVAL),
    }
}

fn info(thread: &Rc<Thread>, all: &MessageQueues, operation: i32, argument: u64) -> SysResult<u32> {
    let mut info = MsgInfo {
        msgpool: to_i32(MSGMNI * MSGMNB / 1024),
        msgmap: to_i32(MSGMNB),
        msgmax: to_i32(MSGMAX),
        msgmnb: to_i32(MSGMNB),
        msgmni: to_i32(MSGMNI),
        msgssz: MSGSSZ,
        msgtql: to_i32(MSGMNB),
        msgseg: u16::MAX,
        pad: 0,
    };
    if operation == command::MSG_INFO {
        let sums = all.table().all().iter().map(|(_, queue)| queue.n_messages()).fold(
            (0, 0),
            |(messages, bytes), (more_messages, more_bytes)| {
                (messages + more_messages, bytes + more_bytes)
            },
        );
        info.msgpool = to_i32(all.table().n_objects());
        (info.msgmap, info.msgtql) = (to_i32(sums.0), to_i32(sums.1));
    }
    UserPtr::new(argument).write(&thread.memory(), &info)?;
    Ok(all.table().highest_index())
}
