//! Skills: archives and manifests.

use std::path::Path;

use skills::{Limits, check, find_scripts, load, show};

use super::scratch;

/// Small, so that an archive at its limits takes no time.
const LIMITS: Limits =
    Limits { entries: 200, file_bytes: 1 << 20, total_bytes: 2 << 20, ratio: 200, depth: 16 };

/// Loads and checks an archive of a skill.
pub fn archive(bytes: &[u8]) {
    let path = scratch::with(|scratch| scratch.path("input.skill"));
    let Some(path) = path.filter(|path| std::fs::write(path, bytes).is_ok()) else { return };
    look_at(&path);
}

/// Loads and checks a skill with this `SKILL.md`.
pub fn manifest(bytes: &[u8]) {
    let folder = scratch::with(|scratch| scratch.path("input-skill"));
    let Some(folder) = folder.filter(|folder| std::fs::create_dir_all(folder).is_ok()) else {
        return;
    };
    if std::fs::write(folder.join("SKILL.md"), bytes).is_ok() {
        look_at(&folder);
    }
}

fn look_at(path: &Path) {
    let _ = check(path, &LIMITS);
    if let Ok(skill) = load(path, &LIMITS) {
        let _ = show(&skill);
        let _ = find_scripts(&skill);
    }
}

/// Reads a `belljar.yaml`, and what is written of it.
///
/// # Panics
///
/// If a policy becomes another one by being written and read.
pub fn policy(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let first = skills::policy::read("belljar.yaml", &text);
    if !first.is_valid() {
        return;
    }
    let written = first.policy.to_yaml();
    let again = skills::policy::read("belljar.yaml", &written);
    assert!(again.is_valid(), "{written}: {:?}", again.findings);
    assert_eq!(again.policy, first.policy, "{written}");
}
