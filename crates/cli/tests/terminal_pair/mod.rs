//! A pair of pseudo terminals: what a test reads and types, and what a program has.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::fs::File;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// The side of the test, and the one of the program.
pub fn open() -> (File, OwnedFd) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let side = rustix::fs::open(name, flags, Mode::empty()).unwrap();
    (File::from(master), side)
}

/// Makes a side all three standard streams of a command.
pub fn give(side: OwnedFd, command: &mut Command) {
    let copy = || Stdio::from(side.try_clone().unwrap());
    command.stdin(copy()).stdout(copy()).stderr(copy());
}
