//! `cargo xtask dist`: everything that a release consists of, in `target/packages`.
//!
//! A static program, and packages that carry it: an archive, a `.deb`, a wheel for pip and a package
//! for npm; what it is made of, and the digests of all. Two builds of one commit are the same, byte for
//! byte: every time in them is that of the commit, and every path is that of the project.

mod archives;
mod debian;
mod node;
mod program;
mod python;
mod sbom;
mod tree;
mod try_out;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use sha2::{Digest, Sha256};

use crate::command::{project, target};
use tree::Release;

/// Options of `dist`.
#[derive(Args)]
pub struct Options {
    /// Build it a second time in another folder, and fail if a byte differs
    #[arg(long)]
    twice: bool,
    /// Install every package into a fresh place, and run it
    #[arg(long = "try")]
    tries: bool,
}

/// The most that the program may take: what people wait for when they install it. Ten million is the
/// aim; project mode took it to 10.2.
const MAX_PROGRAM_BYTES: usize = 10_500_000;

/// Makes all of it.
pub fn run(options: &Options) -> Result<()> {
    let folder = make(&target())?;
    if options.twice {
        let other = tempfile::tempdir()?;
        let again = make(other.path())?;
        compare(&folder, &again)?;
        println!("dist: two builds are the same");
    }
    if options.tries {
        try_out::run(&folder)?;
    }
    print!("{}", fs::read_to_string(folder.join(CHECKSUMS))?);
    Ok(())
}

/// The file of digests, as `sha256sum --check` reads it.
const CHECKSUMS: &str = "SHA256SUMS";

/// Builds in this folder, and packs what was built. Returns where.
pub fn make(built_in: &Path) -> Result<PathBuf> {
    let release = Release::gather(&program::build(built_in)?)?;
    if release.program.len() > MAX_PROGRAM_BYTES {
        bail!("the program has {} bytes, the most is {MAX_PROGRAM_BYTES}", release.program.len());
    }
    let version = &release.version;
    let files = [
        (format!("belljar-{version}-x86_64-linux.tar.gz"), archives::pack(&release)?),
        (format!("belljar_{version}_amd64.deb"), debian::pack(&release)?),
        (python::file_name(&release), python::pack(&release)?),
        (format!("belljar-{version}.tgz"), node::pack(&release)?),
        (format!("belljar-{version}.cdx.json"), sbom::describe(version)?),
    ];
    let folder = built_in.join("packages");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let mut checksums = String::new();
    for (name, bytes) in files {
        fs::write(folder.join(&name), &bytes).with_context(|| name.clone())?;
        checksums.push_str(&format!("{}  {name}\n", hex(&Sha256::digest(&bytes))));
    }
    fs::write(folder.join(CHECKSUMS), checksums)?;
    Ok(folder)
}

fn compare(one: &Path, other: &Path) -> Result<()> {
    let [first, second] =
        [one, other].map(|folder| fs::read_to_string(folder.join(CHECKSUMS)).unwrap_or_default());
    let differ: Vec<_> = first.lines().filter(|line| !second.contains(line)).collect();
    if !differ.is_empty() || first.is_empty() {
        bail!("not the same when built again: {}", differ.join(", "));
    }
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A file of the project, as text.
fn read(path: &str) -> Result<String> {
    fs::read_to_string(project().join(path)).with_context(|| path.to_owned())
}
