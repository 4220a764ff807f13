//! What was kept from leaving the sandbox, and which flags would let it out.

use sandbox::End;
use sandbox_spec::{ConnectionRecord, MAX_NAME_CHARS, Reason, printable_within};

/// The most destinations that are named.
const MAX_NAMED: usize = 8;

/// Who ran, which decides what is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ran {
    /// A program that the user chose. Where nobody has asked for a network, one that went well has
    /// done without, and there is nothing to say.
    Program,
    /// A skill of somebody else's. That it tried to reach somebody is worth knowing.
    Skill,
}

impl Ran {
    /// The option that allows a destination.
    fn flag(self) -> &'static str {
        match self {
            Self::Program => "--allow",
            Self::Skill => "--allow-net",
        }
    }
}

/// Says what was blocked, if anything was.
pub fn tell(records: &[ConnectionRecord], end: &End, ran: Ran) {
    let went_well = *end == End::Exited { code: 0 };
    let words = words(records, went_well, ran);
    if !words.is_empty() {
        eprint!("{words}");
    }
}

fn words(records: &[ConnectionRecord], went_well: bool, ran: Ran) -> String {
    let flag = ran.flag();
    let kind = if went_well { "note" } else { "error" };
    let mut blocked: Vec<String> = Vec::new();
    let mut rules: Vec<String> = Vec::new();
    let mut warnings: Vec<String> = Vec::new();
    for record in records.iter().filter(|record| record.is_blocked()) {
        if let Some(why) = record.metadata_service() {
            let to = printable_within(&record.destination(), MAX_NAME_CHARS);
            let warning = format!("it tried to reach {to}, and was not let: {why}");
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
            continue;
        }
        if record.reason == Reason::Offline && went_well && ran == Ran::Program {
            continue;
        }
        let about = match (&record.reason, record.address) {
            (Reason::PrivateAddress, Some(address)) => format!(" is {}", address.ip()),
            _ => String::new(),
        };
        let to = printable_within(&record.destination(), MAX_NAME_CHARS);
        let what = format!("{to}{about} ({}: {})", record.kind, record.reason);
        if !blocked.contains(&what) {
            blocked.push(what);
        }
        if let Some(rule) = record.rule_to_allow()
            && !rules.contains(&rule)
        {
            rules.push(rule);
        }
    }
    let mut words = String::new();
    for warning in warnings.iter().take(MAX_NAMED) {
        words.push_str(&format!("warning: {warning}\n"));
    }
    if let Some(n @ 1..) = warnings.len().checked_sub(MAX_NAMED) {
        words.push_str(&format!("warning: it tried {n} more such places\n"));
    }
    for what in blocked.iter().take(MAX_NAMED) {
        words.push_str(&format!("{kind}: blocked {what}\n"));
    }
    if let Some(n @ 1..) = blocked.len().checked_sub(MAX_NAMED) {
        words.push_str(&format!("{kind}: blocked {n} more destinations\n"));
    }
    if !rules.is_empty() {
        let flags: Vec<String> = rules
            .iter()
            .take(MAX_NAMED)
            .map(|rule| format!("{flag} {}", printable_within(rule, MAX_NAME_CHARS)))
            .collect();
        words.push_str(&format!("hint: let it out with {}\n", flags.join(" ")));
    }
    words
}

#[cfg(test)]
mod tests {
    use sandbox_spec::{ConnectionKind, Verdict};

    use super::*;

    fn record(name: Option<&str>, address: Option<&str>, reason: Reason) -> ConnectionRecord {
        ConnectionRecord {
            kind: if address.is_some() { ConnectionKind::Tcp } else { ConnectionKind::Dns },
            name: name.map(str::to_owned),
            address: address.map(|address| address.parse().unwrap()),
            verdict: Verdict::Denied,
            reason,
            times: 1,
            bytes_sent: 0,
            bytes_received: 0,
        }
    }

    #[test]
    fn names_the_flags() {
        let records = [
            record(Some("a.org"), None, Reason::NoRule),
            record(Some("a.org"), None, Reason::NoRule),
            record(None, Some("1.2.3.4:80"), Reason::NoRule),
        ];
        assert_eq!(
            words(&records, false, Ran::Program),
            "error: blocked a.org (DNS: no rule allows it)\n\
             error: blocked 1.2.3.4:80 (TCP: no rule allows it)\n\
             hint: let it out with --allow a.org --allow 1.2.3.4:80\n"
        );
        let private = [record(Some("a.org"), Some("10.0.0.1:80"), Reason::PrivateAddress)];
        assert_eq!(
            words(&private, false, Ran::Program),
            "error: blocked a.org:80 is 10.0.0.1 (TCP: a private address that no rule names)\n\
             hint: let it out with --allow 10.0.0.1:80\n"
        );
        let denied = [record(Some("a.org"), None, Reason::DeniedBy("a.org".parse().unwrap()))];
        assert_eq!(
            words(&denied, false, Ran::Program),
            "error: blocked a.org (DNS: denied by a.org)\n"
        );
    }

    #[test]
    fn nobody_is_told_how_to_reach_the_keys_of_the_machine() {
        let records = [
            record(None, Some("169.254.169.254:80"), Reason::Offline),
            record(Some("metadata.google.internal"), None, Reason::NoRule),
        ];
        for ran in [Ran::Program, Ran::Skill] {
            let words = words(&records, true, ran);
            assert_eq!(words.matches("warning: it tried to reach ").count(), 2, "{words}");
            assert!(words.contains("hands out the keys"), "{words}");
            assert!(!words.contains("--allow") && !words.contains("hint"), "{words}");
        }
    }

    #[test]
    fn is_quiet_when_nothing_was_missed() {
        let offline = [record(Some("a.org"), None, Reason::Offline)];
        assert_eq!(words(&offline, true, Ran::Program), "");
        assert!(words(&offline, false, Ran::Program).contains("--allow a.org"));
        assert_eq!(words(&[], false, Ran::Program), "");
        assert_eq!(
            words(&offline, true, Ran::Skill),
            "note: blocked a.org (DNS: nothing may leave this sandbox)\n\
             hint: let it out with --allow-net a.org\n"
        );
    }
}
