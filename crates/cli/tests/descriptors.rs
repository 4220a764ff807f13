//! No descriptor of the host's leaks into a guest process: what each has open is of a few kinds.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod processes;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use processes::descendants;

/// Reads files until they are lent, maps files and memory, forks, has pipes and sockets, and waits.
const BUSY: &str = r#"
import mmap, os, socket, subprocess, sys, threading, time
def use():
    kept = [open("/etc/passwd", "rb", buffering=0), open("/mounted/data", "rb", buffering=0)]
    for file in kept:
        for _ in range(300):
            file.seek(0)
            file.read(64)
    writable = open("/mounted/data", "rb+")
    maps = [mmap.mmap(writable.fileno(), 4096), mmap.mmap(-1, 4096), mmap.mmap(kept[0].fileno(), 100, prot=mmap.PROT_READ)]
    memory = os.memfd_create("x")
    os.ftruncate(memory, 4096)
    maps.append(mmap.mmap(memory, 4096))
    pipes, pair = os.pipe(), socket.socketpair()
    listener = socket.create_server(("127.0.0.1", 0))
    if os.fork() == 0:
        kept[0].seek(0); kept[0].read(10)
        time.sleep(1000)
    subprocess.Popen(["sleep", "1000"])
    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
    for _ in range(300):
        kept[1].seek(0)
        kept[1].read(64)
    print("ready", flush=True)
    sys.stdin.read()
use()
"#;

/// What a descriptor of a guest process is, if it may be there.
fn kind(process: u32, number: u32, mounted: &Path) -> Result<&'static str, String> {
    let target = std::fs::read_link(format!("/proc/{process}/fd/{number}"));
    let info = std::fs::read_to_string(format!("/proc/{process}/fdinfo/{number}"));
    let (Ok(target), Ok(info)) = (target, info) else { return Ok("closed meanwhile") };
    let shown = target.to_string_lossy().into_owned();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).unwrap().trim();
    let is_read_only = u32::from_str_radix(flags, 8).unwrap() & 3 == 0;
    match number {
        0..=2 if shown == "/dev/null" => Ok("nothing"),
        3 if shown.starts_with("socket:") => Ok("the socket to the kernel process"),
        4 if shown.starts_with("anon_inode:[eventfd") => Ok("the doorbell"),
        0..=4 => Err(format!("{number} is {shown}")),
        _ if shown.starts_with("/memfd:") => Ok("memory"),
        // What was mounted to be written may be mapped to be written.
        _ if target.starts_with(mounted) && target.is_file() => Ok("a file of the mount"),
        _ if is_read_only && target.is_file() && !target.starts_with("/proc") => {
            Ok("a file to read")
        }
        _ => Err(format!("{number} is {shown}, flags {flags}")),
    }
}

#[test]
fn guest_processes_have_no_other_descriptors() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("data"), [b'x'; 8192]).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_belljar"))
        .args(["run", "--mount", &format!("{}:/mounted:rw", folder.path().display()), "--"])
        .args(["python3", "-c", BUSY])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    let (mut n_guests, mut kinds, mut leaks) = (0, BTreeSet::new(), Vec::new());
    for (process, _) in descendants(child.id()) {
        let name = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        if !name.starts_with(b"belljar-guest\0") {
            continue;
        }
        n_guests += 1;
        let Ok(entries) = std::fs::read_dir(format!("/proc/{process}/fd")) else { continue };
        for entry in entries {
            let number = entry.unwrap().file_name().to_string_lossy().parse().unwrap();
            match kind(process, number, folder.path()) {
                Ok(kind) => drop(kinds.insert(kind)),
                Err(leak) => leaks.push(format!("process {process}: {leak}")),
            }
        }
    }
    drop(child.stdin.take());
    child.wait().unwrap();
    assert_eq!(leaks, Vec::<String>::new());
    // The zygote, those that wait for a program, and three that run one.
    assert!(n_guests >= 4, "{n_guests} guest processes");
    for expected in ["the doorbell", "a file to read", "a file of the mount"] {
        assert!(kinds.contains(expected), "{expected}: nothing was lent, only {kinds:?}");
    }
}
