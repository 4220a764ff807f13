//! Where the functions of an ELF file begin and end, as its unwind table says.

/// The table that `PT_GNU_EH_FRAME` names, if it has the form that linkers give it: a sorted list
/// of functions, each with the entry that tells its length.
pub struct Functions<'a> {
    file: &'a [u8],
    /// Where the table is in memory, before the program is moved.
    address: u64,
    /// Where the sorted list is in the file, and how many functions it has.
    list: usize,
    count: usize,
    /// From addresses to places in the file.
    place: &'a dyn Fn(u64) -> Option<usize>,
}

/// How the table writes its own numbers: a relative pointer, a count, and pairs relative to the
/// table.
const HEAD: [u8; 4] = [1, 0x1b, 0x03, 0x3b];
const PAIR: usize = 8;

fn word(bytes: &[u8], at: usize) -> Option<[u8; 4]> {
    bytes.get(at..at.checked_add(4)?)?.try_into().ok()
}

/// A signed distance from `origin`.
fn relative(bytes: &[u8], at: usize, origin: u64) -> Option<u64> {
    Some(origin.wrapping_add_signed(i32::from_le_bytes(word(bytes, at)?).into()))
}

impl<'a> Functions<'a> {
    /// The functions of a file whose table is at this address.
    pub fn new(
        file: &'a [u8],
        address: u64,
        place: &'a dyn Fn(u64) -> Option<usize>,
    ) -> Option<Self> {
        let at = place(address).filter(|at| *at < file.len())?;
        if word(file, at)? != HEAD {
            return None;
        }
        let count = usize::try_from(u32::from_le_bytes(word(file, at + 8)?)).ok()?;
        let list = at + 12;
        file.get(list..list.checked_add(count.checked_mul(PAIR)?)?)?;
        Some(Self { file, address, list, count, place })
    }

    fn start_of(&self, index: usize) -> Option<u64> {
        relative(self.file, self.list + index * PAIR, self.address)
    }

    /// The function around an address: its first byte, and the first one after it.
    pub fn around(&self, address: u64) -> Option<(u64, u64)> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.start_of(middle)? <= address { low = middle + 1 } else { high = middle }
        }
        let index = low.checked_sub(1)?;
        let start = self.start_of(index)?;
        let entry = relative(self.file, self.list + index * PAIR + 4, self.address)?;
        // Length, a distance to the common part, the start relative to here, the function's length.
        let begin = entry.checked_add(8)?;
        let at = (self.place)(begin).filter(|at| *at < self.file.len())?;
        if relative(self.file, at, begin)? != start {
            return None; // written in another way
        }
        let length = u32::from_le_bytes(word(self.file, at + 4)?);
        let end = start.checked_add(length.into())?;
        (start..end).contains(&address).then_some((start, end))
    }
}
