//! Standard output: everything arrives, in as large pieces as natively, and what counts is counted.

use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output, Stdio};

use rustix::fs::{OFlags, fcntl_getfl};

fn belljar(options: &[&str], program: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_belljar"));
    command.arg("run").args(options).arg("--").args(program);
    command
}

/// Makes a write that does not wait, and says how much of it was taken.
const ONE_WRITE: &str = "import os, sys\nos.set_blocking(1, False)\n\
                         n = os.write(1, bytes(65536))\nprint(n, file=sys.stderr)";

#[test]
fn a_write_is_taken_as_a_whole_by_whatever_has_room() {
    let taken = |output: Stdio| {
        let mut command = belljar(&[], &["python3", "-c", ONE_WRITE]);
        let Output { stderr, .. } = command
            .stdout(output)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
            .wait_with_output()
            .unwrap();
        String::from_utf8(stderr).unwrap()
    };
    let (_reader, pipe) = std::io::pipe().unwrap();
    assert_eq!(taken(pipe.into()), "65536\n");
    let (_reader, socket) = UnixStream::pair().unwrap();
    assert_eq!(taken(OwnedFd::from(socket).into()), "65536\n");
    assert_eq!(taken(Stdio::null()), "65536\n");
    let file = tempfile::tempfile().unwrap();
    assert_eq!(taken(file.into()), "65536\n");
}

/// Writes what can be recognised, in pieces of many sizes, by two processes in turn.
const PATTERN: &str = r"
import os
line = bytes(range(256)) * 4099
at = 0
for i in range(400):
    size = (i * 7919) % 300000 + 1
    if i % 50 == 7:
        child = os.fork()
        if child == 0:
            while size:
                n = os.write(1, line[at % 256:][:size])
                at, size = at + n, size - n
            os._exit(0)
        os.waitpid(child, 0)
        at += size
        continue
    while size:
        n = os.write(1, line[at % 256:][:size])
        at, size = at + n, size - n
";

fn is_pattern(bytes: &[u8]) -> bool {
    bytes.iter().enumerate().all(|(at, byte)| usize::from(*byte) == at % 256)
}

#[test]
fn everything_arrives_in_its_order() {
    let expected: usize = (0..400).map(|i| (i * 7919) % 300_000 + 1).sum();
    for options in [&[][..], &["--output-limit", "1G"]] {
        let output = belljar(options, &["python3", "-c", PATTERN]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.stdout.len(), expected, "{options:?}");
        assert!(is_pattern(&output.stdout), "{options:?}");
    }
}

#[test]
fn a_limit_is_kept_to_the_byte() {
    for (limit, bytes) in [("1M", 1 << 20), ("100001", 100_001)] {
        let options = ["--output-limit", limit];
        let output = belljar(&options, &["python3", "-c", PATTERN]).output().unwrap();
        assert_eq!(output.status.code(), Some(137));
        assert_eq!(output.stdout.len(), bytes);
        assert!(is_pattern(&output.stdout));
        assert!(String::from_utf8_lossy(&output.stderr).contains("--output-limit"));
    }
}

#[test]
fn a_reader_that_goes_away_ends_the_writer() {
    let mut child = belljar(&[], &["yes"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = child.stdout.take().unwrap();
    let mut bytes = vec![0; 5 << 20];
    output.read_exact(&mut bytes).unwrap();
    assert!(bytes.chunks(2).all(|line| line == b"y\n"));
    drop(output);
    let status = child.wait().unwrap();
    assert_eq!(status.code().or(status.signal().map(|signal| 128 + signal)), Some(141));
}

#[test]
fn a_guest_that_waits_for_a_slow_reader_can_be_ended() {
    let mut command = belljar(&["--timeout", "2s"], &["yes"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    // Nobody reads.
    assert_eq!(child.wait().unwrap().code(), Some(124));
}

#[test]
fn the_flags_that_others_share_stay_as_they_are() {
    let (reader, writer) = std::io::pipe().unwrap();
    let before = fcntl_getfl(&writer).unwrap();
    let copy = writer.try_clone().unwrap();
    let mut child = belljar(&[], &["head", "-c", "4M", "/dev/zero"]).stdout(copy).spawn().unwrap();
    let mut reader = std::io::BufReader::new(reader).take(4 << 20);
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes.len(), 4 << 20);
    assert!(child.wait().unwrap().success());
    assert_eq!(fcntl_getfl(&writer).unwrap(), before);
    assert!(!before.contains(OFlags::NONBLOCK));
}

#[test]
fn a_guest_that_asks_not_to_wait_does_not_once_it_was_lent() {
    let script = "import os, sys\nfor _ in range(64): os.write(1, bytes(65536))\n\
                  os.set_blocking(1, False)\ntry:\n  while True: os.write(1, bytes(65536))\n\
                  except BlockingIOError: print('full', file=sys.stderr)\n\
                  os.set_blocking(1, True)\nos.write(2, b'again\\n')\nos.write(1, b'x' * 4096)\n";
    let mut command = belljar(&[], &["python3", "-c", script]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut output, mut errors) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let mut bytes = vec![0; 64 << 16];
    output.read_exact(&mut bytes).unwrap();
    let mut word = vec![0; "full\nagain\n".len()];
    errors.read_exact(&mut word).unwrap();
    assert_eq!(word, b"full\nagain\n");
    let mut rest = Vec::new();
    output.read_to_end(&mut rest).unwrap();
    assert_eq!(rest[rest.len() - 4096..], [b'x'; 4096]);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_long_input_arrives_whole() {
    let mut command = belljar(&[], &["sh", "-c", "head -c 1; sleep 0.1; cat"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        let line: Vec<u8> = (0..=255).collect();
        for _ in 0..40_000 {
            std::io::Write::write_all(&mut input, &line).unwrap();
        }
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert_eq!(output.stdout.len(), 40_000 * 256);
    assert!(is_pattern(&output.stdout));
}
