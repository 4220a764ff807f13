//! A host process that runs a guest process.

#![expect(unsafe_code, reason = "copies memory of another process")]

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;

use host_sys::OuterPid;
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use rustix::process::{Pid, Signal};

/// The most descriptors that travel with one message.
const MAX_FDS: usize = 8;
const PAGE: u64 = 4096;

/// A host process: its id, once the host has vouched for it, and the socket to its shim.
#[derive(Debug)]
pub struct HostProcess {
    socket: OwnedFd,
    claims: Rc<Claims>,
    pid: Cell<Option<Pid>>,
    outer_pid: Cell<Option<OuterPid>>,
    is_gone: Cell<bool>,
    is_hung_up: Cell<bool>,
}

/// Which processes have said hello and have not been collected. Each may be one host process only:
/// a guest that says hello in place of another would otherwise have its number remembered after it
/// ended, when the host gives the number to somebody else.
#[derive(Debug, Default)]
pub struct Claims(RefCell<HashSet<Pid>>);

/// Makes the two ends of a socket to a shim: ours, which learns who writes, and theirs.
pub fn socket_pair() -> Result<(OwnedFd, OwnedFd), Errno> {
    let (ours, theirs) = rustix::net::socketpair(
        rustix::net::AddressFamily::UNIX,
        rustix::net::SocketType::SEQPACKET,
        rustix::net::SocketFlags::CLOEXEC,
        None,
    )?;
    rustix::net::sockopt::set_socket_passcred(&ours, true)?;
    Ok((ours, theirs))
}

/// Sends two words and descriptors.
pub fn send(socket: BorrowedFd<'_>, words: [u64; 2], fds: &[BorrowedFd<'_>]) -> Result<(), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(Errno::INVAL);
    }
    let mut bytes = [0; 16];
    let (first, second) = bytes.split_at_mut(8);
    first.copy_from_slice(&words[0].to_le_bytes());
    second.copy_from_slice(&words[1].to_le_bytes());
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    rustix::net::sendmsg(socket, &[IoSlice::new(&bytes)], &mut control, flags)?;
    Ok(())
}

impl HostProcess {
    /// The process at the other end of this socket. It says hello when it starts.
    pub fn new(socket: OwnedFd, claims: &Rc<Claims>) -> Self {
        let (pid, outer_pid) = (Cell::new(None), Cell::new(None));
        let (is_gone, is_hung_up) = (Cell::new(false), Cell::new(false));
        Self { socket, claims: Rc::clone(claims), pid, outer_pid, is_gone, is_hung_up }
    }

    /// Sends two words and descriptors to its shim.
    pub fn send(&self, words: [u64; 2], fds: &[BorrowedFd<'_>]) -> Result<(), Errno> {
        send(self.socket.as_fd(), words, fds)
    }

    /// The host process id; `None` until the process has started. It is our child and has not been
    /// reaped, so the number is its own.
    pub fn pid(&self) -> Option<Pid> {
        while self.pid.get().is_none() && !self.is_gone.get() {
            let pid = self.read_hello()?;
            if self.claims.0.borrow_mut().insert(pid) {
                self.pid.set(Some(pid));
            }
        }
        self.pid.get()
    }

    /// Whether it ended before it said hello, so that nobody can tell which process it was.
    pub fn died_unknown(&self) -> bool {
        self.pid().is_none() && self.is_hung_up.get()
    }

    /// The process has been collected: its number may be somebody else's from now on.
    pub fn forget(&self) {
        self.is_gone.set(true);
        self.outer_pid.set(None);
        if let Some(pid) = self.pid.take() {
            self.claims.0.borrow_mut().remove(&pid);
        }
    }

    /// The host puts the sender's process id on every message that arrives here.
    fn read_hello(&self) -> Option<Pid> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let mut pieces = [IoSliceMut::new(&mut byte)];
        let mut receive =
            || rustix::net::recvmsg(&self.socket, &mut pieces, &mut control, RecvFlags::DONTWAIT);
        let received = match receive() {
            // It ended with a message of ours unread. The host says so once, before what it sent.
            Err(Errno::CONNRESET) => receive(),
            received => received,
        };
        let received = received.ok()?;
        self.is_hung_up.set(received.bytes == 0);
        control.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmCredentials(credentials) => Some(credentials.pid),
            _ => None,
        })
    }

    /// The process as `/proc` knows it.
    pub fn outer_pid(&self) -> Option<OuterPid> {
        if self.outer_pid.get().is_none() {
            self.outer_pid.set(self.pid().and_then(OuterPid::of));
        }
        self.outer_pid.get()
    }

    /// Ends the process. Without effect if it has not started: its socket is closed with this
    /// value, which ends it too.
    pub fn kill(&self) {
        if let Some(pid) = self.pid() {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
    }

    /// Interrupts one of its threads. The thread id is the guest's claim: the host sends the signal
    /// only if it is a thread of this process.
    pub fn kick(&self, thread: u32) {
        let Some(pid) = self.pid() else { return };
        let Ok(thread) = i32::try_from(thread) else { return };
        let signal = channel_abi::layout::KICK_SIGNAL;
        // SAFETY: sends a signal; touches no memory.
        unsafe { libc::syscall(libc::SYS_tgkill, pid.as_raw_nonzero().get(), thread, signal) };
    }

    /// Whether one of its threads has this id. The id is the guest's claim: the host looks it up
    /// among the threads of this process only, and sends nothing.
    pub fn has_thread(&self, thread: u32) -> bool {
        const NO_SIGNAL: i32 = 0;
        let Some(pid) = self.pid() else { return false };
        let Ok(thread) = i32::try_from(thread) else { return false };
        let pid = pid.as_raw_nonzero().get();
        // SAFETY: asks whether a signal could be sent; touches no memory.
        unsafe { libc::syscall(libc::SYS_tgkill, pid, thread, NO_SIGNAL) == 0 }
    }

    /// Copies memory of the process. Returns how many bytes came before the first bad one.
    pub fn read_memory(&self, address: u64, to: &mut [u8]) -> Result<usize, Errno> {
        let pid = self.pid().ok_or(Errno::SRCH)?;
        let base = to.as_mut_ptr();
        by_pages(address, to.len(), |at, offset, length| {
            // SAFETY: `offset` is inside `to`.
            let local = unsafe { base.add(offset) };
            let local = libc::iovec { iov_base: local.cast(), iov_len: length };
            let remote = libc::iovec { iov_base: guest_pointer(at), iov_len: length };
            let pid = pid.as_raw_nonzero().get();
            // SAFETY: writes at most `length` bytes into `to`, at `offset`.
            unsafe { libc::process_vm_readv(pid, &local, 1, &remote, 1, 0) }
        })
    }

    /// Copies into memory of the process. Returns how many bytes went before the first bad one.
    pub fn write_memory(&self, address: u64, from: &[u8]) -> Result<usize, Errno> {
        let pid = self.pid().ok_or(Errno::SRCH)?;
        let base = from.as_ptr();
        by_pages(address, from.len(), |at, offset, length| {
            // SAFETY: `offset` is inside `from`.
            let local = unsafe { base.add(offset) };
            let local = libc::iovec { iov_base: local.cast_mut().cast(), iov_len: length };
            let remote = libc::iovec { iov_base: guest_pointer(at), iov_len: length };
            let pid = pid.as_raw_nonzero().get();
            // SAFETY: reads at most `length` bytes of `from`, at `offset`.
            unsafe { libc::process_vm_writev(pid, &local, 1, &remote, 1, 0) }
        })
    }
}

/// An address of the other process. Only the host follows it.
fn guest_pointer(address: u64) -> *mut libc::c_void {
    std::ptr::without_provenance_mut(usize::try_from(address).unwrap_or(usize::MAX))
}

/// Transfers `length` bytes at once, or page by page if that fails, so that everything before the
/// first bad page goes. `transfer` gets an address, an offset and a length.
fn by_pages(
    address: u64,
    length: usize,
    mut transfer: impl FnMut(u64, usize, usize) -> isize,
) -> Result<usize, Errno> {
    if length == 0 {
        return Ok(0);
    }
    if address.checked_add(length as u64).is_none() {
        return Err(Errno::FAULT);
    }
    if usize::try_from(transfer(address, 0, length)) == Ok(length) {
        return Ok(length);
    }
    let mut done = 0;
    while done < length {
        let at = address + done as u64;
        let to_page_end = usize::try_from(PAGE - at % PAGE).unwrap_or(1);
        let n = to_page_end.min(length - done);
        match usize::try_from(transfer(at, done, n)) {
            Ok(moved) if moved > 0 => done += moved,
            _ if done > 0 => break,
            _ => return Err(Errno::FAULT),
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_ended_with_a_message_unread_is_known() {
        let (ours, theirs) = socket_pair().unwrap();
        rustix::net::send(&theirs, b"h", SendFlags::empty()).unwrap();
        let host = HostProcess::new(ours, &Rc::default());
        host.send([1, 2], &[]).unwrap();
        drop(theirs);
        assert_eq!(host.pid(), Some(rustix::process::getpid()));
    }

    #[test]
    fn who_ended_without_a_word_is_unknown() {
        let (ours, theirs) = socket_pair().unwrap();
        let host = HostProcess::new(ours, &Rc::default());
        host.send([1, 2], &[]).unwrap();
        assert!(!host.died_unknown());
        drop(theirs);
        assert!(host.died_unknown());
    }
}
