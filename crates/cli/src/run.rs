//! `belljar run`: a program in a sandbox of its own.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Args;

use crate::failure::Failure;
use crate::launch::launch_in_project;
use crate::options::{ProjectOptions, SandboxOptions};

/// Options of `run`.
#[derive(Args)]
#[command(args_override_self = true)]
#[command(override_usage = "belljar run [OPTIONS] -- PROGRAM [ARGS]...")]
#[command(
    after_help = "The current folder, and the project that it is in, are seen at their own path. \
    What the program writes there is listed at the end and kept aside, until --apply, or an answer, \
    writes it back."
)]
pub struct Options {
    /// The program and its arguments
    #[arg(value_name = "PROGRAM", required = true, trailing_var_arg = true)]
    program: Vec<OsString>,
    #[command(flatten)]
    project: ProjectOptions,
    #[command(flatten)]
    sandbox: SandboxOptions,
}

/// Runs the program and ends as it ended.
pub fn run(options: Options) -> Result<ExitCode, Failure> {
    let spec = options.sandbox.to_spec(options.program)?;
    launch_in_project(&options.sandbox, &options.project, spec)
}
