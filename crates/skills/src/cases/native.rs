//! Runs a plan on the host itself, without any sandbox.
//!
//! This is the yardstick: what a case does here it must do inside. It gives **no protection** and
//! is only for skills that the user trusts. The environment is the plan's, not the host's; guest
//! paths in the command are translated to host paths.

use std::io::{Read, Write};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::run::{Exit, RunOutcome, RunRequest, Runner, RunnerError};
use crate::plan::{HOME_FOLDER, NODE_MODULES, RunPlan, WORK_FOLDER};

/// How often the end of a run is looked for.
const POLL: Duration = Duration::from_millis(5);
/// How long to wait for the last output after the end.
const DRAIN: Duration = Duration::from_secs(2);

/// Runs plans with the host's own programs.
#[derive(Clone, Debug, Default)]
pub struct NativeRunner {
    /// Set from another thread, it ends what runs.
    pub stop: Arc<AtomicBool>,
}

impl Runner for NativeRunner {
    fn name(&self) -> &'static str {
        "native"
    }

    fn run(&self, request: &RunRequest) -> Result<RunOutcome, RunnerError> {
        let home = tempfile::Builder::new().prefix("belljar-home-").tempdir()?;
        let map = PathMap::new(request, home.path());
        let argv = choose_command(&request.plan, &map)?;
        let (program, args) = argv.split_first().ok_or(RunnerError::NoInterpreter(Vec::new()))?;
        let started = Instant::now();
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(map.to_host(&request.plan.cwd))
            .env_clear()
            .envs(request.plan.env.iter().map(|(name, value)| (name, map.to_host(value))))
            // Inside, Node finds packages in a folder above the script.
            .envs(map.node_modules(&request.plan).map(|folder| ("NODE_PATH", folder)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let mut child = Group(command.spawn()?);
        let outcome = follow(&mut child.0, request, started, &self.stop);
        drop(child);
        outcome
    }
}

/// Translates guest paths to host paths.
struct PathMap {
    pairs: Vec<(String, PathBuf)>,
}

impl PathMap {
    fn new(request: &RunRequest, home: &Path) -> Self {
        let mut pairs: Vec<(String, PathBuf)> = request
            .plan
            .mounts
            .iter()
            .filter_map(|mount| {
                Some((mount.target.clone(), mount.source.as_ref()?.path().to_path_buf()))
            })
            .filter(|(target, _)| target != WORK_FOLDER)
            .collect();
        pairs.push((WORK_FOLDER.to_owned(), request.work.clone()));
        pairs.push((HOME_FOLDER.to_owned(), home.to_path_buf()));
        Self { pairs }
    }

    /// The host's folder in which Node finds packages: it is mounted, or a link leads to it.
    fn node_modules(&self, plan: &RunPlan) -> Option<String> {
        let is_mounted = self.pairs.iter().any(|(target, _)| target == NODE_MODULES);
        let link = plan.links.iter().find(|(path, _)| path == NODE_MODULES);
        let guest = link.map(|(_, target)| target.as_str());
        guest.or(is_mounted.then_some(NODE_MODULES)).map(|guest| self.to_host(guest))
    }

    /// Translates a text that is a guest path or begins with one.
    fn to_host(&self, text: &str) -> String {
        for (guest, host) in &self.pairs {
            if let Some(rest) = text.strip_prefix(guest.as_str())
                && (rest.is_empty() || rest.starts_with('/'))
            {
                return format!("{}{rest}", host.display());
            }
        }
        text.to_owned()
    }
}

/// Takes the first command whose program is there.
fn choose_command(plan: &RunPlan, map: &PathMap) -> Result<Vec<String>, RunnerError> {
    let path = plan.env.get("PATH").map_or("", String::as_str);
    let mut tried = Vec::new();
    for command in std::iter::once(&plan.argv).chain(&plan.alternatives) {
        let command: Vec<String> = command.iter().map(|word| map.to_host(word)).collect();
        let Some(program) = command.first() else { continue };
        if let Some(found) = find_program(program, path) {
            let mut found_command = command.clone();
            if let Some(first) = found_command.first_mut() {
                *first = found.to_string_lossy().into_owned();
            }
            return Ok(found_command);
        }
        tried.push(program.clone());
    }
    Err(RunnerError::NoInterpreter(tried))
}

/// Finds a program of the host as a shell would: a path as it is, a name on a search path.
pub fn find_program(name: &str, path: &str) -> Option<PathBuf> {
    let is_program = |file: &Path| {
        use std::os::unix::fs::PermissionsExt as _;
        file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|file| is_program(file));
    }
    path.split(':').map(|folder| Path::new(folder).join(name)).find(|file| is_program(file))
}

/// A child with its process group, which is ended when this goes.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        kill_group(&self.0);
        // The child is gone or going; there is nothing to do about a failure here.
        let _ = self.0.wait();
    }
}

fn kill_group(child: &Child) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid {
        // It fails when the group is gone already, which is what we want.
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

/// Feeds the child, collects its output and waits for its end.
fn follow(
    child: &mut Child,
    request: &RunRequest,
    started: Instant,
    stop: &AtomicBool,
) -> Result<RunOutcome, RunnerError> {
    let limits = request.plan.limits;
    // One more than the limit: the budget is spent by the first byte beyond it.
    let budget = limits.output_bytes.unwrap_or(u64::MAX).saturating_add(1);
    let budget = Arc::new(AtomicU64::new(budget));
    let stdout = collect(child.stdout.take(), &budget);
    let stderr = collect(child.stderr.take(), &budget);
    if let Some(mut stdin) = child.stdin.take() {
        let bytes = request.stdin.clone();
        // A child that does not read its input must not stop us; the thread ends with the pipe.
        thread::spawn(move || stdin.write_all(&bytes));
    }
    let mut forced = None;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if budget.load(Ordering::Relaxed) == 0 {
            forced = Some(Exit::OutputFlood);
        }
        if limits.timeout.is_some_and(|timeout| started.elapsed() > timeout) {
            forced = Some(Exit::TimedOut);
        }
        if stop.load(Ordering::Relaxed) {
            forced = Some(Exit::Signal(Signal::INT.as_raw()));
        }
        if forced.is_some() {
            kill_group(child);
            break child.wait()?;
        }
        thread::sleep(POLL);
    };
    if budget.load(Ordering::Relaxed) == 0 {
        forced = Some(Exit::OutputFlood);
    }
    // Whatever the script left running holds the pipes open: end it before the last bytes are read.
    kill_group(child);
    let exit = match (forced, status.code(), status.signal()) {
        (Some(exit), ..) => exit,
        (None, Some(code), _) => Exit::Code(code),
        (None, None, signal) => Exit::Signal(signal.unwrap_or_default()),
    };
    let duration = started.elapsed();
    Ok(RunOutcome { exit, stdout: finished(&stdout), stderr: finished(&stderr), duration })
}

type Collected = std::sync::mpsc::Receiver<Vec<u8>>;

/// Reads a pipe to its end in a thread, or until the budget is spent.
fn collect<R: Read + Send + 'static>(pipe: Option<R>, budget: &Arc<AtomicU64>) -> Collected {
    let (sender, receiver) = std::sync::mpsc::channel();
    let budget = Arc::clone(budget);
    if let Some(mut pipe) = pipe {
        thread::spawn(move || {
            let mut buffer = vec![0; 64 * 1024];
            while let Ok(count) = pipe.read(&mut buffer) {
                let wanted = u64::try_from(count).unwrap_or(u64::MAX);
                let spend = |left: u64| Some(left.saturating_sub(wanted));
                let left = budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend);
                let is_over = left.is_ok_and(|left| left <= wanted);
                let bytes = buffer.get(..count).unwrap_or_default().to_vec();
                if count == 0 || is_over || sender.send(bytes).is_err() {
                    break;
                }
            }
        });
    }
    receiver
}

/// Everything that a pipe brought. A process that escaped its group may hold the pipe open, so
/// the wait has an end.
fn finished(collected: &Collected) -> Vec<u8> {
    let until = Instant::now() + DRAIN;
    let mut all = Vec::new();
    while let Ok(bytes) = collected.recv_timeout(until.saturating_duration_since(Instant::now())) {
        all.extend(bytes);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::{read_all, run_case};
    use super::*;
    use crate::testing::SkillBuilder;

    fn verdicts(script: &str, cases: &str) -> Vec<super::super::Verdict> {
        let skill = SkillBuilder::new("a")
            .program("scripts/go.sh", script)
            .file("tests/data/in.txt", "from a file\n")
            .file("tests/t.yaml", cases)
            .load();
        let (cases, findings) = read_all(&skill).remove(0);
        assert!(findings.is_empty(), "{findings:?}");
        cases.iter().map(|case| run_case(&skill, case, &NativeRunner::default()).verdict).collect()
    }

    fn passes(script: &str, case: &str) {
        let all = verdicts(script, &format!("cases:\n  - name: t\n{case}"));
        assert_eq!(all, [super::super::Verdict::Passed]);
    }

    #[test]
    fn inputs_arguments_output_and_files() {
        passes(
            "#!/bin/sh\nread line; echo \"$line $1 $MODE\"; cat in.txt sub/t.txt > out.txt; exit 3\n",
            "    args: [two words]\n    stdin: \"one\\n\"\n    env: {MODE: fast}\n    inputs:\n      in.txt: data/in.txt\n      sub/t.txt: {text: \"typed\\n\"}\n    expect:\n      exit: 3\n      stdout: {equals: one two words fast}\n      files:\n        out.txt: {equals: \"from a file\\ntyped\"}\n",
        );
    }

    #[test]
    fn the_host_environment_is_not_seen() {
        passes("#!/bin/sh\nenv\n", "    expect:\n      stdout: {excludes: [CARGO, RUST]}\n");
    }

    #[test]
    fn no_signal_is_blocked() {
        passes(
            "#!/bin/sh\ngrep SigBlk /proc/self/status\n",
            "    expect:\n      stdout: {matches: \"SigBlk:\\\\s0+$\"}\n",
        );
    }

    #[test]
    fn a_time_out_ends_the_whole_group() {
        let all = verdicts(
            "#!/bin/sh\nsleep 30 & sleep 30\n",
            "cases:\n  - name: t\n    timeout: 200ms\n",
        );
        let super::super::Verdict::Failed { mismatches } = &all[0] else { panic!("{all:?}") };
        assert!(mismatches[0].actual.starts_with("timed out"));
    }

    #[test]
    fn what_is_left_running_does_not_hold_the_result() {
        let started = Instant::now();
        passes("#!/bin/sh\nsleep 30 &\necho done\n", "    expect:\n      stdout: {equals: done}\n");
        assert!(started.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn a_flood_is_ended() {
        let skill = SkillBuilder::new("a")
            .file("scripts/go.sh", "yes\n")
            .file("belljar.yaml", "limits: {output: 100K}\n")
            .file("tests/t.yaml", "cases:\n  - name: t\n")
            .load();
        let case = &read_all(&skill)[0].0[0];
        let super::super::Verdict::Failed { mismatches } =
            run_case(&skill, case, &NativeRunner::default()).verdict
        else {
            panic!()
        };
        assert!(mismatches[0].actual.starts_with("wrote too much"), "{mismatches:?}");
    }

    #[test]
    fn a_missing_interpreter_is_said() {
        let all = verdicts("#!/no/such/thing\n", "cases:\n  - name: t\n");
        let super::super::Verdict::Broken { reason } = &all[0] else { panic!("{all:?}") };
        assert!(reason.contains("/no/such/thing"), "{reason}");
    }
}
