use linux_abi::Errno;
use linux_abi::sockets::inet::ip;
use linux_abi::sockets::{MessageFlags, af, so, sol};

use super::*;
use crate::Control;
use crate::options::int_bytes;
use crate::testing::{TestCaller, network, receive, receive_with, send, send_to};

const CALLER: TestCaller = TestCaller { pid: 7, uid: 1000 };

fn v4(ip: [u8; 4], port: u16) -> Vec<u8> {
    address::encode(af::INET, (ip, port).into()).to_vec()
}

fn bound(network: &Rc<Network>, ip: [u8; 4], port: u16) -> Rc<UdpSocket> {
    let socket = UdpSocket::new(network, af::INET);
    socket.set_option(&CALLER, sol::SOCKET, so::REUSEADDR, &int_bytes(1)).unwrap();
    socket.bind(&CALLER, &v4(ip, port)).unwrap();
    socket
}

const LOCAL: [u8; 4] = [127, 0, 0, 1];

#[test]
fn datagrams_arrive_with_their_sender() {
    let network = network();
    let server = bound(&network, LOCAL, 5000);
    let client = UdpSocket::new(&network, af::INET);
    send_to(&*client, &v4(LOCAL, 5000), b"hi").unwrap();
    let (bytes, received) = receive_with(&*server, 9, MessageFlags::DONTWAIT).unwrap();
    assert_eq!(bytes, b"hi");
    let back = received.name.unwrap();
    send_to(&*server, &back, b"ho").unwrap();
    assert_eq!(receive(&*client, 9), Ok(b"ho".to_vec()));
    assert_eq!(receive(&*client, 9), Err(Errno::EAGAIN));
}

#[test]
fn a_connected_socket_hears_that_nobody_is_there() {
    let client = UdpSocket::new(&network(), af::INET);
    assert_eq!(client.poll().bits(), 0x304);
    client.connect(&CALLER, &v4(LOCAL, 9), Patience::Waits).unwrap();
    assert_eq!(send(&*client, b"x"), Ok(1));
    assert_eq!(client.poll().bits(), 0x30c);
    assert_eq!(send(&*client, b"x"), Err(Errno::ECONNREFUSED));
    client.shutdown(Shutdown::all()).unwrap();
    assert_eq!(client.poll().bits(), 0x2355);
    assert_eq!(send(&*client, b"x"), Err(Errno::EPIPE));
    assert_eq!(receive(&*client, 1), Err(Errno::EAGAIN));
}

#[test]
fn errors_follow_linux() {
    let client = UdpSocket::new(&network(), af::INET);
    assert_eq!(send(&*client, b"x"), Err(Errno::EDESTADDRREQ));
    assert_eq!(send_to(&*client, &v4([255; 4], 9), b"x"), Err(Errno::EACCES));
    assert_eq!(send_to(&*client, &v4(LOCAL, 0), b"x"), Err(Errno::EINVAL));
    assert_eq!(send_to(&*client, &v4([8; 4], 53), b"x"), Err(Errno::ENETUNREACH));
    assert_eq!(send_to(&*client, &v4(LOCAL, 9), &[0; 65_508]), Err(Errno::EMSGSIZE));
}

#[test]
fn a_connected_receiver_is_preferred_and_hears_nobody_else() {
    let network = network();
    let general = bound(&network, LOCAL, 5000);
    let special = bound(&network, LOCAL, 5000);
    let friend = bound(&network, LOCAL, 6000);
    let stranger = bound(&network, LOCAL, 6001);
    special.connect(&CALLER, &v4(LOCAL, 6000), Patience::Waits).unwrap();
    send_to(&*friend, &v4(LOCAL, 5000), b"friend").unwrap();
    send_to(&*stranger, &v4(LOCAL, 5000), b"stranger").unwrap();
    assert_eq!(receive(&*special, 99), Ok(b"friend".to_vec()));
    assert_eq!(receive(&*special, 99), Err(Errno::EAGAIN));
    assert_eq!(receive(&*general, 99), Ok(b"stranger".to_vec()));
}

#[test]
fn groups_reach_their_members() {
    let network = network();
    let member = bound(&network, [0; 4], 5353);
    let other = bound(&network, [0; 4], 5353);
    let group = [224, 0, 0, 251];
    let join = [&group[..], &[0; 4]].concat();
    member.set_option(&CALLER, sol::IP, ip::ADD_MEMBERSHIP, &join).unwrap();
    let sender = UdpSocket::new(&network, af::INET);
    send_to(&*sender, &v4(group, 5353), b"all").unwrap();
    assert_eq!(receive(&*member, 9), Ok(b"all".to_vec()));
    assert_eq!(receive(&*other, 9), Err(Errno::EAGAIN));
}

#[test]
fn a_full_receiver_drops() {
    let network = network();
    let server = bound(&network, LOCAL, 5000);
    let client = UdpSocket::new(&network, af::INET);
    for _ in 0..1000 {
        send_to(&*client, &v4(LOCAL, 5000), &[0; 1000]).unwrap();
    }
    let mut n = 0;
    while receive(&*server, 1000).is_ok() {
        n += 1;
    }
    assert_eq!(n, 212_992 / 1768);
}

#[test]
fn asks_get_told_where_a_datagram_went() {
    let network = network();
    let server = bound(&network, [0; 4], 5000);
    server.set_option(&CALLER, sol::IP, ip::PKTINFO, &int_bytes(1)).unwrap();
    let client = UdpSocket::new(&network, af::INET);
    send_to(&*client, &v4([127, 0, 0, 9], 5000), b"x").unwrap();
    let (_, received) = receive_with(&*server, 1, MessageFlags::empty()).unwrap();
    assert!(matches!(&received.control[..],
        [Control::Raw(raw)] if raw.kind == ip::PKTINFO && raw.data[8..12] == [127, 0, 0, 9]));
}
