//! Starting a sandbox, passing signals on to it, and turning its end into an exit code.

use std::path::Path;
use std::process::ExitCode;

use host_sys::beneath::ResultFile;
use sandbox::{Backend, End, ExitReport, Sandbox, Streams};
use sandbox_spec::{
    ConnectionRecord, MoreConnections, SandboxSpec, printable, printable_json, printable_path,
};
use serde_json::json;

use crate::backends;
use crate::blocked::{self, Ran};
use crate::failure::Failure;
use crate::hints;
use crate::keyboard::Keyboard;
use crate::options::{ProjectOptions, SandboxOptions};
use crate::report::{ReportTarget, RunReport};
use crate::signal_names;
use crate::signals::{SIGINT, SIGPIPE, Signals};
use crate::skill::aside::Aside;
use crate::user_terminal::{self, UserTerminal};
use crate::work::Decision;

/// How a specification is run.
pub struct Launch<'a> {
    /// The backend's name.
    pub backend: &'a str,
    /// Where the report goes.
    pub report: Option<&'a Path>,
    /// Where the report of what the guest did goes: nowhere, to standard error, or to a file.
    pub activity: Option<Option<&'a ReportTarget>>,
}

/// Runs a program in the project that the user stands in, and ends as it ended.
pub fn launch_in_project(
    sandbox: &SandboxOptions,
    project: &ProjectOptions,
    mut spec: SandboxSpec,
) -> Result<ExitCode, Failure> {
    let options = sandbox.launch();
    // Before anything is made that must not be left behind.
    let signals = Signals::take_over()?;
    // As it is now, before the guest has it.
    let terminal = UserTerminal::open();
    let work = project.show(sandbox, &mut spec)?;
    let learning = project.hold(sandbox, &mut spec)?;
    let Some(mut work) = work else {
        let report = launch_with(&options, &spec, Streams::inherit(), &signals)?;
        learning.map(|learning| learning.write(&report)).transpose()?;
        return Ok(exit_code(&report).into());
    };
    let activity = options.activity.map(|it| it.map(ReportTarget::open).transpose()).transpose()?;
    let ending = options.report.map(EndReport::open).transpose()?;
    work.keep();
    let ended = start_and_wait(options.backend, &spec, Streams::inherit(), &signals);
    if let Some(ending) = ending {
        ending.write(&ended)?;
    }
    let (report, changes) = work.after(ended, &signals)?;
    tell_end(&report, &spec);
    if report.end.exit_code() != 0 {
        hints::tell_arguments(&spec);
    }
    signals.forget();
    let fate = work.settle(&changes, Decision::of(project.apply, terminal.as_ref()), &signals)?;
    if let Some(place) = &activity {
        RunReport::new(&spec, &report).with_work(&changes, fate).write(place.as_ref())?;
    }
    learning.map(|learning| learning.write(&report)).transpose()?;
    Aside::tell_forgotten();
    Ok(exit_code(&report).into())
}

/// Runs a specification to its end with these streams, and says what there is to say about it.
pub fn launch_with(
    options: &Launch<'_>,
    spec: &SandboxSpec,
    streams: Streams,
    signals: &Signals,
) -> Result<ExitReport, Failure> {
    let activity = options.activity.map(|it| it.map(ReportTarget::open).transpose()).transpose()?;
    let ending = options.report.map(EndReport::open).transpose()?;
    let outcome = start_and_wait(options.backend, spec, streams, signals);
    if let Some(ending) = ending {
        ending.write(&outcome)?;
    }
    let report = outcome?;
    tell_end(&report, spec);
    if report.end.exit_code() != 0 {
        hints::tell_arguments(spec);
    }
    if let Some(place) = &activity {
        RunReport::new(spec, &report).write(place.as_ref())?;
    }
    Ok(report)
}

/// Says what a shell would say about such an end, and what is missing of the results.
pub fn tell_end(report: &ExitReport, spec: &SandboxSpec) {
    if let Some(words) = explain(&report.end, spec) {
        eprintln!("{words}");
    }
    tell_memory_kills(report);
    if report.usage.is_disk_full {
        let limit = spec.limits.disk.map_or(String::new(), |size| format!(" of {size}"));
        eprintln!(
            "warning: it wanted to write more than the limit{limit} leaves, and was told that the \
             disk is full\nhint: --disk SIZE allows more"
        );
    }
    if report.audit_lost > 0 {
        let (lost, limit) = (report.audit_lost, spec.audit_limit);
        eprintln!(
            "warning: {lost} lines are missing in the audit log, which may take {limit}\n\
             hint: --audit-limit SIZE allows more"
        );
    }
    for failed in &report.not_copied {
        let path = printable_path(&failed.path);
        eprintln!("error: {path} was not copied out: {}", failed.reason);
    }
}

/// Says which processes, besides the first, were killed for want of memory: as the host's log would.
fn tell_memory_kills(report: &ExitReport) {
    for kill in &report.memory_kills {
        let size = kill.bytes.div_ceil(1 << 20);
        let (name, pid) = (printable(&kill.name), kill.pid);
        eprintln!("warning: out of memory: killed process {pid} ({name}), which held {size} MiB");
    }
    if report.memory_kills_by_host > 0 {
        let count = report.memory_kills_by_host;
        eprintln!("warning: out of memory: the host killed {count} of its processes");
    }
    if !report.memory_kills.is_empty() || report.memory_kills_by_host > 0 {
        eprintln!("hint: --memory SIZE gives it more");
    }
}

/// The exit code for such an end. A program that went well does not hide that its results did not
/// arrive.
pub fn exit_code(report: &ExitReport) -> u8 {
    match report.end.exit_code() {
        0 if !report.not_copied.is_empty() => Failure::CANNOT_START,
        code => code,
    }
}

fn start_and_wait(
    backend: &str,
    spec: &SandboxSpec,
    streams: Streams,
    signals: &Signals,
) -> Result<ExitReport, Failure> {
    let backend = backends::choose(backend)?;
    let mut sandbox = backend.start(spec, streams).map_err(|error| {
        let hint = hints::of_program(&error, spec);
        let failure = Failure::from(error);
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    })?;
    user_terminal::hand_over();
    let report = wait(signals, &mut *sandbox)?;
    blocked::tell(sandbox.connections(), &report.end, Ran::Program);
    Ok(with_connections(report, &*sandbox))
}

/// Waits for the end of a sandbox on the standard streams. The terminal is what it was before
/// anything is said about the end.
fn wait(signals: &Signals, sandbox: &mut dyn Sandbox) -> Result<ExitReport, Failure> {
    let keyboard = Keyboard::of_standard_streams();
    let control = sandbox.control();
    let wait = || sandbox.wait_with(&mut |event| keyboard.hear(event, &*control));
    Ok(signals.while_sharing(&keyboard, control.clone_box(), wait)??)
}

/// Adds the connections of a sandbox to what is known of its guest, if that was recorded.
fn with_connections(mut report: ExitReport, sandbox: &dyn Sandbox) -> ExitReport {
    if let Some(activity) = &mut report.activity {
        // What never left was seen by who looked on as well, and counted there.
        for record in sandbox.connections() {
            let is_same = |known: &ConnectionRecord| {
                let key = |it: &ConnectionRecord| (it.kind, it.name.clone(), it.address);
                key(known) == key(record) && known.reason == record.reason
            };
            if !activity.connections.iter().any(is_same) {
                activity.connections.push(record.clone());
            }
        }
        let MoreConnections { allowed, denied } = report.more_connections;
        activity.more_connections += allowed.saturating_add(denied);
        activity.more_connections_denied += denied;
    }
    report
}

/// Starts a sandbox and waits for its end, while signals go to the guest.
pub fn run_to_end(
    backend: &dyn Backend,
    spec: &SandboxSpec,
    signals: &Signals,
) -> Result<ExitReport, Failure> {
    signals.check()?;
    let mut sandbox = backend.start(spec, Streams::inherit())?;
    user_terminal::hand_over();
    let report = wait(signals, &mut *sandbox)?;
    let report = with_connections(report, &*sandbox);
    signals.forget();
    blocked::tell(sandbox.connections(), &report.end, Ran::Skill);
    Ok(report)
}

/// What a shell, or `timeout`, would say about such an end.
pub fn explain(end: &End, spec: &SandboxSpec) -> Option<String> {
    match end {
        End::Exited { .. } | End::Signaled { signal: SIGINT | SIGPIPE, .. } | End::Killed => None,
        End::Signaled { signal, core } => {
            let core = if *core { " (core dumped)" } else { "" };
            Some(format!("{}{core}", signal_names::describe(*signal)))
        }
        End::TimedOut => {
            let limit = spec.limits.timeout.unwrap_or_default();
            Some(format!("error: timed out after {limit:?}\nhint: --timeout gives it more time"))
        }
        End::CpuTimeExceeded => Some(
            "error: ended, for it used more CPU time than allowed\nhint: --cpu gives it more"
                .to_owned(),
        ),
        End::MemoryExceeded => Some(
            "error: ended, for it used more memory than allowed\nhint: --memory gives it more"
                .to_owned(),
        ),
        End::OutputExceeded => Some(
            "error: ended, for it wrote more output than allowed\nhint: --output-limit SIZE allows more"
                .to_owned(),
        ),
    }
}

/// A file that says how a sandbox ended, or why it did not start, for machines. Its folder is held
/// from before the run: a guest may have it.
pub struct EndReport<'p> {
    path: &'p Path,
    file: ResultFile,
}

impl<'p> EndReport<'p> {
    /// Fails now if the file could not be written after the run.
    pub fn open(path: &'p Path) -> Result<Self, Failure> {
        let file = ResultFile::at(path).map_err(|error| no_report(path, &error))?;
        Ok(Self { path, file })
    }

    /// Writes it.
    pub fn write(&self, outcome: &Result<ExitReport, Failure>) -> Result<(), Failure> {
        let report = match outcome {
            Ok(report) => json!({ "exit_code": report.end.exit_code(), "report": report }),
            Err(failure) => {
                json!({ "exit_code": failure.exit_code(), "error": failure.message() })
            }
        };
        let written = self.file.write((printable_json(&format!("{report:#}")) + "\n").as_bytes());
        written.map_err(|error| no_report(self.path, &error))
    }
}

fn no_report(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot write the report to {}: {error}", printable_path(path)))
        .code(Failure::CANNOT_START)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_is_reported_like_a_shell_reports_it() {
        let spec = SandboxSpec::new(["x"]);
        let words = |signal, core| explain(&End::Signaled { signal, core }, &spec);
        assert_eq!(words(11, false).as_deref(), Some("Segmentation fault"));
        assert_eq!(words(6, true).as_deref(), Some("Aborted (core dumped)"));
        assert_eq!(words(SIGINT, false), None);
        assert_eq!(explain(&End::Exited { code: 1 }, &spec), None);
    }
}
