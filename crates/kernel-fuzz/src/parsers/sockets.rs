//! What guests send over sockets: netlink messages and control messages.

use super::scratch::{self, Scratch};

const AF_UNIX: u64 = 1;
const AF_INET: u64 = 2;
const AF_INET6: u64 = 10;
const AF_NETLINK: u64 = 16;
const STREAM: u64 = 1;
const DATAGRAM: u64 = 2;
const RAW: u64 = 3;
const SEQPACKET: u64 = 5;
const DONT_WAIT: u64 = 0x40;

/// Where things are in the guest's memory, from its start.
const HEADER: u64 = 0;
const VECTOR: u64 = 256;
const ROOM: u64 = 1024;
const BYTES: u64 = 32 << 10;
/// The longest input.
const MAX_INPUT: usize = 64 << 10;
/// So many answers to one message are read.
const MAX_ANSWERS: usize = 64;

/// Sends bytes to `NETLINK_ROUTE` and reads the answers.
pub fn netlink(bytes: &[u8]) {
    let bytes = bytes.get(..MAX_INPUT).unwrap_or(bytes);
    scratch::with(|scratch| {
        let socket = scratch.call("socket", &[AF_NETLINK, RAW, 0]).cast_unsigned();
        let address = scratch.put(BYTES, bytes);
        scratch.call("sendto", &[socket, address, bytes.len() as u64, DONT_WAIT, 0, 0]);
        let room = scratch.put(ROOM, &[]);
        for _ in 0..MAX_ANSWERS {
            if scratch.call("recvfrom", &[socket, room, 16 << 10, DONT_WAIT, 0, 0]) < 0 {
                break;
            }
        }
        scratch.close_all();
    });
}

/// Sends bytes as control messages, over a socket that the first byte chooses, and receives.
pub fn control_messages(bytes: &[u8]) {
    let Some((&kind, control)) = bytes.split_first() else { return };
    let control = control.get(..MAX_INPUT).unwrap_or(control);
    scratch::with(|scratch| {
        send_and_receive(scratch, kind, control);
        scratch.close_all();
    });
}

fn send_and_receive(scratch: &mut Scratch, kind: u8, control: &[u8]) {
    // Something to pass: descriptors 0 to 2.
    scratch.call("eventfd2", &[0, 0]);
    scratch.call("epoll_create1", &[0]);
    scratch.call("eventfd2", &[0, 0]);
    let (ours, theirs) = match kind % 5 {
        0 => pair(scratch, STREAM),
        1 => pair(scratch, DATAGRAM),
        2 => pair(scratch, SEQPACKET),
        3 => internet(scratch, AF_INET),
        _ => internet(scratch, AF_INET6),
    };
    let length = control.len() as u64;
    let bytes = scratch.put(BYTES, control);
    let header = message(scratch, bytes, length);
    scratch.call("sendmsg", &[ours, header, DONT_WAIT]);
    // Too little room, and enough.
    for room in [u64::from(kind), 8192] {
        let at = scratch.put(ROOM, &[]);
        let header = message(scratch, at, room);
        scratch.call("recvmsg", &[theirs, header, DONT_WAIT]);
        scratch.call("sendmsg", &[ours, message(scratch, bytes, length), DONT_WAIT]);
    }
}

fn pair(scratch: &mut Scratch, kind: u64) -> (u64, u64) {
    let two = scratch.put(VECTOR, &[0xff; 8]);
    scratch.call("socketpair", &[AF_UNIX, kind, 0, two]);
    // 0 to 2 are taken.
    (3, 4)
}

/// A socket that sends to itself.
fn internet(scratch: &mut Scratch, family: u64) -> (u64, u64) {
    let socket = scratch.call("socket", &[family, DATAGRAM, 0]).cast_unsigned();
    let mut address = vec![0; 28];
    let start: &[u8] =
        if family == AF_INET { &[2, 0, 0x30, 0x39, 127, 0, 0, 1] } else { &[10, 0, 0x30, 0x39] };
    address.iter_mut().zip(start).for_each(|(to, from)| *to = *from);
    if let (true, Some(last)) = (family == AF_INET6, address.get_mut(23)) {
        *last = 1;
    }
    let length = if family == AF_INET { 16 } else { 28 };
    let at = scratch.put(VECTOR, &address);
    scratch.call("bind", &[socket, at, length]);
    scratch.call("connect", &[socket, at, length]);
    (socket, socket)
}

/// A `struct msghdr` with one byte of data and this control buffer.
fn message(scratch: &Scratch, control: u64, length: u64) -> u64 {
    let byte = scratch.put(VECTOR + 64, b"x");
    let vector = [byte, 1].map(u64::to_le_bytes).concat();
    let vector = scratch.put(VECTOR + 128, &vector);
    let words = [0, 0, vector, 1, control, length, 0].map(u64::to_le_bytes).concat();
    scratch.put(HEADER, &words)
}
