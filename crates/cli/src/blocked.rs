//! What was kept from leaving the sandbox, and which flags would let it out.

use sandbox::End;
use sandbox_spec::{ConnectionRecord, Reason};

/// The most destinations that are named.
const MAX_NAMED: usize = 8;

/// Says what was blocked, if anything was. `flag` is the option that allows a destination.
///
/// Where nobody has asked for a network, a program that went well has done without one, and there
/// is nothing to say.
pub fn tell(records: &[ConnectionRecord], end: &End, flag: &str) {
    let went_well = *end == End::Exited { code: 0 };
    let words = words(records, went_well, flag);
    if !words.is_empty() {
        eprint!("{words}");
    }
}

fn words(records: &[ConnectionRecord], went_well: bool, flag: &str) -> String {
    let mut blocked: Vec<String> = Vec::new();
    let mut rules: Vec<String> = Vec::new();
    for record in records.iter().filter(|record| record.is_blocked()) {
        if record.reason == Reason::Offline && went_well {
            continue;
        }
        let about = match (&record.reason, record.address) {
            (Reason::PrivateAddress, Some(address)) => format!(" is {}", address.ip()),
            _ => String::new(),
        };
        let what = format!("{}{about} ({}: {})", record.destination(), record.kind, record.reason);
        if !blocked.contains(&what) {
            blocked.push(what);
        }
        if let Some(rule) = record.rule_to_allow()
            && !rules.contains(&rule)
        {
            rules.push(rule);
        }
    }
    if blocked.is_empty() {
        return String::new();
    }
    let mut words = String::new();
    for what in blocked.iter().take(MAX_NAMED) {
        words.push_str(&format!("error: blocked {what}\n"));
    }
    if let Some(n @ 1..) = blocked.len().checked_sub(MAX_NAMED) {
        words.push_str(&format!("error: blocked {n} more destinations\n"));
    }
    if !rules.is_empty() {
        let flags: Vec<String> =
            rules.iter().take(MAX_NAMED).map(|rule| format!("{flag} {rule}")).collect();
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
            words(&records, false, "--allow"),
            "error: blocked a.org (DNS: no rule allows it)\n\
             error: blocked 1.2.3.4:80 (TCP: no rule allows it)\n\
             hint: let it out with --allow a.org --allow 1.2.3.4:80\n"
        );
        let private = [record(Some("a.org"), Some("10.0.0.1:80"), Reason::PrivateAddress)];
        assert_eq!(
            words(&private, false, "--allow"),
            "error: blocked a.org:80 is 10.0.0.1 (TCP: a private address that no rule names)\n\
             hint: let it out with --allow 10.0.0.1:80\n"
        );
        let denied = [record(Some("a.org"), None, Reason::DeniedBy("a.org".parse().unwrap()))];
        assert_eq!(
            words(&denied, false, "--allow"),
            "error: blocked a.org (DNS: denied by a.org)\n"
        );
    }

    #[test]
    fn is_quiet_when_nothing_was_missed() {
        let offline = [record(Some("a.org"), None, Reason::Offline)];
        assert_eq!(words(&offline, true, "--allow"), "");
        assert!(words(&offline, false, "--allow").contains("--allow a.org"));
        assert_eq!(words(&[], false, "--allow"), "");
    }
}
