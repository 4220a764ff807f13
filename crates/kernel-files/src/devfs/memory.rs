//! `/dev/null`, `/dev/zero`, `/dev/full` and the sources of chance.

use std::any::Any;
use std::rc::Rc;

use host_sys::{errno_of, rustix};
use kernel_core::io::{Sink, Source};
use linux_abi::{Errno, SysResult};
use rustix::rand::GetRandomFlags;

use super::{FULL, NULL, RANDOM, URANDOM};
use crate::host_memory::HostMemory;
use crate::inode::OpenRequest;
use crate::lending::Loan;
use crate::metadata::DeviceNumber;
use crate::open_file::{FileOps, MapRequest, MappedFile, OpenFile, SeekTo};
use crate::special::Device;

/// How many bytes are made at a time.
const PIECE: usize = 4096;

/// Opens the devices of major number 1.
pub struct MemoryDevices;

impl Device for MemoryDevices {
    fn open(&self, device: DeviceNumber, _: &OpenRequest<'_>) -> SysResult<Rc<dyn FileOps>> {
        Ok(Rc::new(MemoryDevice { device }))
    }
}

struct MemoryDevice {
    device: DeviceNumber,
}

fn put_zeroes(sink: &mut dyn Sink) -> SysResult<usize> {
    static ZEROES: [u8; 64 << 10] = [0; 64 << 10];
    put_pieces(sink, |wanted| Ok(ZEROES.get(..wanted.min(ZEROES.len())).unwrap_or(&ZEROES)))
}

/// Fills a sink piece by piece, and says how far that went.
fn put_pieces<'a>(
    sink: &mut dyn Sink,
    mut piece: impl FnMut(usize) -> SysResult<&'a [u8]>,
) -> SysResult<usize> {
    let mut n_put = 0;
    while sink.remaining() > 0 {
        let bytes = piece(sink.remaining())?;
        match sink.put(bytes) {
            Ok(n) => {
                n_put += n;
                if n < bytes.len() {
                    break;
                }
            }
            Err(errno) if n_put == 0 => return Err(errno),
            Err(_) => break,
        }
    }
    Ok(n_put)
}

fn put_random(sink: &mut dyn Sink) -> SysResult<usize> {
    let mut n_put = 0;
    let mut bytes = [0; PIECE];
    while sink.remaining() > 0 {
        let wanted = sink.remaining().min(PIECE);
        let buffer = bytes.get_mut(..wanted).unwrap_or_default();
        let n = rustix::rand::getrandom(&mut *buffer, GetRandomFlags::empty()).map_err(errno_of)?;
        match sink.put(buffer.get(..n).unwrap_or_default()) {
            Ok(taken) => {
                n_put += taken;
                if taken < n {
                    break;
                }
            }
            Err(errno) if n_put == 0 => return Err(errno),
            Err(_) => break,
        }
    }
    Ok(n_put)
}

impl FileOps for MemoryDevice {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn is_seekable(&self) -> bool {
        true
    }

    /// These devices are the same everywhere: there is nowhere to go, and that is no error.
    fn seek(&self, file: &OpenFile, _to: SeekTo) -> SysResult<u64> {
        file.set_offset(0);
        Ok(0)
    }

    fn read(&self, _file: &OpenFile, sink: &mut dyn Sink, _offset: u64) -> SysResult<usize> {
        match self.device {
            NULL => Ok(0),
            RANDOM | URANDOM => put_random(sink),
            _ => put_zeroes(sink),
        }
    }

    fn write(&self, _file: &OpenFile, source: &mut dyn Source, _: u64) -> SysResult<usize> {
        if self.device == FULL {
            return Err(Errno::ENOSPC);
        }
        // Nobody looks at the bytes, not even to find out whether they are there.
        Ok(source.remaining())
    }

    fn lend(&self) -> Option<Loan> {
        match self.device {
            NULL => Some(Loan::Null),
            super::ZERO => Some(Loan::Zero),
            _ => None,
        }
    }

    fn map(&self, _file: &OpenFile, request: MapRequest) -> SysResult<MappedFile> {
        if self.device != super::ZERO {
            return Err(Errno::ENODEV);
        }
        // Each mapping is memory of its own.
        let length = request.offset.checked_add(request.length).ok_or(Errno::EOVERFLOW)?;
        HostMemory::map_nameless(length, request.shared && request.writable)
    }
}
