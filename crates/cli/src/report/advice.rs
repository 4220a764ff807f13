//! What somebody should know of a thing that was denied: what would allow it, or why nothing should;
//! and what is told first.

use std::collections::BTreeMap;

use sandbox_spec::{
    Activity, AskRecord, ConnectionRecord, Denial, PathPattern, PathUse, printable, sensitive_place,
};
use skills::policy::quoted;

/// What there is to say about a thing that was denied.
pub enum Advice {
    /// The part of a policy that would allow it.
    Allow(String),
    /// What is kept there. Nobody is told how to let a guest at that.
    Beware(String),
    /// Nothing would allow it.
    Nothing,
}

impl Advice {
    /// About a use of a path.
    pub fn of_path(wanted: PathUse, path: &str) -> Self {
        if let Some(what) = sensitive_place(path.as_bytes()) {
            return Self::Beware(format!("it holds {what}"));
        }
        // What is no text cannot be named.
        if path.contains(char::REPLACEMENT_CHARACTER) {
            return Self::Nothing;
        }
        let path = item(path);
        Self::Allow(match wanted {
            PathUse::Read => format!("files: read: [{path}]"),
            PathUse::Write => format!("files: write: [{path}]"),
            PathUse::Run => format!("programs: [{path}]"),
        })
    }

    /// About a destination.
    pub fn of_connection(record: &ConnectionRecord) -> Self {
        match (record.metadata_service(), record.rule_to_allow()) {
            (Some(why), _) => Self::Beware(why.to_owned()),
            (None, Some(rule)) => Self::Allow(format!("network: allow: [{}]", printable(&rule))),
            (None, None) => Self::Nothing,
        }
    }

    /// In words.
    pub fn words(&self) -> String {
        match self {
            Self::Allow(policy) => format!("to allow it: {policy}"),
            Self::Beware(why) => format!("beware: {why}"),
            Self::Nothing => String::new(),
        }
    }

    /// In words that follow others.
    pub fn further_words(&self) -> String {
        match self {
            Self::Nothing => String::new(),
            _ => format!("; {}", self.words()),
        }
    }
}

/// A path as an item of a list in a policy, which names this path and nothing else: its names are the
/// guest's, and whoever copies the line must not allow more by it.
fn item(path: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    match path.chars().all(is_plain) {
        true => path.to_owned(),
        false => quoted(&PathPattern::escape(path)),
    }
}

/// The destinations, what has to be known first: those that hand out keys, then what was denied.
pub fn connections(activity: &Activity) -> Vec<&ConnectionRecord> {
    let mut all: Vec<_> = activity.connections.iter().collect();
    all.sort_by_key(|record| (record.metadata_service().is_none(), !record.is_blocked()));
    all
}

/// What the policy denied, places of secrets first.
pub fn denials(activity: &Activity) -> Vec<&Denial> {
    secrets_by_turns(activity.denied.iter(), |denial| &denial.path)
}

/// What was asked about and refused, places of secrets first.
pub fn refusals(activity: &Activity) -> Vec<&AskRecord> {
    secrets_by_turns(activity.asked.iter().filter(|ask| !ask.is_allowed), |ask| &ask.path)
}

/// Places of secrets first, one of each kind by turns: a list that is cut short shows of all kinds,
/// however many of one there are.
fn secrets_by_turns<'r, T>(
    all: impl Iterator<Item = &'r T>,
    path: impl Fn(&T) -> &str,
) -> Vec<&'r T> {
    let mut n_of_kind: BTreeMap<&str, usize> = BTreeMap::new();
    let mut turns: Vec<(bool, usize, &T)> = Vec::new();
    for one in all {
        let Some(kind) = sensitive_place(path(one).as_bytes()) else {
            turns.push((true, 0, one));
            continue;
        };
        let turn = n_of_kind.entry(kind).or_default();
        turns.push((false, *turn, one));
        *turn += 1;
    }
    turns.sort_by_key(|(is_other, turn, _)| (*is_other, *turn));
    turns.into_iter().map(|(_, _, one)| one).collect()
}

#[cfg(test)]
mod tests {
    use sandbox_spec::{ConnectionKind, Reason, Verdict};

    use super::*;

    fn to(address: &str, verdict: Verdict) -> ConnectionRecord {
        ConnectionRecord {
            kind: ConnectionKind::Tcp,
            name: None,
            address: Some(address.parse().unwrap()),
            verdict,
            reason: Reason::NoRule,
            times: 1,
            bytes_sent: 0,
            bytes_received: 0,
        }
    }

    #[test]
    fn keys_come_first_and_nobody_is_told_how_to_allow_them() {
        let denial = |path: &str| Denial { wanted: PathUse::Read, path: path.into(), times: 1 };
        let activity = Activity {
            denied: vec![denial("/work/a"), denial("/home/u/.ssh/id_rsa")],
            connections: vec![
                to("8.8.8.8:53", Verdict::Allowed),
                to("8.8.4.4:53", Verdict::Denied),
                to("169.254.169.254:80", Verdict::Denied),
            ],
            ..Activity::default()
        };
        let words: Vec<String> = denials(&activity)
            .into_iter()
            .map(|denial| Advice::of_path(denial.wanted, &denial.path).words())
            .collect();
        assert_eq!(words, ["beware: it holds SSH keys", "to allow it: files: read: [/work/a]"]);
        let words: Vec<String> = connections(&activity)
            .into_iter()
            .map(|it| Advice::of_connection(it).words())
            .collect();
        assert!(words[0].starts_with("beware: there most clouds"), "{words:?}");
        assert_eq!(words[1], "to allow it: network: allow: [8.8.4.4:53]");
        assert_eq!(words[2], "");
    }

    #[test]
    fn a_path_is_named_so_that_nothing_else_is_allowed() {
        let words = |path: &str| Advice::of_path(PathUse::Read, path).words();
        assert_eq!(words("/work/a.txt"), "to allow it: files: read: [/work/a.txt]");
        assert_eq!(words("/work/*"), r#"to allow it: files: read: ["/work/\\*"]"#);
        for path in ["/work/*", "/a, /, /b", "/a]\nprograms: [/b", "/x # y", r"/a\*", "/a: b"] {
            let text = words(path);
            let line = text.strip_prefix("to allow it: files: ").unwrap();
            let read = skills::policy::read("line", &format!("files: {{{line}}}"));
            assert!(read.is_valid(), "{text}: {:?}", read.findings);
            let files = read.policy.files.unwrap().read;
            let patterns: Vec<PathPattern> = files.iter().map(|it| it.parse().unwrap()).collect();
            assert_eq!(patterns.len(), 1, "{text}");
            assert_eq!(patterns[0].plain().as_deref(), Some(path.as_bytes()), "{text}");
        }
        assert_eq!(words("/a\u{fffd}"), "");
    }
}
