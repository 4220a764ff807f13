//! Packing: a folder becomes a reproducible `.skill` archive.
//!
//! The same files give the same bytes: entries are sorted, times are constant, modes are reduced
//! to executable or not, the compression is fixed. What ignore files exclude stays out, and so
//! does what no skill should carry.

use std::fs;
use std::io::{Cursor, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use host_sys::beneath::{Folder, Kind};
use ignore::{DirEntry, WalkBuilder};
use serde::Serialize;
use thiserror::Error;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use crate::check::check;
use crate::finding::Report;
use crate::load::{Limits, link_leaves};

/// Folders that are never packed, wherever they are.
const LEFT_OUT_FOLDERS: [&str; 3] = [".git", "__pycache__", "node_modules"];
/// Files that are never packed.
const LEFT_OUT_FILES: [&str; 3] = [".DS_Store", ".gitignore", ".skillignore"];
/// The folder at the top that is for the skill's author only.
const EVALS: &str = "evals";
/// The ignore file of skills. It reads like a `.gitignore`.
const IGNORE_FILE: &str = ".skillignore";
/// The level of compression.
const LEVEL: i64 = 6;

/// Why a skill cannot be packed.
#[derive(Debug, Error)]
pub enum PackError {
    /// the skill is not valid
    #[error("the skill is {}", .0.summary())]
    Invalid(Box<Report>),
    /// not a folder
    #[error("{0} is not a folder")]
    NotAFolder(PathBuf),
    /// a file cannot be read
    #[error("cannot read {path}")]
    Read {
        /// Which file.
        path: PathBuf,
        /// What the host said.
        #[source]
        cause: std::io::Error,
    },
    /// the folder cannot be listed
    #[error("cannot list the folder")]
    List(#[from] ignore::Error),
    /// an ignore file excludes SKILL.md
    #[error("an ignore file excludes SKILL.md")]
    ManifestIgnored,
    /// a link leaves the skill
    #[error("the link {path} leads out of the skill, to {target}")]
    LinkLeaves {
        /// The link.
        path: String,
        /// Where it leads.
        target: String,
    },
    /// the archive cannot be made
    #[error("cannot make the archive")]
    Archive(#[from] zip::result::ZipError),
    /// the archive cannot be written
    #[error("cannot write {path}")]
    Write {
        /// Which file.
        path: PathBuf,
        /// What the host said.
        #[source]
        cause: std::io::Error,
    },
}

/// A packed skill.
#[derive(Clone, Debug, Serialize)]
pub struct Packed {
    /// The skill's name, which is also the top folder of the archive.
    pub name: String,
    /// The paths in the archive, sorted.
    pub files: Vec<String>,
    /// The archive.
    #[serde(skip)]
    pub bytes: Vec<u8>,
}

/// Packs a valid skill in memory. `leave_out` is a file that must not be packed, such as the
/// archive itself.
pub fn pack(folder: &Path, leave_out: Option<&Path>) -> Result<Packed, PackError> {
    let root =
        folder.canonicalize().map_err(|cause| PackError::Read { path: folder.into(), cause })?;
    if !root.is_dir() {
        return Err(PackError::NotAFolder(folder.into()));
    }
    let report = check(&root, &Limits::default());
    if !report.is_valid() {
        return Err(PackError::Invalid(Box::new(report)));
    }
    let name = root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let leave_out = leave_out.and_then(|path| path.canonicalize().ok());
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let mut files = Vec::new();
    let held = Folder::at(&root).map_err(|cause| PackError::Read { path: root.clone(), cause })?;
    for (path, host) in list(&root)? {
        if leave_out.as_deref() == Some(host.as_path()) {
            continue;
        }
        let packed_path = format!("{name}/{path}");
        add(&mut writer, &packed_path, &held, Path::new(&path))?;
        files.push(packed_path);
    }
    if !files.iter().any(|path| path.eq_ignore_ascii_case(&format!("{name}/skill.md"))) {
        return Err(PackError::ManifestIgnored);
    }
    let bytes = writer.finish()?.into_inner();
    Ok(Packed { name, files, bytes })
}

/// Packs a valid skill into a file: the given one, or `<name>.skill` in the current folder. The
/// file appears whole or not at all.
pub fn pack_to_file(folder: &Path, output: Option<&Path>) -> Result<(PathBuf, Packed), PackError> {
    let default = || {
        let real = folder.canonicalize().ok();
        let name = real.as_deref().and_then(Path::file_name).map(PathBuf::from);
        name.unwrap_or_default().with_added_extension("skill")
    };
    let path = output.map_or_else(default, Path::to_path_buf);
    let packed = pack(folder, Some(&path))?;
    let failed = |cause| PackError::Write { path: path.clone(), cause };
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let mut file = tempfile::Builder::new()
        .permissions(fs::Permissions::from_mode(0o644))
        .tempfile_in(parent.unwrap_or(Path::new(".")))
        .map_err(|error| failed(without_path(error)))?;
    file.write_all(&packed.bytes).map_err(failed)?;
    file.persist(&path).map_err(|error| failed(error.error))?;
    Ok((path, packed))
}

/// The same error without the name of a temporary file, which means nothing to the user.
fn without_path(error: std::io::Error) -> std::io::Error {
    match error.get_ref() {
        Some(_) => error.kind().into(),
        None => error,
    }
}

/// Lists what is to be packed, sorted by path.
fn list(root: &Path) -> Result<Vec<(String, PathBuf)>, PackError> {
    let top = root.to_path_buf();
    let walk = WalkBuilder::new(root)
        .hidden(false)
        .parents(false)
        .ignore(false)
        .git_global(false)
        .git_exclude(false)
        .git_ignore(true)
        .require_git(false)
        .add_custom_ignore_filename(IGNORE_FILE)
        .filter_entry(move |entry| !is_left_out(entry, &top))
        .build();
    let mut files = Vec::new();
    for entry in walk {
        let entry = entry?;
        let is_folder = entry.file_type().is_none_or(|kind| kind.is_dir());
        let relative = entry.path().strip_prefix(root).ok().and_then(Path::to_str);
        if let (false, Some(path)) = (is_folder, relative) {
            files.push((path.to_owned(), entry.path().to_path_buf()));
        }
    }
    files.sort();
    Ok(files)
}

fn is_left_out(entry: &DirEntry, root: &Path) -> bool {
    let path = entry.path();
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if entry.file_type().is_some_and(|kind| kind.is_dir()) {
        let is_evals = name == EVALS && path.parent() == Some(root);
        return path != root && (is_evals || LEFT_OUT_FOLDERS.contains(&name));
    }
    LEFT_OUT_FILES.contains(&name) || name.ends_with(".pyc")
}

/// Adds the file or link at a path beneath `root`, under another path.
fn add(
    writer: &mut ZipWriter<Cursor<Vec<u8>>>,
    path: &str,
    root: &Folder,
    from: &Path,
) -> Result<(), PackError> {
    let failed = |cause| PackError::Read { path: from.into(), cause };
    let (folder, name) = root.parent_of(from).map_err(failed)?;
    let held = folder.hold(name).map_err(failed)?;
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(LEVEL))
        .last_modified_time(DateTime::default());
    if held.status.kind == Kind::Link {
        let target = folder.read_link(name).map_err(failed)?.to_string_lossy().into_owned();
        let below = path.split_once('/').map_or(path, |(_, below)| below);
        if link_leaves(below, &target) {
            return Err(PackError::LinkLeaves { path: below.to_owned(), target });
        }
        writer.add_symlink(path, target, options)?;
        return Ok(());
    }
    let mode = if held.status.mode & 0o111 != 0 { 0o755 } else { 0o644 };
    // It was checked before, and may have grown meanwhile.
    let bytes = folder.read(name, Limits::default().file_bytes).map_err(failed)?;
    writer.start_file(path, options.unix_permissions(mode))?;
    writer.write_all(&bytes).map_err(failed)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::load;
    use crate::testing::SkillBuilder;

    fn sample() -> SkillBuilder {
        SkillBuilder::new("a")
            .program("scripts/go.sh", "#!/bin/sh\n")
            .file("data/x.txt", "x")
            .file("data/x.log", "x")
            .file("secret/key", "x")
            .file("evals/e.json", "x")
            .file("data/evals/e.json", "x")
            .file("scripts/__pycache__/x.pyc", "x")
            .file("node_modules/m/i.js", "x")
            .file(".git/HEAD", "x")
            .file(".gitignore", "*.log\n")
            .file(".skillignore", "/secret/\n")
    }

    #[test]
    fn the_same_files_give_the_same_bytes() {
        let first = pack(&sample().path(), None).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(10));
        let second = pack(&sample().path(), None).unwrap();
        assert_eq!(first.bytes, second.bytes);
    }

    #[test]
    fn ignored_files_stay_out() {
        let packed = pack(&sample().path(), None).unwrap();
        assert_eq!(
            packed.files,
            ["a/SKILL.md", "a/data/evals/e.json", "a/data/x.txt", "a/scripts/go.sh"]
        );
    }

    #[test]
    fn what_is_packed_loads_again() {
        let made = sample().link("link", "data/x.txt");
        let out = made.dir.path().join("out.skill");
        let (path, packed) = pack_to_file(&made.path(), Some(&out)).unwrap();
        assert_eq!(path, out);
        let skill = load(&out, &Limits::default()).unwrap();
        assert!(skill.findings.is_empty(), "{:?}", skill.findings);
        assert_eq!(skill.folder_name, "a");
        assert!(skill.find_file("scripts/go.sh").unwrap().is_executable);
        assert!(!skill.find_file("data/x.txt").unwrap().is_executable);
        assert_eq!(fs::read(&out).unwrap(), packed.bytes);
        assert!(check(&out, &Limits::default()).is_valid());
    }

    #[test]
    fn the_archive_is_not_packed_into_itself() {
        let made = sample();
        let out = made.path().join("a.skill");
        let (_, first) = pack_to_file(&made.path(), Some(&out)).unwrap();
        let (_, second) = pack_to_file(&made.path(), Some(&out)).unwrap();
        assert_eq!(first.bytes, second.bytes);
    }

    #[test]
    fn a_skill_without_its_manifest_is_not_packed() {
        let made = SkillBuilder::new("a").file(".gitignore", "*.md\n");
        assert!(matches!(pack(&made.path(), None), Err(PackError::ManifestIgnored)));
    }

    #[test]
    fn a_wrong_skill_is_not_packed() {
        let made = SkillBuilder::new("a").file("SKILL.md", "---\nname: b\ndescription: d\n---\n");
        assert!(matches!(pack(&made.path(), None), Err(PackError::Invalid(_))));
    }
}
