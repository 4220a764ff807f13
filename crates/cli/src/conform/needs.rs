//! `belljar conform needs`.

use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};

use clap::Args;
use conformance::needs::{Evidence, Need, Priority, judge};
use conformance::trace::{Calls, OptionUse, under_strace};

use super::{belljar, cannot};
use crate::failure::Failure;
use crate::output;
use crate::signals::Signals;
use crate::skill::scratch::Scratch;
use crate::skill::usage;

/// Options of `conform needs`.
#[derive(Args)]
#[command(override_usage = "belljar conform needs [OPTIONS] -- PROGRAM [ARGS]...\n       \
    belljar conform needs [OPTIONS] --skill PATH")]
#[command(after_help = "The program is run natively under strace where that is installed, and \
    inside otherwise. A skill runs inside: its test cases, or its scripts with --help.")]
pub struct Options {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Show calls that are supported, too
    #[arg(long)]
    all: bool,
    /// Run the program inside instead of natively under strace
    #[arg(long, conflicts_with_all = ["both", "skill"])]
    inside: bool,
    /// Run the program natively and inside, and tell what only Linux answered
    #[arg(long, conflicts_with = "skill")]
    both: bool,
    /// A skill: a folder or an archive
    #[arg(long, value_name = "PATH", conflicts_with = "program")]
    skill: Option<PathBuf>,
    /// The program and its arguments
    #[arg(required_unless_present = "skill", trailing_var_arg = true)]
    program: Vec<OsString>,
}

/// Prints what is used. The program's output goes to standard error, so that ours can be piped on.
/// Ends with 1 if something critical is missing.
pub fn run(options: &Options) -> Result<ExitCode, Failure> {
    let needs = match &options.skill {
        Some(path) => of_skill(path)?,
        None => of_program(options)?,
    };
    let is_shown = |need: &&Need| options.all || need.priority != Priority::None;
    let shown: Vec<_> = needs.iter().filter(is_shown).collect();
    if options.json {
        output::print_json(&shown)?;
    } else {
        output::print(&text(&needs, &shown))?;
    }
    let critical = needs.iter().any(|need| need.priority == Priority::Critical);
    Ok(if critical { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn of_skill(path: &Path) -> Result<Vec<Need>, Failure> {
    let signals = Signals::take_over()?;
    let _scratch = Scratch::new()?;
    let usage = usage::of_skill(path, &signals)?;
    if !usage.not_run.is_empty() {
        return Err(Failure::new(format!("{}: {}", usage.name, usage.not_run))
            .hint("write test cases in tests/*.yaml beside SKILL.md"));
    }
    for case in &usage.cases {
        let word = if case.passed { "passed" } else { "FAILED" };
        eprintln!("{word}  {}  {}", case.name, case.reason);
    }
    Ok(usage.needs())
}

fn of_program(options: &Options) -> Result<Vec<Need>, Failure> {
    if options.both {
        let (native, _) = trace(under_strace, &options.program)?;
        let (inside, _) = trace_inside(&options.program)?;
        return Ok(judge(&native, Evidence::Both(&inside)));
    }
    if !options.inside && has_strace() {
        let (calls, _) = trace(under_strace, &options.program)?;
        return Ok(judge(&calls, Evidence::Native));
    }
    if !options.inside {
        eprintln!("strace is not installed, so the program runs inside");
    }
    let (calls, status) = trace_inside(&options.program)?;
    Ok(judge(&calls, Evidence::Inside { worked: status.success() }))
}

fn has_strace() -> bool {
    let mut version = Command::new("strace");
    version.arg("-V").stdout(Stdio::null()).stderr(Stdio::null());
    matches!(version.status(), Ok(status) if status.success())
}

fn trace_inside(program: &[OsString]) -> Result<(Calls, ExitStatus), Failure> {
    let belljar = belljar()?;
    let inside = |trace: &Path| {
        let mut command = Command::new(&belljar);
        command.arg("run").arg(format!("--trace={}", trace.display())).arg("--");
        command
    };
    trace(inside, program)
}

/// Runs a program under a tracer.
fn trace(
    tracer: impl Fn(&Path) -> Command,
    program: &[OsString],
) -> Result<(Calls, ExitStatus), Failure> {
    let file = tempfile::NamedTempFile::new().map_err(cannot("make a file for the trace"))?;
    let mut command = tracer(file.path());
    let status = command.args(program).stdout(Stdio::from(std::io::stderr())).status();
    let status = status.map_err(|error| {
        cannot("run the program under a tracer")(error)
            .hint("install strace, or use --inside to trace the program in the sandbox")
    })?;
    Ok((Calls::read(file.path()).map_err(cannot("read the trace"))?, status))
}

fn text(all: &[Need], shown: &[&Need]) -> String {
    let mut text = String::new();
    for need in shown {
        let line = format!(
            "{:<9} {:<22} {:>7} times  {:<8} {}",
            need.priority.name(),
            need.call,
            need.uses.count,
            need.status,
            need.note
        );
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}", line.trim_end());
        for OptionUse { name, uses } in &need.options {
            let only_linux =
                if need.differs.contains(name) { "  only Linux answers it" } else { "" };
            let _ = writeln!(text, "{:<9}   {name:<30} {:>5} times{only_linux}", "", uses.count);
        }
        if need.differs.contains(&need.call) {
            let _ = writeln!(text, "{:<9}   only Linux answers it", "");
        }
    }
    let supported = all.iter().filter(|need| need.priority == Priority::None).count();
    let _ = writeln!(text, "{supported} of {} system calls are fully supported", all.len());
    text
}
