//! Unpacks an archive into a temporary folder, after looking at every entry.
//!
//! Order matters: names, sizes and links are judged before the first byte is written. An entry
//! that is refused is reported and left out. Files come before links, so that no file is ever
//! written through a link.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use host_sys::beneath::Folder;
use zip::ZipArchive;
use zip::result::ZipError;

use super::names::{clean, link_finding, link_leaves};
use super::{Limits, LoadError, RATIO_FREE_BYTES, Staged, folder, zip_names};
use crate::finding::{Finding, Place};
use crate::script::ELF_MAGIC;

/// The longest link target in bytes.
const MAX_TARGET_BYTES: u64 = 1024;

/// What is to be written for one entry.
struct Planned {
    index: usize,
    path: String,
    is_executable: bool,
}

/// Everything that is to be written.
#[derive(Default)]
struct Plan {
    folders: BTreeSet<String>,
    files: Vec<Planned>,
    links: BTreeMap<String, String>,
    seen: BTreeSet<String>,
    /// Where each entry begins, and its name in the central directory.
    begins: Vec<(u64, Vec<u8>)>,
    findings: Vec<Finding>,
}

type Archive = ZipArchive<BufReader<File>>;

/// Unpacks a `.skill` or `.zip` archive.
pub(super) fn unpack(path: &Path, limits: &Limits) -> Result<Staged, LoadError> {
    let mut archive = open(path)?;
    let broken = |cause| LoadError::Archive { path: path.into(), cause };
    if archive.len() > limits.entries {
        return Err(LoadError::TooManyEntries(limits.entries));
    }
    let mut plan = Plan::default();
    plan.findings.extend(duplicates(path, archive.central_directory_start(), limits)?);
    if archive.has_overlapping_entries().map_err(broken)? {
        return Err(LoadError::Overlap);
    }
    let mut total = 0_u64;
    for index in 0..archive.len() {
        plan_entry(&mut archive, index, limits, &mut plan, &mut total).map_err(
            |error| match error {
                PlanError::Load(error) => error,
                PlanError::Zip(cause) => broken(cause),
            },
        )?;
    }
    refuse_ways_through_links(&mut plan);
    let odd = compare_headers(path, &plan.begins)
        .map_err(|cause| LoadError::Read { path: path.into(), cause })?;
    plan.findings.extend(odd);
    let staging =
        tempfile::Builder::new().prefix("belljar-skill-").tempdir().map_err(LoadError::Unpack)?;
    write_all(&mut archive, &plan, staging.path(), limits, path)?;
    finish(plan, staging, path, limits)
}

fn open(path: &Path) -> Result<Archive, LoadError> {
    let file = File::open(path).map_err(|cause| LoadError::Read { path: path.into(), cause })?;
    ZipArchive::new(BufReader::new(file)).map_err(|cause| match cause {
        ZipError::InvalidArchive(_) if !looks_like_zip(path) => LoadError::NotASkill(path.into()),
        cause => LoadError::Archive { path: path.into(), cause },
    })
}

fn looks_like_zip(path: &Path) -> bool {
    let mut magic = [0; 2];
    let is_zip = File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok()
        && magic == *b"PK";
    let has_extension = path
        .extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("zip") || end.eq_ignore_ascii_case("skill"));
    is_zip || has_extension
}

/// Finds entries that are called otherwise where they begin, and bytes before the first of them.
fn compare_headers(path: &Path, begins: &[(u64, Vec<u8>)]) -> io::Result<Vec<Finding>> {
    let mut reader = BufReader::new(File::open(path)?);
    let mut findings = Vec::new();
    for (at, name) in begins {
        if zip_names::read_local_name(&mut reader, *at)? != *name {
            let place = Place::start_of(String::from_utf8_lossy(name));
            let what = "the archive gives this entry two names";
            findings.push(
                Finding::error("file-two-names", place, what)
                    .why("programs differ in which of the two they believe")
                    .mend("pack the skill again"),
            );
        }
    }
    if begins.iter().map(|(at, _)| *at).min().is_some_and(|first| first > 0) {
        let place = Place::start_of(path.display().to_string());
        findings.push(
            Finding::warning("archive-start", place, "there is something before the archive")
                .why("other programs may take the file for something else, such as a program")
                .mend("pack the skill again"),
        );
    }
    Ok(findings)
}

/// Finds names that stand twice in the central directory.
fn duplicates(path: &Path, start: u64, limits: &Limits) -> Result<Vec<Finding>, LoadError> {
    let read = || {
        let mut reader = BufReader::new(File::open(path)?);
        zip_names::read_names(&mut reader, start, limits.entries + 1)
    };
    let names = read().map_err(|cause| LoadError::Read { path: path.into(), cause })?;
    if names.len() > limits.entries {
        return Err(LoadError::TooManyEntries(limits.entries));
    }
    let mut seen = BTreeSet::new();
    let mut findings = Vec::new();
    for name in names {
        let text = String::from_utf8_lossy(&name).trim_end_matches('/').to_owned();
        if !seen.insert(text.clone()) {
            findings.push(duplicate_finding(text));
        }
    }
    Ok(findings)
}

fn duplicate_finding(path: String) -> Finding {
    let why = "programs differ in which of the two they unpack, so a check of one says nothing \
               of the other";
    Finding::error("file-duplicate", Place::start_of(path), "two entries have this path")
        .why(why)
        .mend("pack the skill again")
}

/// The bits of a mode that say what kind of file it is.
const KIND_BITS: u32 = 0o170_000;
/// The kind of regular files.
const REGULAR_FILE: u32 = 0o100_000;

enum PlanError {
    Load(LoadError),
    Zip(ZipError),
}

impl From<ZipError> for PlanError {
    fn from(cause: ZipError) -> Self {
        PlanError::Zip(cause)
    }
}

fn plan_entry(
    archive: &mut Archive,
    index: usize,
    limits: &Limits,
    plan: &mut Plan,
    total: &mut u64,
) -> Result<(), PlanError> {
    let mut entry = archive.by_index(index)?;
    let name = entry.name()?.into_owned();
    plan.begins.push((entry.header_start(), entry.name_raw().to_vec()));
    let path = match clean(&name, limits.depth) {
        Ok(path) => path,
        Err(bad) => {
            plan.findings.push(bad.finding(&name));
            return Ok(());
        }
    };
    if path.starts_with("__MACOSX/") {
        return Ok(());
    }
    if entry.is_dir() {
        plan.folders.insert(path);
        return Ok(());
    }
    if !plan.seen.insert(path.clone()) {
        plan.findings.push(duplicate_finding(path));
        return Ok(());
    }
    if entry.is_symlink() {
        let mut target = String::new();
        let read = (&mut entry).take(MAX_TARGET_BYTES).read_to_string(&mut target);
        if read.is_err() || link_leaves(&path, &target) || leaves_top(&path, &target) {
            plan.findings.push(link_finding(&path, &target));
        } else {
            plan.links.insert(path, target);
        }
        return Ok(());
    }
    let mode = entry.unix_mode().unwrap_or(0);
    if !matches!(mode & KIND_BITS, 0 | REGULAR_FILE) {
        plan.findings.push(
            Finding::error(
                "file-kind",
                Place::start_of(&path),
                "neither a file, a folder nor a link",
            )
            .why("unpacking it could make a device or a pipe")
            .mend("pack the skill again without it"),
        );
        return Ok(());
    }
    *total = total.saturating_add(entry.size());
    judge_size(&path, entry.size(), entry.compressed_size(), *total, limits)
        .map_err(PlanError::Load)?;
    let is_executable = mode & 0o111 != 0;
    plan.files.push(Planned { index, path, is_executable });
    Ok(())
}

/// Whether the link, seen from inside of the archive's top folder, leads out of that folder.
fn leaves_top(path: &str, target: &str) -> bool {
    match path.split_once('/') {
        Some((_, below)) => link_leaves(below, target),
        None => false,
    }
}

fn judge_size(
    path: &str,
    size: u64,
    packed: u64,
    total: u64,
    limits: &Limits,
) -> Result<(), LoadError> {
    if size > limits.file_bytes {
        return Err(LoadError::FileTooLarge { path: path.to_owned(), limit: limits.file_bytes });
    }
    if total > limits.total_bytes {
        return Err(LoadError::TooLarge(limits.total_bytes));
    }
    if size > RATIO_FREE_BYTES && size / packed.max(1) > limits.ratio {
        return Err(LoadError::Bomb { path: path.to_owned(), limit: limits.ratio });
    }
    Ok(())
}

/// Refuses entries beneath a link or beneath a file.
fn refuse_ways_through_links(plan: &mut Plan) {
    let mut solid: BTreeSet<String> = plan.files.iter().map(|file| file.path.clone()).collect();
    solid.extend(plan.links.keys().cloned());
    let passes = |path: &str| {
        path.match_indices('/').any(|(at, _)| path.get(..at).is_some_and(|up| solid.contains(up)))
    };
    let mut refused = Vec::new();
    plan.files.retain(|file| {
        let is_bad = passes(&file.path) || plan.links.contains_key(&file.path);
        if is_bad {
            refused.push(file.path.clone());
        }
        !is_bad
    });
    plan.links.retain(|path, _| {
        let is_bad = passes(path);
        if is_bad {
            refused.push(path.clone());
        }
        !is_bad
    });
    plan.folders.retain(|path| {
        let is_bad = passes(path) || solid.contains(path);
        if is_bad {
            refused.push(path.clone());
        }
        !is_bad
    });
    plan.findings.extend(refused.into_iter().map(|path| {
        Finding::error("file-through", Place::start_of(path), "lies beneath a link or a file")
            .why("unpacking it through the link could write anywhere")
            .mend("pack the skill again from its folder")
    }));
}

fn write_all(
    archive: &mut Archive,
    plan: &Plan,
    root: &Path,
    limits: &Limits,
    source: &Path,
) -> Result<(), LoadError> {
    let root = Folder::at(root).map_err(LoadError::Unpack)?;
    // What is made lies beneath the folder whatever the plan overlooked.
    let parent_of = |path: &str| {
        let path = Path::new(path);
        let parent = root.ensure_path(path.parent().unwrap_or(Path::new("")), 0o755)?;
        Ok((parent, path.file_name().unwrap_or_default().to_owned()))
    };
    for path in &plan.folders {
        root.ensure_path(Path::new(path), 0o755).map_err(LoadError::Unpack)?;
    }
    let mut total = 0_u64;
    for file in &plan.files {
        let (parent, name) = parent_of(&file.path).map_err(LoadError::Unpack)?;
        let mode = if file.is_executable { 0o755 } else { 0o644 };
        let mut out = parent.create(&name, mode).map_err(LoadError::Unpack)?;
        let mut entry = archive
            .by_index(file.index)
            .map_err(|cause| LoadError::Archive { path: source.into(), cause })?;
        let packed = entry.compressed_size();
        // The sizes in the headers may lie: count what really comes.
        let mut limited = (&mut entry).take(limits.file_bytes + 1);
        let written = io::copy(&mut limited, &mut out)
            .map_err(|cause| LoadError::Read { path: file.path.clone().into(), cause })?;
        total = total.saturating_add(written);
        judge_size(&file.path, written, packed, total, limits)?;
        if !file.is_executable && is_program(&parent, &name) {
            // Many archives lose the bit, and a program is no use without.
            parent.set_mode_of(&name, 0o755).map_err(LoadError::Unpack)?;
        }
    }
    for (path, target) in &plan.links {
        let (parent, name) = parent_of(path).map_err(LoadError::Unpack)?;
        parent.make_link(name, Path::new(target)).map_err(LoadError::Unpack)?;
    }
    Ok(())
}

/// Whether a file is a Linux program.
fn is_program(folder: &Folder, name: &OsStr) -> bool {
    let mut start = [0; ELF_MAGIC.len()];
    let read = folder.open(name).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == ELF_MAGIC
}

/// Finds the top folder and lists what was unpacked.
fn finish(
    plan: Plan,
    staging: tempfile::TempDir,
    source: &Path,
    limits: &Limits,
) -> Result<Staged, LoadError> {
    let paths = || plan.files.iter().map(|file| file.path.as_str());
    let is_flat = paths().any(|path| path.eq_ignore_ascii_case("skill.md"));
    let tops: BTreeSet<&str> = paths().filter_map(|path| path.split('/').next()).collect();
    let mut findings = Vec::new();
    let top = if is_flat {
        findings.push(
            Finding::warning(
                "archive-top",
                Place::start_of("SKILL.md"),
                "the archive has no top folder",
            )
            .why("other programs expect one top folder with the skill's name")
            .mend("pack the skill again from its folder"),
        );
        String::new()
    } else {
        let with_manifest = tops
            .iter()
            .find(|top| paths().any(|path| path.eq_ignore_ascii_case(&format!("{top}/skill.md"))));
        let top = with_manifest.copied().unwrap_or_default().to_owned();
        for other in tops.iter().filter(|other| !top.is_empty() && **other != top) {
            findings.push(
                Finding::warning(
                    "archive-top",
                    Place::start_of(*other),
                    "lies beside the skill's folder",
                )
                .why("only the folder with SKILL.md is the skill; this is left out")
                .mend("pack the skill again from its folder"),
            );
        }
        top
    };
    let mut staged = folder::list_unpacked(staging, &top, limits)?;
    if is_flat {
        let stem = source.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        staged.folder_name = stem.unwrap_or_default();
    }
    staged.findings.extend(plan.findings);
    staged.findings.extend(findings);
    Ok(staged)
}
