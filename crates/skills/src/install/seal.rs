//! The seal of an environment: what was in it when it was made.
//!
//! The *manifest* is a text with a line for everything in a tree: its kind, its permissions, and the
//! SHA-256 of its bytes or where it leads. Equal trees make equal text, so that it is compared and
//! never parsed. To make it anew costs reading everything; so there is also the *stamp*, one digest of
//! what the host knows of each file without opening it: its place on the disk, its size, and when it
//! was last changed in any way. Nobody but root can set that last time, and a file whose stamp is the same has
//! the same bytes. Whoever copies the cache changes the stamp and not the manifest.

use std::fmt::Write as _;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use host_sys::beneath::{Folder, Found, Kind, Limits, Next, Status};
use sha2::{Digest as _, Sha256};

use super::hex;

/// The first line of a manifest.
const TITLE: &str = "belljar environment 1\n";
/// How long a manifest may be. Names of packages' choice can be long, and there can be a million.
pub const MAX_MANIFEST_BYTES: u64 = 1 << 28;
/// How many bytes all files may have. They are all read, and a file may say that it has more than any
/// disk.
pub const MAX_BYTES: u64 = 64 << 30;
/// How much of a file is read at once.
const PIECE: usize = 128 * 1024;

/// What a tree is sealed with.
pub struct Seal {
    /// A line for everything in it.
    pub manifest: String,
    /// A digest of what the host knows of it.
    pub stamp: String,
}

/// Takes permissions that nothing in an environment needs: those that lend the owner's identity, and
/// those that let others write. Gives the owner the right to read what packages have locked.
pub fn tidy(tree: &Folder) -> io::Result<()> {
    tree.set_mode(tidy_mode(tree.status()?))?;
    tree.walk(Limits::default(), &mut |found| {
        let tidy = tidy_mode(found.status);
        if matches!(found.status.kind, Kind::File | Kind::Folder) && found.status.mode != tidy {
            found.folder.set_mode_of(found.name, tidy)?;
        }
        Ok(Next::Into)
    })
}

fn tidy_mode(status: Status) -> u32 {
    let least = if status.kind == Kind::Folder { 0o700 } else { 0o600 };
    (status.mode & 0o755) | least
}

/// Seals a tree. Something in it that is no file, folder or link is an error.
pub fn seal(tree: &Folder) -> io::Result<Seal> {
    let mut stamp = Stamp::of(tree)?;
    let mut manifest = String::from(TITLE);
    let mut piece = vec![0; PIECE];
    let mut total = 0_u64;
    tree.walk(Limits::default(), &mut |found| {
        stamp.add(found.path, found.status);
        if found.status.kind == Kind::File {
            total = total.saturating_add(found.status.size);
        }
        at_most(total, MAX_BYTES, "in all files")?;
        write_line(&mut manifest, found, &mut piece)?;
        let length = u64::try_from(manifest.len()).unwrap_or(u64::MAX);
        at_most(length, MAX_MANIFEST_BYTES, "in the list of its names")?;
        Ok(Next::Into)
    })?;
    Ok(Seal { manifest, stamp: stamp.finish() })
}

fn at_most(length: u64, most: u64, of: &str) -> io::Result<()> {
    if length <= most {
        return Ok(());
    }
    let words = format!("there are more than {most} bytes {of}");
    Err(io::Error::new(io::ErrorKind::QuotaExceeded, words))
}

/// Only the stamp of a tree.
pub fn stamp(tree: &Folder) -> io::Result<String> {
    let mut stamp = Stamp::of(tree)?;
    tree.walk(Limits::default(), &mut |found| {
        stamp.add(found.path, found.status);
        Ok(Next::Into)
    })?;
    Ok(stamp.finish())
}

/// The first thing in which two manifests differ.
pub fn first_difference(sealed: &str, now: &str) -> String {
    let (mut sealed, mut now) = (sealed.lines(), now.lines());
    loop {
        match (sealed.next(), now.next()) {
            (Some(one), Some(other)) if one == other => {}
            (Some(line), _) | (None, Some(line)) => {
                return line.rsplit(' ').next().unwrap_or_default().to_owned();
            }
            (None, None) => return "its end".to_owned(),
        }
    }
}

fn write_line(manifest: &mut String, found: &Found<'_>, piece: &mut [u8]) -> io::Result<()> {
    let Status { kind, mode, .. } = found.status;
    let path = escaped(found.path);
    let written = match kind {
        Kind::Folder => writeln!(manifest, "folder {mode:04o} {path}"),
        Kind::Link => {
            let target = escaped(&found.folder.read_link(found.name)?);
            writeln!(manifest, "link {target} {path}")
        }
        Kind::File => {
            let digest = digest(found, piece)?;
            writeln!(manifest, "file {mode:04o} {digest} {path}")
        }
        other => {
            let words = format!("it is {}, which no package needs", other.words());
            return Err(io::Error::new(io::ErrorKind::InvalidData, words));
        }
    };
    written.map_err(io::Error::other)
}

fn digest(found: &Found<'_>, piece: &mut [u8]) -> io::Result<String> {
    let mut file = found.folder.open(found.name)?;
    let mut digest = Sha256::new();
    loop {
        let length = file.read(piece)?;
        match piece.get(..length) {
            None | Some([]) => return Ok(hex(&digest.finalize())),
            Some(bytes) => digest.update(bytes),
        }
    }
}

/// A path as one word of a line, whatever bytes it has.
fn escaped(path: &Path) -> String {
    let mut text = String::new();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'%' => text.push_str("%25"),
            0x21..=0x7e => text.push(char::from(*byte)),
            // A string takes whatever is written to it.
            _ => drop(write!(text, "%{byte:02x}")),
        }
    }
    text
}

struct Stamp(Sha256);

impl Stamp {
    fn of(top: &Folder) -> io::Result<Self> {
        let mut stamp = Self(Sha256::new());
        stamp.add(Path::new(""), top.status()?);
        Ok(stamp)
    }

    fn add(&mut self, path: &Path, status: Status) {
        let Status { kind, mode, uid, size, identity, modified, changed, .. } = status;
        let path = path.as_os_str().as_bytes();
        self.0.update(path.len().to_le_bytes());
        self.0.update(path);
        self.0.update(kind.words().as_bytes());
        self.0.update(mode.to_le_bytes());
        self.0.update(uid.to_le_bytes());
        for number in [size, identity.0, identity.1, modified.1, changed.1] {
            self.0.update(number.to_le_bytes());
        }
        for number in [modified.0, changed.0] {
            self.0.update(number.to_le_bytes());
        }
    }

    fn finish(self) -> String {
        hex(&self.0.finalize())
    }
}
