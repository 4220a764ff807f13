//! Files that the user names for results: reports, logs, learned policies.
//!
//! Such a file may lie in a folder that a guest can write, such as the one that it works on. A
//! link that a guest left in its place would let our words replace any file of the user. So the
//! folder is held from before the guest starts, and a link there is never followed.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Component, Path};

use rustix::fs::OFlags;

use super::files::{BESIDE, NEW_MODE, NewMode};
use super::{Folder, Held, Kind, Status};
use crate::open_again;

/// A file for results, which need not be there yet.
#[derive(Debug)]
pub struct ResultFile {
    place: Place,
}

#[derive(Debug)]
enum Place {
    /// A name in a folder.
    Named { folder: Folder, name: OsString },
    /// A stream or a device: what `/dev` and `/proc` have is the host's, and its links lead to what
    /// this process has open.
    Stream(File),
}

impl ResultFile {
    /// Fails now if the file could not be written later. What is there stays as it is.
    pub fn at(path: &Path) -> io::Result<Self> {
        let place = Place::of(path)?;
        if let Place::Named { folder, name } = &place {
            match folder.existing(name)? {
                Some(held) => drop(held.open_to_write(OFlags::APPEND)?),
                None => {
                    let (beside, _) =
                        folder.with_new_name(BESIDE, |it| folder.create(it, 0o600))?;
                    folder.remove_file(beside)?;
                }
            }
        }
        Ok(Self { place })
    }

    /// Opens the file for writing, empty.
    pub fn create(path: &Path) -> io::Result<File> {
        match Place::of(path)? {
            Place::Stream(file) => Ok(file),
            Place::Named { folder, name } => match folder.existing(&name)? {
                Some(held) => held.open_to_write(OFlags::TRUNC),
                None => folder.create(&name, NEW_MODE),
            },
        }
    }

    /// What is in the file, if it is there and has at most `most` bytes.
    pub fn read(&self, most: u64) -> io::Result<Option<Vec<u8>>> {
        match &self.place {
            Place::Stream(_) => Ok(None),
            Place::Named { folder, name } => match folder.existing(name)? {
                Some(_) => folder.read(name, most).map(Some),
                None => Ok(None),
            },
        }
    }

    /// Writes the file as a whole. Whatever has its name by now, and is no folder, is replaced.
    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let (folder, name) = match &self.place {
            Place::Stream(file) => return (&*file).write_all(bytes),
            Place::Named { folder, name } => (folder, name),
        };
        let is_file = |status: &Status| status.kind == Kind::File;
        let mode = match folder.status_of(name)?.filter(is_file) {
            Some(there) => NewMode::Exactly(there.mode & 0o777),
            None => NewMode::AsNew,
        };
        folder.replace_with(name, mode, |file| file.write_all(bytes))
    }
}

impl Place {
    fn of(path: &Path) -> io::Result<Self> {
        let absolute = std::path::absolute(path)?;
        if is_stream(&absolute)? {
            return Ok(Self::Stream(File::options().write(true).open(absolute)?));
        }
        let name = absolute.file_name().ok_or(rustix::io::Errno::ISDIR)?.to_owned();
        let folder = Folder::at(absolute.parent().unwrap_or(Path::new("/")))?;
        Ok(Self::Named { folder, name })
    }
}

/// Whether a path names a stream or a device of the host's, or something that this process has open.
/// In the folders of `/dev` that hold files, guests may have put links as anywhere else.
pub(super) fn is_stream(path: &Path) -> io::Result<bool> {
    let absolute = std::path::absolute(path)?;
    let goes_back = absolute.components().any(|part| part == Component::ParentDir);
    let holds_files = ["/dev/shm", "/dev/mqueue", "/dev/hugepages"];
    Ok(!goes_back
        && (absolute.starts_with("/dev") || absolute.starts_with("/proc"))
        && !holds_files.iter().any(|folder| absolute.starts_with(folder)))
}

impl Folder {
    /// The file of this name, if there is one; anything else is an error.
    fn existing(&self, name: &OsString) -> io::Result<Option<Held>> {
        match self.hold(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            held => held.and_then(|held| held.check_file().map(|()| Some(held))),
        }
    }
}

impl Held {
    fn open_to_write(&self, how: OFlags) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | how;
        Ok(open_again(self, flags)?.into())
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::Mode;

    use super::*;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, symlink};

    #[test]
    fn a_result_replaces_what_a_guest_put_in_its_place() {
        let top = tempfile::tempdir().unwrap();
        let (work, key) = (top.path().join("work"), top.path().join("key"));
        fs::create_dir(&work).unwrap();
        fs::write(&key, "mine").unwrap();
        let path = work.join("report");
        let result = ResultFile::at(&path).unwrap();
        assert_eq!(fs::read_dir(&work).unwrap().count(), 0, "nothing is there before the end");
        symlink(&key, &path).unwrap();
        result.write(b"words").unwrap();
        assert_eq!(fs::read(&key).unwrap(), b"mine");
        assert_eq!(fs::read(&path).unwrap(), b"words");
        assert!(fs::symlink_metadata(&path).unwrap().is_file());
        // The guest moves the whole folder away.
        fs::rename(&work, top.path().join("away")).unwrap();
        symlink(top.path(), &work).unwrap();
        result.write(b"again").unwrap();
        assert_eq!(fs::read(top.path().join("away/report")).unwrap(), b"again");
        assert!(!top.path().join("report").exists());
    }

    #[test]
    fn what_an_earlier_guest_left_is_no_place_for_a_result() {
        let top = tempfile::tempdir().unwrap();
        let path = |name: &str| top.path().join(name);
        fs::write(path("key"), "mine").unwrap();
        symlink(path("key"), path("link")).unwrap();
        fs::create_dir(path("folder")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, path("fifo"), Mode::RWXU).unwrap();
        for (name, what) in [("link", "a link"), ("folder", "a folder"), ("fifo", "a FIFO")] {
            let words = format!("it is {what}, not a file");
            assert_eq!(ResultFile::at(&path(name)).unwrap_err().to_string(), words);
            assert_eq!(ResultFile::create(&path(name)).unwrap_err().to_string(), words);
        }
        assert_eq!(fs::read(path("key")).unwrap(), b"mine");
    }

    /// Tests of many run there: it is memory. Guests that work there leave links as anywhere.
    #[test]
    fn a_folder_of_files_in_dev_is_no_stream() {
        let top = tempfile::tempdir_in("/dev/shm").unwrap();
        let path = |name: &str| top.path().join(name);
        ResultFile::at(&path("new")).unwrap().write(b"words").unwrap();
        assert_eq!(fs::read(path("new")).unwrap(), b"words");
        fs::write(path("key"), "mine").unwrap();
        symlink("key", path("link")).unwrap();
        assert!(ResultFile::at(&path("link")).is_err());
        assert!(ResultFile::create(&path("link")).is_err());
        assert_eq!(fs::read(path("key")).unwrap(), b"mine");
        for (name, expected) in [
            ("/dev/stdout", true),
            ("/dev/fd/3", true),
            ("/proc/self/fd/3", true),
            ("/dev/shm/x", false),
            ("/dev/../tmp/x", false),
            ("/devices", false),
        ] {
            assert_eq!(is_stream(Path::new(name)).unwrap(), expected, "{name}");
        }
    }

    #[test]
    fn streams_and_files_take_results() {
        let top = tempfile::tempdir().unwrap();
        ResultFile::at(Path::new("/dev/null")).unwrap().write(b"x").unwrap();
        ResultFile::create(Path::new("/dev/null")).unwrap().write_all(b"x").unwrap();
        let path = top.path().join("log");
        ResultFile::create(&path).unwrap().write_all(b"long text").unwrap();
        ResultFile::create(&path).unwrap().write_all(b"short").unwrap();
        let result = ResultFile::at(&path).unwrap();
        assert_eq!(result.read(5).unwrap().unwrap(), b"short");
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o640)).unwrap();
        result.write(b"more").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"more");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o640);
        assert!(ResultFile::at(&top.path().join("none/x")).is_err());
    }
}
