//! `recvfrom(2)`, `recvmsg(2)`.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_core::user_buffers::UserBuffers;
use kernel_core::wait::PollEvents;
use kernel_files::OpenFile;
use kernel_sockets::socket::Patience;
use kernel_sockets::{Control, Incoming, Received, Socket};
use kernel_tasks::Thread;
use linux_abi::sockets::{MessageFlags, MsgHdr};
use linux_abi::{Errno, Fd, SysResult, WaitResult};

use super::control::ControlBuffer;
use super::waiting::{Limit, retry};
use super::{message, name};

/// Receives data, and tells who sent it.
pub(crate) async fn recvfrom(
    thread: Rc<Thread>,
    fd: Fd,
    buffer: UserPtr<u8>,
    length: usize,
    flags: u32,
    address: UserPtr<u8>,
    address_length: UserPtr<i32>,
) -> WaitResult<usize> {
    let memory = thread.memory();
    let sink = UserBuffers::one(&memory, buffer.address(), length)?;
    let file = thread.file(fd)?;
    let flags = MessageFlags::from_bits_retain(flags);
    let limit = Limit::of_receiving(&file, &**Socket::of(&file)?, flags);
    let received = receive(&thread, &file, sink, flags, limit).await?;
    if !address.is_null() {
        // The length that is told is 0 if nobody has said who sent it.
        let sender = received.name.unwrap_or_default();
        name::write(&memory, &sender, address, address_length)?;
    }
    Ok(received.n_bytes)
}

/// Receives data with control messages.
pub(crate) async fn recvmsg(
    thread: Rc<Thread>,
    fd: Fd,
    header: UserPtr<MsgHdr>,
    flags: u32,
) -> WaitResult<usize> {
    let flags = MessageFlags::from_bits_retain(flags);
    if flags.contains(MessageFlags::CMSG_COMPAT) {
        return Err(Errno::EINVAL.into());
    }
    let file = thread.file(fd)?;
    let limit = Limit::of_receiving(&file, &**Socket::of(&file)?, flags);
    receive_message(&thread, &file, header, flags, limit).await
}

/// Receives into what `header` names, and writes into it what came.
pub(super) async fn receive_message(
    thread: &Rc<Thread>,
    file: &Rc<OpenFile>,
    at: UserPtr<MsgHdr>,
    flags: MessageFlags,
    limit: Limit,
) -> WaitResult<usize> {
    let memory = thread.memory();
    let mut header = message::read_header(&memory, at)?;
    let sink = message::buffers(&memory, &header)?;
    let received = receive(thread, file, sink, flags, limit).await?;
    Ok(finish(thread, at, &mut header, flags, received)?)
}

fn finish(
    thread: &Rc<Thread>,
    at: UserPtr<MsgHdr>,
    header: &mut MsgHdr,
    flags: MessageFlags,
    received: Received,
) -> SysResult<usize> {
    let memory = thread.memory();
    if header.name != 0 {
        let sender = received.name.unwrap_or_default();
        let room = usize::try_from(header.name_len).unwrap_or(0);
        let shown = sender.get(..room.min(sender.len())).unwrap_or_default();
        UserPtr::<u8>::new(header.name).write_many(&memory, shown)?;
        header.name_len = u32::try_from(sender.len()).unwrap_or(0);
    }
    let close_on_exec = flags.contains(MessageFlags::CMSG_CLOEXEC);
    let mut buffer = ControlBuffer::new(header.control, header.control_len, close_on_exec);
    buffer.put_all(thread, received.control)?;
    header.control_len = buffer.used as u64;
    let shown = received.flags | buffer.flags | (flags & MessageFlags::CMSG_CLOEXEC);
    header.flags = shown.bits();
    at.write(&memory, header)?;
    Ok(received.n_bytes)
}

/// Receives a message, or what there is of a stream: with `MSG_WAITALL` all that is wanted.
pub(super) async fn receive(
    thread: &Rc<Thread>,
    file: &Rc<OpenFile>,
    mut sink: UserBuffers<'_>,
    flags: MessageFlags,
    limit: Limit,
) -> WaitResult<Received> {
    let socket = Socket::of(file)?;
    let waits_for_all = flags.contains(MessageFlags::WAITALL)
        && !flags.intersects(MessageFlags::PEEK | MessageFlags::OOB)
        && socket.is_stream();
    let never_waits = limit.patience == Patience::Never;
    let flags = if never_waits { flags | MessageFlags::DONTWAIT } else { flags };
    let mut total: Option<Received> = None;
    loop {
        let attempt = || socket.receive(&mut Incoming { sink: &mut sink, flags });
        let received = match retry(thread, &**socket, PollEvents::READABLE, limit, attempt).await {
            Ok(received) => received,
            Err(error) => return total.ok_or(error),
        };
        let is_last = !waits_for_all
            || received.n_bytes == 0
            || received.control.iter().any(|control| matches!(control, Control::Files(_)));
        match &mut total {
            None => total = Some(received),
            Some(total) => {
                total.n_bytes += received.n_bytes;
                total.flags |= received.flags;
                total.control.extend(received.control);
            }
        }
        if is_last || sink.is_empty() {
            return total.ok_or(Errno::EAGAIN.into());
        }
    }
}
