//! `cargo xtask bench`: what the sandbox costs, as ratios to native.
//!
//! Native and sandbox take turns in one run, so that whatever else the machine does hits both. The
//! median says what a thing cost today, and goals are judged by it; the minimum beside it says what
//! it costs when nothing disturbs it. Where they are far apart, the machine was busy.

mod busy;
mod chart;
mod measure;
mod micro;
mod programs;
mod table;
mod targets;

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;

use crate::command::build_belljar;
use busy::Busy;
use measure::{Cpus, Launcher, Measurements};
pub use table::duration;

/// Options of `bench`.
#[derive(Args)]
pub struct Options {
    /// Only benchmarks whose name contains this
    filter: Option<String>,
    /// Use this program instead of building one
    #[arg(long, value_name = "PATH")]
    belljar: Option<PathBuf>,
    /// Measure another launcher too: NAME='COMMAND IN WORDS'
    #[arg(long, value_name = "NAME=PREFIX")]
    against: Vec<String>,
    /// Write the measurements to a file
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Show what changed since measurements that were saved
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
    /// Write a page with table and chart (an SVG beside it)
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// How often the launchers take turns
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Only see that every benchmark runs, in a minute
    #[arg(long)]
    short: bool,
    /// Run everything on one CPU
    #[arg(long)]
    one_cpu: bool,
    /// Keep one CPU busy with something else
    #[arg(long, conflicts_with = "one_cpu")]
    one_busy: bool,
}

/// Measures everything and prints the table.
pub fn run(options: &Options) -> Result<()> {
    let folder = tempfile::Builder::new().prefix("belljar-bench-").tempdir()?;
    let built = match &options.belljar {
        Some(path) => std::path::absolute(path)?,
        None => build_belljar()?,
    };
    // As it is installed: the host keeps what a linker wrote in smaller pieces, and maps it slower.
    let installed = tempfile::Builder::new().prefix("belljar-installed-").tempdir()?;
    let belljar = installed.path().join("belljar");
    std::fs::copy(&built, &belljar).with_context(|| built.display().to_string())?;
    let mut launchers = vec![Launcher::native(), Launcher::belljar(&belljar, folder.path())];
    for text in &options.against {
        let (name, prefix) = text.split_once('=').context("write --against NAME='PREFIX'")?;
        launchers.push(Launcher::other(name, prefix));
    }
    if options.one_cpu {
        launchers.iter_mut().for_each(Launcher::pin_to_one_cpu);
    }
    let rounds = if options.short { 1 } else { options.rounds };
    let used = match (options.one_cpu, options.one_busy) {
        (true, _) => Cpus::One,
        (false, true) => Cpus::OneBusy,
        (false, false) => Cpus::All,
    };
    let mut measurements = Measurements::new(&launchers, rounds, used);
    let _busy = options.one_busy.then(Busy::begin);
    let wanted = |name: &str| options.filter.as_ref().is_none_or(|filter| name.contains(filter));
    micro::measure(&mut measurements, &launchers, folder.path(), options.short, &wanted)?;
    programs::measure(&mut measurements, &launchers, folder.path(), options.short, &wanted)?;
    println!("\n{}", table::text(&measurements));
    if let Some(path) = &options.compare {
        println!("{}", table::comparison(&Measurements::load(path)?, &measurements));
    }
    if let Some(path) = &options.save {
        measurements.save(path)?;
    }
    if let Some(path) = &options.page {
        let chart = path.with_extension("svg");
        std::fs::write(&chart, chart::svg(&measurements))?;
        let name = chart.file_name().unwrap_or_default().to_string_lossy().into_owned();
        std::fs::write(path, table::page(&measurements, &name))?;
    }
    measurements.fail_if_something_did_not_run()
}
