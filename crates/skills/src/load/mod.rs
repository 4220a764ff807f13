//! Loading: from a folder or an archive to a [`Skill`].
//!
//! Loading is lenient about what a skill says and strict about what its files could do. A wrong
//! name or an unknown key is left to [`crate::check`]; a path that leaves the folder is reported
//! and never written; an archive beyond the [`Limits`] is not unpacked at all.

mod archive;
mod folder;
mod names;
mod zip_names;

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use host_sys::beneath::Folder;
use sandbox_spec::HostPlace;
use thiserror::Error;

pub(crate) use names::link_leaves;

use crate::finding::{Finding, Place};
use crate::front_matter::{self, FrontMatter, NoFrontMatter};
use crate::skill::{FileEntry, Origin, Skill};
use crate::yaml::YamlError;

/// How much a skill may hold.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most files, folders and links.
    pub entries: usize,
    /// The most bytes of one file.
    pub file_bytes: u64,
    /// The most bytes of all files.
    pub total_bytes: u64,
    /// How many times larger than in the archive a file may become.
    pub ratio: u64,
    /// The most folders above a file.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        let mib = 1024 * 1024;
        Self {
            entries: 10_000,
            file_bytes: 256 * mib,
            total_bytes: 512 * mib,
            ratio: 200,
            depth: 32,
        }
    }
}

/// Files up to this size may be compressed as well as they like.
pub(crate) const RATIO_FREE_BYTES: u64 = 1024 * 1024;

/// The most bytes of SKILL.md that are read.
const MAX_MANIFEST_BYTES: u64 = 4 * 1024 * 1024;

/// Why a skill cannot be loaded.
#[derive(Debug, Error)]
pub enum LoadError {
    /// nothing is at the path
    #[error("{0}: no such file or folder")]
    NotFound(PathBuf),
    /// the path is neither a folder nor an archive
    #[error("{0}: not a skill: neither a folder nor a .skill or .zip archive")]
    NotASkill(PathBuf),
    /// there is no SKILL.md
    #[error("{0}: not a skill: there is no SKILL.md")]
    NoManifest(PathBuf),
    /// SKILL.md is not text
    #[error("SKILL.md is not UTF-8 text")]
    NotText {
        /// The line of the first byte that is none, from one.
        line: usize,
        /// Its column, from one.
        column: usize,
    },
    /// SKILL.md has no front matter
    #[error("SKILL.md has no front matter between two `---` lines")]
    NoFrontMatter,
    /// the front matter cannot be read
    #[error("cannot read the front matter, line {line}", line = .0.position().line + 1)]
    FrontMatter(#[source] YamlError),
    /// the front matter has no description
    #[error("the front matter has no description")]
    NoDescription,
    /// a file cannot be read
    #[error("cannot read {path}")]
    Read {
        /// Which file.
        path: PathBuf,
        /// What the host said.
        #[source]
        cause: std::io::Error,
    },
    /// the archive cannot be read
    #[error("cannot read the archive {path}")]
    Archive {
        /// Which archive.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        cause: zip::result::ZipError,
    },
    /// the archive cannot be unpacked
    #[error("cannot unpack into a temporary folder")]
    Unpack(#[source] std::io::Error),
    /// too many files
    #[error("more than {0} files and folders")]
    TooManyEntries(usize),
    /// a file is too large
    #[error("{path} is larger than {limit} bytes")]
    FileTooLarge {
        /// Which file.
        path: String,
        /// The limit.
        limit: u64,
    },
    /// all files together are too large
    #[error("the files together are larger than {0} bytes")]
    TooLarge(u64),
    /// two entries share bytes
    #[error("entries of the archive share the same bytes, as bombs do")]
    Overlap,
    /// a file grows too much when unpacked
    #[error("{path} becomes more than {limit} times larger when unpacked")]
    Bomb {
        /// Which file.
        path: String,
        /// The limit.
        limit: u64,
    },
}

/// Loads a skill from a folder or an archive.
pub fn load(path: &Path, limits: &Limits) -> Result<Skill, LoadError> {
    let staged = stage(path, limits)?;
    let manifest = staged.manifest.clone().ok_or_else(|| LoadError::NoManifest(path.into()))?;
    let text = staged.read_manifest()?;
    let without_mark = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let parts = front_matter::split(without_mark).map_err(|_| LoadError::NoFrontMatter)?;
    let front_matter = front_matter::read_leniently(parts.yaml).map_err(LoadError::FrontMatter)?;
    if front_matter.description.as_deref().is_none_or(str::is_empty) {
        return Err(LoadError::NoDescription);
    }
    let (body, body_line) = (parts.body.to_owned(), parts.body_line);
    Ok(staged.into_skill(manifest, front_matter, body, body_line))
}

/// The files of a skill before anything in them is read.
pub(crate) struct Staged {
    pub root: PathBuf,
    pub place: HostPlace,
    pub held: Arc<Folder>,
    pub origin: Origin,
    pub folder_name: String,
    pub manifest: Option<String>,
    pub files: Vec<FileEntry>,
    pub findings: Vec<Finding>,
    pub staging: Option<Arc<tempfile::TempDir>>,
}

/// Lists a folder or unpacks an archive.
pub(crate) fn stage(path: &Path, limits: &Limits) -> Result<Staged, LoadError> {
    let meta = match std::fs::metadata(path) {
        Ok(meta) => meta,
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => {
            return Err(LoadError::NotFound(path.into()));
        }
        Err(cause) => return Err(LoadError::Read { path: path.into(), cause }),
    };
    let mut staged = if meta.is_dir() {
        folder::list(path, limits)?
    } else if path.file_name().is_some_and(|name| name.eq_ignore_ascii_case("skill.md")) {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        folder::list(parent.unwrap_or(Path::new(".")), limits)?
    } else if meta.is_file() {
        archive::unpack(path, limits)?
    } else {
        // A pipe would keep us waiting, a device has no end.
        return Err(LoadError::NotASkill(path.into()));
    };
    staged.files.sort_by(|a, b| a.path.cmp(&b.path));
    staged.findings.extend(names::clashes(&staged.files));
    staged.findings.extend(names::unportable(&staged.files));
    staged.manifest = find_manifest(&staged.files);
    Ok(staged)
}

fn find_manifest(files: &[FileEntry]) -> Option<String> {
    let has = |name: &str| files.iter().any(|entry| entry.path == name && entry.is_file());
    ["SKILL.md", "skill.md"].into_iter().find(|name| has(name)).map(str::to_owned)
}

impl Staged {
    /// Reads SKILL.md.
    pub fn read_manifest(&self) -> Result<String, LoadError> {
        let Some(name) = &self.manifest else {
            return Err(LoadError::NoManifest(self.root.clone()));
        };
        let path = self.root.join(name);
        let mut bytes = Vec::new();
        self.held
            .open(name)
            .and_then(|file| file.take(MAX_MANIFEST_BYTES).read_to_end(&mut bytes))
            .map_err(|cause| LoadError::Read { path, cause })?;
        String::from_utf8(bytes).map_err(|error| {
            let good = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
            let before = String::from_utf8_lossy(good);
            let last = before.rsplit('\n').next().unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            LoadError::NotText { line, column: last.chars().count() + 1 }
        })
    }

    /// Adds what was read to the files.
    pub fn into_skill(
        self,
        manifest: String,
        front_matter: FrontMatter,
        body: String,
        body_line: usize,
    ) -> Skill {
        Skill {
            root: self.root,
            place: self.place,
            held: self.held,
            origin: self.origin,
            folder_name: self.folder_name,
            manifest,
            front_matter,
            body,
            body_line,
            files: self.files,
            findings: self.findings,
            staging: self.staging,
        }
    }
}

/// The finding for a missing fence.
pub(crate) fn fence_finding(file: &str, missing: NoFrontMatter) -> Finding {
    let (what, mend) = match missing {
        NoFrontMatter::ByteOrderMark => {
            ("the file begins with a byte order mark", "save it as UTF-8 without a mark")
        }
        NoFrontMatter::NoOpeningFence => {
            ("the first line is not `---`", "begin the file with `---`, the fields and `---`")
        }
        NoFrontMatter::NoClosingFence => {
            ("the front matter is not closed", "put a line `---` after the last field")
        }
    };
    Finding::error("front-matter", Place::start_of(file), what)
        .why("readers find the name and the description only between two `---` lines")
        .mend(mend)
}

#[cfg(test)]
mod tests;
