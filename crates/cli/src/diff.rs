//! `belljar diff`: what a run creates, changes and removes against its root.

use std::ffi::OsString;
use std::fmt::Write;
use std::os::fd::AsFd;
use std::path::{Component, Path};
use std::process::ExitCode;

use clap::Args;
use host_sys::beneath::Folder;
use sandbox::Streams;
use sandbox_spec::{ByteSize, Change, Happened, Now, RootWrites, printable_path};
use serde_json::json;

use crate::failure::Failure;
use crate::launch::{exit_code, launch_with};
use crate::options::SandboxOptions;
use crate::signals::Signals;
use crate::{backends, output};

/// Options of `diff`.
#[derive(Args)]
#[command(args_override_self = true)]
#[command(
    override_usage = "belljar diff [OPTIONS] -- PROGRAM [ARGS]...\n       belljar diff [--json] [--root DIR|TAR] --overlay DIR"
)]
#[command(
    after_help = "With a program, runs it and shows what it did; what the program writes to \
    its standard output then goes to standard error. Without one, shows what earlier runs left in \
    the folder of --overlay. + is created, ~ is changed, - is removed."
)]
pub struct Options {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// The program and its arguments
    #[arg(value_name = "PROGRAM", trailing_var_arg = true)]
    program: Vec<OsString>,
    #[command(flatten)]
    sandbox: SandboxOptions,
}

/// Runs the program, if there is one, and shows what is different.
pub fn run(options: Options) -> Result<ExitCode, Failure> {
    let has_program = !options.program.is_empty();
    let mut spec = options.sandbox.to_spec(options.program)?;
    let launch = options.sandbox.launch();
    if !has_program {
        let RootWrites::Directory(folder) = &spec.root_writes else {
            return Err(Failure::new("there is nothing to compare")
                .hint("name a program, or the folder of earlier runs with --overlay DIR")
                .code(2));
        };
        if Folder::at(folder).is_err() {
            return Err(Failure::new(format!("there is no folder {}", printable_path(folder))));
        }
        let changes = backends::choose(launch.backend)?.kept_changes(&spec)?;
        show(&changes, options.json, None)?;
        return Ok(ExitCode::SUCCESS);
    }
    spec.lists_changes = true;
    let mut streams = Streams::inherit();
    streams.output = std::io::stderr().as_fd().try_clone_to_owned().ok();
    let report = launch_with(&launch, &spec, streams, &Signals::take_over()?)?;
    let code = exit_code(&report);
    show(&report.changes.unwrap_or_default(), options.json, Some(code))?;
    Ok(code.into())
}

fn show(changes: &[Change], as_json: bool, exit_code: Option<u8>) -> Result<(), Failure> {
    if !as_json {
        return output::print(&tree(changes));
    }
    let mut value = json!({ "changes": changes });
    if let (Some(code), Some(members)) = (exit_code, value.as_object_mut()) {
        members.insert("exit_code".to_owned(), code.into());
    }
    output::print_json(&value)
}

/// The changes as a tree: folders above what is in them, a sign before what is different.
fn tree(changes: &[Change]) -> String {
    let mut text = String::new();
    let mut above: Vec<&Path> = Vec::new();
    for change in changes {
        let parts: Vec<&Path> = change
            .path
            .components()
            .filter(|part| matches!(part, Component::Normal(_)))
            .map(|part| Path::new(part.as_os_str()))
            .collect();
        let Some((name, folders)) = parts.split_last() else { continue };
        let n_same = above.iter().zip(folders).take_while(|(a, b)| a == b).count();
        for (depth, folder) in folders.iter().enumerate().skip(n_same) {
            line(&mut text, ' ', depth, folder, "/");
        }
        let sign = match change.happened {
            Happened::Created => '+',
            Happened::Changed => '~',
            Happened::Removed => '-',
        };
        let details = match &change.now {
            Now::File { size, .. } => format!("  {}", ByteSize(*size)),
            Now::Folder => "/".to_owned(),
            Now::Link { target } => format!(" -> {}", printable_path(target)),
            Now::Nothing => String::new(),
            Now::Special => "  (special)".to_owned(),
        };
        line(&mut text, sign, folders.len(), name, &details);
        // A folder that is a change itself is above what follows.
        above = if change.now == Now::Folder { parts } else { folders.to_vec() };
    }
    text
}

fn line(text: &mut String, sign: char, depth: usize, name: &Path, details: &str) {
    let indent = "  ".repeat(depth);
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{sign} {indent}{}{details}", printable_path(name));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(path: &str, happened: Happened, now: Now) -> Change {
        Change::new(path, happened, now)
    }

    #[test]
    fn folders_are_shown_once() {
        let changes = [
            change("/etc/hosts", Happened::Changed, Now::File { size: 2048, mode: 0o644 }),
            change("/etc/motd", Happened::Removed, Now::Nothing),
            change("/work", Happened::Created, Now::Folder),
            change("/work/a\nb", Happened::Created, Now::Link { target: "x".into() }),
        ];
        let expected = "  etc/\n~   hosts  2K\n-   motd\n+ work/\n+   a\\nb -> x\n";
        assert_eq!(tree(&changes), expected);
    }
}
