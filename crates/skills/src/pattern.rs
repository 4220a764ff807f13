//! Constant patterns with one group, compiled when they are first used.

use std::sync::OnceLock;

use regex::{Match, Regex};

/// A pattern that is a constant of this crate. A pattern that does not compile finds nothing;
/// tests use every one.
pub(crate) struct Pattern {
    text: &'static str,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// Keeps the pattern for later.
    pub const fn new(text: &'static str) -> Self {
        Self { text, compiled: OnceLock::new() }
    }

    /// What the first group of each match holds.
    pub fn find_groups<'t>(&self, text: &'t str) -> Vec<Match<'t>> {
        let compiled = self.compiled.get_or_init(|| Regex::new(self.text).ok());
        let groups = |pattern: &Regex| {
            pattern.captures_iter(text).filter_map(|found| found.get(1)).collect()
        };
        compiled.as_ref().map(groups).unwrap_or_default()
    }
}
