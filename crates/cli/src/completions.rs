//! `belljar completions`: what a shell completes commands and options with. Made from the same
//! definitions as the help, and so are the manual pages.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::failure::Failure;
use crate::output;

/// Options of `completions`.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    belljar completions bash > ~/.local/share/bash-completion/completions/belljar\n  \
    belljar completions zsh > ~/.zfunc/_belljar\n  \
    belljar completions fish > ~/.config/fish/completions/belljar.fish")]
pub struct Options {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Options of `manual`.
#[derive(Args)]
pub struct ManualOptions {
    /// The folder to write the pages to
    folder: PathBuf,
}

/// Prints the script.
pub fn run(options: &Options, mut command: Command) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut command, "belljar", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a manual page for each command.
pub fn write_manual(options: &ManualOptions, command: Command) -> Result<ExitCode, Failure> {
    clap_mangen::generate_to(command, &options.folder).map_err(|error| {
        let folder = sandbox_spec::printable_path(&options.folder);
        Failure::new(format!("cannot write the pages to {folder}: {error}"))
    })?;
    Ok(ExitCode::SUCCESS)
}
