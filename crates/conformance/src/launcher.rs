//! How a program is started: natively, or by a command that puts it into a sandbox.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Words in front of a program. None of them: natively.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launcher {
    prefix: Vec<OsString>,
}

impl Launcher {
    /// Runs programs natively.
    pub fn native() -> Self {
        Self::default()
    }

    /// Runs programs by this command.
    pub fn prefix<T: Into<OsString>>(words: impl IntoIterator<Item = T>) -> Self {
        Self { prefix: words.into_iter().map(Into::into).collect() }
    }

    /// Runs programs in a sandbox of this `belljar` that shows the folder they are in.
    pub fn belljar(belljar: PathBuf, folder: &Path, options: &[String]) -> Self {
        let mut prefix = vec![belljar.into_os_string(), "run".into(), "--no-cwd".into()];
        prefix.push(format!("--mount={0}:{0}:ro", folder.display()).into());
        prefix.extend(options.iter().map(Into::into));
        prefix.push("--".into());
        Self { prefix }
    }

    /// The command for a program.
    pub fn command(&self, program: &Path) -> Command {
        match self.prefix.split_first() {
            None => Command::new(program),
            Some((first, rest)) => {
                let mut command = Command::new(first);
                command.args(rest).arg(program);
                command
            }
        }
    }
}
