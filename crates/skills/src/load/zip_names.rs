//! Reads the names in a ZIP archive's central directory, as they stand there.
//!
//! The `zip` crate keeps one entry per name. Two entries with one name are a known trick, since
//! two programs may unpack different ones. So the names are read once more, duplicates included.

use std::io::{Read, Seek, SeekFrom};

/// The first four bytes of an entry in the central directory.
const SIGNATURE: [u8; 4] = *b"PK\x01\x02";
/// The size of an entry before its name.
const HEADER_BYTES: usize = 46;

/// Reads at most `limit` names from the central directory that begins at `start`.
pub(super) fn read_names<R: Read + Seek>(
    reader: &mut R,
    start: u64,
    limit: usize,
) -> std::io::Result<Vec<Vec<u8>>> {
    reader.seek(SeekFrom::Start(start))?;
    let mut names = Vec::new();
    while names.len() < limit {
        let mut header = [0; HEADER_BYTES];
        match reader.read_exact(&mut header) {
            Ok(()) if header.starts_with(&SIGNATURE) => {}
            _ => break,
        }
        let mut name = vec![0; usize::from(length_at(&header, 28))];
        reader.read_exact(&mut name)?;
        let rest = i64::from(length_at(&header, 30)) + i64::from(length_at(&header, 32));
        reader.seek(SeekFrom::Current(rest))?;
        names.push(name);
    }
    Ok(names)
}

fn length_at(header: &[u8; HEADER_BYTES], at: usize) -> u16 {
    match header.get(at..at + 2) {
        Some(&[low, high]) => u16::from_le_bytes([low, high]),
        _ => 0,
    }
}
