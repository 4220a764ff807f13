//! `cargo xtask parallel`: many sandboxes at one time, started, used and ended again and again.
//!
//! Each is asked something, answers, and then ends in one of several ways: by itself, by a signal to
//! its starter, because somebody kills the starter, or the kernel process. Whatever the way, nothing
//! may be left, and the exit must be true.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Args;
use rustix::process::{Pid, Signal, kill_process};

use crate::command::build_belljar;
use crate::residue::{Tracked, drain, shared_memory, text};

/// Options of `parallel`.
#[derive(Args)]
pub struct Options {
    /// How many sandboxes there are at one time
    #[arg(long, default_value_t = 20)]
    sandboxes: u32,
    /// How many each place sees, one after the other
    #[arg(long, default_value_t = 2)]
    rounds: u32,
    /// Use this program instead of building one
    #[arg(long, value_name = "PATH")]
    belljar: Option<PathBuf>,
}

/// How a sandbox ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    ByItself,
    Terminated,
    StarterKilled,
    KernelKilled,
}

const WAYS: [Way; 4] = [Way::ByItself, Way::Terminated, Way::StarterKilled, Way::KernelKilled];

/// Answers each line, by processes and files of its own.
const SCRIPT: &str = "sleep 1000 & while read line; do echo \"$line\" > /tmp/answer; cat /tmp/answer | tr a-z A-Z; \
                      done; kill $!; exit 7";

/// Runs them.
pub fn run(options: &Options) -> Result<()> {
    let belljar = match &options.belljar {
        Some(path) => std::path::absolute(path)?,
        None => build_belljar()?,
    };
    let started = Instant::now();
    let ends = Mutex::new(BTreeMap::<Way, u32>::new());
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for place in 0..options.sandboxes {
            let (belljar, ends, failures) = (&belljar, &ends, &failures);
            scope.spawn(move || {
                for round in 0..options.rounds {
                    let index = usize::try_from(place + round).unwrap_or(0) % WAYS.len();
                    let way = WAYS.get(index).copied().unwrap_or(Way::ByItself);
                    match one(belljar, way) {
                        Ok(()) => *lock(ends).entry(way).or_default() += 1,
                        Err(error) => {
                            lock(failures).push(format!("{place}, {round}, {way:?}: {error:#}"));
                        }
                    }
                }
            });
        }
    });
    for (way, count) in lock(&ends).iter() {
        println!("{count:>6} {way:?}");
    }
    let failures = lock(&failures);
    failures.iter().for_each(|failure| println!("FAILED {failure}"));
    if !shared_memory().is_empty() {
        bail!("shared memory is left: {:?}", shared_memory());
    }
    println!(
        "{} sandboxes, {} at one time, {} failed, in {:.0?}",
        options.sandboxes * options.rounds,
        options.sandboxes,
        failures.len(),
        started.elapsed()
    );
    if failures.is_empty() { Ok(()) } else { bail!("{} sandboxes failed", failures.len()) }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn one(belljar: &Path, way: Way) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let arguments = ["--timeout", "1h", "--", "sh", "-c", SCRIPT].map(str::to_owned);
    let mut tracked = Tracked::start(belljar, folder.path(), &arguments)?;
    let errors = drain(tracked.child.stderr.take());
    let mut answers = BufReader::new(tracked.child.stdout.take().context("no output")?);
    let mut input = tracked.child.stdin.take().context("no input")?;
    for number in 0..3 {
        writeln!(input, "question {number}").context("it does not listen")?;
        let mut answer = String::new();
        answers.read_line(&mut answer)?;
        if answer != format!("QUESTION {number}\n") {
            tracked.end();
            bail!("it answers {answer:?}: {}", text(errors));
        }
    }
    let starter = tracked.child.id();
    match way {
        Way::ByItself => {}
        Way::Terminated => kill(starter, Signal::TERM)?,
        Way::StarterKilled => kill(starter, Signal::KILL)?,
        Way::KernelKilled => {
            let all = tracked.processes();
            let kernel = all.iter().find(|process| process.parent == starter);
            kill(kernel.context("there is no kernel process")?.id, Signal::KILL)?;
        }
    }
    drop(input);
    let status = tracked.wait_while_it_works()?.context("hangs")?;
    tracked.check_nothing_left(folder.path())?;
    let errors = text(errors);
    let is_true = match way {
        Way::ByItself => status.code() == Some(7),
        // The end of its input may come first.
        Way::Terminated => matches!(status.code(), Some(143 | 7)),
        Way::StarterKilled => status.code().is_none(),
        Way::KernelKilled => status.code() == Some(125) && errors.contains("kernel process"),
    };
    if is_true { Ok(()) } else { bail!("{status}: {errors}") }
}

fn kill(id: u32, signal: Signal) -> Result<()> {
    let pid = i32::try_from(id).ok().and_then(Pid::from_raw).context("no id of a process")?;
    kill_process(pid, signal).context("cannot kill it")
}
