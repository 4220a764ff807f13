//! What a skill says that it needs, in every file in which skills say so.

use std::collections::BTreeMap;

use skills::deps::find_needs;
use skills::install::{Requirements, fetch_wheels_command, key_name};
use skills::{Limits, load};

use super::scratch;

const LIMITS: Limits =
    Limits { entries: 50, file_bytes: 1 << 20, total_bytes: 2 << 20, ratio: 200, depth: 16 };
const MANIFEST: &str = "---\nname: input\ndescription: An input.\n---\n";
/// The files, of which the first byte of an input chooses one.
const FILES: [&str; 6] = [
    "requirements.txt",
    "package.json",
    "pyproject.toml",
    "scripts/go.py",
    "scripts/go.mjs",
    "scripts/package.json",
];

/// Reads a file of a skill as the installer does.
///
/// # Panics
///
/// If anything is to be installed that is no package of the registry.
pub fn files(bytes: &[u8]) {
    let Some((choice, text)) = bytes.split_first() else { return };
    let Some(top) = scratch::with(|scratch| scratch.path("needing")) else { return };
    let name = FILES.get(usize::from(*choice) % FILES.len()).copied().unwrap_or_default();
    let write = || -> std::io::Result<()> {
        if top.exists() {
            std::fs::remove_dir_all(&top)?;
        }
        std::fs::create_dir_all(top.join("scripts"))?;
        std::fs::write(top.join("SKILL.md"), MANIFEST)?;
        std::fs::write(top.join(name), text)
    };
    if write().is_err() {
        return;
    }
    let Ok(skill) = load(&top, &LIMITS) else { return };
    let needs = find_needs(&skill);
    let _ = needs.to_text();
    let Ok(requirements) = Requirements::of(&needs) else { return };
    for wanted in &requirements.python {
        let is_package = wanted.starts_with(|c: char| c.is_ascii_alphanumeric());
        let is_clean = wanted.chars().all(|c| c == ' ' || c.is_ascii_graphic());
        assert!(is_package && is_clean && !wanted.contains(['/', '@', '\\']), "{wanted:?}");
    }
    for (name, version) in &requirements.node {
        let is_name = !name.starts_with(['.', '-', '_', '/']) && !name.contains([':', ' ', '\\']);
        assert!(is_name && !name.contains(".."), "{name:?}");
        assert!(!version.contains([':', '/', '@', '\\']), "{name:?} {version:?}");
    }
    let last = fetch_wheels_command(&requirements.python);
    assert!(last.iter().all(|word| !word.contains('\0')), "{last:?}");
    let key = requirements.key_text(&BTreeMap::new());
    assert!(key.is_ok_and(|key| key_name(&key).len() == 64));
    let _ = requirements.package_json();
}
