//! What somebody should know of a thing that was denied: what would allow it, or why nothing should;
//! and what is told first.

use sandbox_spec::{
    Activity, AskRecord, ConnectionRecord, Denial, PathUse, printable, sensitive_place,
};

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
        let path = printable(path);
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

/// The destinations, what has to be known first: those that hand out keys, then what was denied.
pub fn connections(activity: &Activity) -> Vec<&ConnectionRecord> {
    let mut all: Vec<_> = activity.connections.iter().collect();
    all.sort_by_key(|record| (record.metadata_service().is_none(), !record.is_blocked()));
    all
}

/// What the policy denied, places of secrets first.
pub fn denials(activity: &Activity) -> Vec<&Denial> {
    let mut all: Vec<_> = activity.denied.iter().collect();
    all.sort_by_key(|denial| sensitive_place(denial.path.as_bytes()).is_none());
    all
}

/// What was asked about and refused, places of secrets first.
pub fn refusals(activity: &Activity) -> Vec<&AskRecord> {
    let mut all: Vec<_> = activity.asked.iter().filter(|ask| !ask.is_allowed).collect();
    all.sort_by_key(|ask| sensitive_place(ask.path.as_bytes()).is_none());
    all
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
}
