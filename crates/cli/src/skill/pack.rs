//! `belljar skill pack`: a folder becomes an archive, the same bytes for the same files.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use sandbox_spec::printable_path;
use serde_json::json;
use skills::pack_to_file;

use super::problem;
use crate::failure::Failure;
use crate::output;

/// Options of `skill pack`.
#[derive(Args)]
pub struct Options {
    /// The folder of the skill
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The archive to write; `<name>.skill` in the current folder unless said otherwise
    #[arg(long, short, value_name = "FILE.skill")]
    output: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Packs a valid skill and says what is in the archive.
pub fn run(options: &Options) -> Result<ExitCode, Failure> {
    let (path, packed) = pack_to_file(&options.folder, options.output.as_deref())
        .map_err(|error| problem::of_packing(&options.folder, &error))?;
    let n_bytes = packed.bytes.len();
    if options.json {
        output::print_json(&json!({
            "name": packed.name,
            "path": path.to_string_lossy(),
            "bytes": n_bytes,
            "files": packed.files,
        }))?;
    } else {
        let n_files = packed.files.len();
        let files = if n_files == 1 { "file" } else { "files" };
        output::print(&format!("{}: {n_files} {files}, {n_bytes} bytes\n", printable_path(path)))?;
    }
    Ok(ExitCode::SUCCESS)
}
