//! `cargo xtask cpython`: CPython's own tests of the parts that lean on the kernel, natively and
//! inside. Every test that passes natively has to pass inside, except for those in
//! `tests/cpython/exceptions.toml`, each with its reason. That list may only shrink: an entry of
//! which every test passes is an error too.

mod compare;
mod lists;
mod run;

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;

use crate::command::{build_belljar, find_in_path, project};
use compare::Tally;
use lists::Exceptions;
use run::Place;

/// Debian's, whose tests are a package of their own.
const PYTHON: &str = "/usr/bin/python3.11";
/// The folder of those tests.
const TESTS: &str = "/usr/lib/python3.11/test/test_os.py";

/// Options of `cpython`.
#[derive(Args)]
pub struct Options {
    /// Only these modules, such as `test_os`
    modules: Vec<String>,
    /// Every module, not only those that are quick
    #[arg(long)]
    all: bool,
    /// Use this program instead of building one
    #[arg(long, value_name = "PATH")]
    belljar: Option<PathBuf>,
}

/// Runs the modules, one after the other, and prints a line for each.
pub fn run(options: &Options) -> Result<()> {
    if let Some(missing) = [PYTHON, TESTS].into_iter().find(|it| find_in_path(it).is_none()) {
        bail!("there is no {missing}\nhint: install it: cargo xtask setup");
    }
    let lists = lists::modules()?;
    let modules = match (options.modules.as_slice(), options.all) {
        ([], false) => lists.quick.clone(),
        ([], true) => [&*lists.quick, &*lists.slow].concat(),
        (named, _) => named.to_vec(),
    };
    let belljar = match &options.belljar {
        Some(path) => std::path::absolute(path)?,
        None => build_belljar()?,
    };
    let logs = project().join("target/cpython-logs");
    std::fs::create_dir_all(&logs)?;
    let exceptions = Exceptions::load()?;
    let mut tally = Tally::default();
    for module in &modules {
        let native = Place { belljar: None, logs: &logs };
        let inside = Place { belljar: Some(&belljar), logs: &logs };
        let (natively, sandboxed) = std::thread::scope(|scope| {
            let native = scope.spawn(|| native.run(module, &[]));
            let sandboxed = inside.run(module, &[]);
            (native.join(), sandboxed)
        });
        let Ok(natively) = natively else { bail!("{module}: the native run failed") };
        let (mut natively, mut sandboxed) = (natively?, sandboxed?);
        let failing = compare::failing_natively(&natively);
        if !failing.is_empty() && failing.iter().all(|name| name.starts_with("test.")) {
            println!("         {module}: trying {} natively again", failing.join(" "));
            natively.tests.extend(native.run(module, &failing)?.tests);
        }
        let failing = compare::failing(&natively, &sandboxed, &exceptions);
        if !failing.is_empty() && failing.iter().all(|name| name.starts_with("test.")) {
            // A busy machine makes tests fail that watch the clock. Once is forgiven.
            println!("         {module}: trying {} again", failing.join(" "));
            sandboxed.tests.extend(inside.run(module, &failing)?.tests);
        }
        tally.add(module, &natively, &sandboxed, &exceptions);
    }
    tally.finish(&exceptions, &logs)?;
    if options.modules.is_empty() && !options.all {
        tally.compare_with(lists.quick_passes);
    }
    Ok(())
}
