//! Copies a file with its holes.
//!
//! A guest makes a file of many terabytes that takes nothing on the disk. A copy of its bytes would fill
//! the disk, and would take days.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use rustix::fs::SeekFrom as Extent;
use rustix::io::Errno;

/// Copies everything of one file to another, which is empty. What has no bytes there has none here.
pub(super) fn copy_with_holes(from: &File, to: &File) -> io::Result<()> {
    let (mut reader, mut writer) = (from, to);
    let size = from.metadata()?.len();
    let mut at = 0;
    while at < size {
        let data = match rustix::fs::seek(from, Extent::Data(at)) {
            Ok(data) => data,
            // Nothing but a hole follows.
            Err(Errno::NXIO) => break,
            // The file system knows of no holes: everything is data.
            Err(Errno::INVAL) => at,
            Err(errno) => return Err(errno.into()),
        };
        let hole = match rustix::fs::seek(from, Extent::Hole(data)) {
            Ok(hole) if hole > data => hole,
            Ok(_) | Err(Errno::INVAL) => size,
            // It has become shorter.
            Err(Errno::NXIO) => break,
            Err(errno) => return Err(errno.into()),
        };
        let end = hole.min(size);
        reader.seek(SeekFrom::Start(data))?;
        writer.seek(SeekFrom::Start(data))?;
        let length = end.saturating_sub(data);
        if io::copy(&mut reader.take(length), &mut writer)? < length {
            break;
        }
        at = end;
    }
    to.set_len(size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{FileExt, MetadataExt};

    #[test]
    fn a_copy_has_the_same_bytes_and_the_same_holes() {
        let top = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let path = top.path().join(name);
            File::options().read(true).write(true).create_new(true).open(path).unwrap()
        };
        let (from, to) = (make("from"), make("to"));
        // More than the disk has.
        let size = 4 << 40;
        from.set_len(size).unwrap();
        let places = [0, 5 << 30, (1 << 40) + 123, size - 4];
        for at in places {
            from.write_all_at(b"data", at).unwrap();
        }
        copy_with_holes(&from, &to).unwrap();
        let there = to.metadata().unwrap();
        assert_eq!(there.len(), size);
        assert!(there.blocks() < 10_000, "{} blocks", there.blocks());
        for at in places {
            let mut bytes = [0; 4];
            to.read_exact_at(&mut bytes, at).unwrap();
            assert_eq!(&bytes, b"data");
        }
        let (whole, copy) = (make("whole"), make("copy"));
        let bytes: Vec<u8> = (0..200_000_u32).flat_map(u32::to_le_bytes).collect();
        whole.write_all_at(&bytes, 0).unwrap();
        copy_with_holes(&whole, &copy).unwrap();
        assert_eq!(std::fs::read(top.path().join("copy")).unwrap(), bytes);
        let (none, empty) = (make("none"), make("empty"));
        copy_with_holes(&none, &empty).unwrap();
        assert_eq!(empty.metadata().unwrap().len(), 0);
    }
}
