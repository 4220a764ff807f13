//! What leaves a sandbox, and what does not. Nothing here sends anything beyond the host's
//! loopback.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// How long anything may take, on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(30);

/// A web server on the host's loopback, with one page.
struct WebServer {
    child: Child,
    port: u16,
    _folder: tempfile::TempDir,
}

impl WebServer {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("page"), "from the host").unwrap();
        let mut child = Command::new("python3")
            .args(["-u", "-m", "http.server", "0", "--bind", "127.0.0.1"])
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let words = line.split_whitespace();
        let port = words.filter_map(|word| word.parse().ok()).next().unwrap();
        Self { child, port, _folder: folder }
    }

    fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

impl Drop for WebServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn belljar(options: &[&str], program: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_belljar"));
    command.args(["run", "--timeout", "30s"]).args(options).arg("--").args(program);
    command.stdin(Stdio::null());
    command
}

struct Ran {
    code: Option<i32>,
    output: String,
    errors: String,
}

fn ran(output: &Output) -> Ran {
    Ran {
        code: output.status.code(),
        output: String::from_utf8_lossy(&output.stdout).into_owned(),
        errors: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn run(options: &[&str], program: &[&str]) -> Ran {
    ran(&belljar(options, program).output().unwrap())
}

/// What `curl` inside gets from there.
fn curl(options: &[&str], url: &str) -> Ran {
    run(options, &["curl", "-sS", "--noproxy", "*", url])
}

/// What happens to a connection, and to a datagram, from inside: `ok` or the name of the error.
fn attempts(options: &[&str], to: &[&str]) -> Ran {
    const SCRIPT: &str = r#"
import errno, socket, sys
for what in sys.argv[1:]:
    kind, host, port = what.split(',')
    family = socket.AF_INET6 if ':' in host else socket.AF_INET
    s = socket.socket(family, socket.SOCK_STREAM if kind == 'tcp' else socket.SOCK_DGRAM)
    try:
        if kind == 'udp-to':
            s.sendto(b'x', (host, int(port)))
        else:
            s.connect((host, int(port)))
            s.send(b'x')
        print('ok', s.getpeername()[0] if kind == 'tcp' else '')
    except OSError as e:
        print(errno.errorcode.get(e.errno, e))
"#;
    let mut program = vec!["python3", "-c", SCRIPT];
    program.extend(to);
    run(options, &program)
}

fn audit(path: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn audit_file() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    (folder, path)
}

#[test]
fn curl_reaches_what_is_allowed() {
    let server = WebServer::start();
    let (_folder, log) = audit_file();
    let options = ["--allow", &server.address(), "--audit", log.to_str().unwrap()];
    let got = curl(&options, &format!("http://{}/page", server.address()));
    assert_eq!(
        (got.code, got.output.as_str(), got.errors.as_str()),
        (Some(0), "from the host", "")
    );
    let lines = audit(&log);
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!((&lines[0]["event"], &lines[0]["kind"]), (&"allowed".into(), &"tcp".into()));
    assert_eq!(
        (&lines[0]["address"], &lines[0]["port"]),
        (&"127.0.0.1".into(), &server.port.into())
    );
    assert_eq!(lines[1]["event"], "closed");
    assert!(lines[1]["bytes_sent"].as_u64() > Some(40), "{lines:?}");
    assert!(lines[1]["bytes_received"].as_u64() > Some(100), "{lines:?}");
}

#[test]
fn nothing_is_reachable_by_default() {
    let server = WebServer::start();
    let got = curl(&[], &format!("http://{}/page", server.address()));
    assert_eq!((got.code, got.output.as_str()), (Some(7), ""));
    let port = server.port;
    let to = [
        format!("tcp,127.0.0.1,{port}"),
        "tcp,10.0.0.1,80".to_owned(),
        "udp,10.0.0.1,80".to_owned(),
    ];
    let got = attempts(&[], &to.each_ref().map(String::as_str));
    assert_eq!(got.output, "ECONNREFUSED\nENETUNREACH\nENETUNREACH\n");
    let got = run(&["--net", "none"], &["python3", "-c", "import socket; socket.socket()"]);
    assert!(got.errors.contains("Address family not supported"), "{}", got.errors);
}

#[test]
fn what_is_not_allowed_is_refused_and_told() {
    let (_folder, log) = audit_file();
    let options = ["--allow", "127.0.0.1:9", "--audit", log.to_str().unwrap()];
    let to = ["tcp,10.0.0.1,80", "udp,10.0.0.1,80", "udp-to,169.254.169.254,80", "tcp,fd00::1,80"];
    let got = attempts(&options, &to);
    assert!(got.output.starts_with("EACCES\nEACCES\nEACCES\n"), "{}", got.output);
    assert!(
        got.errors.contains("note: blocked 10.0.0.1:80 (TCP: no rule allows it)\n"),
        "{}",
        got.errors
    );
    assert!(got.errors.contains("--allow 10.0.0.1:80"), "{}", got.errors);
    assert!(!got.errors.contains("--allow 169.254.169.254"), "{}", got.errors);
    let warning = "warning: it tried to reach 169.254.169.254:80, and was not let";
    assert!(got.errors.contains(warning), "{}", got.errors);
    let lines = audit(&log);
    assert!(lines.len() >= 3 && lines.iter().all(|line| line["event"] == "denied"), "{lines:?}");
    let got = curl(&options, "http://example.invalid/");
    assert_eq!(got.code, Some(6), "{}", got.errors);
    assert!(
        got.errors.contains("hint: let it out with --allow example.invalid\n"),
        "{}",
        got.errors
    );
    let lines = audit(&log);
    assert_eq!((&lines[0]["kind"], &lines[0]["name"]), (&"dns".into(), &"example.invalid".into()));
}

#[test]
fn an_audit_log_has_a_limit() {
    const LIMIT: u64 = 20_000;
    const ASK: &str = r"
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for n in range(1000):
    try: s.sendto(b'x', ('10.0.0.1', 1 + n))
    except OSError: pass
print('went on')
";
    let (_folder, log) = audit_file();
    let limit = LIMIT.to_string();
    let options =
        ["--allow", "127.0.0.1:9", "--audit", log.to_str().unwrap(), "--audit-limit", &limit];
    let got = run(&options, &["python3", "-c", ASK]);
    assert_eq!((got.code, got.output.as_str()), (Some(0), "went on\n"), "{}", got.errors);
    assert!(std::fs::metadata(&log).unwrap().len() <= LIMIT);
    let lines = audit(&log);
    let [before @ .., full, lost] = lines.as_slice() else { panic!("{lines:?}") };
    assert!(before.len() > 50 && before.iter().all(|line| line["event"] == "denied"), "{lines:?}");
    assert_eq!((&full["event"], &full["limit"]), (&"full".into(), &LIMIT.into()));
    let n_lost = 1000 - before.len();
    assert_eq!((&lost["event"], &lost["lost"]), (&"lost".into(), &n_lost.into()));
    let words = format!("warning: {n_lost} lines are missing in the audit log, which may take");
    assert!(got.errors.contains(&words), "{}", got.errors);
    let got = run(&["--audit", log.to_str().unwrap(), "--audit-limit", "5"], &["true"]);
    assert_eq!(got.code, Some(125));
    assert!(got.errors.contains("hint: it takes at least 4K"), "{}", got.errors);
}

#[test]
fn a_name_is_tied_to_its_address() {
    let server = WebServer::start();
    let rule = format!("api.belljar.test:{}", server.port);
    let url = format!("http://{rule}/page");
    let options = ["--allow", &rule, "--add-host", "api.belljar.test:127.0.0.1"];
    let got = curl(&options, &url);
    assert_eq!((got.output.as_str(), got.errors.as_str()), ("from the host", ""));
    // Whoever has not asked for the name is not let through.
    let got = attempts(&options, &[&format!("tcp,127.0.0.1,{}", server.port)]);
    assert_eq!(got.output, "EACCES\n");
    let wildcard = ["--allow", "*.belljar.test", "--add-host", "api.belljar.test:127.0.0.1"];
    assert_eq!(curl(&wildcard, &url).output, "from the host");
    let denied = [&wildcard[..], &["--deny", "api.belljar.test"]].concat();
    assert_eq!(curl(&denied, &url).code, Some(6));
}

#[test]
fn the_hosts_resolver_is_asked() {
    // The question goes to the name server by hand: inside, `localhost` is in /etc/hosts.
    const ASK: &str = r"
import socket, struct
q = struct.pack('>6H', 7, 0x100, 1, 0, 0, 0) + b'\x09localhost\0\0\1\0\1'
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.settimeout(20)
u.sendto(q, ('10.0.2.3', 53)); a, who = u.recvfrom(512); print(who, a[3] & 15, a[-4:].hex())
t = socket.create_connection(('10.0.2.3', 53), 20); t.sendall(struct.pack('>H', len(q)) + q)
n = struct.unpack('>H', t.recv(2))[0]; a = t.recv(n); print(a[3] & 15, a[-4:].hex())
";
    let got = run(&["--allow", "localhost"], &["python3", "-c", ASK]);
    assert_eq!(got.output, "('10.0.2.3', 53) 0 7f000001\n0 7f000001\n", "{}", got.errors);
}

#[test]
fn deny_wins() {
    let server = WebServer::start();
    let options = ["--allow", "127.0.0.0/8", "--deny", &server.address()];
    let got = attempts(&options, &[&format!("tcp,127.0.0.1,{}", server.port)]);
    assert_eq!(got.output, "EACCES\n");
    assert!(got.errors.contains(&format!("denied by {}", server.address())), "{}", got.errors);
}

#[test]
fn errors_are_those_of_the_host() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let to = format!("tcp,127.0.0.1,{}", free.port());
    assert_eq!(attempts(&["--allow", "127.0.0.1"], &[&to]).output, "ECONNREFUSED\n");
}

#[test]
fn the_other_family_goes_out_as_well() {
    const TALK: &str = r"
import errno, socket, sys
port = int(sys.argv[1])
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    s = socket.socket(socket.AF_INET6, kind); s.settimeout(20)
    try:
        s.connect(('::1', port)); s.send(b'hello'); print(s.recv(9), s.getpeername()[0])
    except OSError as e:
        print(errno.errorcode.get(e.errno, e))
";
    let Ok(stream) = TcpListener::bind("[::1]:0") else {
        test_skips::skip("network-ipv6", "the host has no IPv6");
        return;
    };
    let address = stream.local_addr().unwrap();
    let datagrams = UdpSocket::bind(address).unwrap();
    datagrams.set_read_timeout(Some(PATIENCE)).unwrap();
    let echo = std::thread::spawn(move || {
        let mut buffer = [0; 9];
        let (mut connection, _) = stream.accept().unwrap();
        let n = connection.read(&mut buffer).unwrap();
        connection.write_all(&buffer[..n].to_ascii_uppercase()).unwrap();
        let (n, from) = datagrams.recv_from(&mut buffer).unwrap();
        datagrams.send_to(&buffer[..n].to_ascii_uppercase(), from).unwrap();
    });
    let port = address.port().to_string();
    let got = run(&["--allow", &address.to_string()], &["python3", "-c", TALK, &port]);
    assert_eq!(got.output, "b'HELLO' ::1\nb'HELLO' ::1\n", "{}", got.errors);
    echo.join().unwrap();
    let denied = ["--allow", "::1/128", "--deny", &address.to_string()];
    let got = run(&denied, &["python3", "-c", TALK, &port]);
    assert_eq!(got.output, "EACCES\nEACCES\n", "{}", got.errors);
}

#[test]
fn datagrams_go_out_and_come_back() {
    const TALK: &str = r"
import socket, sys
port = int(sys.argv[1])
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.settimeout(20)
u.sendto(b'one', ('127.0.0.1', port)); print(u.recvfrom(9) == (b'ONE', ('127.0.0.1', port)))
u.connect(('127.0.0.1', port)); u.send(b'two'); print(u.recv(9))
";
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    server.set_read_timeout(Some(PATIENCE)).unwrap();
    let port = server.local_addr().unwrap().port().to_string();
    let echo = std::thread::spawn(move || {
        let mut buffer = [0; 9];
        for _ in 0..2 {
            let (n, from) = server.recv_from(&mut buffer).unwrap();
            server.send_to(&buffer[..n].to_ascii_uppercase(), from).unwrap();
        }
    });
    let rule = format!("127.0.0.1:{port}");
    let got = run(&["--allow", &rule], &["python3", "-c", TALK, &port]);
    assert_eq!(got.output, "True\nb'TWO'\n", "{}", got.errors);
    echo.join().unwrap();
}

#[test]
fn much_data_arrives_whole() {
    const SEND: &str = r"
import os, select, socket, sys, hashlib
s = socket.create_connection(('127.0.0.1', int(sys.argv[1])))
data = os.urandom(1 << 20) * 8
with open('/tmp/f', 'wb') as f: f.write(data)
with open('/tmp/f', 'rb') as f: s.sendfile(f)
s.shutdown(socket.SHUT_WR)
e = select.epoll(); e.register(s, select.EPOLLIN); h = hashlib.sha256()
s.setblocking(False)
while True:
    e.poll(20)
    try: got = s.recv(1 << 16)
    except BlockingIOError: continue
    if not got: break
    h.update(got)
print(h.hexdigest() == hashlib.sha256(data).hexdigest())
";
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    let echo = std::thread::spawn(move || {
        let (mut stream, _) = server.accept().unwrap();
        let mut data = Vec::new();
        stream.read_to_end(&mut data).unwrap();
        stream.write_all(&data).unwrap();
    });
    let port = address.port().to_string();
    let got = run(&["--allow", &address.to_string()], &["python3", "-c", SEND, &port]);
    assert_eq!(got.output, "True\n", "{}", got.errors);
    echo.join().unwrap();
}

#[test]
fn a_published_port_leads_inside() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let script = "echo from inside > page; exec python3 -m http.server 8000";
    let publish = format!("{free}:8000");
    let options = ["--cwd", "/tmp", "--publish", &publish];
    let mut child = belljar(&options, &["sh", "-c", script])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + PATIENCE;
    let got = loop {
        let url = format!("http://127.0.0.1:{free}/page");
        let output = Command::new("curl").args(["-s", "--noproxy", "*", &url]).output().unwrap();
        if output.status.success() || Instant::now() > deadline {
            break ran(&output);
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    let taken = run(&["--publish", &publish], &["true"]);
    let _ = child.kill();
    let _ = child.wait();
    assert_eq!(got.output, "from inside\n");
    assert_eq!(taken.code, Some(125));
    assert!(taken.errors.contains(&format!("cannot publish port {free}")), "{}", taken.errors);
    // The porter is gone as well.
    let deadline = Instant::now() + PATIENCE;
    while TcpStream::connect(("127.0.0.1", free)).is_ok() {
        assert!(Instant::now() < deadline, "somebody still listens");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn it_holds_without_namespaces() {
    let server = WebServer::start();
    // A user namespace in which there can be no other, where the host permits the first one.
    let without = |options: &[&str], url: &str| {
        let command = belljar(options, &["curl", "-sS", "--noproxy", "*", url]);
        let script = "echo 0 > /proc/sys/user/max_user_namespaces || exit 99; exec \"$@\"";
        let mut outer = Command::new("unshare");
        outer.args(["-Ur", "sh", "-c", script, "sh"]).arg(command.get_program());
        outer.args(command.get_args()).stdin(Stdio::null());
        outer.output().ok().map(|output| ran(&output))
    };
    let url = format!("http://{}/page", server.address());
    let Some(got) = without(&["--allow", &server.address()], &url)
        .filter(|got| got.code != Some(99) && !got.errors.contains("unshare failed"))
    else {
        test_skips::skip("network-without-namespaces", "no user namespaces to try it in");
        return;
    };
    assert_eq!(got.output, "from the host", "{}", got.errors);
    let got = without(&[], &url).unwrap();
    assert_eq!((got.code, got.output.as_str()), (Some(7), ""), "{}", got.errors);
    let got = without(&["--allow", "127.0.0.1:9"], "http://10.0.0.1/").unwrap();
    assert_eq!(got.code, Some(7));
    assert!(got.errors.contains("error: blocked 10.0.0.1:80"), "{}", got.errors);
}
