//! Landlock: from some moment on, a process reaches the files beneath named places only.

#![expect(unsafe_code, reason = "the calls of Landlock are not wrapped by rustix")]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags};

/// What may be done beneath a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Read files, list folders.
    Read,
    /// All but executing.
    Write,
}

const EXECUTE: u64 = 1 << 0;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIRECTORY: u64 = 1 << 3;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEVICE: u64 = 1 << 15;
/// What applies to something that is not a folder.
const OF_FILES: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE;
/// Binding and connecting TCP sockets.
const ALL_NETWORK: u64 = 0b11;
/// Abstract unix sockets and signals, of processes outside.
const ALL_SCOPES: u64 = 0b11;

/// Every right on files that a version of Landlock knows.
fn all_file_rights(version: u32) -> u64 {
    let n_rights = match version {
        0 | 1 => 13,
        2 => 14,
        3 | 4 => 15,
        _ => 16,
    };
    (1 << n_rights) - 1
}

#[repr(C)]
struct Attributes {
    files: u64,
    network: u64,
    scopes: u64,
}

#[repr(C, packed)]
struct PathBeneath {
    allowed: u64,
    parent: i32,
}

/// A list of places, to which processes can be held. It can be made by one process and used by
/// another that has the same descriptor.
pub struct FileRules {
    descriptor: OwnedFd,
    /// Every right on files that the host's version knows.
    rights: u64,
}

impl FileRules {
    /// Rules without a place: no file, no TCP socket, and no signal and no abstract socket to
    /// anybody outside, as far as `version` knows these.
    pub fn new(version: u32) -> io::Result<Self> {
        let rights = all_file_rights(version);
        Ok(Self { descriptor: new_rules(version, rights)?, rights })
    }

    /// Allows what is beneath a place. One that is not there is left out.
    pub fn allow(&self, path: &Path, reach: Reach) -> io::Result<()> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let Ok(place) = rustix::fs::open(path, flags, Mode::empty()) else { return Ok(()) };
        self.allow_held(place.as_fd(), reach)
    }

    /// Allows what is beneath a place that is held.
    pub fn allow_held(&self, place: BorrowedFd<'_>, reach: Reach) -> io::Result<()> {
        const PATH_BENEATH: libc::c_int = 1;
        let mut allowed = match reach {
            Reach::Read => READ_FILE | READ_DIRECTORY,
            Reach::Write => self.rights & !EXECUTE,
        };
        let kind = FileType::from_raw_mode(rustix::fs::fstat(place)?.st_mode);
        if kind != FileType::Directory {
            allowed &= OF_FILES;
        }
        let rule = PathBeneath { allowed, parent: place.as_raw_fd() };
        let rules = self.descriptor.as_raw_fd();
        // SAFETY: reads the rule, which lives until the call returns.
        let failed = unsafe {
            let rule = &raw const rule;
            libc::syscall(libc::SYS_landlock_add_rule, rules, PATH_BENEATH, rule, 0)
        };
        if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Holds this process, and every process that it starts from now on, to the rules as they are
    /// now. What is open already stays usable.
    ///
    /// The process must have given up new privileges, and it must have one thread only.
    pub fn restrict_self(&self) -> io::Result<()> {
        let rules = self.descriptor.as_raw_fd();
        // SAFETY: takes a descriptor and no memory.
        let failed = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, rules, 0) };
        if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl AsFd for FileRules {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

fn new_rules(version: u32, files: u64) -> io::Result<OwnedFd> {
    let attributes = Attributes {
        files,
        network: if version >= 4 { ALL_NETWORK } else { 0 },
        scopes: if version >= 6 { ALL_SCOPES } else { 0 },
    };
    // A host that does not know the last fields takes them as long as they are zero.
    let size = size_of::<Attributes>();
    // SAFETY: reads the structure, of which the size is given.
    let answer =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, &raw const attributes, size, 0) };
    match i32::try_from(answer) {
        // SAFETY: the descriptor is new, and belongs to nobody else.
        Ok(fd) if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}
