//! A loaded skill: its files, its front matter and its instructions.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use host_sys::beneath::{Folder, Held};
use sandbox_spec::HostPlace;
use serde::Serialize;

use crate::finding::{Finding, Severity};
use crate::front_matter::FrontMatter;

/// The most bytes of one file that scanners read.
const MAX_SCANNED_BYTES: u64 = 1024 * 1024;

/// Where a skill came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A folder of the host.
    Folder,
    /// A `.skill` or `.zip` archive, unpacked into a temporary folder.
    Archive,
}

/// What kind of thing a path of the skill is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum FileKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link {
        /// The link's text.
        target: String,
    },
}

/// One file, folder or link of a skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileEntry {
    /// Path relative to the skill's folder, with `/` between the parts.
    pub path: String,
    /// What it is.
    #[serde(flatten)]
    pub kind: FileKind,
    /// Size in bytes; zero for anything but a file.
    pub size: u64,
    /// Whether any execute bit is set.
    pub is_executable: bool,
}

impl FileEntry {
    /// Whether it is a regular file.
    pub fn is_file(&self) -> bool {
        self.kind == FileKind::File
    }

    /// The last part of the path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// The part after the last dot of the name, if there is one.
    pub fn extension(&self) -> Option<&str> {
        match self.name().rsplit_once('.') {
            Some((stem, extension)) if !stem.is_empty() => Some(extension),
            _ => None,
        }
    }

    /// The folder that holds it, or nothing for the top.
    pub fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }
}

/// A skill that was found and read. Loading is lenient: see [`crate::check`] for the rules.
#[derive(Clone, Debug)]
pub struct Skill {
    /// The folder on the host that holds the skill's files.
    pub root: PathBuf,
    /// The same folder, held since its files were listed: what is shown is what was looked at.
    pub place: HostPlace,
    /// The same, for reading.
    pub(crate) held: Arc<Folder>,
    /// Folder or archive.
    pub origin: Origin,
    /// The name of the skill's folder, as the specification compares it with `name`.
    pub folder_name: String,
    /// The path of `SKILL.md` in the skill, as it is spelled there.
    pub manifest: String,
    /// What the front matter says.
    pub front_matter: FrontMatter,
    /// The instructions after the front matter.
    pub body: String,
    /// The line of the file on which the body begins.
    pub body_line: usize,
    /// Every file, folder and link, sorted by path.
    pub files: Vec<FileEntry>,
    /// What loading found wrong.
    pub findings: Vec<Finding>,
    /// Keeps an unpacked archive alive as long as the skill.
    pub(crate) staging: Option<Arc<tempfile::TempDir>>,
}

impl Skill {
    /// The skill's name: what the front matter says, else the folder's name.
    pub fn name(&self) -> &str {
        self.front_matter.name.as_deref().unwrap_or(&self.folder_name)
    }

    /// Finds a file, folder or link by its path.
    pub fn find_file(&self, path: &str) -> Option<&FileEntry> {
        let at = self.files.binary_search_by(|entry| entry.path.as_str().cmp(path)).ok()?;
        self.files.get(at)
    }

    /// The regular files.
    pub fn regular_files(&self) -> impl Iterator<Item = &FileEntry> {
        self.files.iter().filter(|entry| entry.is_file())
    }

    /// The size of all files together.
    pub fn size(&self) -> u64 {
        self.files.iter().map(|entry| entry.size).sum()
    }

    /// Reads the beginning of a file, at most one MiB.
    pub fn read_file(&self, entry: &FileEntry) -> std::io::Result<Vec<u8>> {
        self.read_start(entry, MAX_SCANNED_BYTES)
    }

    /// Reads at most `limit` bytes from the beginning of a file.
    pub fn read_start(&self, entry: &FileEntry, limit: u64) -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.hold(&entry.path)?.open()?.take(limit).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Holds what has a path in the skill. No link is followed: whoever made the skill made them.
    pub fn hold(&self, path: &str) -> std::io::Result<Held> {
        let (folder, name) = self.held.parent_of(Path::new(path))?;
        folder.hold(name)
    }

    /// Reads the beginning of a file as text, or nothing if it cannot be read or is binary.
    pub fn read_text(&self, entry: &FileEntry) -> Option<String> {
        let bytes = self.read_file(entry).ok()?;
        (!bytes.contains(&0)).then(|| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The path on the host of a path in the skill.
    pub fn host_path(&self, path: &str) -> PathBuf {
        self.root.join(Path::new(path))
    }

    /// The temporary folder that holds an unpacked archive. It goes with the skill.
    pub fn staging_folder(&self) -> Option<&Path> {
        self.staging.as_deref().map(tempfile::TempDir::path)
    }

    /// Whether loading found an error in the files themselves, such as an archive that tries to
    /// write outside of its folder. Such a skill is never run.
    pub fn has_unsafe_files(&self) -> bool {
        self.findings.iter().any(|f| f.severity == Severity::Error && f.rule.starts_with("file-"))
    }
}
