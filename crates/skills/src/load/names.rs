//! Paths and links of a skill: which are safe, and which clash.

use std::collections::BTreeMap;

use unicode_normalization::UnicodeNormalization as _;

use crate::finding::{Finding, Place};
use crate::skill::FileEntry;

/// What is wrong with a path in an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadPath {
    /// Nothing is left of it.
    Empty,
    /// It begins at the root or with a drive letter.
    Absolute,
    /// It has a `..` part.
    Upwards,
    /// It has a backslash, which some systems take for a separator.
    Backslash,
    /// It has a control character.
    Control,
    /// It has too many parts or is too long.
    TooLong,
}

/// The longest path in bytes.
const MAX_PATH_BYTES: usize = 1024;
/// The longest part of a path in bytes.
const MAX_PART_BYTES: usize = 255;

impl BadPath {
    /// What is wrong, in words.
    pub fn words(self) -> &'static str {
        match self {
            BadPath::Empty => "an empty path",
            BadPath::Absolute => "an absolute path",
            BadPath::Upwards => "a path with `..`",
            BadPath::Backslash => "a path with a backslash",
            BadPath::Control => "a path with a control character",
            BadPath::TooLong => "a path that is too long or too deep",
        }
    }
}

impl BadPath {
    /// The finding for such a path.
    pub fn finding(self, path: &str) -> Finding {
        let why = match self {
            BadPath::Empty | BadPath::Absolute | BadPath::Upwards | BadPath::Backslash => {
                "unpacking it could write outside of the skill's folder"
            }
            BadPath::Control => "it can drive the terminal of whoever lists the files",
            BadPath::TooLong => "many systems cannot hold it",
        };
        Finding::error("file-path", Place::start_of(path), self.words())
            .why(why)
            .mend("rename the file, and pack the skill again from its folder")
    }
}

/// Names that mean devices to Windows, with any extension.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// Whether a part of a path cannot be a name on Windows.
fn is_unportable(part: &str) -> bool {
    let stem = part.split('.').next().unwrap_or(part).to_ascii_lowercase();
    let is_numbered = |device: &str| {
        stem.strip_prefix(device).is_some_and(|n| matches!(n.as_bytes(), [b'1'..=b'9']))
    };
    part.contains(['<', '>', ':', '"', '|', '?', '*'])
        || part.ends_with([' ', '.'])
        || DEVICES.contains(&stem.as_str())
        || is_numbered("com")
        || is_numbered("lpt")
}

/// Finds names that some systems cannot hold.
pub(crate) fn unportable(files: &[FileEntry]) -> Vec<Finding> {
    let finding = |entry: &FileEntry| {
        Finding::warning("name-portable", Place::start_of(&entry.path), "Windows has no such names")
            .why("the skill cannot be unpacked there")
            .mend("rename it")
    };
    files.iter().filter(|entry| is_unportable(entry.name())).map(finding).collect()
}

/// The finding for a link that leads to nothing.
pub(crate) fn dangling_finding(path: &str, target: &str) -> Finding {
    let what = format!("the link leads to `{target}`, where nothing is");
    Finding::warning("link-target", Place::start_of(path), what)
        .why("whoever follows it finds nothing, or runs in a circle")
        .mend("mend the link, or remove it")
}

/// Checks the path of an archive entry and returns it without `.` parts and trailing slashes.
pub(crate) fn clean(path: &str, depth: usize) -> Result<String, BadPath> {
    if path.chars().any(char::is_control) {
        return Err(BadPath::Control);
    }
    if path.contains('\\') {
        return Err(BadPath::Backslash);
    }
    let mut letters = path.chars();
    let has_drive =
        letters.next().is_some_and(|c| c.is_ascii_alphabetic()) && letters.next() == Some(':');
    if path.starts_with('/') || has_drive {
        return Err(BadPath::Absolute);
    }
    let parts: Vec<&str> =
        path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if parts.contains(&"..") {
        return Err(BadPath::Upwards);
    }
    if parts.is_empty() {
        return Err(BadPath::Empty);
    }
    let is_long = parts.len() > depth
        || path.len() > MAX_PATH_BYTES
        || parts.iter().any(|part| part.len() > MAX_PART_BYTES);
    if is_long { Err(BadPath::TooLong) } else { Ok(parts.join("/")) }
}

/// Whether a link's target lies outside of the skill, or might.
///
/// A `..` counts only at the beginning of the target: behind a name it could step out of wherever
/// that name leads.
pub(crate) fn link_leaves(link: &str, target: &str) -> bool {
    if target.is_empty() || target.starts_with('/') || target.contains('\\') {
        return true;
    }
    let folders_above = link.split('/').count().saturating_sub(1);
    let parts = target.split('/').filter(|part| !part.is_empty() && *part != ".");
    let (mut ups, mut names) = (0, 0);
    for part in parts {
        match part {
            ".." if names > 0 => return true,
            ".." => ups += 1,
            _ => names += 1,
        }
    }
    ups > folders_above
}

/// The finding for a link that leaves.
pub(crate) fn link_finding(path: &str, target: &str) -> Finding {
    Finding::error("file-link", Place::start_of(path), format!("the link leads to `{target}`"))
        .why("the skill's folder is all that the skill brings; the link leads out of it, or could")
        .mend("copy the file into the skill, or link to it with a relative path that stays inside")
}

/// Finds paths that are equal when case and Unicode form are ignored.
pub(crate) fn clashes(files: &[FileEntry]) -> Vec<Finding> {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    let mut findings = Vec::new();
    for entry in files {
        let folded: String = entry.path.nfkc().flat_map(char::to_lowercase).collect();
        match seen.get(&folded) {
            Some(other) if *other != entry.path => findings.push(
                Finding::error(
                    "file-case-clash",
                    Place::start_of(&entry.path),
                    format!("differs from `{other}` only in case or Unicode form"),
                )
                .why("on many systems the two are one file, and one of them is lost")
                .mend("rename one of the two"),
            ),
            Some(_) => {}
            None => {
                seen.insert(folded, &entry.path);
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cleans_harmless_paths() {
        assert_eq!(clean("a/./b//c/", 8).unwrap(), "a/b/c");
        assert_eq!(clean("..a/b..", 8).unwrap(), "..a/b..");
    }

    #[test]
    fn refuses_paths_that_leave() {
        assert_eq!(clean("/etc/x", 8), Err(BadPath::Absolute));
        assert_eq!(clean("C:/x", 8), Err(BadPath::Absolute));
        assert_eq!(clean("a/../../x", 8), Err(BadPath::Upwards));
        assert_eq!(clean("a\\..\\x", 8), Err(BadPath::Backslash));
        assert_eq!(clean("a\0b", 8), Err(BadPath::Control));
        assert_eq!(clean("./", 8), Err(BadPath::Empty));
        assert_eq!(clean("a/b/c", 2), Err(BadPath::TooLong));
        assert_eq!(clean(&"a".repeat(300), 2), Err(BadPath::TooLong));
    }

    #[test]
    fn links_may_only_stay_inside() {
        assert!(!link_leaves("a/b", "../c"));
        assert!(!link_leaves("a", "b/c"));
        assert!(link_leaves("a", "../c"));
        assert!(link_leaves("a/b", "../../c"));
        assert!(link_leaves("a/b", "/etc/passwd"));
        // `d` may be a link to the top, so `d/..` may be above it.
        assert!(link_leaves("a", "d/.."));
        assert!(link_leaves("a", ""));
    }
}
