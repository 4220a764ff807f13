//! `msgget(2)`, `msgsnd(2)`, `msgrcv(2)`.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_core::wait::PollEvents;
use kernel_events::ipc::messages::{MSGMAX, Message, MessageQueues};
use kernel_events::ipc::permission::Want;
use kernel_tasks::Thread;
use linux_abi::events::sysv::{IPC_NOWAIT, MSG_COPY};
use linux_abi::{Errno, Restart, SysResult, WaitResult};

use super::id_of;

/// Finds or makes a queue.
pub(crate) fn msgget(thread: &Rc<Thread>, key: i32, flags: u32) -> SysResult<u32> {
    thread.ipc().messages.get(key, flags, &thread.credentials())
}

/// Sends a message: its type, and then its bytes.
pub(crate) async fn msgsnd(
    thread: Rc<Thread>,
    id: i32,
    message: UserPtr<i64>,
    size: i64,
    flags: u32,
) -> WaitResult<()> {
    let memory = thread.memory();
    let kind = message.read(&memory)?;
    let size = usize::try_from(size).map_err(|_| Errno::EINVAL)?;
    let id = id_of(id)?;
    if size > MSGMAX || kind < 1 {
        return Err(Errno::EINVAL.into());
    }
    let text = message.offset(1).cast::<u8>().read_many(&memory, size)?;
    let message = Message { kind, text };
    let ipc = thread.ipc();
    let messages = &ipc.messages;
    let who = thread.credentials();
    loop {
        let queue = messages.open(id, &who, Want::WRITE)?;
        match messages.send(&queue, &message, thread.process().pid) {
            Err(Errno::EAGAIN) if flags & IPC_NOWAIT == 0 => {}
            result => return Ok(result?),
        }
        let room = queue.wait_queue().wait(PollEvents::OUT);
        thread.interruptible(Restart::IfNoHandler, room).await?;
        if messages.table().find(id).is_err() {
            return Err(Errno::EIDRM.into());
        }
    }
}

/// Receives a message of the kind asked for. Returns its length.
pub(crate) async fn msgrcv(
    thread: Rc<Thread>,
    id: i32,
    buffer: UserPtr<i64>,
    size: i64,
    kind: i64,
    flags: u32,
) -> WaitResult<usize> {
    let id = id_of(id)?;
    let size = usize::try_from(size).map_err(|_| Errno::EINVAL)?;
    MessageQueues::check_flags(flags)?;
    let ipc = thread.ipc();
    let messages = &ipc.messages;
    let who = thread.credentials();
    let message = loop {
        let queue = messages.open(id, &who, Want::READ)?;
        let pid = thread.process().pid;
        match messages.receive(&queue, kind, size, flags, pid) {
            Err(Errno::EAGAIN) if flags & (IPC_NOWAIT | MSG_COPY) != 0 => {
                return Err(Errno::ENOMSG.into());
            }
            Err(Errno::EAGAIN) => {}
            result => break result?,
        }
        let arrival = queue.wait_queue().wait(PollEvents::IN);
        thread.interruptible(Restart::IfNoHandler, arrival).await?;
        if messages.table().find(id).is_err() {
            return Err(Errno::EIDRM.into());
        }
    };
    let memory = thread.memory();
    buffer.write(&memory, &message.kind)?;
    if !message.text.is_empty() {
        buffer.offset(1).cast::<u8>().write_many(&memory, &message.text)?;
    }
    Ok(message.text.len())
}
