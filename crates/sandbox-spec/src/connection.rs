//! What a guest sent over the border of its sandbox, or was kept from sending.

use std::fmt;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::{HostRule, metadata_at, metadata_named};

/// One destination of the guest's, and what became of it. Equal attempts are one record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionRecord {
    /// What kind of traffic it was.
    pub kind: ConnectionKind,
    /// The name that the guest had asked for, as far as it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where it went, or came from. A question for a name has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<SocketAddr>,
    /// What was decided.
    pub verdict: Verdict,
    /// Why.
    pub reason: Reason,
    /// How often.
    pub times: u64,
    /// Bytes that left the sandbox.
    pub bytes_sent: u64,
    /// Bytes that came in.
    pub bytes_received: u64,
}

/// A kind of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionKind {
    /// A TCP connection out of the sandbox.
    Tcp,
    /// Datagrams to one destination outside.
    Udp,
    /// A question for the addresses of a name.
    Dns,
    /// A connection from outside to a published port.
    Published,
}

/// A decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It was let through.
    Allowed,
    /// It was not.
    Denied,
}

/// Why something was decided.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// This rule allows it.
    AllowedBy(HostRule),
    /// This rule denies it.
    DeniedBy(HostRule),
    /// No rule allows it.
    NoRule,
    /// The name is allowed, but its address is private, and no rule names that address.
    PrivateAddress,
    /// Nothing may leave this sandbox.
    Offline,
    /// The user has published the port.
    PublishedPort,
    /// It cannot be a destination: nobody, everybody or a group.
    NoDestination,
}

/// How often something was decided that there was no room to record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoreConnections {
    /// What was let through.
    pub allowed: u64,
    /// What was not.
    pub denied: u64,
}

impl ConnectionRecord {
    /// Whether the guest was kept from it.
    pub fn is_blocked(&self) -> bool {
        self.verdict == Verdict::Denied
    }

    /// Where it went, for people: `example.org:443`.
    pub fn destination(&self) -> String {
        match (&self.name, self.address) {
            (Some(name), Some(address)) => format!("{name}:{}", address.port()),
            (Some(name), None) => name.clone(),
            (None, Some(address)) => address.to_string(),
            (None, None) => String::from("somewhere"),
        }
    }

    /// What a cloud keeps at the destination, if it keeps the keys of machines there.
    pub fn metadata_service(&self) -> Option<&'static str> {
        let by_name = self.name.as_deref().and_then(metadata_named);
        by_name.or_else(|| metadata_at(self.address?.ip()))
    }

    /// The destination that `--allow` would have to name for it to be let through. `None` if no
    /// rule can do that, or if nobody should be led to do it.
    pub fn rule_to_allow(&self) -> Option<String> {
        if self.metadata_service().is_some() {
            return None;
        }
        match (&self.reason, self.verdict) {
            (_, Verdict::Allowed) | (Reason::DeniedBy(_) | Reason::NoDestination, _) => None,
            (Reason::PrivateAddress, _) => self.address.map(|address| match address.port() {
                0 => address.ip().to_string(),
                _ => address.to_string(),
            }),
            _ => Some(self.destination()),
        }
        // A guest may look for the name `*`, which as a rule would be everything.
        .filter(|rule| rule.parse::<HostRule>().is_ok_and(|rule| rule.is_one_host()))
    }
}

impl fmt::Display for ConnectionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::Dns => "DNS",
            Self::Published => "published port",
        })
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AllowedBy(rule) => write!(f, "allowed by {rule}"),
            Self::DeniedBy(rule) => write!(f, "denied by {rule}"),
            Self::NoRule => f.write_str("no rule allows it"),
            Self::PrivateAddress => f.write_str("a private address that no rule names"),
            Self::Offline => f.write_str("nothing may leave this sandbox"),
            Self::PublishedPort => f.write_str("a published port"),
            Self::NoDestination => f.write_str("no address that something can be sent to"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: Option<&str>, address: Option<&str>, reason: Reason) -> ConnectionRecord {
        ConnectionRecord {
            kind: ConnectionKind::Tcp,
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
    fn says_which_rule_would_have_helped() {
        let rule = |name, address, reason| record(name, address, reason).rule_to_allow();
        let address = Some("10.0.0.1:80");
        assert_eq!(rule(None, address, Reason::NoRule).as_deref(), address);
        assert_eq!(rule(Some("a.org"), address, Reason::NoRule).as_deref(), Some("a.org:80"));
        assert_eq!(rule(Some("a.org"), None, Reason::Offline).as_deref(), Some("a.org"));
        let private = Reason::PrivateAddress;
        assert_eq!(rule(Some("a.org"), address, private.clone()).as_deref(), address);
        assert_eq!(rule(Some("a.org"), Some("10.0.0.1:0"), private).as_deref(), Some("10.0.0.1"));
        // Names are the guest's: none is to become a rule for more than itself.
        for name in ["*", "*.org", "10.0.0.0/8", "a.org, *", "a.org --allow *"] {
            assert_eq!(rule(Some(name), None, Reason::NoRule), None, "{name}");
            assert_eq!(rule(Some(name), address, Reason::NoRule), None, "{name}");
        }
        let denied = Reason::DeniedBy("a.org".parse().unwrap());
        assert_eq!(rule(Some("a.org"), address, denied), None);
        for (name, address) in
            [(None, Some("169.254.169.254:80")), (Some("metadata.google.internal"), None)]
        {
            let record = record(name, address, Reason::NoRule);
            assert!(record.metadata_service().is_some() && record.rule_to_allow().is_none());
        }
    }

    #[test]
    fn survives_json() {
        let record = record(Some("a.org"), None, Reason::AllowedBy("*.org:80".parse().unwrap()));
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<ConnectionRecord>(&text).unwrap(), record);
    }
}
