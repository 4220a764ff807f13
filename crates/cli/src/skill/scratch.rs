//! The one folder for everything temporary, so that nothing is left behind.

use crate::failure::Failure;

/// A private folder that holds everything temporary of this process and goes with this value.
#[derive(Debug)]
pub struct Scratch(#[expect(dead_code, reason = "it is there to be dropped")] tempfile::TempDir);

impl Scratch {
    /// Makes the folder. From here on every temporary file is in it. Signals must have been taken
    /// over before: one that ended us at once would leave the folder behind.
    pub fn new() -> Result<Self, Failure> {
        let failed = |error: String| {
            Failure::new(format!("cannot make a temporary folder: {error}"))
                .hint("let TMPDIR name a folder that can be written")
                .code(Failure::CANNOT_START)
        };
        let folder = tempfile::Builder::new()
            .prefix("belljar-")
            .tempdir()
            .map_err(|error| failed(error.to_string()))?;
        tempfile::env::override_temp_dir(folder.path())
            .map_err(|other| failed(format!("{} is in use", other.display())))?;
        Ok(Self(folder))
    }
}
