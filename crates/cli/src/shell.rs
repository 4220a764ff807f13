//! `belljar shell`: an interactive shell inside.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use sandbox_spec::{RootFs, SandboxSpec};

use crate::failure::Failure;
use crate::launch::launch_in_project;
use crate::options::{ProjectOptions, SandboxOptions};

/// Options of `shell`.
#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    project: ProjectOptions,
    #[command(flatten)]
    sandbox: SandboxOptions,
}

/// Runs bash where the sandbox has it, and sh where not.
pub fn run(options: Options) -> Result<ExitCode, Failure> {
    let mut spec = options.sandbox.to_spec(Vec::new())?;
    let shell = if has_bash(&spec) { "/bin/bash" } else { "/bin/sh" };
    spec.program = vec![shell.into(), "-i".into()];
    set_if_missing(&mut spec, "PS1", r"belljar:\w\$ ");
    launch_in_project(&options.sandbox, &options.project, spec)
}

/// Looks into the root. In an archive nobody looks: `sh` is there if anything is.
fn has_bash(spec: &SandboxSpec) -> bool {
    match &spec.root {
        RootFs::Host => Path::new("/bin/bash").exists(),
        RootFs::Directory(root) => root.join("bin/bash").symlink_metadata().is_ok(),
        RootFs::Tar(_) => false,
    }
}

fn set_if_missing(spec: &mut SandboxSpec, name: &str, value: &str) {
    if spec.environment.iter().all(|(known, _)| known != name) {
        spec.environment.push((name.into(), value.into()));
    }
}
