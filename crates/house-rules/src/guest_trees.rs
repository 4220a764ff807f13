//! Files that deal with trees of a guest's making do nothing by path.
//!
//! Whoever shaped a tree decides what a path through it means. So these files use
//! `host_sys::beneath` and nothing of the standard library that takes a path to the disk.

use crate::sources::Source;

/// Files that deal with what a guest, a package or an archive may have shaped.
pub const GUEST_TREES: &[&str] = &[
    "crates/backend-kernel/src/porter.rs",
    "crates/backend-kernel/src/results.rs",
    "crates/backend-kernel/src/trace.rs",
    "crates/cli/src/launch.rs",
    "crates/cli/src/report.rs",
    "crates/cli/src/skill/apply.rs",
    "crates/cli/src/skill/aside.rs",
    "crates/cli/src/skill/changes.rs",
    "crates/cli/src/skill/learn.rs",
    "crates/cli/src/skill/scratch.rs",
    "crates/cli/src/skill/write_back.rs",
    "crates/skills/src/cases/compare.rs",
    "crates/skills/src/cases/run.rs",
    "crates/skills/src/load/archive.rs",
    "crates/skills/src/load/folder.rs",
    "crates/skills/src/load/mod.rs",
    "crates/skills/src/pack.rs",
    "crates/skills/src/skill.rs",
];

/// Files that deal with such trees and are not clean yet. Nothing is added here.
pub const NOT_YET: &[&str] = &[
    "crates/cli/src/skill/environment.rs",
    "crates/cli/src/skill/environment_cache.rs",
    "crates/cli/src/skill/installer.rs",
];

/// What takes a path to the disk.
const BY_PATH: &[&str] = &[
    "fs::canonicalize",
    "fs::copy",
    "fs::create_dir",
    "fs::exists",
    "fs::hard_link",
    "fs::metadata",
    "fs::open",
    "fs::read",
    "fs::remove",
    "fs::rename",
    "fs::set_permissions",
    "fs::symlink",
    "fs::write",
    "openat",
    "unlinkat",
    "File::create",
    "File::open",
    "File::options",
    "OpenOptions",
    ".canonicalize()",
    ".exists()",
    ".is_dir()",
    ".metadata()",
    ".read_dir()",
    ".symlink_metadata()",
    ".try_exists()",
    "NamedTempFile",
    "tempdir_in(",
    "tempfile_in(",
];

/// A line that may take a path to the disk.
struct Exception {
    path: &'static str,
    has: &'static str,
    reason: &'static str,
}

const EXCEPTIONS: &[Exception] = &[
    Exception {
        path: "crates/cli/src/launch.rs",
        has: "!on_host.exists()",
        reason: "a program of the host's own root, for a hint",
    },
    Exception {
        path: "crates/skills/src/load/archive.rs",
        has: "File::open(path)",
        reason: "the archive that the user named",
    },
    Exception {
        path: "crates/skills/src/load/archive.rs",
        has: "entry.is_dir()",
        reason: "an entry of the archive, not of the disk",
    },
    Exception {
        path: "crates/skills/src/load/folder.rs",
        has: "path.canonicalize()",
        reason: "the folder that the user named; everything in it is beneath",
    },
    Exception {
        path: "crates/skills/src/load/mod.rs",
        has: "std::fs::metadata(path)",
        reason: "the folder or archive that the user named",
    },
    Exception {
        path: "crates/skills/src/load/mod.rs",
        has: "meta.is_dir()",
        reason: "what is known of the same",
    },
    Exception {
        path: "crates/skills/src/pack.rs",
        has: "folder.canonicalize()",
        reason: "the folder that the user named; everything in it is beneath",
    },
    Exception {
        path: "crates/skills/src/pack.rs",
        has: "path.canonicalize()",
        reason: "the archive that the user named, to leave it out",
    },
    Exception {
        path: "crates/skills/src/pack.rs",
        has: "root.is_dir()",
        reason: "the folder that the user named",
    },
    Exception {
        path: "crates/skills/src/pack.rs",
        has: "kind.is_dir()",
        reason: "the kind that the walk has read, not the disk",
    },
    Exception {
        path: "crates/skills/src/pack.rs",
        has: "tempfile_in(",
        reason: "beside the archive that the user named, put in its place by a rename",
    },
    Exception {
        path: "crates/skills/src/cases/run.rs",
        has: "folder.path().canonicalize()",
        reason: "a folder that was just made and that no guest has seen",
    },
];

/// Lines that go by path where a guest may have shaped it, and entries that are not needed.
pub fn by_path(sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_used = vec![false; EXCEPTIONS.len()];
    for source in sources.iter().filter(|source| GUEST_TREES.contains(&source.path.as_str())) {
        for (n, line) in code(&source.text) {
            let Some(word) = BY_PATH.iter().find(|word| line.contains(**word)) else { continue };
            let applies = |it: &Exception| it.path == source.path && line.contains(it.has);
            match EXCEPTIONS.iter().position(applies) {
                Some(at) => is_used.iter_mut().skip(at).take(1).for_each(|it| *it = true),
                None => found.push(format!(
                    "{}:{n} has `{word}`: a guest may have shaped what is there; use \
                     host_sys::beneath",
                    source.path
                )),
            }
        }
    }
    for path in GUEST_TREES.iter().chain(NOT_YET) {
        if !sources.iter().any(|source| source.path == *path) {
            found.push(format!("{path} is listed and does not exist"));
        }
    }
    for (exception, is_used) in EXCEPTIONS.iter().zip(is_used) {
        if !is_used || exception.reason.is_empty() {
            found.push(format!(
                "{}: the exception `{}` is not needed",
                exception.path, exception.has
            ));
        }
    }
    found
}

/// Files that are listed as not clean and are.
pub fn clean_by_now(sources: &[Source]) -> Vec<String> {
    let is_clean = |source: &&Source| {
        let mut lines = code(&source.text);
        !lines.any(|(_, line)| BY_PATH.iter().any(|word| line.contains(word)))
    };
    let listed = sources.iter().filter(|source| NOT_YET.contains(&source.path.as_str()));
    let clean = listed.filter(is_clean);
    clean.map(|source| format!("{} is clean: list it with the others", source.path)).collect()
}

/// Lines that are neither comments nor tests, with their numbers.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_code = |(_, line): &(usize, &str)| !line.trim_start().starts_with("//");
    let before_tests = |(_, line): &(usize, &str)| !line.ends_with("mod tests {");
    (1..).zip(text.lines()).take_while(before_tests).filter(is_code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let path = "crates/cli/src/skill/aside.rs".to_owned();
        let all = by_path(&[Source { path, text: text.to_owned() }]);
        all.into_iter().filter(|line| line.contains("has `")).collect()
    }

    #[test]
    fn paths_are_found_in_code_alone() {
        assert_eq!(found("let x = std::fs::read(path)?;").len(), 1);
        assert_eq!(found("if path.exists() {").len(), 1);
        assert!(found("// std::fs::read(path)\nuse std::fs::File;").is_empty());
        assert!(found("mod tests {\n    std::fs::write(a, b);\n}").is_empty());
        assert!(found("folder.open(name)?; folder.read(name, 9)?;").is_empty());
    }
}
