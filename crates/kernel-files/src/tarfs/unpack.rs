//! Opens an archive, and takes its compression off.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use host_sys::rustix::fs::{MemfdFlags, memfd_create};
use linux_abi::Errno;

/// How long a compressed archive may be when it is unpacked: a small file can claim to be huge.
const MAX_UNPACKED: u64 = 16 << 30;

/// Why an archive cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TarError {
    /// The host cannot read it.
    #[error("cannot read the archive: {0}")]
    Read(#[source] io::Error),
    /// It is longer than we unpack.
    #[error("the archive is longer than {} GiB when it is unpacked", MAX_UNPACKED >> 30)]
    TooLong,
    /// An entry makes no sense.
    #[error("the archive is broken: {0}")]
    Broken(&'static str),
}

impl TarError {
    /// The error number that comes closest.
    pub fn errno(&self) -> Errno {
        match self {
            Self::Read(error) => {
                error.raw_os_error().and_then(Errno::from_code).unwrap_or(Errno::EINVAL)
            }
            Self::TooLong => Errno::EFBIG,
            Self::Broken(_) => Errno::EINVAL,
        }
    }
}

/// Opens an archive; a compressed one is unpacked into memory.
pub fn open(path: &Path) -> Result<File, TarError> {
    let mut file = File::open(path).map_err(TarError::Read)?;
    let mut magic = [0; 4];
    let n = read_up_to(&mut file, &mut magic).map_err(TarError::Read)?;
    file.seek(SeekFrom::Start(0)).map_err(TarError::Read)?;
    match magic.get(..n).unwrap_or_default() {
        [0x1f, 0x8b, ..] => unpack(flate2::read::MultiGzDecoder::new(file)),
        [0x28, 0xb5, 0x2f, 0xfd] => {
            let decoder = ruzstd::decoding::StreamingDecoder::new(file)
                .map_err(|_| TarError::Broken("the zstd frame cannot be read"))?;
            unpack(decoder)
        }
        _ => Ok(file),
    }
}

fn read_up_to(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut n_read = 0;
    while let Some(rest) = buffer.get_mut(n_read..).filter(|rest| !rest.is_empty()) {
        match file.read(rest)? {
            0 => break,
            n => n_read += n,
        }
    }
    Ok(n_read)
}

fn unpack(source: impl Read) -> Result<File, TarError> {
    let memory = memfd_create("archive", MemfdFlags::CLOEXEC)
        .map_err(|error| TarError::Read(error.into()))?;
    let mut memory = File::from(memory);
    let n = io::copy(&mut source.take(MAX_UNPACKED + 1), &mut memory).map_err(TarError::Read)?;
    if n > MAX_UNPACKED {
        return Err(TarError::TooLong);
    }
    memory.flush().map_err(TarError::Read)?;
    memory.seek(SeekFrom::Start(0)).map_err(TarError::Read)?;
    Ok(memory)
}
