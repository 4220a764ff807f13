//! Devices, whose objects mostly live in other crates.
//!
//! A node in a directory says only "character device 5:2". What that means is registered here when
//! the kernel starts.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use linux_abi::{Errno, SysResult};

use crate::inode::{Inode, OpenRequest};
use crate::metadata::{DeviceNumber, FileKind};
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
