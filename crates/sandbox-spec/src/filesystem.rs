//! What the guest finds at which path.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{ByteSize, HostPlace, LEAST_FILE_SIZE, SizeError, os_text};

/// What the guest sees at `/`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RootFs {
    /// The host's system folders (`/usr`, `/bin`, `/lib*`, `/opt`, parts of `/etc`), read-only. The
    /// host's homes, its `/tmp`, `/var`, `/run` and its keys are not there.
    #[default]
    Host,
    /// A host folder.
    Directory(#[serde(with = "os_text::path")] PathBuf),
    /// A tar archive, read without being extracted.
    Tar(#[serde(with = "os_text::path")] PathBuf),
}

/// Where the guest's writes to its root go. The root itself is never written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RootWrites {
    /// To memory; forgotten at the end.
    #[default]
    Memory,
    /// To this host folder, so that a later run finds them again.
    Directory(#[serde(with = "os_text::path")] PathBuf),
    /// Nowhere: they fail with `EROFS`.
    Refused,
}

/// What the guest may do with a mount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MountAccess {
    /// Read it.
    #[default]
    ReadOnly,
    /// Write to the host's files.
    ReadWrite,
    /// Write to memory, or to another folder; the host's files stay as they are.
    Overlay,
}

/// Whom the files of a mount belong to, as the guest sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ownership {
    /// What belongs to the user who started `belljar` belongs to the guest's user; the rest to
    /// whom it belongs on the host. A guest can so change the files that it was given.
    #[default]
    InvokerIsGuest,
    /// As on the host.
    AsOnHost,
}

/// A host folder or file that is visible inside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mount {
    /// What is shown.
    pub source: HostPlace,
    /// The absolute path inside. Missing folders on the way are made, in memory.
    #[serde(with = "os_text::path")]
    pub destination: PathBuf,
    /// What the guest may do with it.
    pub access: MountAccess,
    /// Whom its files belong to.
    pub ownership: Ownership,
    /// The host folder that takes what is written to an overlay, laid out as Linux's overlayfs
    /// does it. Without one it goes to memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper: Option<HostPlace>,
    /// Paths from the source that are neither shown nor can be made: where credentials are, in a
    /// folder that was not named for their sake.
    #[serde(default, with = "os_text::paths", skip_serializing_if = "Vec::is_empty")]
    pub masked: Vec<PathBuf>,
    /// What is in it counts to the limit of the disk, with everything else that counts. Without, a
    /// folder that is written to takes what the host has.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_counted: bool,
}

/// A symbolic link that is made inside before the program starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The absolute path inside. Missing folders on the way are made, in memory.
    #[serde(with = "os_text::path")]
    pub path: PathBuf,
    /// What the link says.
    #[serde(with = "os_text::path")]
    pub target: PathBuf,
}

/// What is copied to the host after a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// The path inside, from the working folder if it is relative. It arrives under its last
    /// name. Without one everything that the run created or changed arrives, under its full path.
    #[serde(default, with = "os_text::optional_path", skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// The host folder that takes it. It is made if it is not there.
    #[serde(with = "os_text::path")]
    pub folder: PathBuf,
}

/// A file system in memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tmpfs {
    /// The absolute path inside.
    #[serde(with = "os_text::path")]
    pub destination: PathBuf,
    /// How much it holds.
    pub size: ByteSize,
}

/// A mount or memory file system that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MountError {
    /// There is no destination.
    #[error("a mount needs a source and a destination: write SRC:DST, SRC:DST:ro or SRC:DST:rw")]
    MissingPart,
    /// The destination is not absolute.
    #[error("the path inside the sandbox must start with a slash, {} does not", .0.display())]
    RelativeDestination(PathBuf),
    /// A `..` in the destination.
    #[error("the path inside the sandbox must not contain `..`, {} does", .0.display())]
    ParentInDestination(PathBuf),
    /// The destination is a place that the sandbox makes itself.
    #[error("{} inside belongs to the sandbox itself", .0.display())]
    OwnPlace(PathBuf),
    /// A limit where a folder belongs.
    #[error("`{0}` is a size, and --output names a folder")]
    SizeAsOutput(String),
    /// The word after the second colon is none we know.
    #[error("unknown mount mode `{0}`: use ro, rw or overlay")]
    UnknownAccess(String),
    /// A part of what shall be copied out is missing.
    #[error("write DIR for everything that was created or changed, or PATH:DIR for one path")]
    EmptyOutput,
    /// The size of a memory file system.
    #[error(transparent)]
    Size(#[from] SizeError),
}

impl MountError {
    /// What could have been meant.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::OwnPlace(path) if names(path).next().is_none() => {
                Some("--root DIR makes a folder the root; a mount needs a place in it".to_owned())
            }
            Self::OwnPlace(_) => Some("choose another place, such as /data".to_owned()),
            Self::SizeAsOutput(text) => Some(format!(
                "--output-limit {text} limits what is written to standard output; a folder of that \
                 name is ./{text}"
            )),
            Self::Size(error) => error.hint(),
            _ => None,
        }
    }
}

/// Whether an absolute path inside is one that every sandbox makes itself, so that nothing of the
/// host's can be there: `/`, and all of `/proc`, `/sys` and `/dev`.
pub fn belongs_to_the_sandbox(path: &Path) -> bool {
    names(path).next().is_none_or(|first| first == "proc" || first == "sys" || first == "dev")
}

/// The names of a path, without the root and `.`.
fn names(path: &Path) -> impl Iterator<Item = &OsStr> {
    path.components().filter_map(|part| match part {
        std::path::Component::Normal(name) => Some(name),
        _ => None,
    })
}

impl Mount {
    /// Reads `SRC:DST[:ro|rw|overlay]`. Without a mode the mount is read-only.
    pub fn parse(text: &OsStr) -> Result<Self, MountError> {
        let mut parts = text.as_bytes().splitn(3, |byte| *byte == b':');
        let mut next = || parts.next().filter(|part| !part.is_empty());
        let source = next().ok_or(MountError::MissingPart)?;
        let destination = next().ok_or(MountError::MissingPart)?;
        let access = match next() {
            None | Some(b"ro") => MountAccess::ReadOnly,
            Some(b"rw") => MountAccess::ReadWrite,
            Some(b"overlay") => MountAccess::Overlay,
            Some(other) => {
                let word = String::from_utf8_lossy(other).into_owned();
                return Err(MountError::UnknownAccess(word));
            }
        };
        Ok(Self {
            source: OsStr::from_bytes(source).into(),
            destination: destination_path(destination)?,
            access,
            ownership: Ownership::default(),
            upper: None,
            masked: Vec::new(),
            is_counted: false,
        })
    }
}

impl FromStr for Mount {
    type Err = MountError;

    fn from_str(text: &str) -> Result<Self, MountError> {
        Self::parse(OsStr::new(text))
    }
}

impl Output {
    /// Reads `[PATH:]DIR`.
    pub fn parse(text: &OsStr) -> Result<Self, MountError> {
        let bytes = text.as_bytes();
        let (path, folder) = match bytes.iter().position(|&byte| byte == b':') {
            Some(colon) => (bytes.get(..colon), bytes.get(colon + 1..).unwrap_or_default()),
            None => (None, bytes),
        };
        if let Some(text) = text.to_str().filter(|text| text.parse::<ByteSize>().is_ok()) {
            return Err(MountError::SizeAsOutput(text.to_owned()));
        }
        if folder.is_empty() || path.is_some_and(<[u8]>::is_empty) {
            return Err(MountError::EmptyOutput);
        }
        let to_path = |bytes| PathBuf::from(OsStr::from_bytes(bytes));
        Ok(Self { path: path.map(to_path), folder: to_path(folder) })
    }
}

impl FromStr for Tmpfs {
    type Err = MountError;

    /// Reads `PATH[:SIZE]`. Without a size it holds 64 MiB.
    fn from_str(text: &str) -> Result<Self, MountError> {
        let (path, size) = match text.split_once(':') {
            Some((path, size)) => (path, ByteSize::parse_at_least(size, LEAST_FILE_SIZE)?),
            None => (text, ByteSize::from_mib(64)),
        };
        // A memory file system of another size in the place of the sandbox's own.
        let destination = match path {
            "/dev/shm" => PathBuf::from(path),
            path => destination_path(path.as_bytes())?,
        };
        Ok(Self { destination, size })
    }
}

fn destination_path(bytes: &[u8]) -> Result<PathBuf, MountError> {
    let path = Path::new(OsStr::from_bytes(bytes));
    if !path.is_absolute() {
        return Err(MountError::RelativeDestination(path.into()));
    }
    if path.components().any(|part| part == std::path::Component::ParentDir) {
        return Err(MountError::ParentInDestination(path.into()));
    }
    if belongs_to_the_sandbox(path) {
        return Err(MountError::OwnPlace(path.into()));
    }
    Ok(path.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Mount, MountError> {
        text.parse()
    }

    #[test]
    fn a_mount_is_read_only_unless_said_otherwise() {
        let mount = parse("/a:/b").unwrap();
        assert_eq!((mount.source, mount.destination), ("/a".into(), "/b".into()));
        assert_eq!(mount.access, MountAccess::ReadOnly);
        assert_eq!(parse("a:/b:rw").unwrap().access, MountAccess::ReadWrite);
        assert_eq!(parse("a:/b:overlay").unwrap().access, MountAccess::Overlay);
    }

    #[test]
    fn says_what_is_wrong_with_a_mount() {
        assert_eq!(parse("/a"), Err(MountError::MissingPart));
        assert_eq!(parse(":/b"), Err(MountError::MissingPart));
        assert_eq!(parse("/a:b"), Err(MountError::RelativeDestination("b".into())));
        assert_eq!(parse("/a:/b/../c"), Err(MountError::ParentInDestination("/b/../c".into())));
        for own in ["/", "//", "/.", "/proc", "/proc/1", "/./sys/x", "/dev", "/dev/shm"] {
            assert_eq!(parse(&format!("/a:{own}")), Err(MountError::OwnPlace(own.into())));
        }
        assert!(parse("/a:/device").is_ok());
        assert_eq!(parse("/a:/b:x"), Err(MountError::UnknownAccess("x".into())));
    }

    #[test]
    fn an_output_has_a_folder_and_perhaps_a_path() {
        let parse = |text: &str| Output::parse(OsStr::new(text));
        let all = Output { path: None, folder: "out".into() };
        assert_eq!(parse("out"), Ok(all.clone()));
        assert_eq!(parse("a/b:out"), Ok(Output { path: Some("a/b".into()), ..all }));
        assert_eq!(parse("10M"), Err(MountError::SizeAsOutput("10M".into())));
        assert!(parse("./10M").is_ok() && parse("a:10M").is_ok());
        for text in ["", ":out", "a:"] {
            assert_eq!(parse(text), Err(MountError::EmptyOutput));
        }
    }

    #[test]
    fn a_memory_file_system_has_a_size() {
        let tmpfs: Tmpfs = "/scratch:1G".parse().unwrap();
        assert_eq!(tmpfs.size, ByteSize::from_mib(1024));
        assert_eq!("/s".parse::<Tmpfs>().unwrap().size, ByteSize::from_mib(64));
        assert!("/s:many".parse::<Tmpfs>().is_err() && "/s:64".parse::<Tmpfs>().is_err());
        assert!("/dev/shm:1G".parse::<Tmpfs>().is_ok() && "/dev:1G".parse::<Tmpfs>().is_err());
    }
}
