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
use skills::install::hex;

/// The first line of a manifest.
const TITLE: &str = "belljar environment 1\n";
/// How long a manifest may be. Names of packages' choice can be long, and there can be a million.
pub const MAX_MANIFEST_BYTES: u64 = 1 << 28;
/// How many bytes all files may have. They are all read, and a file may say that it has more than any
/// disk.
const MAX_BYTES: u64 = 64 << 30;
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use host_sys::rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    /// The packages' code made it: it takes nothing on the disk, and to read it would take an hour.
    #[test]
    fn what_would_take_for_ever_to_read_is_refused() {
        let (top, tree) = tree();
        let file = fs::File::create(top.path().join("huge")).unwrap();
        file.set_len(MAX_BYTES + 1).unwrap();
        let error = seal(&tree).map(|_| ()).unwrap_err().to_string();
        assert!(error.ends_with("bytes in all files"), "{error}");
        file.set_len(1).unwrap();
        assert!(seal(&tree).is_ok());
    }

    fn tree() -> (tempfile::TempDir, Folder) {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir(top.path().join("a folder")).unwrap();
        fs::write(top.path().join("a folder/file"), "text").unwrap();
        symlink("/etc/passwd", top.path().join("link")).unwrap();
        let folder = Folder::at(top.path()).unwrap();
        (top, folder)
    }

    #[test]
    fn a_manifest_has_everything_in_a_line() {
        let (_top, folder) = tree();
        tidy(&folder).unwrap();
        let sealed = seal(&folder).unwrap();
        let lines: Vec<&str> = sealed.manifest.lines().collect();
        let digest = "982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1";
        let file = format!("file 0644 {digest} a%20folder/file");
        assert_eq!(lines[1..], ["folder 0755 a%20folder", &file, "link /etc/passwd link"]);
        assert_eq!(stamp(&folder).unwrap(), sealed.stamp);
    }

    #[test]
    fn every_change_is_seen_by_both() {
        let changes: [fn(&Path); 5] = [
            |top| fs::write(top.join("a folder/file"), "TEXT").unwrap(),
            |top| fs::write(top.join("new"), "").unwrap(),
            |top| fs::remove_file(top.join("link")).unwrap(),
            |top| {
                fs::remove_file(top.join("link")).unwrap();
                symlink("/etc/shadow", top.join("link")).unwrap();
            },
            |top| {
                let mode = fs::Permissions::from_mode(0o700);
                fs::set_permissions(top.join("a folder/file"), mode).unwrap();
            },
        ];
        for change in changes {
            let (top, folder) = tree();
            let before = seal(&folder).unwrap();
            change(top.path());
            let after = seal(&folder).unwrap();
            assert_ne!(before.stamp, after.stamp);
            assert_ne!(before.manifest, after.manifest);
            assert_ne!(first_difference(&before.manifest, &after.manifest), "its end");
        }
    }

    #[test]
    fn an_old_date_does_not_hide_a_change() {
        let (top, folder) = tree();
        let file = top.path().join("a folder/file");
        let before = seal(&folder).unwrap();
        let date = fs::metadata(&file).unwrap().modified().unwrap();
        fs::write(&file, "TEXT").unwrap();
        fs::File::options().write(true).open(&file).unwrap().set_modified(date).unwrap();
        assert_ne!(stamp(&folder).unwrap(), before.stamp);
    }

    #[test]
    fn a_fifo_is_an_error_and_no_wait() {
        let (top, folder) = tree();
        let fifo = top.path().join("fifo");
        mknodat(CWD, &fifo, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        let error = seal(&folder).err().unwrap().to_string();
        assert!(error.contains("a FIFO"), "{error}");
    }

    #[test]
    fn identities_are_not_lent_and_locked_folders_are_opened() {
        let (top, folder) = tree();
        let set = |name: &str, mode| {
            fs::set_permissions(top.path().join(name), fs::Permissions::from_mode(mode)).unwrap();
        };
        set("a folder/file", 0o6777);
        set("a folder", 0o1555);
        tidy(&folder).unwrap();
        let mode =
            |name: &str| fs::metadata(top.path().join(name)).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode("a folder"), mode("a folder/file")), (0o755, 0o755));
    }
}
