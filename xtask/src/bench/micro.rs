//! Single system calls, by `bench/micro.c`.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use conformance::process::{self, Ending};

use super::measure::{Launcher, Measurements};
use crate::command::{project, succeed};

/// Long enough for the slowest of them.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A file that every system has, of at least a mebibyte.
const FILES: [&str; 3] = ["/bin/bash", "/usr/bin/python3", "/usr/lib/x86_64-linux-gnu/libc.so.6"];

/// Compiles the program and lets the launchers take turns with each of its benchmarks.
pub fn measure(
    measurements: &mut Measurements,
    launchers: &[Launcher],
    folder: &Path,
    short: bool,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<()> {
    let program = folder.join("micro");
    let source = project().join("bench/micro.c");
    succeed(Command::new("cc").args(["-O2", "-pthread", "-o"]).args([&program, &source]))?;
    let program = program.display().to_string();
    let list = Command::new(&program).arg("--list").output()?;
    let file = FILES
        .into_iter()
        .find(|file| std::fs::metadata(file).is_ok_and(|found| found.len() >= 1 << 20))
        .context("no system file of a mebibyte")?;
    let milliseconds = if short { "1" } else { "20" };
    for name in String::from_utf8_lossy(&list.stdout).lines().filter(|name| wanted(name)) {
        measurements.take_turns(name, launchers, |launcher| {
            let mut command = launcher.command(&program);
            command.args([file, milliseconds, name]);
            sample(&mut command)
        });
    }
    Ok(())
}

/// The numbers that a program prints.
pub fn sample(command: &mut Command) -> Result<Vec<f64>> {
    let finished = process::run(command, b"", TIMEOUT)?;
    if finished.ending != Ending::Code(0) {
        bail!("{}: {}", finished.ending, String::from_utf8_lossy(&finished.errors).trim());
    }
    let text = String::from_utf8_lossy(&finished.output);
    let samples = text.lines().map(|line| line.parse::<f64>().context("no number"));
    samples.collect()
}
