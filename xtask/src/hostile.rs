//! `cargo xtask hostile`: guests that attack, each in a sandbox beside another one.
//!
//! An attack is held if the guest says so, or if a limit that it was given ends it; if the sandbox
//! beside still answers, a file of the host's is as it was, and nothing is left behind.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::command::{build_belljar, project, succeed};
use crate::residue::{Tracked, shared_memory};

/// Options of `hostile`.
#[derive(Args)]
pub struct Options {
    /// Only guests whose name contains this
    filter: Option<String>,
    /// Use this program instead of building one
    #[arg(long, value_name = "PATH")]
    belljar: Option<PathBuf>,
    /// Go on for so long
    #[arg(long, default_value_t = 0)]
    minutes: u64,
}

/// What stands in the file that no guest may read or change.
const CANARY: &str = "belljar-canary\n";
/// The exit code of a guest that got out.
const ESCAPED: i32 = 99;
/// The longest that a guest is waited for; each has a time limit below it.
const LONGEST: Duration = Duration::from_secs(180);

/// One hostile guest.
struct Attack {
    name: String,
    options: Vec<String>,
    ends_by_limit: bool,
}

/// Where attacks take place.
struct Place {
    belljar: PathBuf,
    guests: PathBuf,
    folder: tempfile::TempDir,
}

impl Place {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// Builds the guests and runs each, again and again if there is time.
pub fn run(options: &Options) -> Result<()> {
    let guests = project().join("target/hostile-guests");
    succeed(Command::new(project().join("guest-tests/build")).arg(&guests).arg("hostile"))?;
    let belljar = match &options.belljar {
        Some(path) => std::path::absolute(path)?,
        None => build_belljar()?,
    };
    let place = Place { belljar, guests, folder: tempfile::tempdir()? };
    for folder in ["inside", "temporary", "temporary-beside"] {
        std::fs::create_dir(place.path(folder))?;
    }
    std::fs::write(place.path("canary"), CANARY)?;
    let attacks = attacks(options.filter.as_deref())?;
    let end = Instant::now() + Duration::from_secs(60 * options.minutes);
    let (mut held, mut failed) = (0, Vec::new());
    let mut beside = Beside::start(&place)?;
    loop {
        for attack in &attacks {
            let started = Instant::now();
            match try_one(&place, attack).and_then(|how| beside.answers().map(|()| how)) {
                Ok(how) => {
                    println!("held     {:<20} {:>6.1?} {how}", attack.name, started.elapsed());
                    held += 1;
                }
                Err(error) => {
                    println!("FAILED   {:<20} {error:#}", attack.name);
                    failed.push(attack.name.clone());
                    beside = Beside::start(&place)?;
                }
            }
        }
        if Instant::now() >= end {
            break;
        }
    }
    println!("{held} held, {} failed", failed.len());
    if failed.is_empty() { Ok(()) } else { bail!("not held: {}", failed.join(", ")) }
}

/// Reads from the sources how each guest is run.
fn attacks(filter: Option<&str>) -> Result<Vec<Attack>> {
    let folder = project().join("guest-tests/hostile");
    let mut attacks = Vec::new();
    for entry in std::fs::read_dir(&folder)? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "c") {
            continue;
        }
        let text = std::fs::read_to_string(&path)?;
        let first = text.lines().next().unwrap_or_default();
        let words = first.split_once("run: ").map_or("", |(_, words)| words);
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if filter.is_some_and(|filter| !name.contains(filter)) {
            continue;
        }
        let options = words.trim_end_matches("*/").split_whitespace().map(str::to_owned);
        let options: Vec<_> = options.collect();
        if !options.iter().any(|word| word == "--timeout") {
            bail!("{} has no time limit", path.display());
        }
        attacks.push(Attack { name, options, ends_by_limit: first.contains("ends: limit") });
    }
    attacks.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(attacks)
}

fn try_one(place: &Place, attack: &Attack) -> Result<String> {
    let inside = place.path("inside");
    let mut arguments: Vec<String> = attack
        .options
        .iter()
        .map(|word| word.replace("@INSIDE", &inside.to_string_lossy()))
        .collect();
    let guest = format!("/hostile/hostile-{}", attack.name);
    arguments.extend(["--mount".into(), format!("{}:/hostile", place.guests.display())]);
    arguments.extend(["--".into(), guest, place.path("canary").display().to_string()]);
    let temporary = place.path("temporary");
    let mut tracked = Tracked::start(&place.belljar, &temporary, &arguments)?;
    let output = drain(tracked.child.stdout.take());
    let errors = drain(tracked.child.stderr.take());
    drop(tracked.child.stdin.take());
    let Some(status) = tracked.wait(LONGEST)? else { bail!("belljar does not end") };
    let (output, errors) = (text(output), text(errors));
    tracked.check_nothing_left(&temporary)?;
    if !shared_memory().is_empty() {
        bail!("shared memory is left: {:?}", shared_memory());
    }
    if std::fs::read_to_string(place.path("canary")).ok().as_deref() != Some(CANARY) {
        bail!("a file of the host's was changed");
    }
    if place.path("escaped").exists() || place.path("escaped-folder").exists() {
        bail!("a file was made outside of the mount");
    }
    let words = format!("{} {}", last_line(&output), last_line(&errors));
    match status.code() {
        Some(ESCAPED) => bail!("{words}"),
        _ if output.contains("ESCAPED") => bail!("{words}"),
        Some(0) if output.contains("held\n") => Ok(words),
        Some(124 | 137) if attack.ends_by_limit => Ok(words),
        code => bail!("code {code:?}: {words}"),
    }
}

/// Reads a stream to its end in a thread of its own, and keeps the last part.
fn drain(stream: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<Vec<u8>> {
    const KEPT: usize = 1 << 16;
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        let Some(mut stream) = stream else { return kept };
        let mut chunk = [0; 1 << 16];
        while let Ok(n @ 1..) = stream.read(&mut chunk) {
            kept.extend(chunk.iter().take(n));
            let excess = kept.len().saturating_sub(KEPT);
            kept.drain(..excess);
        }
        kept
    })
}

fn text(reader: std::thread::JoinHandle<Vec<u8>>) -> String {
    String::from_utf8_lossy(&reader.join().unwrap_or_default()).into_owned()
}

fn last_line(text: &str) -> String {
    text.trim_end().rsplit('\n').next().unwrap_or_default().chars().take(100).collect()
}

/// A sandbox that runs beside and answers what it is asked.
struct Beside {
    tracked: Tracked,
    answers: BufReader<std::process::ChildStdout>,
    n_asked: u64,
}

impl Beside {
    fn start(place: &Place) -> Result<Self> {
        let script = "while read line; do echo \"$line\"; done";
        let arguments = ["--", "sh", "-c", script].map(str::to_owned);
        let folder: &Path = &place.path("temporary-beside");
        let mut tracked = Tracked::start(&place.belljar, folder, &arguments)?;
        let answers = BufReader::new(tracked.child.stdout.take().context("no output")?);
        Ok(Self { tracked, answers, n_asked: 0 })
    }

    fn answers(&mut self) -> Result<()> {
        self.n_asked += 1;
        let question = format!("question {}\n", self.n_asked);
        let ask = self.tracked.child.stdin.as_mut().context("no input")?;
        ask.write_all(question.as_bytes()).context("the sandbox beside is gone")?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        if answer != question {
            bail!("the sandbox beside answers {answer:?}");
        }
        Ok(())
    }
}
