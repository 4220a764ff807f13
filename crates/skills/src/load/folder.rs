//! Lists the files of a folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use host_sys::beneath::{Entry, Folder, Kind, Leads};
use sandbox_spec::HostPlace;

use super::names::{clean, dangling_finding, link_finding, link_leaves};
use super::{Limits, LoadError, Staged};
use crate::finding::{Finding, Place};
use crate::skill::{FileEntry, FileKind, Origin};

/// Folders that are no part of a skill: history and what tools leave behind.
const SKIPPED: [&str; 3] = [".git", "node_modules", "__pycache__"];

/// How many names one folder may have, with those that are no part of a skill.
const MAX_NAMES: usize = 1 << 20;

/// Lists everything in a folder, without following links.
pub(super) fn list(path: &Path, limits: &Limits) -> Result<Staged, LoadError> {
    let failed = |cause| LoadError::Read { path: path.into(), cause };
    let root = path.canonicalize().map_err(failed)?;
    let held = Folder::at(&root).map_err(failed)?;
    let name = root.file_name().map(|name| name.to_string_lossy().into_owned());
    let mut listing = Listing {
        root: root.clone(),
        held,
        limits,
        files: Vec::new(),
        total: 0,
        findings: Vec::new(),
    };
    let mut pending = vec![(String::new(), 0)];
    while let Some((folder, depth)) = pending.pop() {
        listing.list_one(&folder, depth, &mut pending)?;
    }
    let held = listing.held;
    let place = HostPlace::held(&root, held.again().map_err(failed)?);
    Ok(Staged {
        root,
        place,
        held: Arc::new(held),
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
    held: Folder,
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
        let inside = self.held.descend(Path::new(folder)).map_err(failed)?;
        let entries = inside.list(MAX_NAMES).map_err(failed)?;
        for Entry { name, .. } in entries {
            if self.files.len() >= self.limits.entries {
                return Err(LoadError::TooManyEntries(self.limits.entries));
            }
            let Some(status) = inside.status_of(&name).map_err(failed)? else { continue };
            let Some(name) = name.to_str() else {
                self.refuse(&name.to_string_lossy(), "file-name", "the name is not UTF-8");
                continue;
            };
            let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
            let is_folder = status.kind == Kind::Folder;
            if is_folder && SKIPPED.contains(&name) {
                continue;
            }
            // What an archive may not hold, a folder may not either.
            if let Err(bad) = clean(&path, usize::MAX) {
                self.findings.push(bad.finding(&path));
                continue;
            }
            if is_folder && depth + 1 >= self.limits.depth {
                self.refuse(&path, "file-depth", "nested too deeply");
                continue;
            }
            if is_folder {
                pending.push((path.clone(), depth + 1));
            }
            let Some(kind) = self.kind_of(&path, &inside, name, status.kind) else { continue };
            let is_file = kind == FileKind::File;
            let size = if is_file { status.size } else { 0 };
            self.weigh(&path, size);
            let is_executable = is_file && status.mode & 0o111 != 0;
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

    fn kind_of(&mut self, path: &str, inside: &Folder, name: &str, kind: Kind) -> Option<FileKind> {
        match kind {
            Kind::Folder => return Some(FileKind::Folder),
            Kind::File => return Some(FileKind::File),
            Kind::Link => {}
            Kind::Fifo | Kind::Socket | Kind::Device => {
                self.refuse(path, "file-kind", "neither a file, a folder nor a link");
                return None;
            }
        }
        let target = inside.read_link(name).ok()?.to_string_lossy().into_owned();
        // Hosts that cannot say where it leads are told by its words, which are stricter.
        let leads = self.held.leads(Path::new(path)).unwrap_or(Leads::Nowhere);
        let is_outside = match leads {
            Leads::Inside => false,
            Leads::Outside => true,
            Leads::Nowhere => link_leaves(path, &target),
        };
        if is_outside || target.starts_with('/') {
            self.findings.push(link_finding(path, &target));
            return None;
        }
        if leads == Leads::Nowhere {
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
