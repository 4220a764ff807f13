//! What a run may do: the flags, the user's policy, and what the skill asks for.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use host_sys::beneath::read_named;
use sandbox_spec::{
    EnvironmentItem, HostRule, MAX_NAME_CHARS, MountAccess, Tilde, printable_path, printable_within,
};
use skills::RunPlan;
use skills::policy::{self, Access, Ask, Mount, Network, Policy, ResourceLimits};

use super::asks;
use super::learn::MAX_POLICY_BYTES;
use crate::failure::Failure;
use crate::options::{CommonOptions, absolute, home_folder};
use crate::signals::Signals;
use crate::user_terminal::UserTerminal;

/// How often somebody may look at everything before a question has no answer.
const MAX_TRIES: usize = 20;

/// Options about who decides what a skill may do.
#[derive(Args)]
#[command(next_help_heading = "Permissions")]
pub struct PermissionOptions {
    /// Use your own policy, in the form of a belljar.yaml
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Grant what the skill asks for in its belljar.yaml
    #[arg(long, conflicts_with = "no")]
    pub yes: bool,
    /// Refuse what the skill asks for, and run without it
    #[arg(long)]
    pub no: bool,
}

/// What the flags say, as the strongest policy.
pub fn flags(options: &CommonOptions) -> Result<Policy, Failure> {
    let limits = &options.limits;
    let mut policy = Policy {
        limits: ResourceLimits {
            memory_bytes: limits.memory.map(|size| size.0),
            timeout: limits.timeout,
            processes: limits.processes.map(u64::from),
            output_bytes: limits.output_limit.map(|size| size.0),
            disk_bytes: limits.disk.map(|size| size.0),
        },
        ..Policy::default()
    };
    let network = &options.network;
    network.check()?;
    if network.net.is_some() || !(network.allow.is_empty() && network.deny.is_empty()) {
        let hosts = |rules: &[HostRule]| rules.iter().map(ToString::to_string).collect();
        let (allow, deny) = (hosts(&network.allow), hosts(&network.deny));
        policy.network = Some(Network { allow, deny });
    }
    for mount in &options.mount {
        policy.mounts.push(mount_of(mount)?);
    }
    for item in &options.env {
        match item {
            EnvironmentItem::Value(name, value) => {
                policy.env.set.insert(text("--env", name)?, text("--env", value)?);
            }
            EnvironmentItem::FromHost(name) => {
                policy.env.pass.insert(text("--env", name)?);
            }
        }
    }
    Ok(policy)
}

impl PermissionOptions {
    /// What the user's policy file says. Its paths are relative to its folder.
    pub fn user_policy(&self) -> Result<Policy, Failure> {
        self.policy.as_deref().map(read_policy).transpose().map(Option::unwrap_or_default)
    }
}

/// Reads a policy of the user's. Its paths are relative to its folder.
pub fn read_policy(path: &Path) -> Result<Policy, Failure> {
    let bytes = read_named(path, MAX_POLICY_BYTES).map_err(|error| {
        refused("--policy", &format!("cannot read {}: {error}", printable_path(path)))
            .hint("--learn FILE writes a policy; docs/policy.md describes one")
    })?;
    let read = policy::read(&printable_path(path), &String::from_utf8_lossy(&bytes));
    if !read.is_valid() {
        eprint!("{}", skills::Report::new(read.findings).to_text());
        return Err(refused("--policy", &format!("{} is not valid", printable_path(path))));
    }
    let mut policy = read.policy;
    let folder = path.parent().unwrap_or(Path::new("."));
    for mount in &mut policy.mounts {
        let source = Path::new(&mount.source);
        let source = match (Tilde::of(source), home_folder()) {
            (Tilde::None, _) => absolute(&folder.join(source))?,
            (Tilde::Home(rest), Some(home)) => home.join(rest),
            (Tilde::Home(_) | Tilde::Other, _) => {
                let why =
                    format!("{} is in a home folder that is not known", printable_path(source));
                return Err(refused("--policy", &why).hint("set HOME, or write the whole path"));
            }
        };
        mount.source = text("--policy", source.as_os_str())?;
    }
    Ok(policy)
}

fn refused(option: &str, why: &str) -> Failure {
    Failure::new(format!("{option}: {why}")).code(Failure::CANNOT_START)
}

fn mount_of(mount: &sandbox_spec::Mount) -> Result<Mount, Failure> {
    let access = match mount.access {
        MountAccess::ReadOnly => Access::Read,
        MountAccess::ReadWrite => Access::Write,
        MountAccess::Overlay => return Err(refused("--mount", "use ro or rw for a skill")),
    };
    Ok(Mount {
        source: text("--mount", absolute(mount.source.path())?.as_os_str())?,
        target: text("--mount", mount.destination.as_os_str())?,
        access,
    })
}

fn text(option: &str, value: &std::ffi::OsStr) -> Result<String, Failure> {
    let text = value.to_str().map(str::to_owned);
    text.ok_or_else(|| refused(option, &format!("{} is no text", printable_path(value))))
}

/// The variables of the host that are text; others cannot be passed to a skill.
pub fn host_environment() -> BTreeMap<String, String> {
    let text = |(name, value): (OsString, OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).collect()
}

/// Who is asked.
#[derive(Clone, Copy)]
pub struct Asking<'a> {
    /// The terminal, if somebody is there to answer.
    pub terminal: Option<&'a UserTerminal>,
    /// Signals to us, which end the question.
    pub signals: &'a Signals,
}

/// Shows what a skill asks for, and finds out whether it gets it.
pub fn decide(
    options: &PermissionOptions,
    plan: &RunPlan,
    asking: Asking<'_>,
) -> Result<bool, Failure> {
    let pending: Vec<&Ask> = plan.asks.iter().filter(|ask| !ask.is_granted).collect();
    if pending.is_empty() || options.no {
        return Ok(false);
    }
    let skill = printable_within(&plan.skill, MAX_NAME_CHARS);
    let words = format!("{skill} asks for more than skills get{}", asks::in_words(&pending));
    if options.yes {
        eprint!("{words}");
        return Ok(true);
    }
    let Some(terminal) = asking.terminal else {
        eprint!("{words}");
        return Err(Failure::new("the skill asks for more, and nobody is there to answer")
            .hint("--yes grants it, --no runs the skill without it")
            .code(Failure::CANNOT_START));
    };
    terminal.say(&words);
    for _ in 0..MAX_TRIES {
        if asks::are_folded(&pending) {
            terminal.say("y: all of it, n: nothing, d: show all\n");
        }
        match terminal.ask("Grant this? [y/N] ", asking.signals)?.as_deref() {
            Some("y" | "yes") => return Ok(true),
            Some("d") => terminal.say(&asks::all_in_words(&pending)),
            _ => return Ok(false),
        }
    }
    Ok(false)
}
