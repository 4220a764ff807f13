//! `cargo xtask growth`: what calls cost when there is much of something, and what many idle
//! sandboxes cost. Cost must not grow with what a call does not touch.

mod curves;
mod idle;
mod page;

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use serde::{Deserialize, Serialize};

use crate::command::build_belljar;

/// Options of `growth`.
#[derive(Args)]
pub struct Options {
    /// Use this program instead of building one
    #[arg(long, value_name = "PATH")]
    belljar: Option<PathBuf>,
    /// Write the measurements to a file
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Write a page with tables and a chart (an SVG beside it)
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// How many sandboxes are idle at the same time
    #[arg(long, default_value_t = 500)]
    sandboxes: usize,
    /// Only see that everything runs
    #[arg(long)]
    short: bool,
}

/// All that was measured.
#[derive(Serialize, Deserialize)]
pub struct Growth {
    /// The day.
    pub date: String,
    /// Curves, by what there is much of.
    pub curves: Vec<curves::Curve>,
    /// Idle sandboxes.
    pub idle: idle::Idle,
}

/// Measures, prints, and writes what is asked for.
pub fn run(options: &Options) -> Result<()> {
    let belljar = match &options.belljar {
        Some(path) => std::path::absolute(path)?,
        None => build_belljar()?,
    };
    let n_sandboxes = if options.short { 5 } else { options.sandboxes };
    let growth = Growth {
        date: conformance::results::today(),
        curves: curves::measure(&belljar, options.short)?,
        idle: idle::measure(&belljar, n_sandboxes, options.short)?,
    };
    print!("{}", page::tables(&growth));
    if let Some(path) = &options.save {
        std::fs::write(path, serde_json::to_string_pretty(&growth)? + "\n")?;
    }
    if let Some(path) = &options.page {
        let chart = path.with_extension("svg");
        std::fs::write(&chart, page::svg(&growth))?;
        let name = chart.file_name().unwrap_or_default().to_string_lossy().into_owned();
        std::fs::write(path, page::page(&growth, &name))?;
    }
    Ok(())
}
