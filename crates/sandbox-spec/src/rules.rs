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

/// A path inside, and everything beneath it. A `*` stands for any part of one name.
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

    /// Whether a `*` is in it.
    pub fn has_wildcard(&self) -> bool {
        self.0.contains('*')
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
    let mut parts = pattern.split(|&byte| byte == b'*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts.filter(|part| !part.is_empty()) {
        let Some(at) = rest.windows(part.len()).position(|window| window == part) else {
            return false;
        };
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    rest.ends_with(last)
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
    fn says_what_is_no_pattern() {
        let parse = |text: &str| text.parse::<PathPattern>();
        assert_eq!(parse("a"), Err(PathPatternError::Relative("a".into())));
        assert_eq!(parse("/a/../b"), Err(PathPatternError::Dots("/a/../b".into())));
        assert_eq!(parse("//a//b/").unwrap().as_str(), "/a/b");
    }
}
