//! Lists the files of a folder.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::names::{clean, dangling_finding, link_finding, link_leaves};
use super::{Limits, LoadError, Staged};
use crate::finding::{Finding, Place};
use crate::skill::{FileEntry, FileKind, Origin};

/// Folders that are no part of a skill: history and what tools leave behind.
const SKIPPED: [&str; 3] = [".git", "node_modules", "__pycache__"];

/// Lists everything in a folder, without following links.
pub(super) fn list(path: &Path, limits: &Limits) -> Result<Staged, LoadError> {
    let root = path.canonicalize().map_err(|cause| LoadError::Read { path: path.into(), cause })?;
    let name = root.file_name().map(|name| name.to_string_lossy().into_owned());
    let mut listing =
        Listing { root: root.clone(), limits, files: Vec::new(), total: 0, findings: Vec::new() };
    let mut pending = vec![(String::new(), 0)];
    while let Some((folder, depth)) = pending.pop() {
        listing.list_one(&folder, depth, &mut pending)?;
    }
    Ok(Staged {
        root,
        origin: Origin::Folder,
        folder_name: name.unwrap_or_default(),
        manifest: None,
        files: listing.files,
        findings: listing.findings,
        staging: None,
    })
}

struct Listing<'l> {
    root: PathBuf,
    limits: &'l Limits,
    files: Vec<FileEntry>,
    total: u64,
    findings: Vec<Finding>,
}

impl Listing<'_> {
    fn list_one(
        &mut self,
        folder: &str,
        depth: usize,
        pending: &mut Vec<(String, usize)>,
    ) -> Result<(), LoadError> {
        let host = self.root.join(folder);
        let failed = |cause| LoadError::Read { path: host.clone(), cause };
        for entry in std::fs::read_dir(&host).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if self.files.len() >= self.limits.entries {
                return Err(LoadError::TooManyEntries(self.limits.entries));
            }
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                self.refuse(&name.to_string_lossy(), "file-name", "the name is not UTF-8");
                continue;
            };
            let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
            let meta = entry.metadata().map_err(failed)?;
            if meta.is_dir() && SKIPPED.contains(&name) {
                continue;
            }
            // What an archive may not hold, a folder may not either.
            if let Err(bad) = clean(&path, usize::MAX) {
                self.findings.push(bad.finding(&path));
                continue;
            }
            if meta.is_dir() && depth + 1 >= self.limits.depth {
                self.refuse(&path, "file-depth", "nested too deeply");
                continue;
            }
            if meta.is_dir() {
                pending.push((path.clone(), depth + 1));
            }
            let Some(kind) = self.kind_of(&path, &meta) else { continue };
            let is_file = kind == FileKind::File;
            let size = if is_file { meta.len() } else { 0 };
            self.weigh(&path, size);
            let is_executable = is_file && meta.permissions().mode() & 0o111 != 0;
            self.files.push(FileEntry { path, kind, size, is_executable });
        }
        Ok(())
    }

    /// Notes what is too large for an archive. It can be run all the same.
    fn weigh(&mut self, path: &str, size: u64) {
        let before = self.total;
        self.total = self.total.saturating_add(size);
        let is_first_beyond = before <= self.limits.total_bytes;
        let limit = match (size > self.limits.file_bytes, self.total > self.limits.total_bytes) {
            (true, _) => self.limits.file_bytes,
            (false, true) if is_first_beyond => self.limits.total_bytes,
            (false, _) => return,
        };
        let what = format!("with this file the skill is too large: {limit} bytes are the most");
        self.findings.push(
            Finding::error("size-limit", Place::start_of(path), what)
                .why("a skill of this size cannot be packed and loaded")
                .mend("remove what the skill does not need"),
        );
    }

    fn kind_of(&mut self, path: &str, meta: &std::fs::Metadata) -> Option<FileKind> {
        if meta.is_dir() {
            return Some(FileKind::Folder);
        }
        if meta.is_file() {
            return Some(FileKind::File);
        }
        if !meta.is_symlink() {
            self.refuse(path, "file-kind", "neither a file, a folder nor a link");
            return None;
        }
        let host = self.root.join(path);
        let target = std::fs::read_link(&host).ok()?.to_string_lossy().into_owned();
        let is_outside = match host.canonicalize() {
            Ok(real) => !real.starts_with(&self.root),
            Err(_) => link_leaves(path, &target),
        };
        if is_outside || target.starts_with('/') {
            self.findings.push(link_finding(path, &target));
            return None;
        }
        if !host.exists() {
            self.findings.push(dangling_finding(path, &target));
        }
        Some(FileKind::Link { target })
    }

    fn refuse(&mut self, path: &str, rule: &'static str, what: &str) {
        self.findings.push(
            Finding::error(rule, Place::start_of(path), what)
                .why("it cannot be carried in an archive or mounted safely")
                .mend("remove or rename it"),
        );
    }
}

/// Lists a folder that was unpacked from an archive.
pub(super) fn list_unpacked(
    staging: tempfile::TempDir,
    top: &str,
    limits: &Limits,
) -> Result<Staged, LoadError> {
    let staged = list(&staging.path().join(top), limits)?;
    Ok(Staged { origin: Origin::Archive, staging: Some(Arc::new(staging)), ..staged })
}
