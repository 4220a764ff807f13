//! From the entries of an archive to a tree.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use linux_abi::time::Timespec;
use tar::{Archive, EntryType};

use super::TarError;
use super::inode::{Body, TarInode};
use super::sparse::{self, Bytes, PaxSparse};
use crate::metadata::{DeviceNumber, FileKind};

/// How many entries an archive may have.
const MAX_ENTRIES: usize = 5_000_000;

/// What a name starts with in an OCI layer if it removes the rest of the name.
const WHITEOUT: &[u8] = b".wh.";
/// The name that hides everything of the layers below.
const OPAQUE: &[u8] = b".wh..wh..opq";

struct Index {
    device: DeviceNumber,
    root: Rc<TarInode>,
    last_number: u64,
    /// The archive, as files read it and as the index does.
    host: Rc<OwnedFd>,
    file: File,
    length: u64,
}

/// What PAX headers say of an entry beyond what its own header can.
#[derive(Default)]
pub(super) struct Extended {
    sparse: PaxSparse,
    pub modified: Option<Timespec>,
    pub xattrs: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Extended {
    fn read(entry: &mut tar::Entry<'_, File>) -> Result<Self, TarError> {
        let mut extended = Self::default();
        let Some(records) = entry.pax_extensions().map_err(TarError::Read)? else {
            return Ok(extended);
        };
        // A value with a line break in it does not parse, and is left out.
        for record in records.flatten() {
            let Ok(key) = record.key() else { continue };
            let value = record.value_bytes();
            if extended.sparse.take(key, value)? {
                continue;
            }
            if let Some(name) = key.strip_prefix("SCHILY.xattr.") {
                extended.xattrs.push((name.as_bytes().to_vec(), value.to_vec()));
            } else if key == "mtime" {
                extended.modified = std::str::from_utf8(value).ok().and_then(parse_time);
            }
        }
        Ok(extended)
    }
}

/// A time as PAX headers have it: seconds, maybe with a fraction.
fn parse_time(text: &str) -> Option<Timespec> {
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    let nanos: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    let (tv_sec, tv_nsec): (i64, i64) = (seconds.parse().ok()?, nanos.parse().ok()?);
    // The fraction of a time before 1970 counts backwards too.
    if seconds.starts_with('-') && tv_nsec > 0 {
        return Some(Timespec { tv_sec: tv_sec - 1, tv_nsec: 1_000_000_000 - tv_nsec });
    }
    Some(Timespec { tv_sec, tv_nsec })
}

/// Reads all entries.
pub fn read(archive: File, device: DeviceNumber) -> Result<Rc<TarInode>, TarError> {
    let file = archive.try_clone().map_err(TarError::Read)?;
    let length = file.metadata().map_err(TarError::Read)?.len();
    let host: Rc<OwnedFd> = Rc::new(file.try_clone().map_err(TarError::Read)?.into());
    let root = TarInode::directory(device, 1, 0o755);
    let mut index = Index { device, root: Rc::clone(&root), last_number: 1, host, file, length };
    let mut archive = Archive::new(archive);
    let entries = archive.entries_with_seek().map_err(TarError::Read)?;
    for (n, entry) in entries.enumerate() {
        if n >= MAX_ENTRIES {
            return Err(TarError::Broken("it has too many entries"));
        }
        index.add(&mut entry.map_err(TarError::Read)?)?;
    }
    Ok(root)
}

/// The names on the way to an entry. `.` and empty ones are skipped; a `..` makes the entry
/// worthless, since it could mean anything.
fn components(path: &[u8]) -> Option<Vec<&[u8]>> {
    let names: Vec<&[u8]> =
        path.split(|&byte| byte == b'/').filter(|name| !name.is_empty() && *name != b".").collect();
    (!names.contains(&&b".."[..])).then_some(names)
}

impl Index {
    fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    fn add(&mut self, entry: &mut tar::Entry<'_, File>) -> Result<(), TarError> {
        let extended = Extended::read(entry)?;
        let path = match &extended.sparse.name {
            Some(name) => name.clone(),
            None => entry.path_bytes().into_owned(),
        };
        let Some(names) = components(&path) else { return Ok(()) };
        let Some((name, parents)) = names.split_last() else {
            let header = entry.header();
            self.root.set_mode(header.mode().unwrap_or(0o755));
            return Ok(());
        };
        let parent = self.directory(parents)?;
        if *name == OPAQUE {
            parent.set_opaque();
            return Ok(());
        }
        if let Some(hidden) = name.strip_prefix(WHITEOUT) {
            let number = self.next_number();
            parent.add(hidden, TarInode::whiteout(self.device, number));
            return Ok(());
        }
        if entry.header().entry_type() == EntryType::Link {
            return self.add_link(entry, &parent, name);
        }
        let Some(body) = self.body(entry, &extended)? else { return Ok(()) };
        if matches!(body, Body::Directory(_))
            && let Some(known) = parent.find(name)
            && known.is_directory()
        {
            known.describe_as(entry.header(), &extended);
            return Ok(());
        }
        let number = self.next_number();
        let inode = TarInode::new(self.device, number, body);
        inode.describe_as(entry.header(), &extended);
        parent.add(name, inode);
        Ok(())
    }

    fn add_link(
        &mut self,
        entry: &tar::Entry<'_, File>,
        parent: &Rc<TarInode>,
        name: &[u8],
    ) -> Result<(), TarError> {
        let target = entry.link_name_bytes().ok_or(TarError::Broken("a link leads nowhere"))?;
        let Some(names) = components(&target) else { return Ok(()) };
        let mut at = Rc::clone(&self.root);
        for name in names {
            match at.find(name) {
                Some(next) => at = next,
                None => return Err(TarError::Broken("a hard link leads to no earlier entry")),
            }
        }
        at.add_name();
        parent.add(name, at);
        Ok(())
    }

    /// The directory of these names, made where the archive does not mention it.
    fn directory(&mut self, names: &[&[u8]]) -> Result<Rc<TarInode>, TarError> {
        let mut at = Rc::clone(&self.root);
        for name in names {
            let next = match at.find(name) {
                Some(next) if next.is_directory() => next,
                Some(_) => return Err(TarError::Broken("a file has others beneath it")),
                None => {
                    let number = self.next_number();
                    let made = TarInode::directory(self.device, number, 0o755);
                    at.add(name, Rc::clone(&made));
                    made
                }
            };
            at = next;
        }
        Ok(at)
    }

    /// What an entry consists of; `None` for what is no file.
    fn body(
        &self,
        entry: &tar::Entry<'_, File>,
        extended: &Extended,
    ) -> Result<Option<Body>, TarError> {
        let header = entry.header();
        let regular = |bytes: Bytes| {
            if bytes.is_within(self.length) {
                Ok(Body::Regular { host: Rc::clone(&self.host), bytes })
            } else {
                Err(TarError::Broken("it ends in the middle of a file"))
            }
        };
        let device = || {
            let number = |part: std::io::Result<Option<u32>>| part.ok().flatten().unwrap_or(0);
            DeviceNumber::new(number(header.device_major()), number(header.device_minor()))
        };
        Ok(Some(match header.entry_type() {
            EntryType::Regular | EntryType::Continuous => {
                let (start, stored) = (entry.raw_file_position(), entry.size());
                let sparse = extended.sparse.bytes(start, stored, &self.file)?;
                regular(sparse.unwrap_or_else(|| Bytes::whole(start, stored)))?
            }
            EntryType::GNUSparse => regular(sparse::old_gnu(entry, &self.file)?)?,
            EntryType::Directory => Body::Directory(Default::default()),
            EntryType::Symlink => {
                let target = entry.link_name_bytes();
                let target = target.ok_or(TarError::Broken("a link leads nowhere"))?;
                Body::Symlink(target.into_owned())
            }
            EntryType::Char => Body::Special(FileKind::CharacterDevice, device()),
            EntryType::Block => Body::Special(FileKind::BlockDevice, device()),
            EntryType::Fifo => Body::Special(FileKind::Fifo, DeviceNumber::default()),
            _ => return Ok(None),
        }))
    }
}

/// The time of a header.
pub fn time_of(header: &tar::Header) -> Timespec {
    let tv_sec = header.mtime().ok().and_then(|time| i64::try_from(time).ok()).unwrap_or(0);
    Timespec { tv_sec, tv_nsec: 0 }
}
