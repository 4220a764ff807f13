//! Entries that leave out the holes of a file, in the four forms in which GNU tar writes them.
//!
//! An old header lists the pieces in itself and in blocks after it. With PAX headers the list is
//! in these headers (0.0, 0.1) or at the start of the entry's data (1.0). In each form the bytes of
//! the pieces follow one another.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::TarError;

/// How many pieces one file may have.
const MAX_PIECES: usize = 1 << 20;

/// The length of a block, to which everything in an archive is rounded up.
const BLOCK: u64 = 512;

/// A part of a file that is in the archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where it is in the file.
    pub offset: u64,
    /// Its length.
    pub length: u64,
    /// Where it is in the archive.
    pub start: u64,
}

/// What a file has at a position, and up to where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Bytes that are in the archive from here on, so many of them.
    Data(u64, u64),
    /// So many zeroes.
    Hole(u64),
}

/// Where the bytes of a file are.
#[derive(Debug, PartialEq, Eq)]
pub struct Bytes {
    /// The length of the file.
    pub size: u64,
    /// How much of it is in the archive.
    pub stored: u64,
    /// In the order in which they are in the file.
    pub pieces: Box<[Piece]>,
}

const NONSENSE: TarError = TarError::Broken("the map of a sparse entry makes no sense");

impl Bytes {
    /// A file without holes.
    pub fn whole(start: u64, size: u64) -> Self {
        let piece = (size > 0).then_some(Piece { offset: 0, length: size, start });
        Self { size, stored: size, pieces: piece.into_iter().collect() }
    }

    /// A file of `size` bytes that has these parts (offset and length), which are one after the
    /// other in the archive from `start` on, `stored` bytes in all.
    fn sparse(
        map: &[(u64, u64)],
        size: u64,
        mut start: u64,
        stored: u64,
    ) -> Result<Self, TarError> {
        let mut pieces = Vec::with_capacity(map.len());
        let (mut end, mut left) = (0, stored);
        for &(offset, length) in map {
            left = left.checked_sub(length).ok_or(NONSENSE)?;
            let next = offset.checked_add(length).filter(|&next| next <= size).ok_or(NONSENSE)?;
            if offset < end {
                return Err(NONSENSE);
            }
            if length > 0 {
                pieces.push(Piece { offset, length, start });
            }
            end = next;
            start += length;
        }
        Ok(Self { size, stored: stored - left, pieces: pieces.into() })
    }

    /// What is at `offset`, which is before the end.
    pub fn at(&self, offset: u64) -> Found {
        let next = self.pieces.partition_point(|piece| piece.offset + piece.length <= offset);
        match self.pieces.get(next) {
            Some(piece) if piece.offset <= offset => {
                let skipped = offset - piece.offset;
                Found::Data(piece.start + skipped, piece.length - skipped)
            }
            Some(piece) => Found::Hole(piece.offset - offset),
            None => Found::Hole(self.size.saturating_sub(offset)),
        }
    }

    /// Whether all of it is in an archive of this length.
    pub fn is_within(&self, archive: u64) -> bool {
        self.pieces.last().is_none_or(|last| last.start.saturating_add(last.length) <= archive)
    }
}

/// The file of an entry with an old GNU header.
pub fn old_gnu(entry: &tar::Entry<'_, File>, archive: &File) -> Result<Bytes, TarError> {
    let header = entry.header().as_gnu().ok_or(NONSENSE)?;
    let mut map = Vec::new();
    add_blocks(&header.sparse, &mut map)?;
    let mut start = entry.raw_file_position();
    let mut continues = header.is_extended();
    while continues {
        let mut more = tar::GnuExtSparseHeader::new();
        archive.read_exact_at(more.as_mut_bytes(), start).map_err(TarError::Read)?;
        add_blocks(&more.sparse, &mut map)?;
        continues = more.is_extended();
        start += BLOCK;
    }
    let size = header.real_size().map_err(TarError::Read)?;
    Bytes::sparse(&map, size, start, entry.header().entry_size().map_err(TarError::Read)?)
}

fn add_blocks(blocks: &[tar::GnuSparseHeader], map: &mut Vec<(u64, u64)>) -> Result<(), TarError> {
    for block in blocks.iter().filter(|block| !block.is_empty()) {
        if map.len() >= MAX_PIECES {
            return Err(NONSENSE);
        }
        let (offset, length) = (block.offset(), block.length());
        map.push((offset.map_err(TarError::Read)?, length.map_err(TarError::Read)?));
    }
    Ok(())
}

/// What PAX headers say of a sparse entry.
#[derive(Default)]
pub struct PaxSparse {
    /// The file's own name; that of the entry is made up.
    pub name: Option<Vec<u8>>,
    major: u64,
    size: Option<u64>,
    map: Vec<(u64, u64)>,
    offset: Option<u64>,
}

impl PaxSparse {
    /// Takes one record. Returns whether it was one about holes.
    pub fn take(&mut self, key: &str, value: &[u8]) -> Result<bool, TarError> {
        let Some(key) = key.strip_prefix("GNU.sparse.") else { return Ok(false) };
        match key {
            "name" => self.name = Some(value.to_vec()),
            "major" => self.major = number(value)?,
            "size" | "realsize" => self.size = Some(number(value)?),
            "offset" => self.offset = Some(number(value)?),
            "numbytes" => {
                let offset = self.offset.take().ok_or(NONSENSE)?;
                self.map.push((offset, number(value)?));
            }
            "map" => {
                let numbers: Result<Vec<u64>, _> =
                    value.split(|&byte| byte == b',').map(number).collect();
                self.map = pairs(&numbers?)?;
            }
            _ => {}
        }
        if self.map.len() > MAX_PIECES { Err(NONSENSE) } else { Ok(true) }
    }

    /// The file, if the headers said that it has holes.
    pub fn bytes(
        &self,
        start: u64,
        stored: u64,
        archive: &File,
    ) -> Result<Option<Bytes>, TarError> {
        let Some(size) = self.size else { return Ok(None) };
        if self.major == 0 {
            return Bytes::sparse(&self.map, size, start, stored).map(Some);
        }
        let (map, length) = read_map(archive, start, stored)?;
        Bytes::sparse(&map, size, start + length, stored - length).map(Some)
    }
}

/// Reads the map at the start of an entry's data: decimal numbers, each on a line of its own, first
/// how many pieces there are. Returns the length of the map too.
fn read_map(archive: &File, start: u64, stored: u64) -> Result<(Vec<(u64, u64)>, u64), TarError> {
    let mut numbers = Vec::new();
    let mut digits = Vec::new();
    let mut wanted = 1;
    let mut length = 0;
    while numbers.len() < wanted {
        if length + BLOCK > stored.next_multiple_of(BLOCK) {
            return Err(NONSENSE);
        }
        let mut block = [0; 512];
        archive.read_exact_at(&mut block, start + length).map_err(TarError::Read)?;
        length += BLOCK;
        for byte in block {
            if byte != b'\n' {
                digits.push(byte);
                continue;
            }
            numbers.push(number(&digits)?);
            digits.clear();
            if let [n_pieces] = *numbers {
                let n_pieces = usize::try_from(n_pieces).ok().filter(|&n| n <= MAX_PIECES);
                wanted = 1 + 2 * n_pieces.ok_or(NONSENSE)?;
            }
            if numbers.len() == wanted {
                break;
            }
        }
    }
    if length > stored {
        return Err(NONSENSE);
    }
    Ok((pairs(numbers.get(1..).unwrap_or_default())?, length))
}

/// Numbers two by two.
fn pairs(numbers: &[u64]) -> Result<Vec<(u64, u64)>, TarError> {
    let (pairs, rest) = numbers.as_chunks();
    if rest.is_empty() {
        Ok(pairs.iter().map(|&[one, other]| (one, other)).collect())
    } else {
        Err(NONSENSE)
    }
}

fn number(text: &[u8]) -> Result<u64, TarError> {
    std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or(NONSENSE)
}
