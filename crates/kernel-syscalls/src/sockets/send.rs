//! `sendto(2)`, `sendmsg(2)`, `sendmmsg(2)`.
//!
//! A broken connection raises `SIGPIPE` for streams, unless `MSG_NOSIGNAL` says no.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_core::user_buffers::UserBuffers;
use kernel_core::wait::PollEvents;
use kernel_files::OpenFile;
use kernel_sockets::{Outgoing, OutgoingControl, Socket};
use kernel_tasks::Thread;
use kernel_tasks::signals::send_to_thread;
use linux_abi::signals::{SigInfo, Signal};
use linux_abi::sockets::{MessageFlags, MmsgHdr, MsgHdr, UIO_MAXIOV};
use linux_abi::{Errno, Fd, Interrupted, SysResult, WaitResult};

use super::caller::Calling;
use super::waiting::{Limit, retry};
use super::{control, message, name};

/// Sends data, to `address` if the socket is not connected.
pub(crate) async fn sendto(
    thread: Rc<Thread>,
    fd: Fd,
    buffer: UserPtr<u8>,
    length: usize,
    flags: u32,
    address: UserPtr<u8>,
    address_length: i32,
) -> WaitResult<usize> {
    let memory = thread.memory();
    let source = UserBuffers::one(&memory, buffer.address(), length)?;
    let file = thread.file(fd)?;
    Socket::of(&file)?;
    let name = match address.non_null() {
        Some(address) => Some(name::read(&memory, address, address_length)?),
        None => None,
    };
    let name = name.as_deref().filter(|name| !name.is_empty());
    let control = OutgoingControl::default();
    let flags = MessageFlags::from_bits_retain(flags);
    send(&thread, &file, Letter { source, name, control, flags }).await
}

/// Sends data with control messages.
pub(crate) async fn sendmsg(
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
    Socket::of(&file)?;
    send_message(&thread, &file, header, flags).await
}

/// Sends up to `n` messages. Fails only if the first one does.
pub(crate) async fn sendmmsg(
    thread: Rc<Thread>,
    fd: Fd,
    messages: UserPtr<MmsgHdr>,
    n: u32,
    flags: u32,
) -> WaitResult<usize> {
    let flags = MessageFlags::from_bits_retain(flags);
    if flags.contains(MessageFlags::CMSG_COMPAT) {
        return Err(Errno::EINVAL.into());
    }
    let file = thread.file(fd)?;
    Socket::of(&file)?;
    let n = usize::try_from(n).unwrap_or(UIO_MAXIOV).min(UIO_MAXIOV);
    for index in 0..n {
        let message = messages.offset(index);
        let sent = match send_message(&thread, &file, message.cast(), flags).await {
            Ok(sent) => sent,
            Err(error) if index == 0 => return Err(error),
            Err(_) => return Ok(index),
        };
        let length = UserPtr::new(message.address() + size_of::<MsgHdr>() as u64);
        let written = length.write(&thread.memory(), &u32::try_from(sent).unwrap_or(u32::MAX));
        match written {
            Err(errno) if index == 0 => return Err(errno.into()),
            Err(_) => return Ok(index),
            Ok(()) => {}
        }
    }
    Ok(n)
}

async fn send_message(
    thread: &Rc<Thread>,
    file: &Rc<OpenFile>,
    header: UserPtr<MsgHdr>,
    flags: MessageFlags,
) -> WaitResult<usize> {
    let memory = thread.memory();
    let header = message::read_header(&memory, header)?;
    let name = message::name(&memory, &header)?;
    let source = message::buffers(&memory, &header)?;
    let family = Socket::of(file)?.common().domain;
    let control = control::read(thread, family, header.control, header.control_len)?;
    send(thread, file, Letter { source, name: name.as_deref(), control, flags }).await
}

/// A message with all that belongs to it.
struct Letter<'a> {
    source: UserBuffers<'a>,
    name: Option<&'a [u8]>,
    control: OutgoingControl,
    flags: MessageFlags,
}

/// Sends all of a message; of a stream, what can be sent.
async fn send(
    thread: &Rc<Thread>,
    file: &Rc<OpenFile>,
    mut letter: Letter<'_>,
) -> WaitResult<usize> {
    let socket = Socket::of(file)?;
    let limit = Limit::of_sending(file, &**socket, letter.flags);
    let caller = Calling(thread);
    let mut n_sent = 0;
    loop {
        let attempt = || {
            // A message that was not taken is tried again from its start.
            let mut source = letter.source.clone();
            let n = socket.send(&mut Outgoing {
                source: &mut source,
                flags: letter.flags,
                name: letter.name,
                control: &mut letter.control,
                caller: Some(&caller),
            })?;
            letter.source = source;
            Ok(n)
        };
        let events = PollEvents::WRITABLE;
        match retry(thread, &**socket, events, limit, attempt).await {
            Ok(n) => n_sent += n,
            Err(_) if n_sent > 0 => return Ok(n_sent),
            Err(Interrupted::Errno(Errno::EPIPE)) => {
                if socket.raises_sigpipe() && !letter.flags.contains(MessageFlags::NOSIGNAL) {
                    raise_sigpipe(thread)?;
                }
                return Err(Errno::EPIPE.into());
            }
            Err(error) => return Err(error),
        }
        if letter.source.is_empty() || !socket.is_stream() {
            return Ok(n_sent);
        }
    }
}

fn raise_sigpipe(thread: &Rc<Thread>) -> SysResult<()> {
    send_to_thread(thread, Signal::SIGPIPE, SigInfo::kernel(Signal::SIGPIPE))
}
