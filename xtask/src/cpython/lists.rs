//! Which modules are run, and which tests may fail.

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::command::project;

/// `tests/cpython/modules.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Modules {
    /// Those that CI runs.
    pub quick: Vec<String>,
    /// How many tests of those pass on both sides.
    pub quick_passes: usize,
    /// Those that `--all` runs too.
    pub slow: Vec<String>,
}

/// `tests/cpython/exceptions.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exceptions {
    /// The tests that pass natively and need not pass inside.
    #[serde(default)]
    pub exception: Vec<Exception>,
}

/// One or more tests that need not pass.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exception {
    /// The full name of a test, or of a class of tests with `.*` after it.
    pub test: String,
    /// Why it does not pass.
    pub reason: String,
}

impl Exception {
    /// Whether this is about the test of that name.
    pub fn covers(&self, name: &str) -> bool {
        match self.test.strip_suffix(".*") {
            Some(class) => name.strip_prefix(class).is_some_and(|rest| rest.starts_with('.')),
            None => self.test == name,
        }
    }
}

impl Exceptions {
    /// Reads the list.
    pub fn load() -> Result<Self> {
        read("exceptions.toml")
    }

    /// The place of the entry that is about a test.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.exception.iter().position(|exception| exception.covers(name))
    }
}

/// Reads the modules' names.
pub fn modules() -> Result<Modules> {
    read("modules.toml")
}

fn read<T: serde::de::DeserializeOwned>(name: &str) -> Result<T> {
    let path = project().join("tests/cpython").join(name);
    let text = std::fs::read_to_string(&path).with_context(|| format!("{}", path.display()))?;
    toml::from_str(&text).with_context(|| format!("in {}", path.display()))
}
