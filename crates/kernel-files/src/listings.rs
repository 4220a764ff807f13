//! What directories have said, for those who list them again.
//!
//! To list a directory is the dearest of all questions: the host reads every name, and most of its
//! file systems sort them anew each time. To ask whether a directory has changed costs a hundredth
//! of that. So what a directory said is kept as `getdents64` gave it, and given again for as long
//! as the directory's [version](crate::inode::Directory::version) is what it was. Only whole
//! listings are kept.

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use linux_abi::time::Timespec;

use crate::directory_file::AFTER_DOT_DOT;
use crate::inode::{DirEntry, Directory, Inode};
use crate::metadata::FileKind;

/// A larger listing is not kept.
const MAX_BYTES: usize = 64 << 10;

/// All listings that are kept take this much at most.
const MAX_KEPT_BYTES: usize = 4 << 20;

/// When there is no room left, one listing in so many takes the place of others: of a tree that is
/// larger, gone through again and again, a part is found here rather than nothing.
const REPLACING: usize = 8;

/// Where the length of a packed entry is, then its kind, then its name.
const LENGTH_AT: usize = 16;
const NAME_AT: usize = 19;

/// What the names of a directory are as of: the host says that the names, and anything else about
/// it, were last changed then. Two that are equal mean the same names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// When a name was last changed.
    pub modified: Timespec,
    /// When anything was last changed.
    pub changed: Timespec,
    /// How often the kernel itself has changed a name.
    pub n_changes: u64,
}

/// All names of a directory but `.` and `..`, in the form of `getdents64`.
pub(crate) struct Listing {
    pub bytes: Box<[u8]>,
    /// The position after the last one.
    pub end: u64,
    /// Whether there are directories among them.
    pub has_directories: bool,
    pub version: Version,
}

impl Listing {
    fn n_bytes(&self) -> usize {
        size_of::<Self>() + self.bytes.len()
    }
}

/// The listing of a directory, for as long as it is kept.
struct Kept(Weak<Listing>);

/// How long the entry of a name is in the form of `getdents64`.
pub(crate) fn packed_length(name: &[u8]) -> usize {
    (NAME_AT + name.len() + 1).next_multiple_of(8)
}

/// Adds an entry in the form of `getdents64`.
pub(crate) fn pack(bytes: &mut Vec<u8>, entry: &DirEntry<'_>) {
    let length = packed_length(entry.name);
    let end = bytes.len() + length;
    bytes.extend_from_slice(&entry.inode.to_le_bytes());
    bytes.extend_from_slice(&entry.next.to_le_bytes());
    // Names are at most 255 bytes long.
    bytes.extend_from_slice(&u16::try_from(length).unwrap_or(u16::MAX).to_le_bytes());
    bytes.push(entry.kind.directory_entry_type());
    bytes.extend_from_slice(entry.name);
    bytes.resize(end, 0);
}

/// What a directory has said before, if that is what it would say now, in this version.
pub(crate) fn find(inode: &dyn Inode, version: Version) -> Option<Rc<Listing>> {
    let listing = inode.attachments().get::<Kept>()?.0.upgrade()?;
    (listing.version == version).then_some(listing)
}

/// Finds out what a directory says, if that is not known already and is not more than this.
pub(crate) fn refresh(inode: &dyn Inode, directory: &dyn Directory, max_bytes: usize) {
    let Some(version) = directory.version() else { return };
    if find(inode, version).is_some() {
        return;
    }
    let (mut bytes, mut end) = (Vec::new(), AFTER_DOT_DOT);
    let (mut is_full, mut has_directories) = (false, false);
    let listed = directory.list(end, &mut |entry| {
        is_full = bytes.len() + packed_length(entry.name) > max_bytes;
        if !is_full {
            pack(&mut bytes, entry);
            end = entry.next;
            has_directories |= entry.kind == FileKind::Directory;
        }
        !is_full
    });
    if listed.is_ok() && !is_full {
        let bytes = bytes.into_boxed_slice();
        keep(inode, Listing { bytes, end, has_directories, version });
    }
}

/// The names of the directories among packed entries, each with a zero byte at its end, up to so
/// many bytes.
pub(crate) fn directories_in(packed: &[u8], max_bytes: usize) -> Vec<u8> {
    let mut names = Vec::new();
    let mut rest = packed;
    while let Some(&[low, high, kind]) = rest.get(LENGTH_AT..NAME_AT) {
        let length = usize::from(u16::from_le_bytes([low, high]));
        let Some((entry, after)) = rest.split_at_checked(length) else { break };
        rest = after;
        if kind != FileKind::Directory.directory_entry_type() {
            continue;
        }
        let name = entry.get(NAME_AT..).unwrap_or_default().split(|&byte| byte == 0).next();
        let name = name.unwrap_or_default();
        if names.len() + name.len() + 1 > max_bytes {
            break;
        }
        names.extend_from_slice(name);
        names.push(0);
    }
    names
}

/// Keeps what a directory has said, if it is not too much. Its version is of before it was asked.
pub(crate) fn keep(inode: &dyn Inode, listing: Listing) {
    if listing.bytes.len() > MAX_BYTES {
        return;
    }
    let listing = Rc::new(listing);
    let weak = Rc::downgrade(&listing);
    if LISTINGS.with_borrow_mut(|listings| listings.add(listing)) {
        inode.attachments().set(Rc::new(Kept(weak)));
    }
}

/// The listings that are kept, of all file systems.
#[derive(Default)]
struct Listings {
    kept: Vec<Rc<Listing>>,
    n_bytes: usize,
    /// How many came when there was no room.
    n_late: usize,
    /// Whose turn it is to make room.
    hand: usize,
}

thread_local! {
    /// The kernel has one thread, so these are those of the sandbox.
    static LISTINGS: RefCell<Listings> = RefCell::default();
}

impl Listings {
    /// Keeps a listing, if there is room or others have to make it. Returns whether it does.
    fn add(&mut self, listing: Rc<Listing>) -> bool {
        let n_bytes = listing.n_bytes();
        if self.n_bytes + n_bytes > MAX_KEPT_BYTES {
            self.n_late = self.n_late.wrapping_add(1);
            if !self.n_late.is_multiple_of(REPLACING) {
                return false;
            }
            while self.n_bytes + n_bytes > MAX_KEPT_BYTES && !self.kept.is_empty() {
                self.hand = (self.hand + 1) % self.kept.len();
                self.n_bytes -= self.kept.swap_remove(self.hand).n_bytes();
            }
        }
        self.n_bytes += n_bytes;
        self.kept.push(listing);
        true
    }
}
