use linux_abi::sockets::netlink::{NlMsgHdr, nlm_f, nlmsg, protocol, rtm};
use linux_abi::sockets::sock;
use zerocopy::{FromBytes, IntoBytes};

use super::*;
use crate::SocketOps;
use crate::testing::{TestCaller, network, receive, send};

fn request(kind: u16, flags: u16, payload: &[u8]) -> Vec<u8> {
    let len = u32::try_from(16 + payload.len()).unwrap();
    let header = NlMsgHdr { len, kind, flags, sequence: 9, port: 0 };
    [header.as_bytes(), payload].concat()
}

fn kinds(mut bytes: &[u8]) -> Vec<u16> {
    let mut kinds = Vec::new();
    while let Ok((header, _)) = NlMsgHdr::read_from_prefix(bytes) {
        assert_eq!(header.sequence, 9);
        kinds.push(header.kind);
        bytes = &bytes[(header.len as usize).next_multiple_of(4)..];
    }
    kinds
}

#[test]
fn lists_end_with_done() {
    let socket = NetlinkSocket::new(&network(), sock::RAW, protocol::ROUTE).unwrap();
    socket.bind(&TestCaller::default(), &[16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).unwrap();
    assert_eq!(socket.local_name().unwrap()[4], 7);
    for (kind, answers) in [
        (rtm::GETLINK, vec![rtm::NEWLINK]),
        (rtm::GETADDR, vec![rtm::NEWADDR; 2]),
        (rtm::GETROUTE, vec![rtm::NEWROUTE; 3]),
    ] {
        let request = request(kind, nlm_f::REQUEST | nlm_f::DUMP, &[0; 16]);
        send(&*socket, &request).unwrap();
        assert_eq!(kinds(&receive(&*socket, 8192).unwrap()), answers);
        assert_eq!(kinds(&receive(&*socket, 8192).unwrap()), [nlmsg::DONE]);
    }
}

#[test]
fn changes_are_refused() {
    let socket = NetlinkSocket::new(&network(), sock::RAW, protocol::ROUTE).unwrap();
    send(&*socket, &request(rtm::NEWLINK, nlm_f::REQUEST, &[0; 16])).unwrap();
    let answer = receive(&*socket, 8192).unwrap();
    assert_eq!(kinds(&answer), [nlmsg::ERROR]);
    assert_eq!(answer[16..20], (-1_i32).to_ne_bytes());
}

#[test]
fn one_link_is_found_by_its_name() {
    let socket = NetlinkSocket::new(&network(), sock::RAW, protocol::ROUTE).unwrap();
    let payload = [&[0; 16][..], &[7, 0, 3, 0], b"lo\0\0"].concat();
    send(&*socket, &request(rtm::GETLINK, nlm_f::REQUEST, &payload)).unwrap();
    assert_eq!(kinds(&receive(&*socket, 8192).unwrap()), [rtm::NEWLINK]);
}
