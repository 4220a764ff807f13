//! Files that the user names to be read: policies, and what says what a folder is.
//!
//! The user chose the path, so links are followed. But the file may lie in a folder that a guest
//! could write, so nobody waits for a FIFO there, and no device is read that has no end.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use super::{Kind, Status, is_stream};

/// All bytes of the file at a path, which has at most `most` of them.
pub fn read_named(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = if is_stream(path)? { File::open(path)? } else { open_file(path)? };
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length <= most) {
        return Ok(bytes);
    }
    Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {most} bytes")))
}

fn open_file(path: &Path) -> io::Result<File> {
    // A device may do something when it is opened, so it is looked at first.
    let held = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let kind = Status::of(&rustix::fs::fstat(&held)?).kind;
    if kind != Kind::File {
        let words = format!("it is {}, not a file", kind.words());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    Ok(crate::open_again(&held, flags)?.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn files_are_read_and_nothing_else_is_waited_for() {
        let top = tempfile::tempdir().unwrap();
        let path = |name: &str| top.path().join(name);
        fs::write(path("file"), "text").unwrap();
        symlink("file", path("link")).unwrap();
        assert_eq!(read_named(&path("link"), 4).unwrap(), b"text");
        let long = read_named(&path("file"), 3).unwrap_err();
        assert_eq!(long.to_string(), "it has more than 3 bytes");
        rustix::fs::mkfifoat(rustix::fs::CWD, path("fifo"), Mode::RWXU).unwrap();
        symlink("/dev/zero", path("zero")).unwrap();
        let cases = [("fifo", "a FIFO"), ("zero", "a device"), (".", "a folder")];
        for (name, what) in cases {
            let error = read_named(&path(name), 9).unwrap_err();
            assert_eq!(error.to_string(), format!("it is {what}, not a file"));
        }
        // What the user's shell made is a stream.
        assert_eq!(read_named(Path::new("/dev/null"), 9).unwrap(), b"");
        assert_eq!(read_named(&path("none"), 9).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
