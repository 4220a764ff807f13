//! Rules about paths, made ready to be asked often.

use std::collections::HashSet;
use std::rc::Rc;

use kernel_core::credentials::Credentials;
use kernel_core::supervisor::Right;
use kernel_files::walk::{LastLink, lookup};
use kernel_files::{Access, FsContext};
use sandbox_spec::{PathPattern, PathRules};

/// Where nothing is stored: what is there is the sandbox's own, whatever the rules say.
const OWN: [&[u8]; 3] = [b"/proc", b"/sys", b"/dev"];

/// Rules about paths.
#[derive(Default)]
pub struct Rules {
    read: Option<Paths>,
    write: Option<Paths>,
    run: Option<Paths>,
}

impl Rules {
    /// Makes rules ready. A pattern that leads through symbolic links, such as `/bin/sh`, also
    /// means what it leads to now, before the guest can change it.
    pub fn new(rules: &PathRules, fs: &FsContext) -> Self {
        let paths = |patterns: &[PathPattern]| Some(Paths::new(patterns, fs));
        let files = rules.files.as_ref();
        Self {
            read: files.and_then(|files| {
                // Whoever may write may read.
                paths(&[files.read.as_slice(), files.write.as_slice()].concat())
            }),
            write: files.and_then(|files| paths(&files.write)),
            run: rules.programs.as_deref().and_then(paths),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.read.is_none() && self.run.is_none()
    }

    /// Whether a path may be used so.
    pub fn allows(&self, right: Right, path: &[u8]) -> bool {
        let (paths, may_be_own) = match right {
            Right::Read => (&self.read, true),
            Right::Write => (&self.write, true),
            Right::Run => (&self.run, false),
        };
        let Some(paths) = paths else { return true };
        let is_own = |own: &&[u8]| {
            path.strip_prefix(*own).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        };
        may_be_own && OWN.iter().any(is_own) || paths.have(path)
    }
}

/// Paths and everything beneath them.
#[derive(Default)]
struct Paths {
    plain: HashSet<Vec<u8>>,
    with_wildcards: Vec<PathPattern>,
}

impl Paths {
    fn new(patterns: &[PathPattern], fs: &FsContext) -> Self {
        let mut paths = Self::default();
        for pattern in patterns {
            paths.add(pattern.clone());
            if let Some(resolved) = resolved(pattern, fs) {
                paths.add(resolved);
            }
        }
        paths
    }

    fn add(&mut self, pattern: PathPattern) {
        match pattern.plain() {
            Some(path) => {
                self.plain.insert(path);
            }
            None => self.with_wildcards.push(pattern),
        }
    }

    /// Whether the path, or a folder above it, is one of these.
    fn have(&self, path: &[u8]) -> bool {
        let ends =
            (1..=path.len()).filter(|&end| end == path.len() || path.get(end) == Some(&b'/'));
        let is_plain = self.plain.contains(&b"/"[..])
            || ends.filter_map(|end| path.get(..end)).any(|above| self.plain.contains(above));
        is_plain || self.with_wildcards.iter().any(|pattern| pattern.matches(path))
    }
}

/// The pattern with its links followed, up to its first wildcard.
fn resolved(pattern: &PathPattern, fs: &FsContext) -> Option<PathPattern> {
    let (plain, rest) = pattern.split_at_wildcard();
    if plain.is_empty() {
        return None;
    }
    let credentials = Rc::new(Credentials::of_user(0, 0));
    let access = Access { fs, credentials: &credentials, caller: &() };
    let place = lookup(&access, &fs.root(), &plain, LastLink::Follow).ok()?;
    // Where a link leads to was chosen by whoever made it: a star there is a star.
    let path = PathPattern::escape(&String::from_utf8(place.full_path()?).ok()?);
    format!("{path}{rest}").parse().ok().filter(|resolved| resolved != pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(patterns: &[&str]) -> Paths {
        let mut paths = Paths::default();
        for pattern in patterns {
            paths.add(pattern.parse().unwrap());
        }
        paths
    }

    #[test]
    fn a_folder_means_what_is_beneath_it() {
        let paths = paths(&["/work", "/etc/*.conf"]);
        assert!(paths.have(b"/work") && paths.have(b"/work/a/b") && paths.have(b"/etc/a.conf"));
        assert!(self::paths(&[r"/work/\*"]).have(b"/work/*/a"));
        assert!(!self::paths(&[r"/work/\*"]).have(b"/work/x"));
        assert!(!paths.have(b"/workshop") && !paths.have(b"/") && !paths.have(b"/etc/passwd"));
    }

    #[test]
    fn the_top_means_everything() {
        assert!(paths(&["/"]).have(b"/etc/passwd"));
        assert!(!paths(&[]).have(b"/"));
    }

    #[test]
    fn what_is_not_stored_needs_no_rule_but_runs_by_rule_only() {
        let rules = Rules {
            read: Some(paths(&[])),
            write: Some(paths(&["/work"])),
            run: Some(paths(&["/usr/bin/true"])),
        };
        assert!(rules.allows(Right::Read, b"/proc/self/maps"));
        assert!(rules.allows(Right::Write, b"/dev/shm/x"));
        assert!(!rules.allows(Right::Read, b"/process"));
        assert!(!rules.allows(Right::Run, b"/dev/shm/x"));
        assert!(rules.allows(Right::Run, b"/usr/bin/true"));
        assert!(Rules::default().is_empty());
    }
}
