//! Files that were opened with `O_PATH`.

use std::any::Any;

use kernel_core::io::{Sink, Source};
use kernel_core::wait::PollEvents;
use linux_abi::{Errno, SysResult};

use super::{FileOps, Ioctl, MapRequest, MappedFile, OpenFile};

/// A file that was opened with `O_PATH`: a place, and no access to what is there.
pub struct PathOnly;

impl FileOps for PathOnly {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn read(&self, _file: &OpenFile, _sink: &mut dyn Sink, _offset: u64) -> SysResult<usize> {
        Err(Errno::EBADF)
    }

    fn write(&self, _: &OpenFile, _source: &mut dyn Source, _offset: u64) -> SysResult<usize> {
        Err(Errno::EBADF)
    }

    fn ioctl(&self, _file: &OpenFile, _ioctl: &Ioctl<'_>) -> SysResult<u64> {
        Err(Errno::EBADF)
    }

    fn map(&self, _file: &OpenFile, _request: MapRequest) -> SysResult<MappedFile> {
        Err(Errno::EBADF)
    }

    fn poll(&self, _file: &OpenFile) -> PollEvents {
        PollEvents::NVAL
    }
}
