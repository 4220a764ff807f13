//! A tar archive, read without being extracted.
//!
//! The archive's index is read once: names, metadata, and where the bytes of each file are. Of a
//! plain archive the bytes stay in the file; a compressed one is unpacked into a memfd first,
//! within a limit. Whiteouts of OCI layers (`.wh.name`, `.wh..wh..opq`) are shown as an overlay
//! wants them: as character devices 0:0 and as opaque directories. Device nodes are shown; opening one
//! leads to a device of the guest's own kernel or to none, never to the host's.

mod index;
mod inode;
mod sparse;
mod unpack;

#[cfg(test)]
mod tests;

use std::any::Any;
use std::path::Path;
use std::rc::Rc;

use linux_abi::SysResult;

use crate::device_numbers::allocate_device;
use crate::inode::{FileSystem, Inode};
use crate::metadata::{DeviceNumber, FileSystemUsage};
use inode::TarInode;

pub use unpack::TarError;

/// A tar archive.
pub struct TarFs {
    device: DeviceNumber,
    root: Rc<TarInode>,
    size: u64,
}

impl TarFs {
    /// Reads the index of the archive at `path`, which may be compressed with gzip or zstd.
    pub fn open(path: &Path) -> Result<Rc<Self>, TarError> {
        let archive = unpack::open(path)?;
        let size = archive.metadata().map_err(TarError::Read)?.len();
        let device = allocate_device();
        let root = index::read(archive, device)?;
        Ok(Rc::new(Self { device, root, size }))
    }
}

impl FileSystem for TarFs {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn type_name(&self) -> &'static str {
        "tar"
    }

    fn device(&self) -> DeviceNumber {
        self.device
    }

    fn root(&self) -> Rc<dyn Inode> {
        Rc::clone(&self.root) as Rc<dyn Inode>
    }

    fn usage(&self) -> SysResult<FileSystemUsage> {
        let n_blocks = self.size.div_ceil(4096);
        Ok(FileSystemUsage { magic: 0x7461_7266, block_size: 4096, n_blocks, ..Default::default() })
    }

    fn is_read_only(&self) -> bool {
        true
    }
}
