//! `/dev`: the devices that every program expects.

mod memory;

use std::rc::Rc;

use linux_abi::SysResult;

use crate::inode::{FileSystem, Inode, NewInode, NewKind};
use crate::metadata::DeviceNumber;
use crate::special::SpecialFiles;
use crate::tmpfs::{Limits, Tmpfs};

/// `/dev/null`.
pub const NULL: DeviceNumber = DeviceNumber::new(1, 3);
/// `/dev/zero`.
pub const ZERO: DeviceNumber = DeviceNumber::new(1, 5);
/// `/dev/full`.
pub const FULL: DeviceNumber = DeviceNumber::new(1, 7);
/// `/dev/random`.
pub const RANDOM: DeviceNumber = DeviceNumber::new(1, 8);
/// `/dev/urandom`.
pub const URANDOM: DeviceNumber = DeviceNumber::new(1, 9);
/// `/dev/tty`, the controlling terminal of whoever opens it. Registered by the terminals.
pub const TTY: DeviceNumber = DeviceNumber::new(5, 0);
/// `/dev/console`.
pub const CONSOLE: DeviceNumber = DeviceNumber::new(5, 1);
/// `/dev/ptmx`, which makes pseudo terminals. Registered by the terminals.
pub const PTMX: DeviceNumber = DeviceNumber::new(5, 2);

/// How much a guest may put into `/dev` itself.
const DEV_LIMITS: Limits = Limits { max_bytes: Some(64 << 10), max_inodes: Some(1000) };

/// Has `/dev/null` and its like opened by what they are.
pub fn register_devices(special: &SpecialFiles) {
    let device = Rc::new(memory::MemoryDevices);
    for number in [NULL, ZERO, FULL, RANDOM, URANDOM] {
        special.register(number, Rc::clone(&device) as Rc<_>);
    }
}

/// A `/dev` with nodes, links and empty directories `shm`, `pts` and `mqueue` to mount on.
pub fn new_devfs() -> SysResult<Rc<dyn FileSystem>> {
    let fs = Tmpfs::new(DEV_LIMITS, 0o755, 0, 0);
    let root = fs.root();
    let nodes = [
        (&b"null"[..], NULL),
        (b"zero", ZERO),
        (b"full", FULL),
        (b"random", RANDOM),
        (b"urandom", URANDOM),
        (b"tty", TTY),
    ];
    for (name, number) in nodes {
        add(&root, name, NewKind::CharacterDevice(number), 0o666)?;
    }
    let links = [
        (&b"fd"[..], &b"/proc/self/fd"[..]),
        (b"stdin", b"/proc/self/fd/0"),
        (b"stdout", b"/proc/self/fd/1"),
        (b"stderr", b"/proc/self/fd/2"),
        (b"ptmx", b"pts/ptmx"),
    ];
    for (name, target) in links {
        add(&root, name, NewKind::Symlink(target), 0o777)?;
    }
    for name in [&b"shm"[..], b"mqueue"] {
        add(&root, name, NewKind::Directory, 0o1777)?;
    }
    add(&root, b"pts", NewKind::Directory, 0o755)?;
    Ok(fs)
}

fn add(root: &Rc<dyn Inode>, name: &[u8], kind: NewKind<'_>, mode: u32) -> SysResult<()> {
    let names = root.directory().ok_or(linux_abi::Errno::ENOTDIR)?;
    names.create(name, &NewInode { kind, mode, uid: 0, gid: 0 })?;
    Ok(())
}
