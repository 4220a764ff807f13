//! Who removes a control group when nobody else can.

use std::fs;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use host_sys::rustix::process::{Pid, WaitOptions, waitpid};
use host_sys::{Forked, fork_into};

/// How long the host may take to end the processes of a group.
const PATIENCE: Duration = Duration::from_secs(60);

/// A process that removes a group at the end of the one that started it.
pub struct Janitor {
    pid: Pid,
    /// Closed at the end of this process, whatever ends it.
    line: Option<UnixStream>,
}

impl Janitor {
    /// Starts one for the group in this folder.
    pub fn start(folder: &Path) -> io::Result<Self> {
        let (line, theirs) = UnixStream::pair()?;
        match fork_into(&[])? {
            Forked::Parent(pid) => Ok(Self { pid, line: Some(line) }),
            Forked::Child => be_janitor(folder, &theirs),
        }
    }
}

impl Drop for Janitor {
    /// Waits until the group is gone.
    fn drop(&mut self) {
        self.line.take();
        let _ = waitpid(Some(self.pid), WaitOptions::empty());
    }
}

fn be_janitor(folder: &Path, mut line: &UnixStream) -> ! {
    // A pipe that the starter closes would otherwise stay open in here; its signals are not ours.
    let is_ready = host_sys::close_all_but(&[line.as_fd()]).is_ok()
        && host_sys::rustix::process::setsid().is_ok();
    if is_ready {
        let _ = line.read(&mut [0]);
    }
    let deadline = Instant::now() + PATIENCE;
    loop {
        // What is left in it ends first. Older hosts have no such file; there the kernel process
        // has ended with its starter, and its guests with it.
        let _ = fs::write(folder.join("cgroup.kill"), "1");
        match fs::remove_dir(folder) {
            Err(error) if error.raw_os_error() == Some(BUSY) && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(2));
            }
            _ => std::process::exit(0),
        }
    }
}

/// `EBUSY`: processes are left in the group.
const BUSY: i32 = 16;
