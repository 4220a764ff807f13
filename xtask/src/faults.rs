//! `cargo xtask faults`: kills processes of sandboxes at random moments, and looks for what is left.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use rustix::process::{Pid, Signal, kill_process};

use crate::command::build_belljar;
use crate::residue::{Process, Tracked, drain, text};

/// Options of `faults`.
#[derive(Args)]
pub struct Options {
    /// How many sandboxes to break
    #[arg(long, default_value_t = 30)]
    rounds: u64,
    /// How many at one time
    #[arg(long, default_value_t = 2)]
    jobs: u64,
    /// Use this program instead of building one
    #[arg(long, value_name = "PATH")]
    belljar: Option<PathBuf>,
}

/// Whom to kill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Nobody,
    Starter,
    KernelProcess,
    Zygote,
    Guest,
}

const VICTIMS: [Victim; 5] =
    [Victim::Starter, Victim::KernelProcess, Victim::Zygote, Victim::Guest, Victim::Nobody];

/// What the guests do meanwhile: processes come and go, for a second or so.
const WORK: &str = "i=0; while [ $i -lt 40 ]; do (ls / | wc -l; sleep 0.02) >/dev/null & i=$((i+1)); \
                    [ $((i % 8)) = 0 ] && wait; done; wait; echo done";

/// Breaks sandboxes, several at a time.
pub fn run(options: &Options) -> Result<()> {
    let belljar = match &options.belljar {
        Some(path) => std::path::absolute(path)?,
        None => build_belljar()?,
    };
    let started = Instant::now();
    let next = AtomicU64::new(0);
    let outcomes = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..options.jobs)
            .map(|_| {
                scope.spawn(|| {
                    let mut outcomes = Vec::new();
                    loop {
                        let round = next.fetch_add(1, Ordering::Relaxed);
                        if round >= options.rounds {
                            return outcomes;
                        }
                        outcomes.push(break_one(&belljar, round));
                    }
                })
            })
            .collect();
        workers.into_iter().flat_map(|it| it.join().unwrap_or_default()).collect::<Vec<_>>()
    });
    let (mut n_failed, mut told) = (0, std::collections::BTreeMap::<String, u32>::new());
    for outcome in outcomes {
        match outcome {
            Ok(words) => *told.entry(words).or_default() += 1,
            Err(error) => {
                println!("FAILED {error:#}");
                n_failed += 1;
            }
        }
    }
    for (words, count) in told {
        println!("{count:>6} {words}");
    }
    println!("{} rounds, {n_failed} failed, in {:.0?}", options.rounds, started.elapsed());
    if n_failed == 0 { Ok(()) } else { bail!("{n_failed} rounds failed") }
}

/// Numbers that differ from round to round, the same in every run.
fn random(round: u64, which: u64) -> u64 {
    let mut word = round.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(which + 1);
    word ^= word >> 33;
    word = word.wrapping_mul(0xff51_afd7_ed55_8ccd);
    word ^ (word >> 33)
}

fn break_one(belljar: &Path, round: u64) -> Result<String> {
    let folder = tempfile::tempdir()?;
    let count = VICTIMS.len() as u64;
    let index = usize::try_from(round % count).unwrap_or(0);
    let victim = VICTIMS.get(index).copied().unwrap_or(Victim::Nobody);
    let arguments = ["--timeout", "1h", "--", "sh", "-c", WORK].map(str::to_owned);
    let mut tracked = Tracked::start(belljar, folder.path(), &arguments)?;
    drop(tracked.child.stdin.take());
    let errors = drain(tracked.child.stderr.take());
    std::thread::sleep(Duration::from_micros(random(round, 1) % 400_000));
    let hit = kill(&tracked, victim, round);
    let status = tracked
        .wait_while_it_works()?
        .with_context(|| format!("round {round}, {victim:?}: hangs"))?;
    tracked
        .check_nothing_left(folder.path())
        .with_context(|| format!("round {round}, {victim:?}"))?;
    // Not before: who is left holds the stream open.
    let errors = text(errors);
    let code = status.code();
    let is_truthful = match (victim, hit) {
        (Victim::Nobody, _) | (_, false) => code == Some(0),
        (Victim::Starter, true) => code.is_none(),
        // It may have ended by itself just before.
        (Victim::KernelProcess, true) => {
            code == Some(0) || (code == Some(125) && errors.contains("kernel process"))
        }
        (Victim::Zygote, true) => {
            code == Some(0) || (code == Some(125) && errors.contains("zygote"))
        }
        // The guests go on as far as they can, and tell.
        (Victim::Guest, true) => code.is_some_and(|code| !(124..=128).contains(&code)),
    };
    if !is_truthful {
        bail!("round {round}, {victim:?}: code {code:?}: {errors}");
    }
    Ok(format!("{victim:?}: {}", code.map_or("killed".to_owned(), |code| format!("code {code}"))))
}

/// Kills the victim if it is there. Returns whether it was.
fn kill(tracked: &Tracked, victim: Victim, round: u64) -> bool {
    let all = tracked.processes();
    let starter = tracked.child.id();
    let kernel = all.iter().find(|process| process.parent == starter).map(|it| it.id);
    let mut below: Vec<&Process> =
        all.iter().filter(|process| Some(process.parent) == kernel).collect();
    // Ids come round again.
    below.sort_by_key(|process| (process.started, process.id));
    let id = match victim {
        Victim::Nobody => None,
        Victim::Starter => Some(starter),
        Victim::KernelProcess => kernel,
        Victim::Zygote => below.first().map(|process| process.id),
        Victim::Guest => {
            let n_guests = below.len().saturating_sub(1).max(1) as u64;
            let index = usize::try_from(1 + random(round, 2) % n_guests).unwrap_or(1);
            below.get(index).map(|process| process.id)
        }
    };
    let pid = id.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    pid.is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok())
}
