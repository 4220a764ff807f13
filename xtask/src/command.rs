//! Finding the project, building it and running other programs.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The folder of the workspace.
pub fn project() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_owned()
}

/// Runs a command to its end, with our streams. A code other than 0 is an error.
pub fn succeed(command: &mut Command) -> Result<()> {
    let words = describe(command);
    let status = command.status().with_context(|| format!("cannot run {words}"))?;
    if !status.success() {
        bail!("{words}: {status}");
    }
    Ok(())
}

/// The command as one would type it.
pub fn describe(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|word| word.to_string_lossy().into_owned()));
    words.join(" ")
}

/// `cargo` in the project's folder.
pub fn cargo(arguments: &[&str]) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(project()).args(arguments);
    command
}

/// Builds `belljar` as users get it, and returns its path.
pub fn build_belljar() -> Result<PathBuf> {
    succeed(&mut cargo(&["build", "--quiet", "--release", "--package", "cli"]))?;
    Ok(target().join("release/belljar"))
}

/// The folder of what is built.
pub fn target() -> PathBuf {
    project().join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// Where a program is in our `PATH`.
pub fn find_in_path(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Path::new(program).exists().then(|| program.into());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}
