//! The files of `fuzz/corpus`, and changes to them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use fastrand::Rng;

use crate::mutate::mutate;
use crate::parsers::Target;

/// No input takes a parser longer, on a machine that is busy.
const MAX_TIME: Duration = Duration::from_secs(10);

/// Where the corpora are.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus")
}

/// The files for one parser, by name.
pub fn corpus(target: &str) -> Result<Vec<Vec<u8>>> {
    let folder = folder().join(target);
    let entries = std::fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).context("cannot read a file")).collect()
}

/// Gives a parser its files, and then so many changed ones from `seed`. An error has the bytes.
pub fn mutations(target: &Target, corpus: &[Vec<u8>], seed: u64, n: u64) -> Result<()> {
    for bytes in corpus {
        parse(target, bytes)?;
    }
    let mut rng = Rng::with_seed(seed);
    for _ in 0..n {
        let (Some(first), Some(other)) = (rng.choice(corpus), rng.choice(corpus)) else {
            bail!("{} has no corpus", target.name);
        };
        let mut bytes = first.clone();
        mutate(&mut bytes, other, &mut rng);
        parse(target, &bytes)?;
    }
    Ok(())
}

fn parse(target: &Target, bytes: &[u8]) -> Result<()> {
    let started = Instant::now();
    let outcome = catch_unwind(AssertUnwindSafe(|| (target.parse)(bytes)));
    let took = started.elapsed();
    if outcome.is_err() || took > MAX_TIME {
        let path = std::env::temp_dir().join(format!("belljar-{}-failure", target.name));
        std::fs::write(&path, bytes)?;
        bail!("{} failed after {took:?}: the bytes are in {}", target.name, path.display());
    }
    Ok(())
}
