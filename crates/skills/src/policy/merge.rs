//! Puts policies together. The user's word is final.
//!
//! The user speaks through flags and through a policy file; flags are the stronger. A skill only
//! asks. Where the user has said something, the skill's wish about the same thing is dropped;
//! where the user is silent, it is granted with consent and listed as an [`Ask`] without.

use std::collections::BTreeSet;
use std::path::Path;

use sandbox_spec::ByteSize;
use sandbox_spec::credentials::credentials_in;
use serde::Serialize;

use super::{Access, Mount, Network, Policy, ResourceLimits, weight};

/// Whether the user has agreed to what the skill asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Consent {
    /// The user was not asked, or said no.
    #[default]
    Withheld,
    /// The user said yes.
    Given,
}

/// The policies of a run.
#[derive(Clone, Copy, Debug)]
pub struct Layers<'p> {
    /// From the command line.
    pub flags: &'p Policy,
    /// From the user's own file.
    pub user: &'p Policy,
    /// From the skill.
    pub skill: &'p Policy,
    /// The user's answer to what the skill asks for.
    pub consent: Consent,
    /// The user's home folder, to say which wishes are about keys.
    pub home: Option<&'p Path>,
}

/// One thing that a skill asks for and that the user has not decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ask {
    /// What it is about: `network`, `mount`, `env`, `limit`.
    pub about: &'static str,
    /// What is asked for, in words.
    pub what: String,
    /// Whether it was granted.
    pub is_granted: bool,
    /// How much it weighs among wishes of its kind; nothing for one that need not be looked at twice.
    #[serde(skip)]
    pub weight: u8,
}

/// What holds for a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Effective {
    /// The policy that holds.
    pub policy: Policy,
    /// What the skill asked for beyond what the user had said.
    pub asks: Vec<Ask>,
}

impl Effective {
    /// What still needs the user's answer.
    pub fn pending(&self) -> impl Iterator<Item = &Ask> {
        self.asks.iter().filter(|ask| !ask.is_granted)
    }
}

/// Puts the policies of a run together.
pub fn merge(layers: &Layers<'_>) -> Effective {
    let mut merged = Merge { consent: layers.consent, asks: Vec::new() };
    let own = user_side(layers.flags, layers.user);
    let policy = Policy {
        network: merged.network(own.network, layers.skill),
        mounts: merged.mounts(own.mounts, layers),
        env: merged.env(own.env, layers.skill),
        limits: merged.limits(own.limits, &layers.skill.limits),
        files: own.files.or_else(|| layers.skill.files.clone()),
        programs: own.programs.or_else(|| layers.skill.programs.clone()),
    };
    Effective { policy, asks: merged.asks }
}

/// Flags over the user's file. A flag that allows a host adds to the file; `none` takes away.
fn user_side(flags: &Policy, user: &Policy) -> Policy {
    let network = match (&flags.network, &user.network) {
        (Some(flag), Some(file)) if !flag.allow.is_empty() => Some(Network {
            allow: flag.allow.union(&file.allow).cloned().collect(),
            deny: flag.deny.union(&file.deny).cloned().collect(),
        }),
        (Some(flag), _) => Some(flag.clone()),
        (None, file) => file.clone(),
    };
    let mut mounts = flags.mounts.clone();
    mounts.extend(user.mounts.iter().filter(|m| !has_target(&flags.mounts, m)).cloned());
    let mut env = user.env.clone();
    for (name, value) in &flags.env.set {
        env.pass.remove(name);
        env.set.insert(name.clone(), value.clone());
    }
    for name in &flags.env.pass {
        env.set.remove(name);
        env.pass.insert(name.clone());
    }
    Policy {
        network,
        mounts,
        env,
        limits: over(&flags.limits, &user.limits),
        files: flags.files.clone().or_else(|| user.files.clone()),
        programs: flags.programs.clone().or_else(|| user.programs.clone()),
    }
}

/// Which credentials a path of the host leads to, as it is written or by links and `..`.
fn holds(source: &Path, home: Option<&Path>) -> Option<&'static str> {
    credentials_in(source, home).or_else(|| {
        let home = home.and_then(|home| home.canonicalize().ok());
        credentials_in(&source.canonicalize().ok()?, home.as_deref())
    })
}

fn has_target(mounts: &[Mount], wanted: &Mount) -> bool {
    mounts.iter().any(|mount| mount.target == wanted.target)
}

fn over(strong: &ResourceLimits, weak: &ResourceLimits) -> ResourceLimits {
    ResourceLimits {
        memory_bytes: strong.memory_bytes.or(weak.memory_bytes),
        timeout: strong.timeout.or(weak.timeout),
        processes: strong.processes.or(weak.processes),
        output_bytes: strong.output_bytes.or(weak.output_bytes),
        disk_bytes: strong.disk_bytes.or(weak.disk_bytes),
    }
}

struct Merge {
    consent: Consent,
    asks: Vec<Ask>,
}

impl Merge {
    /// Notes a wish and says whether it is granted.
    fn ask(&mut self, about: &'static str, weight: u8, what: String) -> bool {
        let is_granted = self.consent == Consent::Given;
        self.asks.push(Ask { about, what, is_granted, weight });
        is_granted
    }

    fn network(&mut self, own: Option<Network>, skill: &Policy) -> Option<Network> {
        let mut deny = match own {
            // Who only denies has not said what is allowed.
            Some(own) if own.allow.is_empty() && !own.deny.is_empty() => own.deny,
            Some(own) => return Some(own),
            None => BTreeSet::new(),
        };
        let wished = match &skill.network {
            Some(wished) => wished,
            None if deny.is_empty() => return None,
            None => return Some(Network { deny, ..Network::default() }),
        };
        deny.extend(wished.deny.iter().cloned());
        let granted = wished
            .allow
            .iter()
            .filter(|host| self.ask("network", weight::of_host(host), format!("contact {host}")));
        Some(Network { allow: granted.cloned().collect(), deny })
    }

    fn mounts(&mut self, mut own: Vec<Mount>, layers: &Layers<'_>) -> Vec<Mount> {
        let is_taken = |wish: &Mount, own: &[Mount]| {
            own.iter().any(|mount| overlaps(&mount.target, &wish.target))
        };
        let wishes: Vec<Mount> =
            layers.skill.mounts.iter().filter(|wish| !is_taken(wish, &own)).cloned().collect();
        for wish in wishes {
            let verb = if wish.access == Access::Write { "read and write" } else { "read" };
            let source = Path::new(&wish.source);
            let holds = holds(source, layers.home);
            let place = source.canonicalize().unwrap_or_else(|_| source.to_path_buf());
            let weight = weight::of_mount(&place, holds.is_some());
            let holds = holds.map_or_else(String::new, |what| format!(", which holds {what}"));
            let what = format!("{verb} {} as {}{holds}", wish.source, wish.target);
            if self.ask("mount", weight, what) {
                own.push(wish);
            }
        }
        own
    }

    fn env(&mut self, mut own: super::Env, skill: &Policy) -> super::Env {
        let is_known =
            |own: &super::Env, name: &String| own.set.contains_key(name) || own.pass.contains(name);
        for (name, value) in &skill.env.set {
            if !is_known(&own, name) && self.ask("env", 0, format!("set {name}={value}")) {
                own.set.insert(name.clone(), value.clone());
            }
        }
        for name in &skill.env.pass {
            let (weight, note) = match weight::is_secret_variable(name) {
                true => (1, ", a secret by its name"),
                false => (0, ""),
            };
            let what = format!("see the host's {name}{note}");
            if !is_known(&own, name) && self.ask("env", weight, what) {
                own.pass.insert(name.clone());
            }
        }
        own
    }

    fn limits(&mut self, own: ResourceLimits, skill: &ResourceLimits) -> ResourceLimits {
        let usual = default_limits();
        let wish = ResourceLimits {
            memory_bytes: self.size(
                "memory",
                own.memory_bytes,
                skill.memory_bytes,
                usual.memory_bytes,
            ),
            timeout: self.limit("time", own.timeout, skill.timeout, usual.timeout, |time| {
                format!("{time:?}")
            }),
            processes: self.limit(
                "processes",
                own.processes,
                skill.processes,
                usual.processes,
                |n| n.to_string(),
            ),
            output_bytes: self.size(
                "output",
                own.output_bytes,
                skill.output_bytes,
                usual.output_bytes,
            ),
            disk_bytes: self.size("disk", own.disk_bytes, skill.disk_bytes, usual.disk_bytes),
        };
        over(&over(&own, &wish), &usual)
    }

    /// A wish for less than the default is granted at once: it takes nothing from the user.
    fn limit<T: PartialOrd + Copy>(
        &mut self,
        name: &str,
        own: Option<T>,
        wish: Option<T>,
        usual: Option<T>,
        words: impl Fn(T) -> String,
    ) -> Option<T> {
        if own.is_some() {
            return None;
        }
        let wish = wish?;
        let is_modest = usual.is_some_and(|usual| wish <= usual);
        (is_modest || self.ask("limit", 0, format!("use more {name}: {}", words(wish))))
            .then_some(wish)
    }

    fn size(
        &mut self,
        name: &str,
        own: Option<u64>,
        wish: Option<u64>,
        usual: Option<u64>,
    ) -> Option<u64> {
        self.limit(name, own, wish, usual, |bytes| ByteSize(bytes).to_string())
    }
}

/// Whether one of two absolute paths is the other or lies beneath it.
fn overlaps(a: &str, b: &str) -> bool {
    let beneath = |up: &str, down: &str| {
        down.strip_prefix(up).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    beneath(a, b) || beneath(b, a)
}

/// The limits of a run about which nobody has said anything. Enough for a browser.
pub(crate) fn default_limits() -> ResourceLimits {
    ResourceLimits {
        memory_bytes: Some(2 << 30),
        timeout: Some(std::time::Duration::from_secs(600)),
        processes: Some(256),
        output_bytes: Some(64 << 20),
        disk_bytes: Some(4 << 30),
    }
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

    fn merged(flags: &str, user: &str, skill: &str, consent: Consent) -> Effective {
        let policy = |text| {
            let read = read("t", text);
            assert!(read.is_valid(), "{:?}", read.findings);
            read.policy
        };
        merge(&Layers {
            flags: &policy(flags),
            user: &policy(user),
            skill: &policy(skill),
            consent,
            home: Some(Path::new("/home/ann")),
        })
    }

    #[test]
    fn a_wish_for_keys_says_so() {
        let asks = |source: &str| {
            let policy = format!("mounts: [{{source: {source}, target: /d}}]\n");
            merged("", "", &policy, Consent::Withheld).asks.remove(0).what
        };
        assert_eq!(asks("/home/ann/.aws"), "read /home/ann/.aws as /d, which holds AWS keys");
        assert!(asks("/usr/../etc/shadow").ends_with(", which holds hashes of passwords"));
        assert!(asks("/home").ends_with(", which holds the places where keys and passwords are"));
        assert_eq!(asks("/x"), "read /x as /d");
    }

    fn hosts(effective: &Effective) -> Vec<&str> {
        effective.policy.network.iter().flat_map(|n| &n.allow).map(String::as_str).collect()
    }

    const ASKS: &str = "network: {allow: [a.org]}\nmounts: [{source: /x, target: /d/x}]\n\
                        env: {set: {K: skill}, pass: [TOKEN]}\nlimits: {memory: 64G, timeout: 5s}\n";

    #[test]
    fn a_skill_gets_nothing_without_consent() {
        let effective = merged("", "", ASKS, Consent::Withheld);
        assert!(hosts(&effective).is_empty());
        assert!(effective.policy.mounts.is_empty());
        assert!(effective.policy.env.is_empty());
        assert_eq!(effective.policy.limits.memory_bytes, Some(2 << 30));
        assert_eq!(effective.pending().count(), 5);
    }

    #[test]
    fn a_skill_may_ask_for_less_than_the_default() {
        let effective = merged("", "", ASKS, Consent::Withheld);
        assert_eq!(effective.policy.limits.timeout, Some(std::time::Duration::from_secs(5)));
    }

    #[test]
    fn consent_grants_what_the_user_has_not_decided() {
        let effective = merged("", "", ASKS, Consent::Given);
        assert_eq!(hosts(&effective), ["a.org"]);
        assert_eq!(effective.policy.mounts.len(), 1);
        assert_eq!(effective.policy.limits.memory_bytes, Some(64 << 30));
        assert_eq!(effective.pending().count(), 0);
    }

    #[test]
    fn the_user_wins_even_with_consent() {
        let user = "network: none\nmounts: [{source: /mine, target: /d}]\n\
                    env: {set: {K: user, TOKEN: none}}\nlimits: {memory: 1G, timeout: 9s}\n";
        let effective = merged("", user, ASKS, Consent::Given);
        assert!(hosts(&effective).is_empty());
        assert_eq!(effective.policy.mounts.len(), 1);
        assert_eq!(effective.policy.mounts[0].source, "/mine");
        assert_eq!(effective.policy.env.set["K"], "user");
        assert!(effective.policy.env.pass.is_empty());
        assert_eq!(effective.policy.limits.memory_bytes, Some(1 << 30));
        assert_eq!(effective.policy.limits.timeout, Some(std::time::Duration::from_secs(9)));
        assert!(effective.asks.is_empty(), "{:?}", effective.asks);
    }

    #[test]
    fn what_is_denied_stays_so_whoever_allows() {
        let deny = |effective: &Effective| effective.policy.network.clone().unwrap().deny;
        let effective = merged("", "network: {deny: [a.org]}\n", ASKS, Consent::Given);
        assert_eq!(hosts(&effective), ["a.org"]);
        assert!(deny(&effective).contains("a.org"));
        let flags = "network: {allow: [b.org]}\n";
        let effective = merged(flags, "network: {deny: [a.org]}\n", "", Consent::Withheld);
        assert_eq!(hosts(&effective), ["b.org"]);
        assert!(deny(&effective).contains("a.org"));
    }

    #[test]
    fn flags_win_over_the_users_file() {
        let user = "network: {allow: [u.org]}\nenv: {set: {K: user}}\nmounts: [{source: /u, target: /d}]\nlimits: {memory: 1G}\n";
        let flags = "network: {allow: [f.org]}\nenv: {set: {K: flag}}\nmounts: [{source: /f, target: /d}]\nlimits: {memory: 2G}\n";
        let effective = merged(flags, user, "", Consent::Withheld);
        assert_eq!(hosts(&effective), ["f.org", "u.org"]);
        assert_eq!(effective.policy.env.set["K"], "flag");
        assert_eq!(effective.policy.mounts[0].source, "/f");
        assert_eq!(effective.policy.mounts.len(), 1);
        assert_eq!(effective.policy.limits.memory_bytes, Some(2 << 30));
        assert!(hosts(&merged("network: none", user, ASKS, Consent::Given)).is_empty());
    }
}
