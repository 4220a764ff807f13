//! Tests of a whole porter, on the host's loopback only.

use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use host_sys::LookupError;
use sandbox_spec::ConnectionRecord;

use crate::ledger::Account;

use super::*;

fn lookup(name: &str) -> Result<Vec<IpAddr>, LookupError> {
    match name {
        "local.test" => Ok(vec![[127, 0, 0, 1].into()]),
        "rebound.org" => Ok(vec![[127, 0, 0, 1].into(), [169, 254, 169, 254].into()]),
        "slow.test" => Err(LookupError::Failed),
        _ => Err(LookupError::NotFound),
    }
}

struct Gate {
    line: OwnedFd,
    report: UnixStream,
    thread: std::thread::JoinHandle<()>,
}

fn gate(allow: &[&str], published: Vec<(OwnedFd, u16)>) -> Gate {
    let (line, kernel) = protocol::pair().unwrap();
    let (report, theirs) = UnixStream::pair().unwrap();
    let rules = EgressRules::allowing(allow.iter().map(|rule| rule.parse().unwrap()).collect());
    let duty = Duty { rules, lookup, kernel, published, audit: None };
    let thread = std::thread::spawn(move || run(duty, theirs).unwrap());
    Gate { line, report, thread }
}

impl Gate {
    fn answer(&self) -> (Answer, Option<OwnedFd>) {
        let mut fds = [watch(self.line.as_fd())];
        let patience = rustix::event::Timespec { tv_sec: 10, tv_nsec: 0 };
        assert_eq!(poll(&mut fds, Some(&patience)), Ok(1));
        protocol::receive(self.line.as_fd()).unwrap().unwrap()
    }

    fn connect(&self, id: u64, transport: Transport, to: SocketAddr) -> Result<OwnedFd, i32> {
        let request = Request::Connect { id, transport, to };
        protocol::send(self.line.as_fd(), &request, None, SendFlags::empty()).unwrap();
        match self.answer() {
            (Answer::Connected { .. }, Some(socket)) => Ok(socket),
            (Answer::Refused { errno, .. }, None) => Err(errno),
            other => panic!("{other:?}"),
        }
    }

    fn finish(mut self) -> Vec<ConnectionRecord> {
        drop(self.line);
        self.thread.join().unwrap();
        let mut text = String::new();
        self.report.read_to_string(&mut text).unwrap();
        serde_json::from_str::<Account>(&text).unwrap().connections
    }
}

/// Asks for the IPv4 addresses of a name: the code of the answer, and the last address.
fn ask(socket: &OwnedFd, name: &str) -> (u8, Option<IpAddr>) {
    let mut query = vec![0, 9, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        query.push(u8::try_from(label.len()).unwrap());
        query.extend(label.as_bytes());
    }
    query.extend([0, 0, 1, 0, 1]);
    rustix::net::send(socket, &query, SendFlags::empty()).unwrap();
    let mut fds = [watch(socket.as_fd())];
    let patience = rustix::event::Timespec { tv_sec: 10, tv_nsec: 0 };
    assert_eq!(poll(&mut fds, Some(&patience)), Ok(1));
    let mut answer = [0; 512];
    let flags = rustix::net::RecvFlags::empty();
    let (n, _) = rustix::net::recv(socket, &mut answer[..], flags).unwrap();
    let address: Option<[u8; 4]> = (answer[7] > 0).then(|| answer[n - 4..n].try_into().unwrap());
    (answer[3] & 15, address.map(IpAddr::from))
}

#[test]
fn connects_to_what_is_allowed_and_to_nothing_else() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = server.local_addr().unwrap();
    let gate = gate(&[&to.to_string()], Vec::new());
    let socket = gate.connect(1, Transport::Tcp, to).unwrap();
    let (mut peer, _) = server.accept().unwrap();
    peer.write_all(b"hello").unwrap();
    let mut stream = TcpStream::from(socket);
    stream.set_nonblocking(false).unwrap();
    let mut text = [0; 5];
    stream.read_exact(&mut text).unwrap();
    assert_eq!(&text, b"hello");
    let other = SocketAddr::new(to.ip(), to.port() ^ 1);
    assert_eq!(gate.connect(2, Transport::Tcp, other).unwrap_err(), Errno::ACCESS.raw_os_error());
    let request = Request::Closed { id: 1, sent: 3, received: 5 };
    protocol::send(gate.line.as_fd(), &request, None, SendFlags::empty()).unwrap();
    let records = gate.finish();
    assert_eq!(records.len(), 2, "{records:?}");
    assert_eq!((records[0].bytes_sent, records[0].bytes_received), (3, 5));
    assert!(!records[0].is_blocked() && records[1].is_blocked());
}

#[test]
fn a_name_ties_its_addresses() {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = server.local_addr().unwrap();
    let gate = gate(&["local.test"], Vec::new());
    assert!(gate.connect(1, Transport::Udp, to).is_err());
    let names = gate.connect(2, Transport::Udp, NAME_SERVER).unwrap();
    assert_eq!(ask(&names, "Local.test"), (0, Some([127, 0, 0, 1].into())));
    let socket = UdpSocket::from(gate.connect(3, Transport::Udp, to).unwrap());
    socket.send(b"x").unwrap();
    server.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    assert_eq!(server.recv(&mut [0; 9]).unwrap(), 1);
    let records = gate.finish();
    let names: Vec<_> = records.iter().map(|record| record.name.as_deref()).collect();
    assert_eq!(names, [None, Some("local.test"), Some("local.test")]);
}

#[test]
fn other_names_are_not_told() {
    let gate = gate(&["rebound.org", "slow.test", "none.test"], Vec::new());
    let names = gate.connect(2, Transport::Udp, NAME_SERVER).unwrap();
    assert_eq!(ask(&names, "other.org"), (3, None));
    assert_eq!(ask(&names, "rebound.org"), (3, None));
    assert_eq!(ask(&names, "slow.test"), (2, None));
    assert_eq!(ask(&names, "none.test"), (3, None));
    let records = gate.finish();
    let blocked: Vec<_> = records.iter().filter(|record| record.is_blocked()).collect();
    assert_eq!(blocked.len(), 3, "{blocked:?}");
    assert_eq!(blocked[0].rule_to_allow().as_deref(), Some("other.org"));
    assert_eq!(blocked[1].rule_to_allow().as_deref(), Some("127.0.0.1"));
}

#[test]
fn published_ports_hand_their_connections_over() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    server.set_nonblocking(true).unwrap();
    let port = server.local_addr().unwrap();
    let gate = gate(&[], vec![(server.into(), 80)]);
    let mut client = TcpStream::connect(port).unwrap();
    let (Answer::Arrived { guest, from, .. }, Some(socket)) = gate.answer() else { panic!() };
    assert_eq!((guest, from), (80, client.local_addr().unwrap()));
    let mut stream = TcpStream::from(socket);
    stream.write_all(b"hi").unwrap();
    let mut text = [0; 2];
    client.read_exact(&mut text).unwrap();
    assert_eq!(&text, b"hi");
    assert_eq!(gate.finish().len(), 1);
}
