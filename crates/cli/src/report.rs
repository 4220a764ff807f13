//! What a run did, told after it: as text, as JSON, or as a page for a browser.
//!
//! A report says what is known and nothing else. Where something was too much to be recorded it
//! says how much.

mod advice;
mod files;
mod page;
mod text;
mod tree;

use std::path::{Path, PathBuf};

use host_sys::beneath::ResultFile;
use sandbox::{End, ExitReport, Usage};
use sandbox_spec::{
    Activity, Change, MAX_NAME_CHARS, MoreOfKind, MountAccess, NetworkPolicy, SandboxSpec,
    printable_json, printable_path, printable_within,
};
use serde::Serialize;
use skills::RunPlan;
use skills::policy::Ask;

use crate::failure::Failure;

use advice::Advice;

/// Where a report goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportTarget {
    /// A page for a browser.
    Page(PathBuf),
    /// For machines.
    Json(PathBuf),
    /// As it would be printed.
    Text(PathBuf),
}

impl ReportTarget {
    /// Reads a file name. The form follows from how it ends.
    pub fn parse(text: &str) -> Result<Self, String> {
        let path = PathBuf::from(text);
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("html" | "htm") => Ok(Self::Page(path)),
            Some("json") => Ok(Self::Json(path)),
            Some("txt") => Ok(Self::Text(path)),
            _ => Err("a report is a file that ends in .html, .json or .txt; to have it printed, \
                      write `--report --` before a program, or --report behind a skill's path"
                .to_owned()),
        }
    }

    fn path(&self) -> &Path {
        match self {
            Self::Page(path) | Self::Json(path) | Self::Text(path) => path,
        }
    }

    /// Fails now if the report could not be written after the run. What is there stays as it is.
    pub fn open(&self) -> Result<OpenReport, Failure> {
        let file = ResultFile::at(self.path()).map_err(|error| failed(self.path(), &error))?;
        Ok(OpenReport { target: self.clone(), file })
    }
}

/// Where a report goes, held from before the run: a guest may have that folder.
#[derive(Debug)]
pub struct OpenReport {
    target: ReportTarget,
    file: ResultFile,
}

/// What became of what a run wrote to the folder that it worked on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "fate", content = "kept")]
pub enum Fate {
    /// There was nothing.
    NothingWritten,
    /// It was written to the user's folder after the run.
    Applied,
    /// Some of it was written, the rest is kept aside.
    AppliedInPart(PathBuf),
    /// It is kept aside.
    Kept(PathBuf),
    /// The folder was given to be written at once.
    WrittenAtOnce,
}

impl Fate {
    fn words(&self) -> String {
        match self {
            Self::NothingWritten => "nothing was written to the work folder".to_owned(),
            Self::Applied => "written to the user's folder".to_owned(),
            Self::AppliedInPart(path) => {
                format!("written in part; the rest is kept aside in {}", printable_path(path))
            }
            Self::Kept(path) => format!("kept aside in {}", printable_path(path)),
            Self::WrittenAtOnce => "the work folder was given to be written at once".to_owned(),
        }
    }
}

/// A folder or file of the host that the guest could see.
#[derive(Clone, Debug, Serialize)]
struct Seen {
    path: String,
    source: String,
    access: &'static str,
}

/// What a skill has in its report beside what every program has.
#[derive(Clone, Debug, Serialize)]
struct OfSkill {
    skill: String,
    script: String,
    asks: Vec<Ask>,
}

/// What was written to the folder that the run worked on.
#[derive(Clone, Debug, Serialize)]
struct OfWork {
    changes: Vec<Change>,
    #[serde(flatten)]
    fate: Fate,
}

/// What a guest did and what it could do. `docs/report.md` describes its JSON.
#[derive(Clone, Debug, Serialize)]
pub struct RunReport {
    version: u32,
    #[serde(flatten)]
    skill: Option<OfSkill>,
    #[serde(flatten)]
    work: Option<OfWork>,
    command: Vec<String>,
    exit_code: u8,
    #[serde(flatten)]
    end: End,
    usage: Usage,
    network: String,
    mounts: Vec<Seen>,
    variables: Vec<String>,
    limits: sandbox_spec::Limits,
    /// How many things it was kept from.
    n_denied: u64,
    #[serde(flatten)]
    activity: Activity,
}

impl RunReport {
    /// Puts together what is known of a run.
    pub fn new(spec: &SandboxSpec, end: &ExitReport) -> Self {
        let text = |text: &std::ffi::OsStr| text.to_string_lossy().into_owned();
        let activity = end.activity.as_deref().cloned().unwrap_or_default();
        Self {
            version: 1,
            skill: None,
            work: None,
            command: spec.program.iter().map(|word| text(word)).collect(),
            exit_code: end.end.exit_code(),
            end: end.end.clone(),
            usage: end.usage,
            network: network(&spec.network),
            mounts: spec.mounts.iter().map(seen).collect(),
            variables: spec.environment.iter().map(|(name, _)| text(name)).collect(),
            limits: spec.limits.clone(),
            n_denied: activity.n_denied(),
            activity,
        }
    }

    /// Adds what is known of a skill.
    pub fn of_skill(mut self, plan: &RunPlan) -> Self {
        self.skill = Some(OfSkill {
            skill: plan.skill.clone(),
            script: plan.script.clone(),
            asks: plan.asks.clone(),
        });
        self
    }

    /// Adds what was written to the folder that the run worked on, and what became of it.
    pub fn with_work(mut self, changes: &[Change], fate: Fate) -> Self {
        self.work = Some(OfWork { changes: changes.to_vec(), fate });
        self
    }

    /// Writes the report to a file, or prints it on standard error.
    pub fn write(&self, place: Option<&OpenReport>) -> Result<(), Failure> {
        let Some(OpenReport { target, file }) = place else {
            eprint!("\n{}", text::text(self));
            return Ok(());
        };
        let text = match target {
            ReportTarget::Page(_) => page::page(self),
            ReportTarget::Text(_) => text::text(self),
            ReportTarget::Json(path) => {
                let json = serde_json::to_string_pretty(self);
                let json = json.map_err(|error| failed(path, &error.into()))?;
                printable_json(&json) + "\n"
            }
        };
        file.write(text.as_bytes()).map_err(|error| failed(target.path(), &error))
    }

    /// How it went, in a few words, and what colour that has.
    fn verdict(&self) -> (&'static str, String) {
        let denied = match self.n_denied {
            0 => String::new(),
            1 => ", 1 thing denied".to_owned(),
            n => format!(", {n} things denied"),
        };
        match (self.exit_code, self.n_denied) {
            (0, 0) => ("good", "succeeded".to_owned()),
            (0, _) => ("warn", format!("succeeded{denied}")),
            (code, _) => ("bad", format!("failed with exit code {code}{denied}")),
        }
    }

    fn title(&self) -> String {
        match &self.skill {
            Some(skill) => format!("{}, {}", skill.skill, skill.script),
            None => self.command.first().cloned().unwrap_or_default(),
        }
    }

    /// What can be said in a line each.
    fn facts(&self) -> Vec<(&'static str, String)> {
        let usage = &self.usage;
        let mut facts = vec![
            ("command", words(&self.command)),
            ("ended", format!("{}, exit code {}", self.ending(), self.exit_code)),
            ("time", seconds(usage.wall_time)),
        ];
        // Zero is what a backend says that cannot know.
        if usage.peak_memory > 0 {
            facts.push(("memory", format!("{} MiB at most", usage.peak_memory.div_ceil(1 << 20))));
        }
        if usage.system_calls > 0 {
            facts.push(("calls", format!("{} system calls", usage.system_calls)));
        }
        let cpu: std::time::Duration =
            self.activity.processes.iter().map(|it| it.user_time + it.system_time).sum();
        let cpu = if cpu.is_zero() { usage.user_time + usage.system_time } else { cpu };
        if !cpu.is_zero() {
            facts.push(("CPU time", seconds(cpu)));
        }
        facts.push(("network", self.network.clone()));
        facts.push(("variables", self.variables.join(" ")));
        facts
    }

    fn ending(&self) -> String {
        match &self.end {
            End::Exited { .. } => "by itself".to_owned(),
            End::Signaled { signal, .. } => format!("by signal {signal}"),
            End::TimedOut => "by the time limit".to_owned(),
            End::CpuTimeExceeded => "by the limit of CPU time".to_owned(),
            End::MemoryExceeded => "by the memory limit".to_owned(),
            End::OutputExceeded => "by the output limit".to_owned(),
            End::Killed => "by being killed".to_owned(),
        }
    }
}

/// How many denials are told after a run without a report.
const MAX_TOLD: usize = 10;

/// Says on standard error what the policy denied, and what would allow it.
pub fn tell_denied(activity: Option<&Activity>) {
    let Some(activity) = activity else { return };
    let n_asked = activity.asked.iter().filter(|ask| !ask.is_allowed).count();
    if n_asked > 0 {
        eprintln!(
            "it asked about {n_asked} paths and was told no by the policy; --report FILE.html lists \
             them"
        );
    }
    if activity.denied.is_empty() {
        return;
    }
    eprintln!("the policy denied:");
    for denial in advice::denials(activity).into_iter().take(MAX_TOLD) {
        let path = printable_within(&denial.path, MAX_NAME_CHARS);
        let advice = Advice::of_path(denial.wanted, &denial.path).words();
        eprintln!("  {} {path}   ({advice})", denial.wanted.word());
    }
    if let Some(more @ 1..) = activity.denied.len().checked_sub(MAX_TOLD) {
        eprintln!("  and {more} more; --report FILE.html lists them");
    }
    for MoreOfKind { kind, times } in &activity.more_denied_by_kind {
        eprintln!("  and {times} times more that is counted and not listed anywhere: {kind}");
    }
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot write the report to {}: {error}", printable_path(path)))
        .hint("choose another place for --report")
        .code(Failure::CANNOT_START)
}

fn seconds(time: std::time::Duration) -> String {
    format!("{:.3} s", time.as_secs_f64())
}

/// A command as it would be typed.
fn words(command: &[String]) -> String {
    let is_plain =
        |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | '=' | ':' | ',' | '+');
    let word = |word: &String| match !word.is_empty() && word.chars().all(is_plain) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    };
    command.iter().map(word).collect::<Vec<_>>().join(" ")
}

fn network(policy: &NetworkPolicy) -> String {
    match policy {
        NetworkPolicy::None => "none".to_owned(),
        NetworkPolicy::Loopback => "only inside the sandbox".to_owned(),
        NetworkPolicy::Allow(rules) => {
            let hosts: Vec<String> = rules.allow.iter().map(ToString::to_string).collect();
            format!("inside the sandbox, and allowed to reach {}", hosts.join(", "))
        }
    }
}

fn seen(mount: &sandbox_spec::Mount) -> Seen {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    Seen {
        path: text(&mount.destination),
        source: text(mount.source.path()),
        access: match mount.access {
            MountAccess::ReadOnly => "read-only",
            MountAccess::ReadWrite => "read-write",
            MountAccess::Overlay => "layered",
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_follows_from_the_name() {
        assert_eq!(ReportTarget::parse("a.html"), Ok(ReportTarget::Page("a.html".into())));
        assert_eq!(ReportTarget::parse("a.json"), Ok(ReportTarget::Json("a.json".into())));
        assert!(ReportTarget::parse("./skill").is_err());
    }

    #[test]
    fn a_command_can_be_typed_again() {
        let command = ["sh", "-c", "echo 'a b'", ""].map(str::to_owned);
        assert_eq!(words(&command), r"sh -c 'echo '\''a b'\''' ''");
    }
}
