use std::rc::Rc;

use kernel_core::io::SliceSource;
use kernel_core::timers;
use kernel_core::wait::PollEvents;
use kernel_files::OpenFile;
use linux_abi::Errno;
use linux_abi::files::OpenFlags;
use linux_abi::sockets::{MessageFlags, Ucred, so, sock, sol};

use super::*;
use crate::common::Shutdown;
use crate::options::int_bytes;
use crate::socket::Patience;
use crate::testing::{TestCaller, network, receive, receive_with, send, send_to, send_with};
use crate::{Control, Outgoing, OutgoingControl, Socket, SocketOps};

fn abstract_name(name: &str) -> Vec<u8> {
    [&[1, 0, 0], name.as_bytes()].concat()
}

fn bits(ready: PollEvents) -> u32 {
    ready.bits()
}

fn connected(kind: u32) -> (Rc<UnixSocket>, Rc<UnixSocket>) {
    pair(&network(), &TestCaller::default(), kind).unwrap()
}

#[test]
fn a_stream_keeps_order_and_no_borders() {
    let (a, b) = connected(sock::STREAM);
    assert_eq!(send(&*a, b"hello "), Ok(6));
    assert_eq!(send(&*a, b"world"), Ok(5));
    assert_eq!(receive(&*b, 8), Ok(b"hello wo".to_vec()));
    assert_eq!(receive(&*b, 8), Ok(b"rld".to_vec()));
    assert_eq!(receive(&*b, 8), Err(Errno::EAGAIN));
}

#[test]
fn packets_keep_their_borders_and_are_cut() {
    for kind in [sock::DGRAM, sock::SEQPACKET] {
        let (a, b) = connected(kind);
        send(&*a, b"first").unwrap();
        send(&*a, b"").unwrap();
        send(&*a, b"third").unwrap();
        let (bytes, received) = receive_with(&*b, 3, MessageFlags::empty()).unwrap();
        assert_eq!(bytes, b"fir");
        assert!(received.flags.contains(MessageFlags::TRUNC));
        assert_eq!(receive(&*b, 9), Ok(vec![]));
        let (_, received) = receive_with(&*b, 1, MessageFlags::TRUNC).unwrap();
        assert_eq!(received.n_bytes, 5);
    }
}

/// The numbers are what Linux shows.
#[test]
fn readiness_follows_linux() {
    for kind in [sock::STREAM, sock::SEQPACKET] {
        let (a, b) = connected(kind);
        assert_eq!(bits(a.poll()), 0x304);
        b.release();
        assert_eq!(bits(a.poll()), 0x2355);
        assert_eq!(send(&*a, b"x"), Err(Errno::EPIPE));
        assert_eq!(receive(&*a, 1), Ok(vec![]));
        assert!(a.peer_name().is_ok());

        let (a, b) = connected(kind);
        a.shutdown(Shutdown::SEND).unwrap();
        assert_eq!(bits(a.poll()), 0x304);
        assert_eq!(bits(b.poll()), 0x2345);
        assert_eq!(send(&*a, b"x"), Err(Errno::EPIPE));
        assert_eq!(receive(&*b, 1), Ok(vec![]));

        let alone = UnixSocket::new(&network(), kind).unwrap();
        assert_eq!(bits(alone.poll()), 0x314);
    }
    let alone = UnixSocket::new(&network(), sock::DGRAM).unwrap();
    assert_eq!(bits(alone.poll()), 0x304);
}

#[test]
fn unread_data_at_close_is_a_reset() {
    let (a, b) = connected(sock::STREAM);
    send(&*a, b"abc").unwrap();
    b.release();
    assert_eq!(bits(a.poll()), 0x235d);
    assert_eq!(receive(&*a, 9), Err(Errno::ECONNRESET));
    assert_eq!(receive(&*a, 9), Ok(vec![]));
}

#[test]
fn a_datagram_to_a_closed_peer_is_refused_and_then_not_connected() {
    let (a, b) = connected(sock::DGRAM);
    b.release();
    assert_eq!(send(&*a, b"x"), Err(Errno::ECONNREFUSED));
    assert_eq!(send(&*a, b"x"), Err(Errno::ENOTCONN));
}

#[test]
fn small_packets_fill_the_buffer_as_on_linux() {
    let (a, b) = connected(sock::DGRAM);
    let mut n = 0;
    while send(&*a, b"x").is_ok() {
        n += 1;
    }
    assert_eq!(n, 278);
    assert_eq!(bits(a.poll()), 0);
    for _ in 0..n {
        receive(&*b, 1).unwrap();
    }
    assert_eq!(bits(a.poll()), 0x304);
}

#[test]
fn a_full_stream_is_writable_again_at_a_quarter() {
    let (a, b) = connected(sock::STREAM);
    let bytes = vec![1; 300_000];
    assert_eq!(send(&*a, &bytes), Ok(212_992));
    assert_eq!(send(&*a, &bytes), Err(Errno::EAGAIN));
    assert_eq!(bits(a.poll()), 0);
    receive(&*b, 159_743).unwrap();
    assert_eq!(bits(a.poll()), 0);
    receive(&*b, 1).unwrap();
    assert_eq!(bits(a.poll()), 0x304);
}

#[test]
fn connections_wait_in_the_backlog() {
    let network = network();
    let caller = TestCaller::default();
    let name = abstract_name("server");
    let listener = UnixSocket::new(&network, sock::STREAM).unwrap();
    let connect = |kind| {
        let client = UnixSocket::new(&network, kind).unwrap();
        client.connect(&caller, &name, Patience::Never).map(|()| client)
    };
    assert_eq!(connect(sock::STREAM).err(), Some(Errno::ECONNREFUSED));
    assert_eq!(listener.listen(&caller, 1), Err(Errno::EINVAL));
    listener.bind(&caller, &name).unwrap();
    assert_eq!(connect(sock::STREAM).err(), Some(Errno::ECONNREFUSED));
    assert_eq!(connect(sock::DGRAM).err(), Some(Errno::EPROTOTYPE));
    listener.listen(&caller, 1).unwrap();
    assert_eq!(listener.accept().err(), Some(Errno::EAGAIN));
    let first = connect(sock::STREAM).unwrap();
    let second = connect(sock::STREAM).unwrap();
    assert_eq!(connect(sock::STREAM).err(), Some(Errno::EAGAIN));
    send(&*first, b"early").unwrap();
    let accepted = listener.accept().unwrap();
    assert_eq!(receive(&*accepted, 9), Ok(b"early".to_vec()));
    assert_eq!(&accepted.local_name().unwrap()[..], &name[..]);
    assert_eq!(&first.peer_name().unwrap()[..], &name[..]);
    assert_eq!(first.connect(&caller, &name, Patience::Never), Err(Errno::EISCONN));
    listener.release();
    assert_eq!(receive(&*second, 1), Err(Errno::ECONNRESET));
    accepted.release();
}

#[test]
fn names_are_taken_once_and_freed_with_the_socket() {
    let network = network();
    let caller = TestCaller::default();
    let name = abstract_name("x");
    let first = UnixSocket::new(&network, sock::DGRAM).unwrap();
    let second = UnixSocket::new(&network, sock::DGRAM).unwrap();
    first.bind(&caller, &name).unwrap();
    assert_eq!(first.bind(&caller, &name), Err(Errno::EINVAL));
    assert_eq!(second.bind(&caller, &name), Err(Errno::EADDRINUSE));
    second.bind(&caller, &[1, 0]).unwrap();
    assert_eq!(second.local_name().unwrap().len(), 8);
    assert_eq!(send_to(&*second, &name, b"hi"), Ok(2));
    let (_, received) = receive_with(&*first, 2, MessageFlags::empty()).unwrap();
    assert_eq!(received.name, Some(second.local_name().unwrap()));
    first.release();
    assert_eq!(send_to(&*second, &name, b"hi"), Err(Errno::ECONNREFUSED));
}

#[test]
fn a_slow_receiver_holds_strangers_up() {
    let network = network();
    let caller = TestCaller::default();
    let name = abstract_name("slow");
    let receiver = UnixSocket::new(&network, sock::DGRAM).unwrap();
    receiver.bind(&caller, &name).unwrap();
    let sender = UnixSocket::new(&network, sock::DGRAM).unwrap();
    sender.connect(&caller, &name, Patience::Never).unwrap();
    for _ in 0..11 {
        send(&*sender, b"x").unwrap();
    }
    assert_eq!(send(&*sender, b"x"), Err(Errno::EAGAIN));
    assert_eq!(bits(sender.poll()), 0);
    receive(&*receiver, 1).unwrap();
    assert_eq!(bits(sender.poll()), 0x304);
}

fn credentials_of(control: &[Control]) -> Option<Ucred> {
    control.iter().find_map(|one| match one {
        Control::Credentials(ucred) => Some(*ucred),
        _ => None,
    })
}

#[test]
fn credentials_are_told_to_those_who_ask_and_split_a_stream() {
    let (a, b) = connected(sock::STREAM);
    send(&*a, b"before ").unwrap();
    b.set_option(&TestCaller::default(), sol::SOCKET, so::PASSCRED, &int_bytes(1)).unwrap();
    send(&*a, b"after").unwrap();
    let (bytes, received) = receive_with(&*b, 99, MessageFlags::empty()).unwrap();
    assert_eq!(bytes, b"before ");
    assert_eq!(credentials_of(&received.control), Some(Ucred::UNKNOWN));
    let (bytes, received) = receive_with(&*b, 99, MessageFlags::empty()).unwrap();
    assert_eq!(bytes, b"after");
    let expected = Ucred { pid: 7, uid: 1000, gid: 1000 };
    assert_eq!(credentials_of(&received.control), Some(expected));
}

fn open(socket: &Rc<UnixSocket>) -> Rc<OpenFile> {
    Socket::open(Rc::<UnixSocket>::clone(socket), OpenFlags::empty())
}

fn with_files(files: &[&Rc<OpenFile>]) -> OutgoingControl {
    let files = files.iter().map(|file| Rc::clone(file)).collect();
    OutgoingControl { files, ..OutgoingControl::default() }
}

#[test]
fn files_end_a_read_of_a_stream() {
    let (a, b) = connected(sock::STREAM);
    let file = open(&a);
    send(&*a, b"one ").unwrap();
    send_with(&*a, b"two", None, with_files(&[&file])).unwrap();
    send(&*a, b" three").unwrap();
    assert_eq!(b.common().network.in_flight.n_files(), 1);
    let (bytes, received) = receive_with(&*b, 99, MessageFlags::empty()).unwrap();
    assert_eq!(bytes, b"one two");
    assert!(matches!(&received.control[..], [Control::Files(files)] if files.len() == 1));
    assert_eq!(b.common().network.in_flight.n_files(), 0);
    assert_eq!(receive(&*b, 99), Ok(b" three".to_vec()));
}

#[test]
fn a_ring_of_sockets_in_flight_is_found() {
    let (a, b) = connected(sock::STREAM);
    let network = Rc::clone(&a.common().network);
    let (weak_a, weak_b) = (Rc::downgrade(&a), Rc::downgrade(&b));
    let (file_a, file_b) = (open(&a), open(&b));
    // Each waits in the queue of the other.
    send_with(&*a, b"x", None, with_files(&[&file_a])).unwrap();
    send_with(&*b, b"x", None, with_files(&[&file_b])).unwrap();
    drop((a, b));
    network.in_flight.collect();
    assert_eq!(network.in_flight.n_files(), 2);
    file_a.ops().flush(&file_a).unwrap();
    drop(file_a);
    network.timers.fire(timers::now());
    assert_eq!(network.in_flight.n_files(), 2);
    file_b.ops().flush(&file_b).unwrap();
    drop(file_b);
    network.timers.fire(timers::now());
    assert_eq!(network.in_flight.n_files(), 0);
    assert!(weak_a.upgrade().is_none());
    assert!(weak_b.upgrade().is_none());
}

#[test]
fn sockets_that_wait_in_sockets_are_closed_without_deep_recursion() {
    let network = network();
    let caller = TestCaller::default();
    let (first, mut last) = pair(&network, &caller, sock::STREAM).unwrap();
    let mut chain = open(&first);
    for _ in 0..20_000 {
        let (sender, receiver) = pair(&network, &caller, sock::STREAM).unwrap();
        // The chain so far waits at `receiver`, which becomes the chain.
        let message = &mut Outgoing {
            source: &mut SliceSource::new(b"x"),
            flags: MessageFlags::empty(),
            name: None,
            control: &mut with_files(&[&chain]),
            caller: None,
        };
        sender.send(message).unwrap();
        chain = open(&receiver);
        last = sender;
    }
    assert_eq!(network.in_flight.n_files(), 20_000);
    drop(chain);
    assert_eq!(network.in_flight.n_files(), 0);
    drop(last);
}

#[test]
fn peeking_moves_the_offset_if_it_is_on() {
    let (a, b) = connected(sock::STREAM);
    b.set_option(&TestCaller::default(), sol::SOCKET, so::PEEK_OFF, &int_bytes(2)).unwrap();
    send(&*a, b"abcdef").unwrap();
    let peek = |n| receive_with(&*b, n, MessageFlags::PEEK).map(|(bytes, _)| bytes);
    assert_eq!(peek(2), Ok(b"cd".to_vec()));
    assert_eq!(peek(2), Ok(b"ef".to_vec()));
    assert_eq!(peek(2), Err(Errno::EAGAIN));
    assert_eq!(receive(&*b, 3), Ok(b"abc".to_vec()));
    assert_eq!(b.get_option(sol::SOCKET, so::PEEK_OFF), Ok(int_bytes(3)));
}
