//! Which files a guest may use, and which programs it may start.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Rules about paths inside. Where nothing is said, whatever is visible may be used.
///
/// They hold for stored files and folders. `/proc`, `/sys` and `/dev` are the sandbox's own and
/// always usable; names and metadata (`stat`, listing a folder) stay visible.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PathRules {
    /// Which files may be read and written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<FileRules>,
    /// Which programs may be started, scripts with a `#!` line among them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub programs: Option<Vec<PathPattern>>,
}

impl PathRules {
    /// Whether anything is ruled.
    pub fn is_empty(&self) -> bool {
        self.files.is_none() && self.programs.is_none()
    }
}

/// Which files may be read and written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileRules {
    /// What may be read.
    pub read: Vec<PathPattern>,
    /// What may be read, made, changed, renamed and removed.
    pub write: Vec<PathPattern>,
}

/// A path inside, and everything beneath it. A `*` stands for any part of one name, `\*` for a star
/// and `\\` for a backslash; before anything else a backslash is itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PathPattern(String);

/// A pattern that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathPatternError {
    /// It does not start with a slash.
    #[error("`{0}` is no path inside the sandbox: it must start with a slash")]
    Relative(String),
    /// It has `.` or `..` in it.
    #[error("`{0}` must have no `.` and no `..` in it")]
    Dots(String),
}

impl PathPattern {
    /// The pattern as it was written, without needless slashes.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The pattern for exactly this path, which must be absolute and clean: whatever is in its names
    /// stands for itself. Names come from strangers, so nothing else makes a pattern of one.
    pub fn escape(path: &str) -> String {
        let mut text = String::with_capacity(path.len());
        for c in path.chars() {
            if matches!(c, '*' | '\\') {
                text.push('\\');
            }
            text.push(c);
        }
        text
    }

    /// The one path that is meant, if there is no `*` in it that stands for something else.
    pub fn plain(&self) -> Option<Vec<u8>> {
        let mut parts = parts(self.0.as_bytes());
        let only = parts.pop();
        only.filter(|_| parts.is_empty())
    }

    /// The pattern in two: the path of the folders before the first name with a `*`, and the rest as
    /// it was written.
    pub fn split_at_wildcard(&self) -> (Vec<u8>, &str) {
        let mut at = 0;
        while let Some(name) = self.0.get(at + 1..).and_then(|rest| rest.split('/').next()) {
            if parts(name.as_bytes()).len() > 1 {
                break;
            }
            at += 1 + name.len();
        }
        let at = at.min(self.0.len());
        let (start, rest) = self.0.split_at_checked(at).unwrap_or((&self.0, ""));
        (parts(start.as_bytes()).concat(), rest)
    }

    /// Whether an absolute, clean path is what the pattern names, or lies beneath it.
    pub fn matches(&self, path: &[u8]) -> bool {
        let names = |path: &[u8]| {
            let is_name = |name: &&[u8]| !name.is_empty();
            path.split(|&byte| byte == b'/').filter(is_name).map(<[u8]>::to_vec).collect::<Vec<_>>()
        };
        let (wanted, found) = (names(self.0.as_bytes()), names(path));
        wanted.len() <= found.len()
            && wanted.iter().zip(&found).all(|(wanted, found)| name_matches(wanted, found))
    }
}

/// Whether a name fits a pattern in which `*` stands for any bytes. Linear in both but for the
/// product of the last star's retries, and names are short.
fn name_matches(pattern: &[u8], name: &[u8]) -> bool {
    let parts = parts(pattern);
    let Some((first, parts)) = parts.split_first() else { return name.is_empty() };
    let Some(mut rest) = name.strip_prefix(first.as_slice()) else { return false };
    let Some((last, parts)) = parts.split_last() else { return rest.is_empty() };
    for part in parts.iter().filter(|part| !part.is_empty()) {
        let Some(at) = rest.windows(part.len()).position(|window| window == part) else {
            return false;
        };
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    rest.ends_with(last)
}

/// What stands between the stars of a pattern, without escapes.
fn parts(pattern: &[u8]) -> Vec<Vec<u8>> {
    let mut parts = Vec::new();
    let mut part = Vec::new();
    let mut bytes = pattern.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'*' => parts.push(std::mem::take(&mut part)),
            b'\\' => part.push(bytes.next_if(|next| matches!(next, b'*' | b'\\')).unwrap_or(byte)),
            byte => part.push(byte),
        }
    }
    parts.push(part);
    parts
}

impl FromStr for PathPattern {
    type Err = PathPatternError;

    fn from_str(text: &str) -> Result<Self, PathPatternError> {
        if !text.starts_with('/') {
            return Err(PathPatternError::Relative(text.to_owned()));
        }
        let names: Vec<&str> = text.split('/').filter(|name| !name.is_empty()).collect();
        if names.iter().any(|name| matches!(*name, "." | "..")) {
            return Err(PathPatternError::Dots(text.to_owned()));
        }
        Ok(Self(format!("/{}", names.join("/"))))
    }
}

impl TryFrom<String> for PathPattern {
    type Error = PathPatternError;

    fn try_from(text: String) -> Result<Self, PathPatternError> {
        text.parse()
    }
}

impl From<PathPattern> for String {
    fn from(pattern: PathPattern) -> Self {
        pattern.0
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, path: &str) -> bool {
        pattern.parse::<PathPattern>().unwrap().matches(path.as_bytes())
    }

    #[test]
    fn a_path_means_itself_and_what_is_beneath() {
        assert!(matches("/work", "/work"));
        assert!(matches("/work/", "/work/a/b"));
        assert!(matches("/", "/etc"));
        assert!(!matches("/work", "/workshop"));
        assert!(!matches("/work/a", "/work"));
    }

    #[test]
    fn a_star_is_any_part_of_one_name() {
        assert!(matches("/work/*.csv", "/work/a.csv"));
        assert!(matches("/usr/lib/python3*/site", "/usr/lib/python3.11/site/x.py"));
        assert!(matches("/a/*b*c", "/a/xbybzc"));
        assert!(!matches("/work/*.csv", "/work/deep/a.csv"));
        assert!(!matches("/a/b*b", "/a/b"));
    }

    #[test]
    fn a_name_with_signs_of_patterns_can_be_named() {
        for path in ["/work/*", "/work/a*b/c", r"/work/\*", r"/w\x/y\\", r"/\\\*", "/*"] {
            let pattern: PathPattern = PathPattern::escape(path).parse().unwrap();
            assert_eq!(pattern.plain().as_deref(), Some(path.as_bytes()));
            assert!(pattern.matches(path.as_bytes()), "{pattern}");
            assert!(!pattern.matches(b"/work/other") && !pattern.matches(b"/etc"), "{pattern}");
            assert!(!pattern.matches(b"/work/axb/c"), "{pattern}");
        }
        assert!(matches(r"/a/\**", "/a/*b") && !matches(r"/a/\**", "/a/b"));
        assert!(matches(r"/a\b", r"/a\b"), "before anything else a backslash is itself");
    }

    #[test]
    fn a_pattern_is_cut_before_its_first_name_with_a_star() {
        let cut = |text: &str| {
            let pattern: PathPattern = text.parse().unwrap();
            let (start, rest) = pattern.split_at_wildcard();
            (String::from_utf8(start).unwrap(), rest.to_owned())
        };
        let owned = |start: &str, rest: &str| (start.to_owned(), rest.to_owned());
        assert_eq!(cut("/usr/lib/p*/x"), owned("/usr/lib", "/p*/x"));
        assert_eq!(cut(r"/a\*/b/*"), owned("/a*/b", "/*"));
        assert_eq!(cut("/bin/sh"), owned("/bin/sh", ""));
        assert_eq!(cut("/*"), owned("", "/*"));
        assert_eq!(cut("/"), owned("/", ""));
    }

    #[test]
    fn says_what_is_no_pattern() {
        let parse = |text: &str| text.parse::<PathPattern>();
        assert_eq!(parse("a"), Err(PathPatternError::Relative("a".into())));
        assert_eq!(parse("/a/../b"), Err(PathPatternError::Dots("/a/../b".into())));
        assert_eq!(parse("//a//b/").unwrap().as_str(), "/a/b");
    }
}
