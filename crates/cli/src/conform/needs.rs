//! `belljar conform needs`.

use std::ffi::OsString;
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use clap::Args;
use conformance::needs::{Need, Priority, judge, read_trace, under_strace};

use crate::failure::Failure;
use crate::output;

/// Options of `conform needs`.
#[derive(Args)]
#[command(override_usage = "belljar conform needs [OPTIONS] -- PROGRAM [ARGS]...")]
pub struct Options {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Show calls that are supported, too
    #[arg(long)]
    all: bool,
    /// Run the program inside instead of natively under strace
    #[arg(long)]
    inside: bool,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    program: Vec<OsString>,
}

/// Runs the program under a tracer and prints what it used. The program's output goes to standard
/// error, so that ours can be piped on. Ends with 1 if something critical is missing.
pub fn run(options: &Options) -> Result<ExitCode, Failure> {
    let cannot =
        |what: &str, error: &dyn std::fmt::Display| Failure::new(format!("cannot {what}: {error}"));
    let trace = std::env::temp_dir().join(format!("belljar-needs-{}", std::process::id()));
    let mut command = if options.inside { inside(&trace)? } else { under_strace(&trace) };
    let status = command.args(&options.program).stdout(Stdio::from(std::io::stderr())).status();
    let calls = read_trace(&trace);
    // The trace may not have been written at all.
    let _ = std::fs::remove_file(&trace);
    status.map_err(|error| {
        cannot("run the program under strace", &error)
            .hint("install strace, or use --inside to trace the program in the sandbox")
    })?;
    let needs = judge(&calls.map_err(|error| cannot("read the trace", &error))?);
    let shown: Vec<_> =
        needs.iter().filter(|need| options.all || need.priority != Priority::None).collect();
    if options.json {
        output::print_json(&shown)?;
    } else {
        output::print(&text(&needs, &shown))?;
    }
    let critical = needs.iter().any(|need| need.priority == Priority::Critical);
    Ok(if critical { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn inside(trace: &Path) -> Result<Command, Failure> {
    let belljar = std::env::current_exe()
        .map_err(|error| Failure::new(format!("cannot find belljar: {error}")))?;
    let mut command = Command::new(belljar);
    command.arg("run").arg(format!("--trace={}", trace.display())).arg("--");
    Ok(command)
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
    }
    let supported = all.iter().filter(|need| need.priority == Priority::None).count();
    let _ = writeln!(text, "{supported} of {} system calls are fully supported", all.len());
    text
}
