//! Help for tests.

use std::rc::Rc;

use kernel_core::credentials::Credentials;
use kernel_core::io::{SliceSource, VecSink};
use kernel_core::timers::Timers;
use kernel_files::Location;
use linux_abi::sockets::MessageFlags;
use linux_abi::{Errno, SysResult};

use crate::{Caller, Incoming, Network, Outgoing, OutgoingControl, Received, SocketOps};

/// A caller that has no files.
pub(crate) struct TestCaller {
    pub(crate) pid: u32,
    pub(crate) uid: u32,
}

impl Default for TestCaller {
    fn default() -> Self {
        Self { pid: 7, uid: 1000 }
    }
}

impl Caller for TestCaller {
    fn pid(&self) -> u32 {
        self.pid
    }

    fn credentials(&self) -> Rc<Credentials> {
        Rc::new(Credentials::of_user(self.uid, self.uid))
    }

    fn descriptor_limit(&self) -> u32 {
        1024
    }

    fn create_socket_node(&self, _path: &[u8]) -> SysResult<Location> {
        Err(Errno::EROFS)
    }

    fn find_socket_node(&self, _path: &[u8]) -> SysResult<Location> {
        Err(Errno::ENOENT)
    }
}

pub(crate) fn network() -> Rc<Network> {
    Network::new(Timers::new(), |_| None)
}

pub(crate) fn send(socket: &dyn SocketOps, bytes: &[u8]) -> SysResult<usize> {
    send_with(socket, bytes, None, OutgoingControl::default())
}

pub(crate) fn send_to(socket: &dyn SocketOps, name: &[u8], bytes: &[u8]) -> SysResult<usize> {
    send_with(socket, bytes, Some(name), OutgoingControl::default())
}

pub(crate) fn send_with(
    socket: &dyn SocketOps,
    bytes: &[u8],
    name: Option<&[u8]>,
    mut control: OutgoingControl,
) -> SysResult<usize> {
    socket.send(&mut Outgoing {
        source: &mut SliceSource::new(bytes),
        flags: MessageFlags::empty(),
        name,
        control: &mut control,
        caller: Some(&TestCaller::default()),
    })
}

pub(crate) fn receive(socket: &dyn SocketOps, max: usize) -> SysResult<Vec<u8>> {
    receive_with(socket, max, MessageFlags::DONTWAIT).map(|(bytes, _)| bytes)
}

pub(crate) fn receive_with(
    socket: &dyn SocketOps,
    max: usize,
    flags: MessageFlags,
) -> SysResult<(Vec<u8>, Received)> {
    let mut sink = VecSink::new(max);
    let received = socket.receive(&mut Incoming { sink: &mut sink, flags })?;
    Ok((sink.bytes, received))
}
