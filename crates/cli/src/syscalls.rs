//! `belljar syscalls`: the table of system calls.

use std::fmt::Write;
use std::process::ExitCode;

use clap::Args;
use kernel_syscalls::{SYSCALLS, Syscall, coverage};
use serde::Serialize;

use crate::failure::Failure;
use crate::output;

/// Options of `syscalls`.
#[derive(Args)]
pub struct Options {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Only calls with this status
    #[arg(long, value_name = "STATUS", value_parser = ["full", "partial", "stub", "shim", "refused", "missing"])]
    status: Option<String>,
}

#[derive(Serialize)]
struct Row {
    number: u16,
    name: &'static str,
    arguments: Vec<&'static str>,
    status: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    note: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    answers: Option<&'static str>,
}

/// Prints the table.
pub fn run(options: &Options) -> Result<ExitCode, Failure> {
    let wanted = |call: &&Syscall| {
        options.status.as_deref().is_none_or(|status| status == call.status.word())
    };
    let calls: Vec<_> = SYSCALLS.iter().filter(wanted).collect();
    if options.json {
        output::print_json(&calls.iter().map(|call| row(call)).collect::<Vec<_>>())?;
    } else {
        output::print(&text(&calls))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn row(call: &Syscall) -> Row {
    Row {
        number: call.number,
        name: call.name,
        arguments: call.arguments.iter().map(|argument| argument.name).collect(),
        status: call.status.word(),
        note: call.status.note(),
        answers: call.status.refusal(),
    }
}

fn text(calls: &[&Syscall]) -> String {
    let mut text = String::new();
    for call in calls {
        let line = format!(
            "{:>3}  {:<24} {:<8} {}",
            call.number,
            call.name,
            call.status.word(),
            call.status.note()
        );
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}", line.trim_end());
    }
    let all = coverage();
    let _ = writeln!(
        text,
        "\n{} calls: {} full, {} in the shim, {} partial, {} stubs, {} refused, {} missing",
        all.total, all.full, all.shim, all.partial, all.stub, all.refused, all.missing
    );
    text
}
