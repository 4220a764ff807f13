//! Whom the guest may talk to.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::HostRule;
use crate::host_rule::is_host_name;

/// What the guest's sockets reach.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkPolicy {
    /// No internet sockets at all, not even among the guest's own processes.
    None,
    /// The guest's own loopback. Nothing leaves the sandbox.
    #[default]
    Loopback,
    /// Loopback, and what these rules let out.
    Allow(EgressRules),
}

/// What may leave a sandbox. What no rule allows is denied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EgressRules {
    /// What is allowed.
    pub allow: Vec<HostRule>,
    /// What is denied, whatever is allowed.
    #[serde(default)]
    pub deny: Vec<HostRule>,
    /// Names whose addresses the user has said. They are not looked up.
    #[serde(default)]
    pub hosts: Vec<HostEntry>,
}

impl EgressRules {
    /// Rules that allow these destinations and nothing else.
    pub fn allowing(allow: Vec<HostRule>) -> Self {
        Self { allow, ..Self::default() }
    }
}

/// A name and its address, as in `/etc/hosts`: `NAME:ADDRESS`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostEntry {
    /// The name, in lower case.
    pub name: String,
    /// Its address.
    pub address: IpAddr,
}

/// A name and address that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not NAME:ADDRESS, such as api.test:127.0.0.1")]
pub struct HostEntryError(String);

impl FromStr for HostEntry {
    type Err = HostEntryError;

    fn from_str(text: &str) -> Result<Self, HostEntryError> {
        let wrong = || HostEntryError(text.to_owned());
        let (name, address) = text.split_once(':').ok_or_else(wrong)?;
        let address = address.trim_start_matches('[').trim_end_matches(']');
        if !is_host_name(name) {
            return Err(wrong());
        }
        let address = address.parse().map_err(|_| wrong())?;
        Ok(Self { name: name.to_ascii_lowercase(), address })
    }
}

/// A port of the host's loopback that leads to a listening TCP port of the guest:
/// `HOSTPORT:GUESTPORT`, or one number for both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedPort {
    /// The port on 127.0.0.1 of the host.
    pub host: u16,
    /// The port in the sandbox.
    pub guest: u16,
}

/// A pair of ports that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not HOSTPORT:GUESTPORT, such as 8080:80")]
pub struct PublishedPortError(String);

impl FromStr for PublishedPort {
    type Err = PublishedPortError;

    fn from_str(text: &str) -> Result<Self, PublishedPortError> {
        let wrong = || PublishedPortError(text.to_owned());
        let (host, guest) = text.split_once(':').unwrap_or((text, text));
        let host = host.parse().map_err(|_| wrong())?;
        let guest = guest.parse().map_err(|_| wrong())?;
        if guest == 0 || host == 0 { Err(wrong()) } else { Ok(Self { host, guest }) }
    }
}

impl fmt::Display for PublishedPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.guest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_published_ports() {
        let port = |text: &str| text.parse::<PublishedPort>();
        assert_eq!(port("8080:80"), Ok(PublishedPort { host: 8080, guest: 80 }));
        assert_eq!(port("80"), Ok(PublishedPort { host: 80, guest: 80 }));
        assert!(port("0:80").is_err());
        assert!(port("80:0").is_err());
        assert!(port("80:http").is_err());
        assert!(port("70000").is_err());
    }

    #[test]
    fn reads_names_with_addresses() {
        let entry = |text: &str| text.parse::<HostEntry>();
        let address = "127.0.0.1".parse().unwrap();
        assert_eq!(entry("A.test:127.0.0.1"), Ok(HostEntry { name: "a.test".into(), address }));
        assert!(entry("a:::1").is_ok());
        assert!(entry("a:[::1]").is_ok());
        assert!(entry("a").is_err());
        assert!(entry("a b:::1").is_err());
    }
}
