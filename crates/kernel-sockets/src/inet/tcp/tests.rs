use std::rc::Rc;

use linux_abi::Errno;
use linux_abi::sockets::{Linger, MessageFlags, af, so, sol};

use super::*;
use crate::options::{bytes_of, int_bytes};
use crate::testing::{TestCaller, network, receive, receive_with, send};

const CALLER: TestCaller = TestCaller { pid: 7, uid: 1000 };

fn v4(port: u16) -> Vec<u8> {
    let [high, low] = port.to_be_bytes();
    vec![2, 0, high, low, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]
}

fn listener(network: &Rc<Network>, backlog: u32) -> (Rc<TcpSocket>, Vec<u8>) {
    let listener = TcpSocket::new(network, af::INET);
    listener.bind(&CALLER, &v4(0)).unwrap();
    listener.listen(&CALLER, backlog).unwrap();
    let name = listener.local_name().unwrap().to_vec();
    (listener, name)
}

struct Connection {
    client: Rc<TcpSocket>,
    server: Rc<dyn SocketOps>,
    _listener: Rc<TcpSocket>,
}

fn connection() -> Connection {
    let network = network();
    let (listener, name) = listener(&network, 5);
    let client = TcpSocket::new(&network, af::INET);
    client.connect(&CALLER, &name, Patience::Waits).unwrap();
    let server = listener.accept().unwrap();
    Connection { client, server, _listener: listener }
}

fn bits(socket: &dyn SocketOps) -> u32 {
    socket.poll().bits()
}

// The numbers in these tests are what Linux shows.

#[test]
fn a_fresh_socket_is_not_connected() {
    let fresh = TcpSocket::new(&network(), af::INET);
    assert_eq!(bits(&*fresh), 0x114);
    assert_eq!(send(&*fresh, b"x"), Err(Errno::EPIPE));
    assert_eq!(receive(&*fresh, 1), Err(Errno::ENOTCONN));
    assert_eq!(fresh.shutdown(Shutdown::all()), Err(Errno::ENOTCONN));
    assert_eq!(fresh.accept().err(), Some(Errno::EINVAL));
}

#[test]
fn data_goes_both_ways() {
    let c = connection();
    assert_eq!(bits(&*c.client), 0x104);
    assert_eq!(bits(&*c.server), 0x104);
    send(&*c.client, b"hello").unwrap();
    assert_eq!(bits(&*c.server), 0x145);
    assert_eq!(receive(&*c.server, 99), Ok(b"hello".to_vec()));
    send(&*c.server, b"world").unwrap();
    assert_eq!(receive(&*c.client, 3), Ok(b"wor".to_vec()));
    assert_eq!(c.client.peer_name(), c.server.local_name());
    assert_eq!(c.server.peer_name(), c.client.local_name());
}

#[test]
fn the_first_send_after_the_peer_closed_succeeds_and_the_next_breaks() {
    let c = connection();
    c.server.release();
    assert_eq!(bits(&*c.client), 0x2145);
    assert_eq!(send(&*c.client, b"x"), Ok(1));
    assert_eq!(bits(&*c.client), 0x215d);
    assert_eq!(send(&*c.client, b"x"), Err(Errno::EPIPE));
    assert_eq!(bits(&*c.client), 0x2155);
    assert_eq!(receive(&*c.client, 1), Ok(vec![]));
    assert_eq!(c.client.peer_name(), Err(Errno::ENOTCONN));
}

#[test]
fn closing_with_unread_data_resets() {
    let c = connection();
    send(&*c.client, b"abc").unwrap();
    c.server.release();
    assert_eq!(bits(&*c.client), 0x215d);
    assert_eq!(receive(&*c.client, 1), Err(Errno::ECONNRESET));
    assert_eq!(receive(&*c.client, 1), Ok(vec![]));
    assert_eq!(send(&*c.client, b"x"), Err(Errno::EPIPE));
}

#[test]
fn lingering_for_no_time_resets_but_keeps_what_was_sent() {
    let c = connection();
    send(&*c.server, b"xyz").unwrap();
    let linger = bytes_of(&Linger { on: 1, seconds: 0 });
    c.server.set_option(&CALLER, sol::SOCKET, so::LINGER, &linger).unwrap();
    c.server.release();
    assert_eq!(bits(&*c.client), 0x215d);
    assert_eq!(receive(&*c.client, 1), Ok(b"x".to_vec()));
    assert_eq!(receive(&*c.client, 9), Ok(b"yz".to_vec()));
    assert_eq!(receive(&*c.client, 1), Err(Errno::ECONNRESET));
    assert_eq!(bits(&*c.client), 0x2155);
}

#[test]
fn half_closed_connections_still_carry_the_other_half() {
    let c = connection();
    c.client.shutdown(Shutdown::SEND).unwrap();
    assert_eq!(bits(&*c.client), 0x104);
    assert_eq!(bits(&*c.server), 0x2145);
    assert_eq!(send(&*c.client, b"x"), Err(Errno::EPIPE));
    send(&*c.server, b"hi").unwrap();
    assert_eq!(bits(&*c.client), 0x145);
    assert_eq!(receive(&*c.client, 9), Ok(b"hi".to_vec()));
    c.server.shutdown(Shutdown::SEND).unwrap();
    assert_eq!(bits(&*c.client), 0x2155);
    assert_eq!(bits(&*c.server), 0x2155);
    assert_eq!(c.client.shutdown(Shutdown::SEND), Err(Errno::ENOTCONN));
    assert_eq!(c.client.peer_name(), Err(Errno::ENOTCONN));
}

#[test]
fn a_shut_receiver_still_receives() {
    let c = connection();
    c.client.shutdown(Shutdown::RECEIVE).unwrap();
    assert_eq!(bits(&*c.client), 0x2145);
    assert_eq!(bits(&*c.server), 0x104);
    assert_eq!(receive(&*c.client, 9), Ok(vec![]));
    send(&*c.server, b"zz").unwrap();
    assert_eq!(receive(&*c.client, 9), Ok(b"zz".to_vec()));
}

#[test]
fn impatient_connections_are_in_progress_first() {
    let network = network();
    let (listener, name) = listener(&network, 5);
    let client = TcpSocket::new(&network, af::INET);
    assert_eq!(client.connect(&CALLER, &name, Patience::Never), Err(Errno::EINPROGRESS));
    assert_eq!(bits(&*client), 0x104);
    assert_eq!(client.connect(&CALLER, &name, Patience::Never), Ok(()));
    assert_eq!(client.connect(&CALLER, &name, Patience::Never), Err(Errno::EISCONN));
    listener.release();

    let client = TcpSocket::new(&network, af::INET);
    let nobody = v4(1);
    assert_eq!(client.connect(&CALLER, &nobody, Patience::Never), Err(Errno::EINPROGRESS));
    assert_eq!(bits(&*client), 0x215d);
    assert_eq!(client.connect(&CALLER, &nobody, Patience::Never), Err(Errno::ECONNREFUSED));
    assert_eq!(bits(&*client), 0x114);
    assert_eq!(client.connect(&CALLER, &nobody, Patience::Waits), Err(Errno::ECONNREFUSED));
}

#[test]
fn a_full_backlog_holds_connections_up_until_one_is_accepted() {
    let network = network();
    let (listener, name) = listener(&network, 1);
    let connect = || {
        let client = TcpSocket::new(&network, af::INET);
        let _ = client.connect(&CALLER, &name, Patience::Never);
        client
    };
    let _first = connect();
    let second = connect();
    let third = connect();
    let fourth = connect();
    assert_eq!(bits(&*second), 0x104);
    assert_eq!(bits(&*third), 0);
    assert_eq!(send(&*third, b"x"), Err(Errno::EAGAIN));
    assert_eq!(receive(&*third, 1), Err(Errno::EAGAIN));
    assert_eq!(third.connect(&CALLER, &name, Patience::Never), Err(Errno::EALREADY));
    listener.accept().unwrap();
    assert_eq!(bits(&*third), 0x104);
    assert_eq!(third.connect(&CALLER, &name, Patience::Never), Ok(()));
    listener.shutdown(Shutdown::RECEIVE).unwrap();
    assert_eq!(bits(&*listener), 0x114);
    assert_eq!(listener.accept().err(), Some(Errno::EINVAL));
    assert_eq!(fourth.get_option(sol::SOCKET, so::ERROR), Ok(int_bytes(111)));
}

#[test]
fn urgent_bytes_travel_apart() {
    let c = connection();
    let mut control = crate::OutgoingControl::default();
    let message = &mut Outgoing {
        source: &mut kernel_core::io::SliceSource::new(b"abc!"),
        flags: MessageFlags::OOB,
        name: None,
        control: &mut control,
        caller: None,
    };
    assert_eq!(c.client.send(message), Ok(4));
    assert_eq!(bits(&*c.server), 0x147);
    assert_eq!(receive(&*c.server, 9), Ok(b"abc".to_vec()));
    assert_eq!(bits(&*c.server), 0x106);
    assert_eq!(receive_with(&*c.server, 9, MessageFlags::OOB).unwrap().0, b"!");
    assert_eq!(bits(&*c.server), 0x104);
    assert_eq!(receive_with(&*c.server, 9, MessageFlags::OOB).err(), Some(Errno::EINVAL));
}

#[test]
fn one_listener_serves_both_stacks() {
    let network = network();
    let listener = TcpSocket::new(&network, af::INET6);
    listener.listen(&CALLER, 5).unwrap();
    let port = listener.local_name().unwrap()[2..4].to_vec();
    let client = TcpSocket::new(&network, af::INET);
    let mut name = v4(0);
    name[2..4].copy_from_slice(&port);
    client.connect(&CALLER, &name, Patience::Waits).unwrap();
    let server = listener.accept().unwrap();
    let shown = server.peer_name().unwrap();
    assert_eq!(shown.len(), 28);
    assert_eq!(&shown[8..24], &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 127, 0, 0, 1]);
}

#[test]
fn nothing_leaves_by_default() {
    let client = TcpSocket::new(&network(), af::INET);
    let mut name = v4(80);
    name[4..8].copy_from_slice(&[8, 8, 8, 8]);
    assert_eq!(client.connect(&CALLER, &name, Patience::Waits), Err(Errno::ENETUNREACH));
    assert_eq!(client.bind(&CALLER, &name), Err(Errno::EADDRNOTAVAIL));
    assert_eq!(client.bind(&CALLER, &v4(80)), Err(Errno::EACCES));
}

#[test]
fn a_slow_reader_stops_the_writer() {
    let c = connection();
    let bytes = vec![7; 1 << 20];
    let n = send(&*c.client, &bytes).unwrap();
    assert_eq!(n, 512 << 10);
    assert_eq!(send(&*c.client, &bytes), Err(Errno::EAGAIN));
    assert_eq!(bits(&*c.client), 0);
    receive(&*c.server, n / 2).unwrap();
    assert_eq!(bits(&*c.client), 0x104);
}
