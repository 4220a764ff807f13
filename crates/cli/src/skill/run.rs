//! `belljar skill run`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use sandbox_spec::{ByteSize, parse_duration};
use skills::policy::{Consent, Network, Policy, ResourceLimits};
use skills::{RunOptions, WorkFolder};

use super::{problem, runner};
use crate::backends;
use crate::failure::Failure;
use crate::launch::{Launch, launch};

/// Options of `skill run`.
#[derive(Args)]
#[command(override_usage = "belljar skill run [OPTIONS] PATH [SCRIPT] [-- ARGS]...")]
pub struct Options {
    /// The skill: a folder or an archive
    path: PathBuf,
    /// The script, if the skill has more than one
    script: Option<String>,
    /// Its arguments
    #[arg(last = true)]
    arguments: Vec<String>,
    /// A folder that the script may change, or `none` for an empty one. Without it the script sees
    /// the current folder and what it changes there is dropped
    #[arg(long, value_name = "DIR|none")]
    work: Option<PathBuf>,
    /// Let connections to this destination out
    #[arg(long, value_name = "HOST[:PORT]")]
    allow_net: Vec<String>,
    /// Set an environment variable, or pass the host's value on
    #[arg(long, short, value_name = "NAME[=VALUE]")]
    env: Vec<String>,
    /// Grant what the skill asks for in its belljar.yaml
    #[arg(long)]
    yes: bool,
    /// Use this virtual environment of Python
    #[arg(long, value_name = "DIR")]
    venv: Option<PathBuf>,
    /// Use this folder of Node packages
    #[arg(long, value_name = "DIR")]
    node_modules: Option<PathBuf>,
    /// End after this time, with exit code 124
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    timeout: Option<Duration>,
    /// Memory of all processes together
    #[arg(long, value_name = "SIZE")]
    memory: Option<ByteSize>,
    /// Processes and threads alive at one time
    #[arg(long, value_name = "N")]
    processes: Option<u64>,
    /// Bytes written to standard output and standard error
    #[arg(long, value_name = "SIZE")]
    output: Option<ByteSize>,
    /// Write how the sandbox ended, and what it used, to a file
    #[arg(long, value_name = "FILE")]
    json_report: Option<PathBuf>,
    /// What runs the sandbox
    #[arg(long, value_name = "NAME", default_value = backends::DEFAULT)]
    backend: String,
}

/// Plans the run, starts it and ends as it ended.
pub fn run(options: &Options) -> Result<ExitCode, Failure> {
    let skill =
        problem::load(&options.path).map_err(|failure| failure.code(Failure::CANNOT_START))?;
    let run_options = run_options(options)?;
    let plan =
        skills::plan_run(&skill, options.script.as_deref(), &options.arguments, &run_options)
            .map_err(|error| problem::of_planning(&options.path, &error))?;
    let pending: Vec<_> = plan.asks.iter().filter(|ask| !ask.is_granted).collect();
    if !pending.is_empty() {
        eprintln!("note: the skill asks for more than it gets; --yes grants it:");
        for ask in pending {
            eprintln!("note:   {}: {}", ask.about, ask.what);
        }
    }
    let spec = runner::spec_of(&plan).map_err(|error| problem::of_specification(&error))?;
    let report = options.json_report.as_deref();
    launch(&Launch { backend: &options.backend, report }, &spec)
}

fn run_options(options: &Options) -> Result<RunOptions, Failure> {
    let absolute = |path: &PathBuf| {
        std::path::absolute(path)
            .map_err(|error| Failure::new(format!("cannot find {}: {error}", path.display())))
    };
    let work = match &options.work {
        None => WorkFolder::CopyOnWrite(absolute(&".".into())?),
        Some(path) if path.as_os_str() == "none" => WorkFolder::Empty,
        Some(path) => WorkFolder::ReadWrite(absolute(path)?),
    };
    let mut run_options = RunOptions::new(work);
    run_options.flags = flags(options);
    run_options.consent = if options.yes { Consent::Given } else { Consent::Withheld };
    run_options.host_env = host_environment();
    run_options.venv = options.venv.as_ref().map(absolute).transpose()?;
    run_options.node_modules = options.node_modules.as_ref().map(absolute).transpose()?;
    Ok(run_options)
}

/// What the flags say, as the strongest policy.
fn flags(options: &Options) -> Policy {
    let mut policy = Policy {
        limits: ResourceLimits {
            memory_bytes: options.memory.map(|size| size.0),
            timeout: options.timeout,
            processes: options.processes,
            output_bytes: options.output.map(|size| size.0),
        },
        ..Policy::default()
    };
    if !options.allow_net.is_empty() {
        let allow = options.allow_net.iter().cloned().collect::<BTreeSet<_>>();
        policy.network = Some(Network { allow });
    }
    for item in &options.env {
        match item.split_once('=') {
            Some((name, value)) => {
                policy.env.set.insert(name.to_owned(), value.to_owned());
            }
            None => {
                policy.env.pass.insert(item.clone());
            }
        }
    }
    policy
}

/// The variables of the host that are text; others cannot be passed to a skill.
fn host_environment() -> BTreeMap<String, String> {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).collect()
}
