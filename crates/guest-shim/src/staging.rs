//! Copies what a call's arguments point to into the channel, and the answer back.

#![expect(unsafe_code, reason = "the staging table is at a fixed address")]

use core::sync::atomic::Ordering::Relaxed;

use channel_abi::Slot;
use channel_abi::layout::{DATA_SIZE, STAGING_ADDRESS};
use channel_abi::request::reply;
use channel_abi::staging::{CALLS, Entry, MAX_PATH, MAX_PIECE, Part, kind, next, out_length};

use crate::thread::Tcb;
use crate::usermem;

/// The staging of one call; `None` for numbers that no call has.
pub fn entry(number: u64) -> Option<&'static Entry> {
    // SAFETY: the zygote maps the table there, read-only, before any other code runs.
    let table: &'static [Entry; CALLS] =
        unsafe { &*core::ptr::with_exposed_provenance(STAGING_ADDRESS as usize) };
    table.get(usize::try_from(number).ok()?)
}

/// Where the pieces of a request lie in the data area: offsets by argument.
pub struct Staged {
    offsets: [u16; 6],
    mask: u8,
    path_lengths: [u16; 2],
}

impl Staged {
    /// A request without pieces.
    pub const NOTHING: Self = Self { offsets: [0; 6], mask: 0, path_lengths: [0; 2] };

    /// Which arguments have one, a bit each.
    #[inline(always)]
    pub fn mask(&self) -> u8 {
        self.mask
    }

    /// How long its paths are, without their zeroes.
    #[inline(always)]
    pub fn path_lengths(&self) -> [u16; 2] {
        self.path_lengths
    }

    /// Where the piece of an argument lies in the data area; `None` if it is not there.
    #[inline(always)]
    pub fn offset(&self, index: usize) -> Option<u64> {
        if self.mask >> index & 1 == 0 {
            return None;
        }
        self.offsets.get(index).copied().map(u64::from)
    }
}

/// How many bytes of the piece of an argument the kernel's reply has filled.
pub fn filled(slot: &Slot, index: usize) -> usize {
    let word = if index < 4 { reply::OUT_LOW } else { reply::OUT_HIGH };
    let word = slot.args[word].load(Relaxed);
    usize::from((word >> (index % 4 * 16)) as u16)
}

/// How long a piece is, except a path.
fn length(part: &Part, args: &[u64; 6]) -> usize {
    match part.kind {
        kind::IN_BY | kind::OUT_BY => {
            let length = args
                .get(usize::from(part.length_argument))
                .and_then(|&length| usize::try_from(length).ok())
                .unwrap_or(usize::MAX);
            if part.kind == kind::OUT_BY { out_length(length) } else { length }
        }
        _ => usize::from(part.length),
    }
}

/// Copies in. A piece that cannot be read, or is too long, is left to the kernel.
#[inline(never)]
pub fn stage(thread: &Tcb, entry: &Entry, args: &[u64; 6]) -> Staged {
    let mut staged = Staged::NOTHING;
    let mut at = 0;
    let mut n_paths = 0;
    for (index, (part, &address)) in entry.parts.iter().zip(args).enumerate() {
        if part.kind == kind::NONE || address == 0 {
            continue;
        }
        let to = thread.data() + at as u64;
        let n = match part.kind {
            kind::PATH => {
                if at + MAX_PATH > DATA_SIZE || n_paths == 2 {
                    continue;
                }
                let Ok(n) = usermem::copy_string(to, address, MAX_PATH) else { continue };
                if let Some(length) = staged.path_lengths.get_mut(n_paths) {
                    *length = (n - 1) as u16;
                }
                n_paths += 1;
                n
            }
            _ => {
                let n = length(part, args);
                if n > MAX_PIECE || at + n > DATA_SIZE {
                    continue;
                }
                let copies_in = matches!(part.kind, kind::IN | kind::IN_OUT | kind::IN_BY);
                if copies_in && usermem::copy(to, address, n).is_err() {
                    continue;
                }
                // What is read into a bad buffer must not be lost: the kernel writes it itself.
                if part.kind == kind::OUT_BY && !usermem::can_write(address, n) {
                    continue;
                }
                n
            }
        };
        if let Some(offset) = staged.offsets.get_mut(index) {
            *offset = at as u16;
        }
        staged.mask |= 1 << index;
        at = next(at, n);
    }
    staged
}

/// Copies out what the kernel's reply says.
#[inline(never)]
pub fn copy_out(thread: &Tcb, staged: &Staged, args: &[u64; 6]) -> Result<(), i64> {
    let slot = thread.slot();
    if slot.args[reply::OUT_LOW].load(Relaxed) | slot.args[reply::OUT_HIGH].load(Relaxed) == 0 {
        return Ok(());
    }
    for (index, &address) in args.iter().enumerate() {
        let n = filled(slot, index);
        if n != 0
            && let Some(offset) = staged.offset(index)
        {
            usermem::copy(address, thread.data() + offset, n)?;
        }
    }
    Ok(())
}
