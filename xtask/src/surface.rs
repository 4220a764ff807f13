//! `cargo xtask surface`: which host calls a sandbox really makes, and whether a rule of a filter is
//! one that nothing needs.
//!
//! Four sandboxes do everything that `tests/surface/inside.py` knows, under `strace`. Every rule of
//! both filters must be used by one of them.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::Args;
use guest_process::filter;
use host_sys::seccomp::Rule;

use crate::command::{build_belljar, project};

/// Options of `surface`.
#[derive(Args)]
pub struct Options {
    /// Use this program instead of building one
    #[arg(long, value_name = "PATH")]
    belljar: Option<PathBuf>,
}

/// Rules of the kernel process that a run may use or not, as the host has it, and why they are
/// needed.
const NOT_PROVOKED: &[(&str, &str)] = &[
    ("fadvise64", "a file whose pages are not in the host's memory"),
    ("getxattr", "the top of a folder that keeps writes, when what is known of it is out of date"),
    ("gettid", "the words of a panic"),
    ("madvise", "the C library's allocator gives memory back"),
    ("mprotect", "the C library's allocator, on a heap that is not the first"),
    ("mremap", "the C library's allocator, when a large block grows"),
];

/// What was seen of the two kinds of processes.
#[derive(Default)]
struct Seen {
    guests: BTreeSet<String>,
    kernel: BTreeSet<String>,
}

/// A place for one run after the other.
struct Place {
    belljar: PathBuf,
    folder: tempfile::TempDir,
}

/// Runs the sandboxes and compares.
pub fn run(options: &Options) -> Result<()> {
    let belljar = match &options.belljar {
        Some(path) => std::path::absolute(path)?,
        None => build_belljar()?,
    };
    let place = Place { belljar, folder: tempfile::tempdir()? };
    for folder in ["mounted", "upper", "traces"] {
        std::fs::create_dir(place.folder.path().join(folder))?;
    }
    place.files()?;
    place.terminal()?;
    place.one_cpu()?;
    place.network()?;
    let seen = read_traces(&place.folder.path().join("traces"))?;
    let kernel = backend_kernel::kernel_filter::RULES;
    let mut unused = unused(filter::RULES, &seen.guests, &[]);
    unused.extend(self::unused(kernel, &seen.kernel, NOT_PROVOKED));
    for (name, why) in NOT_PROVOKED {
        println!("not provoked: {name}: {why}");
    }
    let (guests, in_kernel) = (filter::RULES.len(), kernel.len());
    println!("{guests} rules of guest processes, {in_kernel} of the kernel process");
    if unused.is_empty() {
        Ok(())
    } else {
        bail!("rules that nothing needs: {}", unused.join(", "))
    }
}

/// The rules whose call was not seen, and the excuses for rules that are not there.
fn unused(rules: &[Rule], seen: &BTreeSet<String>, excused: &[(&str, &str)]) -> Vec<String> {
    let is_excused = |name: &str| excused.iter().any(|(excuse, _)| *excuse == name);
    let unused = rules.iter().map(|rule| rule.name);
    let unused = unused.filter(|name| !seen.contains(*name) && !is_excused(name));
    let stale = excused.iter().map(|(name, _)| *name);
    let stale = stale.filter(|name| rules.iter().all(|rule| rule.name != *name));
    unused.map(str::to_owned).chain(stale.map(|name| format!("the excuse for {name}"))).collect()
}

impl Place {
    /// `strace belljar run ...`, for a program that is in the project's `tests/surface`.
    fn command(&self, what: &str, options: &[String]) -> Command {
        let traces = self.folder.path().join("traces").join(what);
        let mut command = Command::new("strace");
        command.args(["-ff", "-i", "-qq", "-e", "signal=none", "-o"]).arg(traces);
        command.arg(&self.belljar).args(["run", "--no-cwd"]);
        command.args(["--timeout", "300s", "--cpu", "300s", "--mount"]);
        command.arg(format!("{}:/surface", project().join("tests/surface").display()));
        command.args(options).args(["--", "python3", "/surface/inside.py", what]);
        command
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// Files, memory, processes; as the guest's root, on a folder that keeps writes.
    fn files(&self) -> Result<()> {
        let mount = format!("{}:/mounted:rw", self.path("mounted"));
        let options = ["--user", "root", "--mount", &mount, "--overlay", &self.path("upper")];
        let mut command = self.command("files", &options.map(str::to_owned));
        let mut child = command.stdin(Stdio::piped()).spawn().context("cannot run strace")?;
        // Only then, so that the guest waits for it.
        std::thread::sleep(std::time::Duration::from_secs(1));
        drop(child.stdin.take());
        succeeded(&mut child)
    }

    /// On a terminal.
    fn terminal(&self) -> Result<()> {
        let command = self.command("terminal", &[]);
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
        // Slower than the guest writes.
        let read = "import os, pty, sys, time\n\
                    def slowly(fd):\n    time.sleep(0.01)\n    return os.read(fd, 4096)\n\
                    sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:], slowly)))";
        let mut reader = Command::new("python3");
        reader.args(["-c", read]).args(words.iter().map(|word| &**word));
        reader.stdin(Stdio::null()).stdout(Stdio::null());
        succeeded(&mut reader.spawn()?)
    }

    /// On one CPU, where guests and kernel take turns.
    fn one_cpu(&self) -> Result<()> {
        let command = self.command("one-cpu", &[]);
        let mut pinned = Command::new("taskset");
        pinned.args(["-c", "0"]).arg(command.get_program()).args(command.get_args());
        succeeded(&mut pinned.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?)
    }

    /// Out to a server of ours, and in by a published port.
    fn network(&self) -> Result<()> {
        let server = TcpListener::bind("127.0.0.1:0")?;
        let port = server.local_addr()?.port();
        let published = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        std::thread::spawn(move || -> Result<()> {
            let (mut stream, _) = server.accept()?;
            stream.read_exact(&mut [0; 50])?;
            Ok(stream.write_all(b"hello")?)
        });
        let allow = format!("127.0.0.1:{port}");
        let publish = format!("{published}:8080");
        let options = ["--net", "allow", "--allow", &allow, "--publish", &publish];
        let mut command = self.command("network", &options.map(str::to_owned));
        command.args([&port.to_string(), "8080"]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().context("no output")?).read_line(&mut line)?;
        let mut answer = String::new();
        TcpStream::connect(("127.0.0.1", published))?.read_to_string(&mut answer)?;
        if answer != "hi" {
            bail!("the published port answers {answer:?}");
        }
        succeeded(&mut child)
    }
}

fn succeeded(child: &mut Child) -> Result<()> {
    let status = child.wait()?;
    if status.success() { Ok(()) } else { bail!("a sandbox under strace ended with {status}") }
}

/// Sorts calls by who made them: the shim by its address, the kernel process by its filter.
fn read_traces(folder: &Path) -> Result<Seen> {
    const FILTER: &str = "seccomp(SECCOMP_SET_MODE_FILTER";
    /// The shim's addresses, as strace prints them.
    const SHIM: &str = "[00006000";
    let mut seen = Seen::default();
    for entry in std::fs::read_dir(folder)? {
        let text = String::from_utf8_lossy(&std::fs::read(entry?.path())?).into_owned();
        let has_filter = text.contains(FILTER);
        // What comes before the filter is not held by it.
        let held = text.split_once(FILTER).map_or(&*text, |(_, after)| after);
        for line in held.lines() {
            let Some((address, call)) = line.split_once("] ") else { continue };
            let Some((name, _)) = call.split_once('(') else { continue };
            if address.starts_with(SHIM) {
                seen.guests.insert(name.to_owned());
            } else if has_filter {
                seen.kernel.insert(name.to_owned());
            }
        }
    }
    if seen.guests.is_empty() || seen.kernel.is_empty() {
        bail!("the traces show nothing");
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_sys::seccomp::ALWAYS;

    #[test]
    fn a_rule_that_nothing_needs_is_named() {
        let rule = |name| Rule { number: 0, name, any_of: ALWAYS, reason: "" };
        let seen = BTreeSet::from(["read".to_owned(), "gettid".to_owned()]);
        let rules = [rule("read"), rule("ptrace"), rule("gettid"), rule("brk")];
        assert_eq!(unused(&rules, &seen, &[("brk", "")]), ["ptrace"]);
        assert_eq!(
            unused(&rules, &seen, &[("brk", ""), ("ptrace", ""), ("mount", "")]),
            ["the excuse for mount"]
        );
    }
}
