//! Plans of skills, run in a sandbox.

use std::io::{PipeReader, PipeWriter, Read, Write};
use std::path::Path;
use std::time::Instant;

use sandbox::{Backend, End, Streams};
use sandbox_spec::SandboxSpec;
use skills::cases::{Exit, RunOutcome, RunRequest, Runner, RunnerError};
use skills::{GUEST_PATH, RunPlan, SpecError};

/// The specification for a plan, with the first of its commands whose program the system has.
pub fn spec_of(plan: &RunPlan) -> Result<SandboxSpec, SpecError> {
    let mut spec = plan.to_spec()?;
    let commands = std::iter::once(&plan.argv).chain(&plan.alternatives);
    let there = commands.into_iter().find(|argv| argv.first().is_some_and(|it| is_there(it)));
    if let Some(argv) = there {
        spec.program = argv.iter().map(Into::into).collect();
    }
    Ok(spec)
}

/// Whether the host's system folders, which the sandbox shows, have a program. A path is inside a
/// mount, and left to the sandbox.
fn is_there(program: &str) -> bool {
    program.contains('/')
        || GUEST_PATH.split(':').any(|folder| Path::new(folder).join(program).is_file())
}

/// Runs test cases in a sandbox.
pub struct SandboxRunner {
    backend: Box<dyn Backend>,
}

impl SandboxRunner {
    /// Runs them by this backend.
    pub fn new(backend: Box<dyn Backend>) -> Self {
        Self { backend }
    }
}

impl Runner for SandboxRunner {
    fn name(&self) -> &'static str {
        self.backend.name()
    }

    fn run(&self, request: &RunRequest) -> Result<RunOutcome, RunnerError> {
        let spec = spec_of(&request.plan).map_err(|error| RunnerError::Sandbox(error.into()))?;
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
            let report = running.wait().map_err(|error| RunnerError::Sandbox(error.into()));
            // Nothing of the sandbox holds the pipes open any more.
            drop(running);
            Ok(RunOutcome {
                exit: exit_of(&report?.end),
                stdout: output.join().unwrap_or_default(),
                stderr: errors.join().unwrap_or_default(),
                duration: started.elapsed(),
            })
        })
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
