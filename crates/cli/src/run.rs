//! `belljar run`: a program in a sandbox of its own.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Args;

use crate::failure::Failure;
use crate::launch::launch;
use crate::options::SandboxOptions;

/// Options of `run`.
#[derive(Args)]
#[command(args_override_self = true)]
#[command(override_usage = "belljar run [OPTIONS] -- PROGRAM [ARGS]...")]
pub struct Options {
    /// The program and its arguments
    #[arg(value_name = "PROGRAM", required = true, trailing_var_arg = true)]
    program: Vec<OsString>,
    #[command(flatten)]
    sandbox: SandboxOptions,
}

/// Runs the program and ends as it ended.
pub fn run(options: Options) -> Result<ExitCode, Failure> {
    let spec = options.sandbox.to_spec(options.program)?;
    launch(&options.sandbox.launch(), &spec)
}
