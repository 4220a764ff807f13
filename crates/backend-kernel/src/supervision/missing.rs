//! What guests looked for and did not find.
//!
//! Interpreters look for thousands of files that are not there. So places that are known to hold
//! secrets are kept apart from all others, and folders of the system are passed over. Both lists are
//! short, and fair: who makes up hundreds of secret places hides none by it. Those that every attacker
//! tries first are a list of their own, which needs no bound, for there are only so many.

use std::collections::BTreeMap;
use std::path::PathBuf;

use sandbox_spec::{Activity, LookedFor, MoreOfKind, is_well_known_place, sensitive_place};

use super::fair::{Doer, FairList, MAX_PATH_BYTES};
use super::text;

/// How many places of secrets are told apart, beside those that are well known.
const MAX_SENSITIVE: usize = 1_000;
/// How many other paths are.
const MAX_OTHERS: usize = 500;

/// The kind of what is no place of secrets.
const OTHER_FILES: &str = "other files";

/// Where programs look for their own parts.
const SYSTEM: [&[u8]; 11] = [
    b"/usr", b"/lib", b"/lib64", b"/bin", b"/sbin", b"/etc", b"/opt", b"/var", b"/proc", b"/sys",
    b"/dev",
];

/// What was looked for in vain, and how often.
pub struct Missing {
    /// Home folders, in which places are well known.
    homes: Vec<PathBuf>,
    well_known: BTreeMap<Vec<u8>, (&'static str, u64)>,
    sensitive: FairList<&'static str, Vec<u8>, ()>,
    others: FairList<(), Vec<u8>, ()>,
}

impl Missing {
    /// Nothing yet. A guest may look for secrets in these home folders.
    pub fn new(homes: Vec<PathBuf>) -> Self {
        Self {
            homes,
            well_known: BTreeMap::new(),
            sensitive: FairList::new(MAX_SENSITIVE),
            others: FairList::new(MAX_OTHERS),
        }
    }

    /// Somebody looked for a path.
    pub fn add(&mut self, doer: Doer, path: &[u8]) {
        let path = clean(path);
        match sensitive_place(&path) {
            Some(what) if is_well_known_place(&path, &self.homes) => {
                self.well_known.entry(path).or_insert((what, 0)).1 += 1;
            }
            Some(what) => self.sensitive.add(what, doer, path, ()),
            None if is_of_the_system(&path) => {}
            None => self.others.add((), doer, path, ()),
        }
    }

    /// Tells what was looked for, what is known to hold secrets first.
    pub fn tell(self, activity: &mut Activity) {
        let more = |kind: &str, times| MoreOfKind { kind: kind.to_owned(), times };
        let sensitive = self.sensitive.left_out().map(|(what, times)| more(what, times));
        let others = self.others.left_out().map(|((), times)| more(OTHER_FILES, times));
        activity.more_looked_for_by_kind = sensitive.chain(others).collect();
        let left_out = activity.more_looked_for_by_kind.iter().map(|more| more.times);
        activity.more_looked_for = left_out.fold(0, u64::saturating_add);
        let looked_for = |path: Vec<u8>, secret: Option<&str>, times| LookedFor {
            path: text(&path),
            secret: secret.map(str::to_owned),
            times,
        };
        let first = self.well_known.into_iter();
        let first = first.map(|(path, (what, times))| looked_for(path, Some(what), times));
        let sensitive = self.sensitive.into_entries();
        let sensitive = sensitive.map(|(what, path, (), n)| looked_for(path, Some(what), n));
        let others = self.others.into_entries();
        let others = others.map(|((), path, (), times)| looked_for(path, None, times));
        activity.looked_for = by_turns(first).chain(by_turns(sensitive)).chain(others).collect();
    }
}

/// The first of each kind, then the second of each, and so on: a list that is cut short shows of all.
fn by_turns(all: impl Iterator<Item = LookedFor>) -> impl Iterator<Item = LookedFor> {
    let mut seen: BTreeMap<Option<String>, usize> = BTreeMap::new();
    let mut turns: Vec<(usize, LookedFor)> = Vec::new();
    for one in all {
        let turn = seen.entry(one.secret.clone()).or_default();
        turns.push((*turn, one));
        *turn += 1;
    }
    turns.sort_by_key(|(turn, _)| *turn);
    turns.into_iter().map(|(_, one)| one)
}

fn is_of_the_system(path: &[u8]) -> bool {
    let is_beneath =
        |top: &[u8]| path.strip_prefix(top).is_some_and(|rest| rest.first() == Some(&b'/'));
    SYSTEM.iter().any(|top| is_beneath(top))
}

/// The path without needless slashes and dots, so that one place is one entry.
fn clean(path: &[u8]) -> Vec<u8> {
    let path = path.get(..MAX_PATH_BYTES).unwrap_or(path);
    let mut names: Vec<&[u8]> = Vec::new();
    for name in path.split(|byte| *byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    let mut clean = Vec::with_capacity(path.len());
    for name in names {
        clean.push(b'/');
        clean.extend_from_slice(name);
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_come_first_and_the_system_is_passed_over() {
        let mut missing = Missing::new(vec!["/home/u".into()]);
        for path in ["/work/a", "/usr/lib/x", "/etc/shadow", "/home/u/./.ssh//id_rsa", "/work/a"] {
            missing.add(None, path.as_bytes());
        }
        let mut activity = Activity::default();
        missing.tell(&mut activity);
        let told: Vec<(&str, bool, u64)> = activity
            .looked_for
            .iter()
            .map(|it| (it.path.as_str(), it.secret.is_some(), it.times))
            .collect();
        let wanted =
            [("/etc/shadow", true, 1), ("/home/u/.ssh/id_rsa", true, 1), ("/work/a", false, 2)];
        assert_eq!(told, wanted);
    }

    #[test]
    fn what_is_too_much_is_counted_and_hides_no_secret() {
        let mut missing = Missing::new(vec!["/home/u".into()]);
        for n in 0..MAX_OTHERS + 3 {
            missing.add(None, format!("/work/{n}").as_bytes());
        }
        missing.add(None, b"/etc/shadow");
        let mut activity = Activity::default();
        missing.tell(&mut activity);
        assert_eq!((activity.looked_for.len(), activity.more_looked_for), (MAX_OTHERS + 1, 3));
        assert_eq!(activity.looked_for[0].path, "/etc/shadow");
    }

    #[test]
    fn secrets_that_are_made_up_hide_none() {
        let mut missing = Missing::new(vec!["/home/u".into()]);
        for n in 0..3 * MAX_SENSITIVE {
            missing.add(Some(linux_abi::Pid(2)), format!("/x{n}/id_rsa").as_bytes());
            missing.add(Some(linux_abi::Pid(2)), format!("/home/u/.ssh/{n}").as_bytes());
        }
        let real = ["/home/u/.ssh/id_rsa", "/etc/shadow", "/run/docker.sock", "/home/u/.aws"];
        for path in real.into_iter().chain(["/deep/down/wallet.dat"]) {
            missing.add(Some(linux_abi::Pid(2)), path.as_bytes());
        }
        let mut activity = Activity::default();
        missing.tell(&mut activity);
        let at = |path: &str| activity.looked_for.iter().position(|it| it.path == path);
        for path in real {
            assert!(at(path).is_some_and(|at| at < 10), "{path}: {:?}", at(path));
        }
        assert!(at("/deep/down/wallet.dat").is_some_and(|at| at < 10));
        let wanted = u64::try_from(5 * MAX_SENSITIVE + 1).unwrap();
        assert_eq!(activity.more_looked_for, wanted);
        let more = &activity.more_looked_for_by_kind;
        assert_eq!((more[0].kind.as_str(), more[0].times, more.len()), ("SSH keys", wanted, 1));
    }
}
