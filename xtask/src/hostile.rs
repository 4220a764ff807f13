//! `cargo xtask hostile`: guests that attack, each in a sandbox beside another one.
//!
//! An attack is held if the guest says so, or if a limit that it was given ends it; if the sandbox
//! beside still answers, a file of the host's is as it was, and nothing is left behind.

pub mod gauge;
pub mod guests;

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;

use crate::command::{build_belljar, project};
use crate::hostile::gauge::Gauge;
use crate::residue::{Tracked, drain, shared_memory, text};

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
    /// How many at one time
    #[arg(long, default_value_t = 1)]
    jobs: usize,
}

/// What stands in the file that no guest may read or change.
const CANARY: &str = "belljar-canary\n";
/// The exit code of a guest that got out.
const ESCAPED: i32 = 99;
/// What is said of a guest that was found to make processes without the kernel.
const FOUND: &str = "a program inside attacked the sandbox";
/// The longest that the sandbox beside may take to end.
const LONGEST: Duration = Duration::from_secs(400);

/// One hostile guest.
struct Attack {
    name: String,
    /// Which of its ways it is to try, if it has several.
    way: Option<String>,
    options: Vec<String>,
    ends_by_limit: bool,
    without_namespaces: bool,
    /// How many bytes all processes of its sandbox may hold together, if that is measured.
    at_most: Option<u64>,
}

/// Processes of a sandbox that are none of the guest's: the starter, the kernel process, the zygote,
/// those forked ahead, those that are ending.
const OTHER_PROCESSES: usize = 50;

impl Attack {
    /// What it is called.
    fn title(&self) -> String {
        match &self.way {
            Some(way) => format!("{}: {way}", self.name),
            None => self.name.clone(),
        }
    }

    /// How many processes the guest may have, if that is limited.
    fn process_limit(&self) -> Option<usize> {
        let at = self.options.iter().position(|word| word == "--processes")?;
        self.options.get(at + 1)?.parse().ok()
    }
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

    /// A program that runs `belljar` where no further namespace can be had.
    fn belljar_without_namespaces(&self) -> Result<PathBuf> {
        let path = self.path("belljar-without-namespaces");
        let forbid = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"";
        let belljar = self.belljar.display();
        let script = format!(
            "#!/bin/sh\nexec unshare --user --map-root-user sh -c '{forbid}' sh '{belljar}' \"$@\"\n"
        );
        std::fs::write(&path, script)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
        Ok(path)
    }
}

/// Builds the guests and runs each, again and again if there is time.
pub fn run(options: &Options) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let guests = guests::build(folder.path())?;
    let belljar = match &options.belljar {
        Some(path) => std::path::absolute(path)?,
        None => build_belljar()?,
    };
    let attacks = attacks(options.filter.as_deref())?;
    let end = Instant::now() + Duration::from_secs(60 * options.minutes);
    let started = Instant::now();
    // What is measured is measured alone: how far a guest gets between two looks depends on who else
    // wants the processors.
    let (measured, others): (Vec<_>, Vec<_>) =
        attacks.into_iter().partition(|attack| attack.at_most.is_some());
    if !measured.is_empty() && !Gauge::sees_everything() {
        let lacks = "no control group of memory can be made here, so that page tables and what the \
                     host's kernel has for processes are not seen";
        test_skips::skip("hostile memory", lacks);
    }
    let mut outcomes = attack_with(1, &belljar, &guests, &measured, end);
    outcomes.extend(attack_with(options.jobs.max(1), &belljar, &guests, &others, end));
    let (mut held, mut failed) = (0, Vec::new());
    for outcome in outcomes {
        let outcome = outcome?;
        held += outcome.held;
        failed.extend(outcome.failed);
    }
    println!("{held} held, {} failed, in {:.0?}", failed.len(), started.elapsed());
    if failed.is_empty() { Ok(()) } else { bail!("not held: {}", failed.join(", ")) }
}

/// Runs attacks, so many at one time.
fn attack_with(
    n_workers: usize,
    belljar: &Path,
    guests: &Path,
    attacks: &[Attack],
    end: Instant,
) -> Vec<Result<Outcome>> {
    if attacks.is_empty() {
        return Vec::new();
    }
    let next = AtomicUsize::new(0);
    let attack = || attack_until(belljar, guests, attacks, &next, end);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..n_workers).map(|_| scope.spawn(attack)).collect();
        let join = |worker: ScopedJoinHandle<'_, Result<Outcome>>| {
            worker.join().unwrap_or_else(|_| Err(anyhow!("an attacker of ours panicked")))
        };
        workers.into_iter().map(join).collect()
    })
}

/// What came of attacks.
#[derive(Default)]
struct Outcome {
    held: u64,
    failed: Vec<String>,
}

/// Takes one attack after the other: all of them once, and then again until `end`.
fn attack_until(
    belljar: &Path,
    guests: &Path,
    attacks: &[Attack],
    next: &AtomicUsize,
    end: Instant,
) -> Result<Outcome> {
    let place = Place {
        belljar: belljar.to_owned(),
        guests: guests.to_owned(),
        folder: tempfile::tempdir()?,
    };
    for folder in ["inside", "temporary", "temporary-beside"] {
        std::fs::create_dir(place.path(folder))?;
    }
    std::fs::write(place.path("canary"), CANARY)?;
    let mut outcome = Outcome::default();
    let mut beside = Beside::start(&place)?;
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let is_over = number >= attacks.len() && Instant::now() >= end;
        let Some(attack) = attacks.get(number % attacks.len()).filter(|_| !is_over) else { break };
        let started = Instant::now();
        match try_one(&place, attack).and_then(|how| beside.answers().map(|()| how)) {
            Ok(how) => {
                println!("held     {:<28} {:>6.1?} {how}", attack.title(), started.elapsed());
                outcome.held += 1;
            }
            Err(error) => {
                println!("FAILED   {:<28} {error:#}", attack.title());
                outcome.failed.push(attack.title());
                beside = Beside::start(&place)?;
            }
        }
    }
    drop(beside.tracked.child.stdin.take());
    beside.tracked.wait(LONGEST)?.context("the sandbox beside does not end")?;
    beside.tracked.check_nothing_left(&place.path("temporary-beside"))?;
    Ok(outcome)
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
        // One that another command of ours runs.
        if first.contains("run by: ") {
            continue;
        }
        let words = first.split_once("run: ").map_or("", |(_, words)| words);
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let options = words.trim_end_matches("*/").split_whitespace().map(str::to_owned);
        let options: Vec<_> = options.collect();
        if !options.iter().any(|word| word == "--timeout") {
            bail!("{} has no time limit", path.display());
        }
        let at_most =
            first.split_once("at most: ").map(|(_, words)| mebibytes(words)).transpose()?;
        let ends_by_limit = first.contains("ends: limit");
        let without_namespaces = first.contains("where: no namespaces");
        for way in ways(&text) {
            let (name, options) = (name.clone(), options.clone());
            let attack = Attack { name, way, options, ends_by_limit, without_namespaces, at_most };
            if filter.is_none_or(|filter| attack.title().contains(filter)) {
                attacks.push(attack);
            }
        }
    }
    if attacks.is_empty() {
        bail!("no hostile guest has such a name");
    }
    attacks.sort_by_key(Attack::title);
    Ok(attacks)
}

/// The ways that a guest names as `WAY(name)`, each to be tried on its own; none, if it does not.
fn ways(text: &str) -> Vec<Option<String>> {
    let names = text.split("WAY(").skip(1).filter_map(|rest| rest.split_once(')')).map(|it| it.0);
    let names = names.filter(|name| *name != "name").map(|name| Some(name.to_owned()));
    let names: Vec<_> = names.collect();
    if names.is_empty() { vec![None] } else { names }
}

/// A number of MiB at the start of `words`, such as `130M`, in bytes.
fn mebibytes(words: &str) -> Result<u64> {
    let number = words.split_once('M').and_then(|(number, _)| number.parse::<u64>().ok());
    Ok(number.context("how much it may hold is no number of MiB")? << 20)
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
    arguments.extend(attack.way.clone());
    let temporary = place.path("temporary");
    let belljar = if attack.without_namespaces {
        place.belljar_without_namespaces()?
    } else {
        place.belljar.clone()
    };
    let gauge = attack.at_most.map(|_| Gauge::new(attack.way.as_deref().unwrap_or("one")));
    let mut tracked = Tracked::start_with(&belljar, &temporary, &arguments, gauge)?;
    let output = drain(tracked.child.stdout.take());
    let errors = drain(tracked.child.stderr.take());
    drop(tracked.child.stdin.take());
    let Some(status) = tracked.wait_while_it_works()? else { bail!("belljar does not end") };
    // First: who is left holds the streams open.
    tracked.check_nothing_left(&temporary)?;
    let (output, errors) = (text(output), text(errors));
    if !shared_memory().is_empty() {
        bail!("shared memory is left: {:?}", shared_memory());
    }
    if std::fs::read_to_string(place.path("canary")).ok().as_deref() != Some(CANARY) {
        bail!("a file of the host's was changed");
    }
    if place.path("escaped").exists() || place.path("escaped-folder").exists() {
        bail!("a file was made outside of the mount");
    }
    if let Some(limit) = attack.process_limit()
        && tracked.crowd.most_lasting() > limit + OTHER_PROCESSES
    {
        bail!("{} processes for more than a second", tracked.crowd.most_lasting());
    }
    let mut words = format!("{} {}", last_line(&output), last_line(&errors));
    if let (Some(limit), Some(most)) = (attack.at_most, tracked.most_memory()) {
        words = format!("{} MiB at most; {words}", most >> 20);
        if most > limit {
            bail!("more memory than {} MiB: {words}", limit >> 20);
        }
    }
    match status.code() {
        Some(ESCAPED) => bail!("{words}"),
        _ if output.contains("ESCAPED") => bail!("{words}"),
        Some(0) if output.contains("held\n") => Ok(words),
        // By the timeout, by the disk (SIGBUS), by memory or CPU time.
        Some(124 | 135 | 137) if attack.ends_by_limit => Ok(words),
        // Whoever makes processes without the kernel, on purpose or by a wild jump, is ended.
        _ if errors.contains(FOUND) => Ok(words),
        code => bail!("code {code:?}: {words}"),
    }
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
