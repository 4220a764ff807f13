//! `cargo xtask picture`: the terminal in the README, made from what the real program prints.
//!
//! Every command runs under a terminal of its own, in an empty folder. What it prints is drawn as
//! it is, except that the folder is shown as `~/demo`.

mod screen;
mod svg;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::command::{build_belljar, find_in_path, project};
use screen::Screen;

/// Where the picture is kept.
const PICTURE: &str = "docs/terminal.svg";
/// What a question ends with, and what is answered.
const QUESTION: &[u8] = b"[y/N] ";
const ANSWER: &[u8] = b"y\n";

/// The commands in the picture, each with what is said about it before.
const SCENES: [(&str, &str); 4] = [
    (
        "# an agent skill that nobody has to trust: a bash script that makes a project with git",
        "belljar skill run examples/skills/project-scaffold -- python my-tool --author Me",
    ),
    ("# nothing was written before the answer; now it is there", "ls my-tool"),
    (
        "# what it could not do: see your home, your keys, your network",
        "belljar run -- sh -c 'ls -A ~ /home; cat /etc/shadow; getent hosts example.org || echo no network'",
    ),
    (
        "# how to allow more: name it",
        "belljar run --mount .:/data --env GREETING=hello -- sh -c 'echo $GREETING; ls /data'",
    ),
];

/// Options of `picture`.
#[derive(Args)]
pub struct Options {
    /// Use this program instead of building one
    #[arg(long, value_name = "FILE")]
    belljar: Option<PathBuf>,
}

/// Makes the picture anew.
pub fn run(options: &Options) -> Result<()> {
    if find_in_path("script").is_none() {
        bail!("there is no `script` here, which gives a command a terminal (package bsdutils)");
    }
    let belljar = match &options.belljar {
        Some(path) => path.canonicalize().with_context(|| format!("{}", path.display()))?,
        None => build_belljar()?,
    };
    let place = tempfile::tempdir()?;
    let demo = place.path().join("demo");
    std::fs::create_dir(&demo)?;
    std::os::unix::fs::symlink(project().join("examples"), demo.join("examples"))?;
    let mut screen = Screen::default();
    for (n, (remark, command)) in SCENES.iter().enumerate() {
        if n > 0 {
            screen.feed("\n");
        }
        screen.feed(&format!("\x1b[90m{remark}\x1b[0m\n\x1b[32m~/demo $\x1b[0m {command}\n"));
        let printed = record(&belljar, place.path(), &demo, command)?;
        screen.feed(&printed.replace(&demo.display().to_string(), "~/demo"));
    }
    let path = project().join(PICTURE);
    std::fs::write(&path, svg::draw(&screen.lines()))
        .with_context(|| format!("cannot write {}", path.display()))?;
    println!("wrote {PICTURE}");
    Ok(())
}

/// Runs one command under a terminal, answers its questions, and returns what it printed.
fn record(belljar: &Path, home: &Path, demo: &Path, command: &str) -> Result<String> {
    let tools = belljar.parent().context("the program is in no folder")?;
    let path = std::env::var("PATH").unwrap_or_default();
    let mut child = Command::new("script")
        .args(["--quiet", "--return", "--command", command, "/dev/null"])
        .current_dir(demo)
        .env("PATH", format!("{}:{path}", tools.display()))
        .env("HOME", home)
        .env("XDG_STATE_HOME", home.join("state"))
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot run `script`")?;
    let mut input = child.stdin.take().context("no standard input")?;
    let mut output = child.stdout.take().context("no standard output")?;
    let mut printed = Vec::new();
    let mut chunk = [0; 4096];
    let mut n_answered = 0;
    loop {
        let n = output.read(&mut chunk)?;
        if n == 0 {
            break;
        }
        printed.extend(chunk.iter().take(n));
        let n_asked = printed.windows(QUESTION.len()).filter(|part| *part == QUESTION).count();
        if n_asked > n_answered {
            n_answered = n_asked;
            input.write_all(ANSWER)?;
        }
    }
    child.wait()?;
    Ok(String::from_utf8_lossy(&printed).into_owned())
}
