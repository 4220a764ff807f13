//! `cargo xtask fuzz`: random and structured system calls from a real guest.
//!
//! `kernel-fuzz` writes calls to a file, from a seed; a guest makes them, in several processes with
//! several threads each, as an ordinary user of the sandbox and as its administrator by turns. What
//! it must not do: make the kernel process fail, hang, or leave anything.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::command::build_belljar;
use crate::hostile::guests;
use crate::residue::{Tracked, drain, text};

/// Options of `fuzz`.
#[derive(Args)]
pub struct Options {
    /// How many calls one sandbox sees
    #[arg(long, default_value_t = 40_000)]
    calls: u64,
    /// The seed of the first sandbox; each further one takes the next
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many sandboxes there are
    #[arg(long, default_value_t = 4)]
    sandboxes: u64,
    /// Go on for so long
    #[arg(long, default_value_t = 0)]
    minutes: u64,
    /// How many at one time
    #[arg(long, default_value_t = 1)]
    jobs: u64,
    /// Use this program instead of building one
    #[arg(long, value_name = "PATH")]
    belljar: Option<PathBuf>,
}

/// Runs sandboxes, again and again if there is time.
pub fn run(options: &Options) -> Result<()> {
    let belljar = match &options.belljar {
        Some(path) => std::path::absolute(path)?,
        None => build_belljar()?,
    };
    let folder = tempfile::tempdir()?;
    let guests = guests::build(folder.path())?;
    let started = Instant::now();
    let end = started + Duration::from_secs(60 * options.minutes);
    let (next, calls, failed) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..options.jobs.max(1) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= options.sandboxes && Instant::now() >= end {
                        return;
                    }
                    let seed = options.seed + number;
                    match one(&belljar, &guests, seed, options.calls) {
                        Ok(made) => _ = calls.fetch_add(made, Ordering::Relaxed),
                        Err(error) => {
                            println!("FAILED seed {seed}: {error:#}");
                            failed.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
            });
        }
    });
    let (calls, failed) = (calls.into_inner(), failed.into_inner());
    let last = options.seed + next.into_inner().saturating_sub(options.jobs.max(1) + 1);
    println!(
        "{calls} calls in {:.0?}, seeds {} to {last}, {failed} failed",
        started.elapsed(),
        options.seed
    );
    if failed > 0 {
        bail!("{failed} sandboxes failed\nhint: repeat one with --sandboxes 1 --seed N");
    }
    if calls < options.calls / 4 * options.sandboxes {
        bail!("so few calls were made that this tried nothing");
    }
    Ok(())
}

/// One sandbox. Returns how many calls were made in it.
fn one(belljar: &Path, guests: &Path, seed: u64, calls: u64) -> Result<u64> {
    let folder = tempfile::tempdir()?;
    let (input, temporary) = (folder.path().join("input"), folder.path().join("temporary"));
    std::fs::create_dir(&input)?;
    std::fs::create_dir(&temporary)?;
    let file = File::create(input.join("calls"))?;
    kernel_fuzz::emit::emit(seed, calls, &mut BufWriter::new(file))?;
    let is_root = seed.is_multiple_of(2);
    let mount = |from: &Path, to: &str| format!("{}:{to}", from.display());
    let arguments = [
        ["--user", "root"],
        ["--timeout", "1h"],
        ["--memory", "1G"],
        ["--processes", "100"],
        ["--disk", "200M"],
        ["--mount", &mount(guests, "/guests")],
        ["--mount", &mount(&input, "/input")],
        ["--", "/guests/hostile-calls"],
        [if is_root { "--as-root" } else { "--as-user" }, "/input/calls"],
    ];
    let arguments: Vec<String> = arguments.into_iter().flatten().map(str::to_owned).collect();
    let mut tracked = Tracked::start(belljar, &temporary, &arguments)?;
    drop(tracked.child.stdin.take());
    let output = drain(tracked.child.stdout.take());
    let errors = drain(tracked.child.stderr.take());
    let status = tracked.wait_while_it_works()?.context("hangs")?;
    tracked.check_nothing_left(&temporary)?;
    let (output, errors) = (text(output), text(errors));
    let made = output.trim_end().strip_suffix(" calls").and_then(|count| count.parse().ok());
    match status.code() {
        Some(0) if made.is_some() => Ok(made.unwrap_or(0)),
        // An administrator inside may end the supervisor of the guest, its streams, or the sandbox.
        Some(code) if is_root && code != 125 && !errors.contains("panicked") => Ok(0),
        code => bail!("code {code:?}: {output}{errors}"),
    }
}
