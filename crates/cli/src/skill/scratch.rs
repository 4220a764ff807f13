//! The one folder for everything temporary, so that nothing is left behind.

use std::path::Path;

use crate::failure::Failure;
use crate::launch::Signals;

/// A private folder that holds everything temporary of this process. It goes with this value, and
/// also when a signal ends us before there is a guest.
pub struct Scratch {
    folder: tempfile::TempDir,
    /// The signals that the folder is safe from.
    pub signals: Signals,
}

impl Scratch {
    /// Makes the folder and takes over the signals. From here on every temporary file is in it.
    pub fn new() -> Result<Self, Failure> {
        let signals = Signals::take_over()?;
        let failed = |error: String| {
            Failure::new(format!("cannot make a temporary folder: {error}"))
                .hint("let TMPDIR name a folder that can be written")
                .code(Failure::CANNOT_START)
        };
        let folder = tempfile::Builder::new()
            .prefix("belljar-")
            .tempdir()
            .map_err(|error| failed(error.to_string()))?;
        signals.remove_at_end(folder.path().to_path_buf());
        tempfile::env::override_temp_dir(folder.path())
            .map_err(|other| failed(format!("{} is in use", other.display())))?;
        Ok(Self { folder, signals })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}
