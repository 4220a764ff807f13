//! Files whose objects live in other crates: devices and FIFOs.
//!
//! A node in a directory says only "character device 5:2" or "FIFO". What that means is registered
//! here when the kernel starts.

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

/// Opens FIFOs. Implemented by the crate that has pipes.
pub trait FifoOpener {
    /// The object behind a new open file of a FIFO. The pipe itself is kept with the inode's
    /// attachments. The end counts as open from now on; if it has to wait for the other end,
    /// [`FileOps::finish_open`] says `EAGAIN` until that has come.
    fn open(&self, inode: &Rc<dyn Inode>, request: &OpenRequest<'_>) -> SysResult<Rc<dyn FileOps>>;
}

/// Who opens devices and FIFOs.
#[derive(Default)]
pub struct SpecialFiles {
    devices: RefCell<HashMap<DeviceNumber, Rc<dyn Device>>>,
    /// For a whole major number, such as the slaves of pseudo terminals.
    majors: RefCell<HashMap<u32, Rc<dyn Device>>>,
    fifos: RefCell<Option<Rc<dyn FifoOpener>>>,
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

    /// From now on `opener` opens FIFOs.
    pub fn register_fifos(&self, opener: Rc<dyn FifoOpener>) {
        *self.fifos.borrow_mut() = Some(opener);
    }

    /// Opens a device node or a FIFO; `ENXIO` if there is nothing behind it.
    pub fn open(
        &self,
        inode: &Rc<dyn Inode>,
        request: &OpenRequest<'_>,
    ) -> SysResult<Rc<dyn FileOps>> {
        match inode.kind() {
            FileKind::Fifo => {
                let opener = self.fifos.borrow().clone().ok_or(Errno::ENXIO)?;
                opener.open(inode, request)
            }
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
