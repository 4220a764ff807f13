//! What guests looked for and did not find.
//!
//! Interpreters look for thousands of files that are not there. So places that are known to hold
//! secrets are kept apart from all others, folders of the system are passed over, and both lists are
//! short.

use std::collections::BTreeMap;

use sandbox_spec::{Activity, LookedFor, sensitive_place};

use super::text;

/// How many paths of each of the two lists are told apart.
const MAX_PATHS: usize = 500;
/// How long a path is kept. No path of Linux is longer.
const MAX_PATH_BYTES: usize = 4096;

/// Where programs look for their own parts.
const SYSTEM: [&[u8]; 11] = [
    b"/usr", b"/lib", b"/lib64", b"/bin", b"/sbin", b"/etc", b"/opt", b"/var", b"/proc", b"/sys",
    b"/dev",
];

/// What was looked for in vain, and how often.
#[derive(Default)]
pub struct Missing {
    sensitive: BTreeMap<Vec<u8>, (&'static str, u64)>,
    others: BTreeMap<Vec<u8>, u64>,
    more: u64,
}

impl Missing {
    /// Somebody looked for a path.
    pub fn add(&mut self, path: &[u8]) {
        let path = clean(path);
        if let Some(times) = self.others.get_mut(&path) {
            *times += 1;
        } else if let Some((_, times)) = self.sensitive.get_mut(&path) {
            *times += 1;
        } else if let Some(what) = sensitive_place(&path) {
            if self.sensitive.len() < MAX_PATHS {
                self.sensitive.insert(path, (what, 1));
            } else {
                self.more += 1;
            }
        } else if !is_of_the_system(&path) {
            if self.others.len() < MAX_PATHS {
                self.others.insert(path, 1);
            } else {
                self.more += 1;
            }
        }
    }

    /// Tells what was looked for, what is known to hold secrets first.
    pub fn tell(self, activity: &mut Activity) {
        activity.more_looked_for = self.more;
        let secrets = self.sensitive.into_iter().map(|(path, (what, times))| LookedFor {
            path: text(&path),
            secret: Some(what.to_owned()),
            times,
        });
        let others = self.others.into_iter().map(|(path, times)| LookedFor {
            path: text(&path),
            secret: None,
            times,
        });
        activity.looked_for = secrets.chain(others).collect();
    }
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
        let mut missing = Missing::default();
        for path in ["/work/a", "/usr/lib/x", "/etc/shadow", "/home/u/./.ssh//id_rsa", "/work/a"] {
            missing.add(path.as_bytes());
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
        let mut missing = Missing::default();
        for n in 0..MAX_PATHS + 3 {
            missing.add(format!("/work/{n}").as_bytes());
        }
        missing.add(b"/etc/shadow");
        let mut activity = Activity::default();
        missing.tell(&mut activity);
        assert_eq!((activity.looked_for.len(), activity.more_looked_for), (MAX_PATHS + 1, 3));
        assert_eq!(activity.looked_for[0].path, "/etc/shadow");
    }
}
