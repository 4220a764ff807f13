//! Files that deal with trees of a guest's making do nothing by path.
//!
//! Whoever shaped a tree decides what a path through it means. So these files use
//! `host_sys::beneath` and nothing of the standard library that takes a path to the disk.

use crate::sources::Source;

/// Files, and folders of files, that deal with what a guest, a package or an archive may have shaped.
/// A new file in one of these folders is under the rule.
pub const GUEST_TREES: &[&str] = &[
    "crates/backend-kernel/src/porter.rs",
    "crates/backend-kernel/src/results.rs",
    "crates/backend-kernel/src/trace.rs",
    "crates/cli/src/diff.rs",
    "crates/cli/src/launch.rs",
    "crates/cli/src/masks.rs",
    "crates/cli/src/report.rs",
    "crates/cli/src/report/",
    "crates/cli/src/skill/",
    "crates/conformance/src/logs.rs",
    "crates/egress/src/",
    "crates/skills/src/",
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
    ".is_file()",
    ".is_symlink()",
    ".metadata()",
    ".read_dir()",
    ".read_link()",
    ".symlink_metadata()",
    ".try_exists()",
    "DirBuilder",
    "NamedTempFile",
    "WalkBuilder::new",
    "tempdir_in(",
    "tempfile_in(",
];

/// What may be taken from `std::fs` by its bare name. Anything else would be called without `fs::`, and
/// would not be seen.
const IMPORTS: &[&str] = &["self", "DirBuilder", "File", "TryLockError"];

/// A line that may take a path to the disk.
struct Exception {
    path: &'static str,
    has: &'static str,
    reason: &'static str,
}

const EXCEPTIONS: &[Exception] = &[
    Exception {
        path: "crates/cli/src/masks.rs",
        has: "folder.canonicalize()",
        reason: "the folder that the user stands in or has named",
    },
    Exception {
        path: "crates/cli/src/masks.rs",
        has: "home.canonicalize()",
        reason: "the user's own home folder, compared with and not opened",
    },
    Exception {
        path: "crates/skills/src/policy/merge.rs",
        has: "home.canonicalize()",
        reason: "the user's own home folder, compared with and not opened",
    },
    Exception {
        path: "crates/skills/src/policy/merge.rs",
        has: "source.canonicalize()",
        reason: "what the policy names, judged by where it leads before anybody is asked",
    },
    Exception {
        path: "crates/backend-kernel/src/porter.rs",
        has: "open(\"/dev/null\")",
        reason: "a device of the host's",
    },
    Exception {
        path: "crates/cli/src/skill/environment.rs",
        has: "(path.canonicalize(), clean.canonicalize())",
        reason: "the folder that the user named",
    },
    Exception {
        path: "crates/cli/src/skill/environment.rs",
        has: "join(\"bin/python3\").exists()",
        reason: "whether it is there is told to the user, and no more",
    },
    Exception {
        path: "crates/cli/src/skill/environment.rs",
        has: "held.proc_path().canonicalize()",
        reason: "compared with the user's home before anything is shown of it",
    },
    Exception {
        path: "crates/cli/src/skill/environment.rs",
        has: "home.canonicalize()",
        reason: "the user's home",
    },
    Exception {
        path: "crates/cli/src/skill/environment_cache.rs",
        has: "DirBuilder",
        reason: "the cache in the user's home; everything in it is beneath",
    },
    Exception {
        path: "crates/cli/src/skill/install_step.rs",
        has: "open(\"/dev/null\")",
        reason: "a device of the host's",
    },
    Exception {
        path: "crates/cli/src/skill/install_step.rs",
        has: ".join(\"include/node/node.h\").is_file()",
        reason: "the host's own headers",
    },
    Exception {
        path: "crates/cli/src/skill/inventory.rs",
        has: "open(\"/dev/null\")",
        reason: "a device of the host's",
    },
    Exception {
        path: "crates/cli/src/skill/inventory.rs",
        has: "folder.join(package).is_dir()",
        reason: "whether it is there is told to the user, and no more",
    },
    Exception {
        path: "crates/cli/src/skill/problem.rs",
        has: "path.is_file()",
        reason: "the path that the user named, for a hint",
    },
    Exception {
        path: "crates/cli/src/skill/registry.rs",
        has: "Path::new(path).exists()",
        reason: "paths of the user's own configuration",
    },
    Exception {
        path: "crates/cli/src/skill/usage.rs",
        has: "NamedTempFile",
        reason: "in the folder for everything temporary, which no guest sees",
    },
    Exception {
        path: "crates/skills/src/cases/native.rs",
        has: "meta.is_file()",
        reason: "programs of the host, for a run without a sandbox",
    },
    Exception {
        path: "crates/skills/src/load/archive.rs",
        has: "entry.is_symlink()",
        reason: "an entry of the archive, not of the disk",
    },
    Exception {
        path: "crates/skills/src/load/mod.rs",
        has: "meta.is_file()",
        reason: "what is known of the same",
    },
    Exception {
        path: "crates/skills/src/load/mod.rs",
        has: "entry.is_file()",
        reason: "an entry of the list, not of the disk",
    },
    Exception {
        path: "crates/skills/src/pack.rs",
        has: "WalkBuilder::new(root)",
        reason: "lists names by path, of a folder that was listed beneath and found without links out of it, FIFOs and devices; each is then opened beneath",
    },
    Exception {
        path: "crates/skills/src/policy/mod.rs",
        has: "entry.is_file()",
        reason: "an entry of the list, not of the disk",
    },
    Exception {
        path: "crates/skills/src/skill.rs",
        has: "entry.is_file()",
        reason: "an entry of the list, not of the disk",
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
    for source in sources.iter().filter(|source| is_under_the_rule(&source.path)) {
        for (n, line) in code(&source.text) {
            let Some(word) = word_by_path(line) else { continue };
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
    for listed in GUEST_TREES {
        if !sources.iter().any(|source| source.path.starts_with(listed)) {
            found.push(format!("{listed} is listed and does not exist"));
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

fn is_under_the_rule(path: &str) -> bool {
    let is_test = path.ends_with("/tests.rs") || path.ends_with("/testing.rs");
    let is_listed = |listed: &&str| match listed.ends_with('/') {
        true => path.starts_with(*listed),
        false => path == *listed,
    };
    !is_test && GUEST_TREES.iter().any(is_listed)
}

/// What in a line takes a path to the disk, or hides that another line does.
fn word_by_path(line: &str) -> Option<&str> {
    if let Some(names) = line.trim_start().strip_prefix("use std::fs") {
        let names = names.split([':', ',', '{', '}', ';', ' ']).filter(|name| !name.is_empty());
        return names.into_iter().find(|name| !IMPORTS.contains(name));
    }
    BY_PATH.iter().find(|word| has_word(line, word)).copied()
}

/// Whether a line has a word that is not the end of another, as in `ResultFile::create`.
fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line.get(..at).and_then(|before| before.chars().next_back());
        word.starts_with('.') || !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
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
        assert_eq!(found("use std::fs::{File, read_to_string};").len(), 1);
        assert_eq!(found("use std::fs::File as Disk;").len(), 1);
        assert!(found("use std::fs::{self, File};").is_empty());
    }

    #[test]
    fn new_files_are_under_the_rule() {
        assert!(is_under_the_rule("crates/cli/src/skill/new.rs"));
        assert!(is_under_the_rule("crates/cli/src/launch.rs"));
        assert!(!is_under_the_rule("crates/skills/src/load/tests.rs"));
        assert!(!is_under_the_rule("crates/cli/src/doctor.rs"));
    }
}
