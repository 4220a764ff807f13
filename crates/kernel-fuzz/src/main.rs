//! Runs rounds of random system calls: `kernel-fuzz --calls 1000000`; or gives parsers changed
//! files: `kernel-fuzz --parser all --inputs 100000`.

#![forbid(unsafe_code)]

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::Result;
use clap::Parser;
use kernel_fuzz::corpus::{corpus, mutations};
use kernel_fuzz::emit::emit;
use kernel_fuzz::parsers::TARGETS;
use kernel_fuzz::round::{CALLS_PER_ROUND, fill_root, round};
use kernel_fuzz::tally::Tally;
use kernel_syscalls::{Registers, Syscall};

/// Random and structured system calls against the kernel
#[derive(Parser)]
struct Options {
    /// How many calls
    #[arg(long, default_value_t = 300_000)]
    calls: u64,
    /// The seed of the first round; each further round takes the next one
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print each call before it is made
    #[arg(long)]
    print: bool,
    /// Go on after a failure, and show all of them
    #[arg(long)]
    all: bool,
    /// Make none of the calls, and write them to a file for a real guest
    #[arg(long, value_name = "FILE")]
    emit: Option<PathBuf>,
    /// Make no calls: give a parser, or `all` of them, changed files of `fuzz/corpus`
    #[arg(long, value_name = "NAME")]
    parser: Option<String>,
    /// How many of them each parser gets
    #[arg(long, default_value_t = 10_000)]
    inputs: u64,
}

/// A process makes so many calls at most: a kernel of a test that is over keeps its descriptors,
/// which a kernel process never notices because it has one kernel.
const CALLS_PER_PROCESS: u64 = 1_000_000;

fn main() -> ExitCode {
    let options = Options::parse();
    let result = match (&options.emit, &options.parser) {
        (Some(path), _) => emit_to(&options, path),
        (None, Some(name)) => parse(&options, name),
        (None, None) if options.calls > CALLS_PER_PROCESS => run_batches(&options),
        (None, None) => run(&options),
    };
    match result {
        Ok(0) => ExitCode::SUCCESS,
        Ok(n) => {
            eprintln!("error: {n} rounds failed\nhint: repeat one with --calls 1 --seed N");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn emit_to(options: &Options, path: &Path) -> Result<u32> {
    let file = File::create(path)?;
    emit(options.seed, options.calls, &mut BufWriter::new(file))?;
    Ok(0)
}

fn parse(options: &Options, name: &str) -> Result<u32> {
    for target in TARGETS.iter().filter(|target| name == "all" || name == target.name) {
        let started = Instant::now();
        let corpus = corpus(target.name)?;
        mutations(target, &corpus, options.seed, options.inputs)?;
        println!(
            "{}: {} files, {} mutations in {:.1?}",
            target.name,
            corpus.len(),
            options.inputs,
            started.elapsed()
        );
    }
    Ok(0)
}

/// Has other processes make the calls, one after the other.
fn run_batches(options: &Options) -> Result<u32> {
    let program = std::env::current_exe()?;
    let mut n_failed = 0;
    let (mut left, mut seed) = (options.calls, options.seed);
    while left > 0 {
        let calls = left.min(CALLS_PER_PROCESS);
        let mut batch = Command::new(&program);
        batch.args(["--calls", &calls.to_string(), "--seed", &seed.to_string()]);
        batch.args(options.all.then_some("--all")).args(options.print.then_some("--print"));
        if !batch.status()?.success() {
            n_failed += 1;
            if !options.all {
                break;
            }
        }
        left -= calls;
        // Every round makes at least one call in two that it chooses.
        seed += 2 * calls.div_ceil(CALLS_PER_ROUND);
    }
    Ok(n_failed)
}

fn run(options: &Options) -> Result<u32> {
    let folder = tempfile::tempdir()?;
    fill_root(folder.path())?;
    let started = Instant::now();
    let mut tally = Tally::default();
    let mut n_failed = 0;
    let mut seed = options.seed;
    while tally.n_calls < options.calls {
        let mut print = |call: &Syscall, registers: &Registers| {
            if options.print {
                println!("{}({registers:x?})", call.name);
            }
        };
        let made = round(folder.path(), seed, CALLS_PER_ROUND, &mut tally, &mut print);
        if let Err(error) = made {
            n_failed += 1;
            eprintln!("failure: {error:#}");
            if !options.all {
                break;
            }
        }
        seed += 1;
    }
    println!(
        "{} calls in {:.1?}, rounds from seed {} to {}; {} different pairs of call and answer",
        tally.n_calls,
        started.elapsed(),
        options.seed,
        seed - 1,
        tally.n_different()
    );
    println!("never successful: {}", tally.never_good().join(" "));
    for (name, took) in tally.slowest(5) {
        println!("slowest {name}: {took:?}");
    }
    Ok(n_failed)
}
