//! What a skill did, told after the run: as text, as JSON, or as a page for a browser.
//!
//! A report says what is known and nothing else. What the sandbox does not record yet has no
//! place in it.

mod page;

use std::path::{Path, PathBuf};

use sandbox::ExitReport;
use sandbox_spec::{MountAccess, NetworkPolicy, SandboxSpec};
use serde::Serialize;
use skills::policy::Ask;
use skills::{RunPlan, printable};

use super::aside::{counted, in_words};
use super::changes::Change;
use crate::failure::Failure;

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
                      write --report behind the skill's path and script"
                .to_owned()),
        }
    }
}

/// What became of what the skill wrote to its work folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "fate", content = "kept")]
pub enum Fate {
    /// There was nothing.
    NothingWritten,
    /// It was written to the user's folder after the run.
    Applied,
    /// It is kept aside.
    Kept(PathBuf),
    /// The folder was given to be written at once, so that nobody knows what changed.
    WrittenAtOnce,
}

impl Fate {
    fn words(&self) -> String {
        match self {
            Self::NothingWritten => "nothing was written".to_owned(),
            Self::Applied => "written to the user's folder".to_owned(),
            Self::Kept(path) => format!("kept aside in {}", path.display()),
            Self::WrittenAtOnce => "the folder was given to be written at once".to_owned(),
        }
    }
}

/// A folder or file of the host that the skill could see.
#[derive(Clone, Debug, Serialize)]
struct Seen {
    path: String,
    source: String,
    access: &'static str,
}

/// What a skill did and what it could do.
#[derive(Clone, Debug, Serialize)]
pub struct RunReport {
    skill: String,
    script: String,
    command: Vec<String>,
    exit_code: u8,
    #[serde(flatten)]
    end: ExitReport,
    network: String,
    mounts: Vec<Seen>,
    variables: Vec<String>,
    limits: sandbox_spec::Limits,
    asks: Vec<Ask>,
    changes: Vec<Change>,
    #[serde(flatten)]
    fate: Fate,
}

impl RunReport {
    /// Puts together what is known of a run.
    pub fn new(
        plan: &RunPlan,
        spec: &SandboxSpec,
        end: &ExitReport,
        changes: &[Change],
        fate: Fate,
    ) -> Self {
        let text = |text: &std::ffi::OsStr| text.to_string_lossy().into_owned();
        Self {
            skill: plan.skill.clone(),
            script: plan.script.clone(),
            command: spec.program.iter().map(|word| text(word)).collect(),
            exit_code: end.end.exit_code(),
            end: end.clone(),
            network: network(&spec.network, plan),
            mounts: spec.mounts.iter().map(seen).collect(),
            variables: spec.environment.iter().map(|(name, _)| text(name)).collect(),
            limits: spec.limits.clone(),
            asks: plan.asks.clone(),
            changes: changes.to_vec(),
            fate,
        }
    }

    /// Writes the report to a file, or prints it on standard error.
    pub fn write(&self, target: Option<&ReportTarget>) -> Result<(), Failure> {
        let (path, text) = match target {
            None => {
                eprint!("\n{}", self.text());
                return Ok(());
            }
            Some(ReportTarget::Page(path)) => (path, page::page(self)),
            Some(ReportTarget::Text(path)) => (path, self.text()),
            Some(ReportTarget::Json(path)) => {
                let json = serde_json::to_string_pretty(self);
                let json = json.map_err(|error| failed(path, &error.into()))?;
                (path, json + "\n")
            }
        };
        std::fs::write(path, text).map_err(|error| failed(path, &error))
    }

    fn text(&self) -> String {
        let mut text = format!("report of {}, {}\n", self.skill, self.script);
        for (name, value) in self.facts() {
            text.push_str(&format!("  {name:<12}{}\n", printable(&value)));
        }
        for seen in &self.mounts {
            let (path, source) = (printable(&seen.path), printable(&seen.source));
            text.push_str(&format!("  {:<12}{path} is {source}\n", seen.access));
        }
        for ask in &self.asks {
            let word = if ask.is_granted { "granted" } else { "refused" };
            text.push_str(&format!("  {word:<12}{}: {}\n", ask.about, printable(&ask.what)));
        }
        let count =
            if self.changes.is_empty() { String::new() } else { counted(&self.changes) + "; " };
        text.push_str(&format!("  {:<12}{count}{}\n", "files", self.fate.words()));
        text + &in_words(&self.changes)
    }

    /// What can be said in a line each.
    fn facts(&self) -> Vec<(&'static str, String)> {
        let usage = &self.end.usage;
        let seconds = |time: std::time::Duration| format!("{:.3} s", time.as_secs_f64());
        let mut facts = vec![
            ("command", self.command.join(" ")),
            ("ended", format!("{}, exit code {}", self.ending(), self.exit_code)),
            ("time", seconds(usage.wall_time)),
        ];
        // Zero is what a backend says that cannot know.
        let known = [
            ("memory", usage.peak_memory, " bytes at most"),
            ("processes", usage.processes, " started"),
            ("calls", usage.system_calls, " system calls"),
        ];
        for (name, value, unit) in known.into_iter().filter(|(_, value, _)| *value > 0) {
            facts.push((name, format!("{value}{unit}")));
        }
        let cpu_time = usage.user_time + usage.system_time;
        if !cpu_time.is_zero() {
            facts.push(("CPU time", seconds(cpu_time)));
        }
        facts.push(("network", self.network.clone()));
        facts.push(("variables", self.variables.join(" ")));
        facts
    }

    fn ending(&self) -> String {
        use sandbox::End;
        match &self.end.end {
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

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot write the report to {}: {error}", path.display()))
        .code(Failure::CANNOT_START)
}

fn network(policy: &NetworkPolicy, plan: &RunPlan) -> String {
    match policy {
        NetworkPolicy::None => "none".to_owned(),
        NetworkPolicy::Loopback => "only inside the sandbox".to_owned(),
        NetworkPolicy::Allow(_) => {
            let hosts: Vec<&str> = plan.network.allow.iter().map(String::as_str).collect();
            format!("inside the sandbox, and allowed to reach {}", hosts.join(", "))
        }
    }
}

fn seen(mount: &sandbox_spec::Mount) -> Seen {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    Seen {
        path: text(&mount.destination),
        source: text(&mount.source),
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
}
