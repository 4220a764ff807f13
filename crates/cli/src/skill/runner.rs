//! Plans of skills, run in a sandbox.

use std::cell::RefCell;
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use sandbox::{Backend, Control, ControlError, End, Streams};
use sandbox_spec::{Activity, Recording, SandboxSpec, Trace};
use skills::cases::{
    Exit, NativeRunner, RunOutcome, RunRequest, Runner, RunnerError, find_program,
};
use skills::install::ENVIRONMENT_FOLDER;
use skills::policy::{self, Policy, learn, widen};
use skills::{
    GUEST_PATH, NODE_MODULES, PlannedMount, RunPlan, SKILL_FOLDER, STRIP_TYPES, STRIPS_TYPES_SINCE,
};

use super::places;
use super::registry::interpreter_version;

use crate::signals::{ENDING, Signals};

/// The specification for a plan, with the first of its commands whose program is there.
pub fn spec_of(plan: &RunPlan) -> Result<SandboxSpec, RunnerError> {
    let mut spec = plan.to_spec().map_err(|error| RunnerError::Sandbox(error.into()))?;
    let path = plan.env.get("PATH").map_or(GUEST_PATH, String::as_str);
    let mut tried = Vec::new();
    for argv in std::iter::once(&plan.argv).chain(&plan.alternatives) {
        let Some(program) = argv.first() else { continue };
        let is_for_types = argv.get(1).is_some_and(|option| option == STRIP_TYPES);
        if is_there(plan, program, path) && !(is_for_types && is_old_node()) {
            spec.program = argv.iter().map(Into::into).collect();
            return Ok(spec);
        }
        let (major, minor) = STRIPS_TYPES_SINCE;
        let name = match is_for_types {
            true => format!("{program} {major}.{minor} or later"),
            false => program.clone(),
        };
        if !tried.contains(&name) {
            tried.push(name);
        }
    }
    Err(RunnerError::NoInterpreter(tried))
}

/// Whether the folders that the sandbox shows have a program. A program of the skill itself is left
/// to the sandbox.
fn is_there(plan: &RunPlan, program: &str, path: &str) -> bool {
    if Path::new(program).starts_with(SKILL_FOLDER) {
        return true;
    }
    if program.contains('/') {
        return has_program(plan, program);
    }
    path.split(':').any(|folder| has_program(plan, &format!("{folder}/{program}")))
}

/// Whether there is a program at a guest path: in the last mount above it, else in the same place of
/// the host. What packages have shaped is looked at name by name: where a link of theirs
/// leads is for the sandbox to find out.
fn has_program(plan: &RunPlan, guest: &str) -> bool {
    let modules = plan.links.iter().find(|(path, _)| path == NODE_MODULES);
    let linked = modules
        .and_then(|(path, target)| Some(format!("{target}{}", guest.strip_prefix(path.as_str())?)));
    let guest = Path::new(linked.as_deref().unwrap_or(guest));
    let by_mount = |mount: &PlannedMount| {
        let rest = guest.strip_prefix(&mount.target).ok()?;
        Some((mount.source.clone()?, rest, mount.target == ENVIRONMENT_FOLDER))
    };
    match plan.mounts.iter().rev().find_map(by_mount) {
        Some((source, rest, true)) => places::folder(&source)
            .and_then(|top| top.parent_of(rest).and_then(|(folder, name)| folder.status_of(name)))
            .is_ok_and(|found| found.is_some()),
        Some((source, rest, false)) => {
            find_program(&source.path().join(rest).to_string_lossy(), "").is_some()
        }
        None => find_program(&guest.to_string_lossy(), "").is_some(),
    }
}

/// Whether the host's Node cannot run TypeScript.
fn is_old_node() -> bool {
    let version = interpreter_version("node").unwrap_or_default();
    let mut numbers = version.trim_start_matches('v').split('.').map(|it| it.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) < STRIPS_TYPES_SINCE
}

/// Runs test cases in a sandbox.
pub struct SandboxRunner<'s> {
    /// What starts the sandboxes.
    pub backend: Box<dyn Backend>,
    /// Signals to us, which end a case early.
    pub signals: &'s Signals,
    /// Where the calls of each case are written.
    pub trace: Trace,
}

impl Runner for SandboxRunner<'_> {
    fn name(&self) -> &'static str {
        self.backend.name()
    }

    fn run(&self, request: &RunRequest) -> Result<RunOutcome, RunnerError> {
        self.run_recorded(request, Recording::Off).map(|(outcome, _)| outcome)
    }
}

impl SandboxRunner<'_> {
    /// Runs a case, and tells what it did if that shall be recorded.
    fn run_recorded(
        &self,
        request: &RunRequest,
        recording: Recording,
    ) -> Result<(RunOutcome, Activity), RunnerError> {
        let mut spec = spec_of(&request.plan)?;
        spec.trace = self.trace.clone();
        spec.recording = recording;
        let (input, feed) = std::io::pipe()?;
        let (output, output_end) = std::io::pipe()?;
        let (errors, errors_end) = std::io::pipe()?;
        let streams = Streams {
            input: Some(input.into()),
            output: Some(output_end.into()),
            errors: Some(errors_end.into()),
        };
        let started = Instant::now();
        let mut running = self
            .backend
            .start(&spec, streams)
            .map_err(|error| RunnerError::Sandbox(error.into()))?;
        let stdin = request.stdin.clone();
        std::thread::scope(|scope| {
            scope.spawn(move || write(feed, &stdin));
            let output = scope.spawn(move || read(output));
            let errors = scope.spawn(move || read(errors));
            let ended = self.signals.while_running(running.control(), || running.wait());
            let report = match ended {
                Ok(report) => report.map_err(|error| RunnerError::Sandbox(error.into())),
                Err(failure) => Err(RunnerError::Sandbox(failure.message().into())),
            };
            let connections = running.connections().to_vec();
            // Nothing of the sandbox holds the pipes open any more.
            drop(running);
            let report = report?;
            let outcome = RunOutcome {
                exit: exit_of(&report.end),
                stdout: output.join().unwrap_or_default(),
                stderr: errors.join().unwrap_or_default(),
                duration: started.elapsed(),
            };
            let mut activity = report.activity.map(|it| *it).unwrap_or_default();
            activity.connections.extend(connections);
            Ok((outcome, activity))
        })
    }
}

/// Runs cases and learns what each needs.
pub struct LearningRunner<'r> {
    /// What runs the cases.
    pub inside: &'r SandboxRunner<'r>,
    /// What the last case needed in all of its runs.
    pub learned: RefCell<Option<Policy>>,
}

impl Runner for LearningRunner<'_> {
    fn name(&self) -> &'static str {
        self.inside.name()
    }

    fn run(&self, request: &RunRequest) -> Result<RunOutcome, RunnerError> {
        let (outcome, activity) = self.inside.run_recorded(request, Recording::On)?;
        let policy = learn(&activity, &activity.connections, &request.plan.policy).policy;
        // As a file would hold it.
        let read = policy::read("learned", &policy.to_yaml());
        if !read.is_valid() {
            let text = skills::Report::new(read.findings).to_text();
            return Err(RunnerError::Sandbox(text.into()));
        }
        let mut learned = self.learned.borrow_mut();
        *learned = Some(widen(learned.take(), read.policy));
        Ok(outcome)
    }
}

/// Runs a case again and holds it to what was learned from it.
pub struct HoldingRunner<'r>(pub &'r LearningRunner<'r>);

impl Runner for HoldingRunner<'_> {
    fn name(&self) -> &'static str {
        "learned"
    }

    fn run(&self, request: &RunRequest) -> Result<RunOutcome, RunnerError> {
        let policy = self.0.learned.take().unwrap_or_default();
        let mut request = request.clone();
        request.plan.files = policy.files;
        request.plan.programs = policy.programs;
        request.plan.network = policy.network.unwrap_or_default();
        let (outcome, activity) = self.0.inside.run_recorded(&request, Recording::Off)?;
        match activity.denied.first() {
            None => Ok(outcome),
            Some(denial) => {
                let words =
                    format!("its own policy denied it to {} {}", denial.wanted.word(), denial.path);
                Err(RunnerError::Sandbox(words.into()))
            }
        }
    }
}

/// Runs test cases on the host itself, until a signal asks us to end.
pub struct StoppableNativeRunner<'s> {
    /// What runs them.
    pub native: NativeRunner,
    /// Signals to us.
    pub signals: &'s Signals,
}

impl Runner for StoppableNativeRunner<'_> {
    fn name(&self) -> &'static str {
        self.native.name()
    }

    fn run(&self, request: &RunRequest) -> Result<RunOutcome, RunnerError> {
        let stop = Box::new(Stop(Arc::clone(&self.native.stop)));
        let ended = self.signals.while_running(stop, || self.native.run(request));
        ended.unwrap_or_else(|failure| Err(RunnerError::Sandbox(failure.message().into())))
    }
}

/// Ends what runs natively.
struct Stop(Arc<AtomicBool>);

impl Control for Stop {
    fn signal(&self, signal: u8) -> Result<(), ControlError> {
        if ENDING.contains(&signal) {
            self.0.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    fn give_keys(&self, _n_shown: Option<usize>) -> Result<(), ControlError> {
        Ok(())
    }

    fn kill(&self) -> Result<(), ControlError> {
        self.0.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn clone_box(&self) -> Box<dyn Control> {
        Box::new(Self(Arc::clone(&self.0)))
    }
}

fn exit_of(end: &End) -> Exit {
    match end {
        End::Exited { code } => Exit::Code((*code).into()),
        End::Signaled { signal, .. } => Exit::Signal((*signal).into()),
        End::TimedOut => Exit::TimedOut,
        End::OutputExceeded => Exit::OutputFlood,
        End::CpuTimeExceeded | End::MemoryExceeded | End::Killed => Exit::Signal(9),
    }
}

fn write(mut to: PipeWriter, bytes: &[u8]) {
    // A script need not read its input.
    let _ = to.write_all(bytes);
}

fn read(mut from: PipeReader) -> Vec<u8> {
    let mut bytes = Vec::new();
    // What was read before an error is all there is.
    let _ = from.read_to_end(&mut bytes);
    bytes
}
