//! Whole programs, from start to end.

use std::cell::Cell;
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use super::measure::{Launcher, Measurements};
use super::micro;
use crate::command::{find_in_path, project, succeed};

/// A program with what it needs.
struct Program {
    name: &'static str,
    /// `{}` becomes a path that no other run has: see [`Runs`].
    run: &'static [&'static str],
}

/// Every command is started in the folder that [`prepare`] fills.
///
/// What takes long enough to show must not remove many files between its runs: ext4 does not give
/// the number of a removed file again for some time, and whoever makes the next file searches past
/// all of those. Native goes first and would find the fewest. So every clone is a new one, and all
/// of them go at the end.
const PROGRAMS: &[Program] = &[
    Program { name: "start: true", run: &["true"] },
    Program { name: "start: sh -c :", run: &["sh", "-c", ":"] },
    Program { name: "start: python3 -c pass", run: &["/usr/bin/python3", "-c", "pass"] },
    Program {
        name: "python3, 5 big imports",
        run: &[
            "/usr/bin/python3",
            "-c",
            "import asyncio, ssl, sqlite3, unittest, multiprocessing.pool",
        ],
    },
    Program { name: "node -e 0", run: &["node", "-e", "0"] },
    Program {
        name: "sh, 200 x /bin/true",
        run: &["sh", "-c", "i=0; while [ $i -lt 200 ]; do /bin/true; i=$((i+1)); done"],
    },
    Program { name: "find, 20,000 files", run: &["find", "tree", "-name", "*7"] },
    Program { name: "grep -r /usr/include", run: &["grep", "-r", "SIGCHLD", "/usr/include"] },
    Program {
        name: "tar czf /usr/include",
        run: &["tar", "-C", "/usr", "-czf", "out.tar.gz", "include"],
    },
    Program { name: "gcc, 2000 lines", run: &["gcc", "-O1", "-c", "-o", "big.o", "big.c"] },
    Program { name: "git clone, local", run: &["git", "clone", "-q", "repo", "clones/{}"] },
    Program {
        name: "git clone, local, to /tmp",
        run: &["git", "clone", "-q", "repo", "/tmp/clones-of-{}"],
    },
    Program {
        name: "sqlite3, 10,000 inserts",
        run: &["sh", "-c", "rm -f data.db; sqlite3 data.db <inserts.sql"],
    },
    Program {
        name: "python3, 50 subprocesses",
        run: &[
            "/usr/bin/python3",
            "-c",
            "import subprocess\nfor _ in range(50): subprocess.run(['true'])",
        ],
    },
    Program { name: "python3, 8 threads of file work", run: &["/usr/bin/python3", "threads.py"] },
    Program { name: "node, 1000 small files", run: &["node", "files.js"] },
    Program {
        name: "pipe of 1 GiB",
        run: &["sh", "-c", "head -c 1073741824 /dev/zero | cat >/dev/null"],
    },
];

/// What is also measured in a sandbox that is there already, five times in a row: the start of the
/// sandbox does not count there, and what its kernel has learned does.
const REPEATED: [&str; 7] = [
    "sh, 200 x /bin/true",
    "find, 20,000 files",
    "grep -r /usr/include",
    "git clone, local",
    "git clone, local, to /tmp",
    "sqlite3, 10,000 inserts",
    "python3, 50 subprocesses",
];

/// What takes too long for a run that only sees whether everything runs.
const HEAVY: [&str; 3] = ["grep -r /usr/include", "tar czf /usr/include", "pipe of 1 GiB"];

const THREADS: &str = r"
import threading
def work(number):
    for i in range(200):
        name = f'thread{number}'
        with open(name, 'w') as file: file.write('x' * 1000)
        with open(name) as file: file.read()
threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
";

const NODE_FILES: &str = r"
const fs = require('fs');
fs.mkdirSync('small', { recursive: true });
for (let i = 0; i < 1000; i++) fs.writeFileSync('small/' + i, 'x'.repeat(i));
let n = 0;
for (const name of fs.readdirSync('small')) n += fs.readFileSync('small/' + name).length;
fs.rmSync('small', { recursive: true });
if (n !== 499500) process.exit(1);
";

/// Numbers the runs, and removes at its end what those have left outside of the folder.
struct Runs {
    /// The name of the folder, which no other benchmark has that runs at the same time.
    folder: String,
    count: Cell<u32>,
}

impl Runs {
    fn new(folder: &Path) -> Result<Self> {
        let name = folder.file_name().context("a folder without a name")?;
        Ok(Self { folder: name.to_string_lossy().into_owned(), count: Cell::new(0) })
    }

    /// The arguments of the next run, with their `{}` filled in.
    fn next(&self, arguments: &[&str]) -> Vec<String> {
        self.fill(arguments, "")
    }

    /// The same for `repeat`, which has to add a number of its own.
    fn next_repeated(&self, arguments: &[&str]) -> Vec<String> {
        self.fill(arguments, ".{}")
    }

    fn fill(&self, arguments: &[&str], end: &str) -> Vec<String> {
        self.count.set(self.count.get() + 1);
        let path = format!("{}/{}{end}", self.folder, self.count.get());
        arguments.iter().map(|argument| argument.replace("{}", &path)).collect()
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        let path = format!("/tmp/clones-of-{}", self.folder);
        // Only native runs leave something there: the `/tmp` of a sandbox is its own.
        if let Err(error) = std::fs::remove_dir_all(&path)
            && error.kind() != ErrorKind::NotFound
        {
            eprintln!("{path} is left: {error}");
        }
    }
}

/// Lets the launchers take turns with each program.
pub fn measure(
    measurements: &mut Measurements,
    launchers: &[Launcher],
    folder: &Path,
    short: bool,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<()> {
    if !PROGRAMS.iter().any(|program| wanted(program.name)) {
        return Ok(());
    }
    prepare(folder, if short { 200 } else { 20_000 })?;
    let runs = Runs::new(folder)?;
    let repeat = folder.join("repeat");
    let source = project().join("bench/repeat.c");
    succeed(Command::new("cc").arg("-O2").arg("-o").args([&repeat, &source]))?;
    let (repeat, times) = (repeat.display().to_string(), if short { "1" } else { "5" });
    let fits =
        |program: &&Program| wanted(program.name) && !(short && HEAVY.contains(&program.name));
    for program in PROGRAMS.iter().filter(fits) {
        let Some((name, arguments)) = program.run.split_first() else { continue };
        if find_in_path(name).is_none() {
            let reason = format!("there is no {name}");
            test_skips::skip(&format!("bench {}", program.name.replace(':', "")), &reason);
            continue;
        }
        measurements.take_turns(program.name, launchers, |launcher| {
            let mut command = launcher.command(name);
            command.args(runs.next(arguments)).current_dir(folder);
            sample(&mut command)
        });
        if REPEATED.contains(&program.name) {
            let row = format!("{}, again", program.name);
            measurements.take_turns(&row, launchers, |launcher| {
                let mut command = launcher.command(&repeat);
                command.args([times, name]).args(runs.next_repeated(arguments));
                command.current_dir(folder);
                micro::sample(&mut command)
            });
        }
    }
    Ok(())
}

fn sample(command: &mut Command) -> Result<Vec<f64>> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let started = Instant::now();
    let output = command.output().context("cannot start it")?;
    let nanoseconds = started.elapsed().as_secs_f64() * 1e9;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        bail!("{}: {}", output.status, errors.lines().last().unwrap_or_default());
    }
    Ok(vec![nanoseconds])
}

/// Makes what the programs work on.
fn prepare(folder: &Path, n_files: u32) -> Result<()> {
    std::fs::write(folder.join("threads.py"), THREADS)?;
    std::fs::write(folder.join("files.js"), NODE_FILES)?;
    let lines: String =
        (0..2000).map(|n| format!("int f{n}(int x) {{ return x * {n} + (x >> 3); }}\n")).collect();
    std::fs::write(folder.join("big.c"), lines)?;
    let inserts: String = (0..10_000).map(|n| format!("insert into t values({n});\n")).collect();
    let inserts = format!("create table t(a);\nbegin;\n{inserts}commit;\n");
    std::fs::write(folder.join("inserts.sql"), inserts)?;
    for n in 0..n_files {
        let path = folder.join(format!("tree/{}/{}", n / 200, n));
        if n % 200 == 0 {
            std::fs::create_dir_all(path.parent().context("no parent")?)?;
        }
        std::fs::write(path, "")?;
    }
    let script = "git init -q repo && cd repo && for i in $(seq 1 300); do echo $i >file$i; done && \
        git add . && git -c user.name=b -c user.email=b@example.invalid commit -qm files";
    succeed(Command::new("sh").args(["-c", script]).current_dir(folder))
}
