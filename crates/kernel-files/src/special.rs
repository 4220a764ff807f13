//! Devices, whose objects mostly live in other crates.
//!
//! A node in a directory says only "character device 5:2". What that means is registered here when
//! the kernel starts.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use linux_abi::files::MountFlags;
use linux_abi::{Errno, SysResult};

use crate::inode::{Inode, OpenRequest};
use crate::metadata::{DeviceNumber, FileKind};
use crate::mount::Mount;
use crate::open_file::FileOps;

/// Opens the character devices of one number.
pub trait Device {
    /// The object behind a new open file of this device.
    fn open(&self, device: DeviceNumber, request: &OpenRequest<'_>) -> SysResult<Rc<dyn FileOps>>;
}

/// Who opens devices.
#[derive(Default)]
pub struct SpecialFiles {
    devices: RefCell<HashMap<DeviceNumber, Rc<dyn Device>>>,
    /// For a whole major number, such as the slaves of pseudo terminals.
    majors: RefCell<HashMap<u32, Rc<dyn Device>>>,
    /// File systems of which the kernel has one, to be mounted again.
    file_systems: RefCell<HashMap<&'static str, Rc<Mount>>>,
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
