//! Access control lists, acl(5): who beside owner and group may do what with a file.
//!
//! Guests see them as the extended attributes `system.posix_acl_access` and
//! `system.posix_acl_default`, in the form that [`Acl::parse`] reads.

#[cfg(test)]
mod tests;

use kernel_core::credentials::Credentials;
use linux_abi::{Errno, SysResult};

use crate::metadata::Ownership;

/// Which of a file's two lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AclKind {
    /// Who may do what with the file.
    Access,
    /// What files get that are made in this directory.
    Default,
}

impl AclKind {
    /// The list that an extended attribute stands for.
    pub fn of_name(name: &[u8]) -> Option<Self> {
        [Self::Access, Self::Default].into_iter().find(|kind| kind.name() == name)
    }

    /// The extended attribute that stands for the list.
    pub fn name(self) -> &'static [u8] {
        match self {
            Self::Access => b"system.posix_acl_access",
            Self::Default => b"system.posix_acl_default",
        }
    }
}

/// Whom an entry is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Owner,
    User(u32),
    OwningGroup,
    Group(u32),
    /// The most that anybody but owner and others can have.
    Mask,
    Other,
}

const VERSION: u32 = 2;
const NO_ID: u32 = u32::MAX;

impl Who {
    fn decode(tag: u16, id: u32) -> SysResult<Self> {
        Ok(match tag {
            0x01 => Self::Owner,
            0x02 => Self::User(id),
            0x04 => Self::OwningGroup,
            0x08 => Self::Group(id),
            0x10 => Self::Mask,
            0x20 => Self::Other,
            _ => return Err(Errno::EINVAL),
        })
    }

    fn encode(self) -> (u16, u32) {
        match self {
            Self::Owner => (0x01, NO_ID),
            Self::User(id) => (0x02, id),
            Self::OwningGroup => (0x04, NO_ID),
            Self::Group(id) => (0x08, id),
            Self::Mask => (0x10, NO_ID),
            Self::Other => (0x20, NO_ID),
        }
    }

    fn is_named(self) -> bool {
        matches!(self, Self::User(_) | Self::Group(_))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    who: Who,
    /// The bits of `access(2)`.
    bits: u32,
}

/// A valid list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acl {
    entries: Vec<Entry>,
}

impl Acl {
    /// Reads the value of an extended attribute; `None` if it has no entries.
    pub fn parse(value: &[u8]) -> SysResult<Option<Self>> {
        if value.is_empty() {
            return Ok(None);
        }
        let (version, entries) = value.split_first_chunk::<4>().ok_or(Errno::EINVAL)?;
        if u32::from_le_bytes(*version) != VERSION {
            return Err(Errno::EOPNOTSUPP);
        }
        let (entries, rest) = entries.as_chunks::<8>();
        if !rest.is_empty() {
            return Err(Errno::EINVAL);
        }
        let decode = |&[a, b, c, d, id @ ..]: &[u8; 8]| {
            let who = Who::decode(u16::from_le_bytes([a, b]), u32::from_le_bytes(id))?;
            let bits = u32::from(u16::from_le_bytes([c, d]));
            if bits > 7 { Err(Errno::EINVAL) } else { Ok(Entry { who, bits }) }
        };
        let entries = entries.iter().map(decode).collect::<SysResult<Vec<_>>>()?;
        if entries.is_empty() {
            return Ok(None);
        }
        let acl = Self { entries };
        if acl.is_valid() { Ok(Some(acl)) } else { Err(Errno::EINVAL) }
    }

    /// The value of the extended attribute.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = VERSION.to_le_bytes().to_vec();
        for entry in &self.entries {
            let (tag, id) = entry.who.encode();
            let permissions = u16::try_from(entry.bits).unwrap_or(0);
            bytes.extend_from_slice(&tag.to_le_bytes());
            bytes.extend_from_slice(&permissions.to_le_bytes());
            bytes.extend_from_slice(&id.to_le_bytes());
        }
        bytes
    }

    /// Owner, users, owning group, groups, mask, others, in this order; the mask may be missing
    /// only if nobody is named.
    fn is_valid(&self) -> bool {
        let order = |entry: &Entry| entry.who.encode().0;
        let in_order = self.entries.is_sorted_by_key(order);
        let count = |who| self.entries.iter().filter(|entry| entry.who == who).count();
        let names = self.entries.iter().any(|entry| entry.who.is_named());
        let has_bad_id = self
            .entries
            .iter()
            .any(|entry| matches!(entry.who, Who::User(NO_ID) | Who::Group(NO_ID)));
        in_order
            && !has_bad_id
            && [Who::Owner, Who::OwningGroup, Who::Other].into_iter().all(|who| count(who) == 1)
            && (count(Who::Mask) == 1 || count(Who::Mask) == 0 && !names)
    }

    fn bits_of(&self, who: Who) -> Option<u32> {
        self.entries.iter().find(|entry| entry.who == who).map(|entry| entry.bits)
    }

    /// Whose bits the group's bits of the mode are.
    fn group_class(&self) -> Who {
        if self.bits_of(Who::Mask).is_some() { Who::Mask } else { Who::OwningGroup }
    }

    /// Whether the mode says as much.
    pub fn is_minimal(&self) -> bool {
        self.entries.len() == 3
    }

    /// The permissions as `stat` shows them.
    pub fn mode(&self) -> u32 {
        let bits = |who| self.bits_of(who).unwrap_or(0);
        bits(Who::Owner) << 6 | bits(self.group_class()) << 3 | bits(Who::Other)
    }

    fn change_mode(&self, change: impl Fn(u32, u32) -> u32) -> Self {
        let group_class = self.group_class();
        let changed = |entry: &Entry| {
            let shift = match entry.who {
                Who::Owner => 6,
                who if who == group_class => 3,
                Who::Other => 0,
                _ => return *entry,
            };
            Entry { bits: change(entry.bits, shift), ..*entry }
        };
        Self { entries: self.entries.iter().map(changed).collect() }
    }

    /// The list after `chmod`.
    #[must_use]
    pub fn with_mode(&self, mode: u32) -> Self {
        self.change_mode(|_, shift| mode >> shift & 7)
    }

    /// The list of a new file that was asked for with these permissions.
    #[must_use]
    pub fn limited_to(&self, mode: u32) -> Self {
        self.change_mode(|bits, shift| bits & mode >> shift)
    }

    /// Whether somebody who is not the owner may do all of `want`.
    pub(crate) fn permits(
        &self,
        ownership: Ownership,
        credentials: &Credentials,
        want: u32,
    ) -> bool {
        let mask = self.bits_of(Who::Mask).unwrap_or(7);
        let mut is_member = false;
        for Entry { who, bits } in &self.entries {
            let group = match *who {
                Who::User(id) if id == credentials.fsuid => return bits & mask & want == want,
                Who::OwningGroup => ownership.gid,
                Who::Group(id) => id,
                Who::Other => return !is_member && bits & want == want,
                Who::Owner | Who::User(_) | Who::Mask => continue,
            };
            if credentials.in_group(group) {
                is_member = true;
                if bits & want == want {
                    return bits & mask & want == want;
                }
            }
        }
        false
    }
}
