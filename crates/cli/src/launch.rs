//! Starting a sandbox, passing signals on to it, and turning its end into an exit code.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use host_sys::SignalDescriptor;
use sandbox::{Backend, Control, End, ExitReport, ProgramError, StartError, Streams};
use sandbox_spec::{RootFs, SandboxSpec};
use serde_json::json;

use crate::backends;
use crate::failure::Failure;
use crate::raw_terminal::RawTerminal;
use crate::signal_names;

/// How a specification is run.
pub struct Launch<'a> {
    /// The backend's name.
    pub backend: &'a str,
    /// Where the report goes.
    pub report: Option<&'a Path>,
}

/// Runs a specification to its end, and ends as it ended.
pub fn launch(options: &Launch<'_>, spec: &SandboxSpec) -> Result<ExitCode, Failure> {
    let outcome = start_and_wait(options.backend, spec);
    if let Some(path) = options.report {
        write_report(path, &outcome)?;
    }
    let report = outcome?;
    if let Some(words) = explain(&report.end, spec) {
        eprintln!("{words}");
    }
    Ok(report.end.exit_code().into())
}

fn start_and_wait(backend: &str, spec: &SandboxSpec) -> Result<ExitReport, Failure> {
    let backend = backends::choose(backend)?;
    // Back to what it was as soon as this function ends, before anything is said about the end.
    let _raw = RawTerminal::enter();
    let mut sandbox = backend.start(spec, Streams::inherit()).map_err(|error| {
        let hint = hidden_program(&error, spec);
        let failure = Failure::from(error);
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    })?;
    Signals::take_over()?.pass_to(sandbox.control());
    Ok(sandbox.wait()?)
}

/// Starts a sandbox and waits for its end, while signals go to the guest.
pub fn run_to_end(
    backend: &dyn Backend,
    spec: &SandboxSpec,
    signals: &Signals,
) -> Result<ExitReport, Failure> {
    let mut sandbox = backend.start(spec, Streams::inherit())?;
    signals.pass_to(sandbox.control());
    let report = sandbox.wait();
    drop(sandbox);
    signals.take_back();
    Ok(report?)
}

/// The commonest mistake: the program is on the host, at a place that the sandbox does not show.
fn hidden_program(error: &StartError, spec: &SandboxSpec) -> Option<String> {
    let StartError::Program(ProgramError::NotFound(path)) = error else { return None };
    let on_host = std::path::absolute(path).ok()?;
    if spec.root != RootFs::Host || !on_host.exists() {
        return None;
    }
    let folder = on_host.parent()?.display();
    Some(format!(
        "it exists on the host; make its folder visible: --mount {folder}:{folder} --cwd {folder}"
    ))
}

const SIGHUP: u8 = 1;
const SIGINT: u8 = 2;
const SIGQUIT: u8 = 3;
const SIGUSR1: u8 = 10;
const SIGUSR2: u8 = 12;
const SIGPIPE: u8 = 13;
const SIGTERM: u8 = 15;
const SIGTSTP: u8 = 20;
const SIGWINCH: u8 = 28;

/// What reaches the guest instead of us.
const PASSED_ON: [u8; 8] = [SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGTERM, SIGTSTP, SIGWINCH];

/// What asks a program to end.
const ENDING: [u8; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// How long a guest has to end after it was asked to.
const GRACE: Duration = Duration::from_secs(10);

/// Whom signals to `belljar` go to.
enum Receiver {
    /// No sandbox is there: one that asks to end ends us, after this has been removed.
    Us(Vec<PathBuf>),
    /// The guest.
    Guest(Box<dyn Control>),
}

/// Signals to `belljar`, taken over from their default actions.
pub struct Signals(Arc<Mutex<Receiver>>);

impl Signals {
    /// Takes the signals over. Until there is a guest, one that asks to end removes what
    /// [`remove_at_end`](Self::remove_at_end) named and ends us.
    pub fn take_over() -> Result<Self, Failure> {
        let cannot = |error: std::io::Error| {
            Failure::new(format!("cannot receive signals: {error}")).code(Failure::CANNOT_START)
        };
        let signals = SignalDescriptor::new(&PASSED_ON).map_err(cannot)?;
        let receiver = Arc::new(Mutex::new(Receiver::Us(Vec::new())));
        let shared = Arc::clone(&receiver);
        let receive = move || {
            let mut asked_to_end = false;
            // The loop ends with the process.
            while let Ok(signal) = signals.read() {
                match &*lock(&shared) {
                    Receiver::Us(folders) if ENDING.contains(&signal) => {
                        for folder in folders {
                            // There is nobody left to tell.
                            let _ = std::fs::remove_dir_all(folder);
                        }
                        std::process::exit(i32::from(signal) + 128);
                    }
                    Receiver::Us(_) => {}
                    Receiver::Guest(control) => {
                        // Fails only if the sandbox is gone already.
                        let _ = control.signal(signal);
                        if matches!(signal, SIGTERM | SIGHUP) && !asked_to_end {
                            asked_to_end = true;
                            end_later(control.clone_box());
                        }
                    }
                }
            }
        };
        std::thread::Builder::new().name("signals".into()).spawn(receive).map_err(cannot)?;
        Ok(Self(receiver))
    }

    /// Removes a folder if a signal ends us.
    pub fn remove_at_end(&self, folder: PathBuf) {
        if let Receiver::Us(folders) = &mut *lock(&self.0) {
            folders.push(folder);
        }
    }

    /// From here on signals go to the guest. One that was asked to end (`SIGTERM`) or whose
    /// terminal is gone (`SIGHUP`) is ended after a time of grace if it has not, so that nothing
    /// is left behind.
    pub fn pass_to(&self, control: Box<dyn Control>) {
        *lock(&self.0) = Receiver::Guest(control);
    }

    /// The guest is gone: signals are ours again.
    pub fn take_back(&self) {
        *lock(&self.0) = Receiver::Us(Vec::new());
    }
}

fn lock(receiver: &Mutex<Receiver>) -> MutexGuard<'_, Receiver> {
    receiver.lock().unwrap_or_else(PoisonError::into_inner)
}

fn end_later(control: Box<dyn Control>) {
    let end = move || {
        std::thread::sleep(GRACE);
        // Fails only if the sandbox is gone already.
        let _ = control.kill();
    };
    // Without a thread the guest gets no time of grace, and a second signal can still end it.
    let _ = std::thread::Builder::new().name("grace".into()).spawn(end);
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
            Some(format!("error: timed out after {limit:?}"))
        }
        End::CpuTimeExceeded => {
            Some("error: ended, for it used more CPU time than allowed".to_owned())
        }
        End::MemoryExceeded => {
            Some("error: ended, for it used more memory than allowed".to_owned())
        }
        End::OutputExceeded => {
            Some("error: ended, for it wrote more output than allowed".to_owned())
        }
    }
}

fn write_report(path: &Path, outcome: &Result<ExitReport, Failure>) -> Result<(), Failure> {
    let report = match outcome {
        Ok(report) => json!({ "exit_code": report.end.exit_code(), "report": report }),
        Err(failure) => {
            json!({ "exit_code": failure.exit_code(), "error": failure.message() })
        }
    };
    std::fs::write(path, format!("{report:#}\n")).map_err(|error| {
        Failure::new(format!("cannot write the report to {}: {error}", path.display()))
            .code(Failure::CANNOT_START)
    })
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

    #[test]
    fn hints_at_a_program_that_only_the_host_has() {
        let spec = SandboxSpec::new(["x"]);
        let hint = |path: &str| {
            hidden_program(&StartError::Program(ProgramError::NotFound(path.into())), &spec)
        };
        assert!(hint("Cargo.toml").is_some_and(|hint| hint.contains("--mount")));
        assert_eq!(hint("/no/such/program"), None);
    }
}
