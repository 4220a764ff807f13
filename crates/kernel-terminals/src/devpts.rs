//! `/dev/pts`, and the devices that open terminals.

use std::rc::{Rc, Weak};

use kernel_files::FileOps;
use kernel_files::inode::{DirEntry, OpenRequest};
use kernel_files::metadata::{DeviceNumber, FileKind};
use kernel_files::pseudo::{Names, Owner, PseudoFs, PseudoInode, PseudoType};
use kernel_files::special::{Device, SpecialFiles};
use linux_abi::time::Timespec;
use linux_abi::{Errno, SysResult};

use crate::terminal::SLAVE_MAJOR;
use crate::terminals::{Registry, SlaveInfo, Terminals};

const DEVPTS: PseudoType =
    PseudoType { name: "devpts", magic: 0x1cd1, knows_all_names: false, file_size: 0 };

/// `/dev/tty`.
pub const TTY: DeviceNumber = DeviceNumber::new(5, 0);
/// `/dev/ptmx`, and `/dev/pts/ptmx`.
pub const PTMX: DeviceNumber = DeviceNumber::new(5, 2);

/// The group that owns slaves: `tty` everywhere.
const TTY_GROUP: u32 = 5;

/// The permissions of slaves: what `mount -o gid=5,mode=620` gives.
const SLAVE_MODE: u32 = 0o620;

pub(crate) fn new_file_system(registry: &Weak<Registry>) -> Rc<PseudoFs> {
    let options = format!("gid={TTY_GROUP},mode={SLAVE_MODE:o},ptmxmode=666");
    let slaves = Slaves { registry: Weak::clone(registry) };
    PseudoFs::new(DEVPTS, &options, |fs| PseudoInode::root(fs, slaves).with_mode(0o755))
}

/// The node of a slave in `/dev/pts`.
pub(crate) fn new_node(root: &PseudoInode, info: &SlaveInfo) -> Rc<PseudoInode> {
    let name = info.index.to_string();
    root.device_in(name.as_bytes(), SLAVE_MODE, DeviceNumber::new(SLAVE_MAJOR, info.index))
        .owned_by(Owner { uid: info.uid, gid: TTY_GROUP })
        .made_at(Timespec::from_nanos(info.created))
}

struct Slaves {
    registry: Weak<Registry>,
}

/// The positions after the node `ptmx` and after slave 0.
const AFTER_PTMX: u64 = 3;
const AFTER_FIRST_SLAVE: u64 = 4;

impl Names for Slaves {
    fn lookup(&self, parent: &PseudoInode, name: &[u8]) -> SysResult<Rc<PseudoInode>> {
        if name == b"ptmx" {
            return Ok(parent.device_in(name, 0o666, PTMX));
        }
        let registry = self.registry.upgrade().ok_or(Errno::ENOENT)?;
        let index = std::str::from_utf8(name).ok().and_then(|name| name.parse().ok());
        let node = registry.node(index.ok_or(Errno::ENOENT)?).ok_or(Errno::ENOENT)?;
        // `01` and `+1` are other names than `1`.
        if parent.number_of(name) == node.number() { Ok(node) } else { Err(Errno::ENOENT) }
    }

    fn list(
        &self,
        parent: &PseudoInode,
        from: u64,
        visit: &mut dyn FnMut(&DirEntry<'_>) -> bool,
    ) -> SysResult<()> {
        let kind = FileKind::CharacterDevice;
        if from < AFTER_PTMX {
            let inode = parent.number_of(b"ptmx");
            if !visit(&DirEntry { name: b"ptmx", inode, kind, next: AFTER_PTMX }) {
                return Ok(());
            }
        }
        let registry = self.registry.upgrade().ok_or(Errno::ENOENT)?;
        let first = u32::try_from(from.saturating_sub(AFTER_PTMX)).unwrap_or(u32::MAX);
        for slave in registry.slaves(first) {
            let name = slave.index.to_string();
            let inode = parent.number_of(name.as_bytes());
            let next = AFTER_FIRST_SLAVE + u64::from(slave.index);
            if !visit(&DirEntry { name: name.as_bytes(), inode, kind, next }) {
                break;
            }
        }
        Ok(())
    }
}

impl Terminals {
    /// Makes `/dev/ptmx`, `/dev/tty` and the nodes of `/dev/pts` open terminals.
    pub fn register(&self, special: &SpecialFiles) {
        let device: Rc<dyn Device> = Rc::new(TerminalDevices { terminals: self.clone() });
        special.register(TTY, Rc::clone(&device));
        special.register(PTMX, Rc::clone(&device));
        special.register_major(SLAVE_MAJOR, device);
    }
}

struct TerminalDevices {
    terminals: Terminals,
}

impl Device for TerminalDevices {
    fn open(&self, device: DeviceNumber, request: &OpenRequest<'_>) -> SysResult<Rc<dyn FileOps>> {
        match device {
            PTMX => self.terminals.open_master(request.caller),
            TTY => self.terminals.open_controlling(request.caller),
            DeviceNumber { major: SLAVE_MAJOR, minor } => {
                self.terminals.open_slave(minor, request.flags, request.caller)
            }
            _ => Err(Errno::ENXIO),
        }
    }
}
