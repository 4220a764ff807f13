//! Samples, and by what they were taken.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

/// How programs are started.
pub struct Launcher {
    /// How it is called in tables.
    pub name: String,
    prefix: Vec<String>,
}

impl Launcher {
    /// Nothing around the program.
    pub fn native() -> Self {
        Self { name: "native".to_owned(), prefix: Vec::new() }
    }

    /// Our sandbox, with the folder of the benchmarks mounted.
    pub fn belljar(belljar: &Path, folder: &Path) -> Self {
        let mount = format!("--mount={0}:{0}:rw", folder.display());
        let cwd = format!("--cwd={}", folder.display());
        let belljar = belljar.display().to_string();
        let prefix = [belljar, "run".into(), "--no-cwd".into(), mount, cwd, "--".into()];
        Self { name: "belljar".to_owned(), prefix: prefix.into() }
    }

    /// Any other command that runs a program.
    pub fn other(name: &str, prefix: &str) -> Self {
        let prefix = prefix.split_whitespace().map(Into::into).collect();
        Self { name: name.to_owned(), prefix }
    }

    /// Runs everything on the first CPU.
    pub fn pin_to_one_cpu(&mut self) {
        self.prefix.splice(0..0, ["taskset", "-c", "0"].map(Into::into));
    }

    /// The command for a program.
    pub fn command(&self, program: &str) -> Command {
        match self.prefix.split_first() {
            None => Command::new(program),
            Some((first, rest)) => {
                let mut command = Command::new(first);
                command.args(rest).arg(program);
                command
            }
        }
    }
}

/// The samples of one benchmark by one launcher, in nanoseconds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Samples {
    /// As they came.
    pub nanoseconds: Vec<f64>,
    /// Why there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl Samples {
    /// The least of them.
    pub fn minimum(&self) -> Option<f64> {
        self.nanoseconds.iter().copied().min_by(f64::total_cmp)
    }

    /// The one in the middle.
    pub fn median(&self) -> Option<f64> {
        let mut sorted = self.nanoseconds.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied()
    }
}

/// One benchmark.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Benchmark {
    /// What is measured.
    pub name: String,
    /// By launcher, in the order of [`Measurements::launchers`].
    pub samples: Vec<Samples>,
}

/// The CPUs that there are for the programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cpus {
    /// All of the machine's.
    #[default]
    All,
    /// One.
    One,
    /// All, but something else wants one of them all the time.
    OneBusy,
}

/// All of them, and where they were taken.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measurements {
    /// Day.
    pub date: String,
    /// The commit that was measured, with a plus sign if files were changed.
    pub commit: String,
    /// The host's kernel.
    pub kernel: String,
    /// The processor.
    pub processor: String,
    /// How many CPUs there are.
    pub cpus: usize,
    /// Which of them there were for the programs.
    #[serde(default)]
    pub used: Cpus,
    /// How often the launchers took turns.
    pub rounds: u32,
    /// Their names; the first is native.
    pub launchers: Vec<String>,
    /// The benchmarks.
    pub benchmarks: Vec<Benchmark>,
}

impl Measurements {
    /// None yet.
    pub fn new(launchers: &[Launcher], rounds: u32, used: Cpus) -> Self {
        Self {
            date: conformance::results::today(),
            commit: commit(),
            kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
            processor: processor(),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            used,
            rounds,
            launchers: launchers.iter().map(|launcher| launcher.name.clone()).collect(),
            benchmarks: Vec::new(),
        }
    }

    /// Whether our goals are for this: all CPUs, and nobody else.
    pub fn has_goals(&self) -> bool {
        self.used == Cpus::All
    }

    /// Lets the launchers take turns. `sample` measures one program under one launcher.
    pub fn take_turns(
        &mut self,
        name: &str,
        launchers: &[Launcher],
        mut sample: impl FnMut(&Launcher) -> Result<Vec<f64>>,
    ) {
        let mut samples = vec![Samples::default(); launchers.len()];
        for _ in 0..self.rounds {
            for (launcher, samples) in launchers.iter().zip(&mut samples) {
                if samples.failure.is_some() {
                    continue;
                }
                match sample(launcher) {
                    Ok(nanoseconds) => samples.nanoseconds.extend(nanoseconds),
                    Err(error) => samples.failure = Some(format!("{error:#}")),
                }
            }
        }
        eprint!(".");
        self.benchmarks.push(Benchmark { name: name.to_owned(), samples });
    }

    /// Reads measurements.
    pub fn load(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).with_context(|| format!("{}", path.display()))?;
        Ok(serde_json::from_slice(&bytes)?)
    }

    /// Writes measurements.
    pub fn save(&self, path: &Path) -> Result<()> {
        Ok(std::fs::write(path, serde_json::to_string_pretty(self)? + "\n")?)
    }

    /// An error if a benchmark failed natively or in our sandbox.
    pub fn fail_if_something_did_not_run(&self) -> Result<()> {
        let failures: Vec<_> = self
            .benchmarks
            .iter()
            .filter(|benchmark| benchmark.samples.iter().take(2).any(|it| it.failure.is_some()))
            .map(|benchmark| benchmark.name.as_str())
            .collect();
        if failures.is_empty() {
            return Ok(());
        }
        bail!("did not run: {}", failures.join(", "))
    }
}

fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let hash = git(&["rev-parse", "--short", "HEAD"]).unwrap_or_default();
    let is_clean = git(&["status", "--porcelain"]).is_none_or(|changes| changes.is_empty());
    if is_clean { hash } else { hash + "+" }
}

fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("model name"));
    line.unwrap_or("unknown").trim_start_matches([' ', '\t', ':']).to_owned()
}
