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

/// The first four bytes of an entry where its data are.
const LOCAL_SIGNATURE: [u8; 4] = *b"PK\x03\x04";
/// The size of what is there before its name.
const LOCAL_HEADER_BYTES: usize = 30;

/// Reads the name of the entry that begins at `at`; nothing if none does.
pub(super) fn read_local_name<R: Read + Seek>(reader: &mut R, at: u64) -> std::io::Result<Vec<u8>> {
    reader.seek(SeekFrom::Start(at))?;
    let mut header = [0; LOCAL_HEADER_BYTES];
    reader.read_exact(&mut header)?;
    if !header.starts_with(&LOCAL_SIGNATURE) {
        return Ok(Vec::new());
    }
    let mut name = vec![0; usize::from(length_at(&header, 26))];
    reader.read_exact(&mut name)?;
    Ok(name)
}

fn length_at(header: &[u8], at: usize) -> u16 {
    match header.get(at..at + 2) {
        Some(&[low, high]) => u16::from_le_bytes([low, high]),
        _ => 0,
    }
}
