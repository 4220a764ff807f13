//! Devices, whose objects mostly live in other crates.
//!
//! A node in a directory says only "character device 5:2". What that means is registered here when
//! the kernel starts.

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use linux_abi::files::MountFlags;
use linux_abi::{Errno, SysResult};

use crate::inode::{Inode, OpenRequest};
use crate::metadata::{DeviceNumber, FileKind};
use crate::mount::Mount;
use crate::open_file::FileOps;
use crate::permission::Want;

/// Opens the character devices of one number.
pub trait Device {
    /// The object behind a new open file of this device.
    fn open(&self, device: DeviceNumber, request: &OpenRequest<'_>) -> SysResult<Rc<dyn FileOps>>;
}

bitflags::bitflags! {
    /// What somebody wants to do with a device.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct DeviceUse: u32 {
        /// Make a node of its number.
        const MAKE = 1;
        /// Read from it.
        const READ = 2;
        /// Write to it.
        const WRITE = 4;
    }
}

/// Judges who may use which device, next to permissions.
pub trait DeviceGate {
    /// `EPERM` if the caller (a `kernel_tasks::Thread`) may not do this with such a device.
    fn check(
        &self,
        caller: &dyn Any,
        kind: FileKind,
        number: DeviceNumber,
        wanted: DeviceUse,
    ) -> SysResult<()>;
}

/// Who opens devices.
#[derive(Default)]
pub struct SpecialFiles {
    devices: RefCell<HashMap<DeviceNumber, Rc<dyn Device>>>,
    /// For a whole major number, such as the slaves of pseudo terminals.
    majors: RefCell<HashMap<u32, Rc<dyn Device>>>,
    /// File systems of which the kernel has one, to be mounted again.
    file_systems: RefCell<HashMap<&'static str, Rc<Mount>>>,
    gate: RefCell<Option<Rc<dyn DeviceGate>>>,
}

impl SpecialFiles {
    /// Nothing can be opened.
    pub fn new() -> Rc<Self> {
        Rc::default()
    }

    /// From now on `device` opens nodes of this number.
    pub fn register(&self, number: DeviceNumber, device: Rc<dyn Device>) {
        self.devices.borrow_mut().insert(number, device);
    }

    /// From now on `device` opens nodes of this major number that have no device of their own.
    pub fn register_major(&self, major: u32, device: Rc<dyn Device>) {
        self.majors.borrow_mut().insert(major, device);
    }

    /// From now on the file system of `mount` can be mounted again by the name of its type.
    pub fn register_file_system(&self, mount: &Rc<Mount>) {
        let name = mount.file_system.type_name();
        self.file_systems.borrow_mut().insert(name, Rc::clone(mount));
    }

    /// Another mount of the file system of this type, if the kernel has one.
    pub fn mount_again(&self, name: &str, source: &[u8], flags: MountFlags) -> Option<Rc<Mount>> {
        let known = self.file_systems.borrow().get(name).cloned()?;
        let fs = Rc::clone(&known.file_system);
        Some(Mount::new(fs, Rc::clone(&known.root), source, flags))
    }

    /// From now on `gate` judges the use of devices.
    pub fn set_gate(&self, gate: Rc<dyn DeviceGate>) {
        *self.gate.borrow_mut() = Some(gate);
    }

    /// `EPERM` if the caller may not make such a device node.
    pub fn check_make(
        &self,
        caller: &dyn Any,
        kind: FileKind,
        number: DeviceNumber,
    ) -> SysResult<()> {
        let gate = self.gate.borrow().clone();
        gate.map_or(Ok(()), |gate| gate.check(caller, kind, number, DeviceUse::MAKE))
    }

    /// `EPERM` if the caller may not use the device behind a node; nothing is said of other files.
    pub fn check_use(&self, caller: &dyn Any, inode: &dyn Inode, want: Want) -> SysResult<()> {
        let kind = inode.kind();
        if !matches!(kind, FileKind::CharacterDevice | FileKind::BlockDevice) {
            return Ok(());
        }
        let Some(gate) = self.gate.borrow().clone() else { return Ok(()) };
        let mut wanted = DeviceUse::empty();
        wanted.set(DeviceUse::READ, want.contains(Want::READ));
        wanted.set(DeviceUse::WRITE, want.contains(Want::WRITE));
        gate.check(caller, kind, inode.metadata()?.special, wanted)
    }

    /// Opens a device node; `ENXIO` if there is nothing behind it.
    pub fn open(
        &self,
        inode: &Rc<dyn Inode>,
        request: &OpenRequest<'_>,
    ) -> SysResult<Rc<dyn FileOps>> {
        match inode.kind() {
            FileKind::CharacterDevice => {
                let number = inode.metadata()?.special;
                let device = self.devices.borrow().get(&number).cloned();
                let device = device.or_else(|| self.majors.borrow().get(&number.major).cloned());
                device.ok_or(Errno::ENXIO)?.open(number, request)
            }
            _ => Err(Errno::ENXIO),
        }
    }
}
