//! Whom the guest may talk to.

use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What the guest's sockets reach.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkPolicy {
    /// No internet sockets at all, not even among the guest's own processes.
    None,
    /// The guest's own loopback. Nothing leaves the sandbox.
    #[default]
    Loopback,
    /// Loopback, and what these rules allow.
    Allow(Vec<AllowRule>),
    /// Whatever the host reaches.
    Open,
}

/// One destination that is allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AllowRule {
    /// The host.
    pub host: HostPattern,
    /// The port, or every port.
    pub port: Option<u16>,
}

/// The hosts of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostPattern {
    /// This name, in lower case.
    Name(String),
    /// Every name that ends in a dot and this, in lower case.
    Below(String),
    /// Addresses that share the first so many bits with this one.
    Network {
        /// An address of the network.
        address: IpAddr,
        /// How many leading bits count.
        prefix: u8,
    },
}

/// A rule that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AllowRuleError {
    /// The port is no port.
    #[error("`{0}` is no port: use a number from 1 to 65535")]
    Port(String),
    /// The prefix length is no prefix length.
    #[error("`{0}` is no prefix length of such an address")]
    Prefix(String),
    /// Neither a name nor an address.
    #[error(
        "`{0}` is neither a name, nor *.NAME, nor an address: \
         write HOST, HOST:PORT, ADDRESS/PREFIX or [IPV6]:PORT"
    )]
    Host(String),
}

impl FromStr for AllowRule {
    type Err = AllowRuleError;

    fn from_str(text: &str) -> Result<Self, AllowRuleError> {
        let (host, port) = split_port(text)?;
        Ok(Self { host: host_pattern(host)?, port })
    }
}

/// Splits off a port. IPv6 addresses need brackets to have one.
fn split_port(text: &str) -> Result<(&str, Option<u16>), AllowRuleError> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) =
            rest.split_once(']').ok_or_else(|| AllowRuleError::Host(text.to_owned()))?;
        return match rest.strip_prefix(':') {
            Some(number) => Ok((host, Some(port(number)?))),
            None if rest.is_empty() => Ok((host, None)),
            None => Err(AllowRuleError::Host(text.to_owned())),
        };
    }
    match text.split_once(':') {
        Some((_, rest)) if rest.contains(':') => Ok((text, None)),
        Some((host, number)) => Ok((host, Some(port(number)?))),
        None => Ok((text, None)),
    }
}

fn port(text: &str) -> Result<u16, AllowRuleError> {
    match text.parse() {
        Ok(0) | Err(_) => Err(AllowRuleError::Port(text.to_owned())),
        Ok(port) => Ok(port),
    }
}

fn host_pattern(text: &str) -> Result<HostPattern, AllowRuleError> {
    let (start, prefix) = match text.split_once('/') {
        Some((start, prefix)) => (start, Some(prefix)),
        None => (text, None),
    };
    if let Ok(address) = start.parse::<IpAddr>() {
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            None => longest,
            Some(text) => text
                .parse()
                .ok()
                .filter(|prefix| *prefix <= longest)
                .ok_or_else(|| AllowRuleError::Prefix(text.to_owned()))?,
        };
        return Ok(HostPattern::Network { address, prefix });
    }
    let (name, pattern): (_, fn(String) -> HostPattern) = match text.strip_prefix("*.") {
        Some(name) => (name, HostPattern::Below),
        None => (text, HostPattern::Name),
    };
    if is_host_name(name) {
        Ok(pattern(name.to_ascii_lowercase()))
    } else {
        Err(AllowRuleError::Host(text.to_owned()))
    }
}

fn is_host_name(name: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    name.len() <= 253 && name.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> Result<AllowRule, AllowRuleError> {
        text.parse()
    }

    #[test]
    fn reads_names_and_addresses() {
        let name = HostPattern::Name("example.com".into());
        assert_eq!(rule("Example.com:443").unwrap(), AllowRule { host: name, port: Some(443) });
        let below = HostPattern::Below("example.com".into());
        assert_eq!(rule("*.example.com").unwrap(), AllowRule { host: below, port: None });
        let network = HostPattern::Network { address: "10.0.0.0".parse().unwrap(), prefix: 8 };
        assert_eq!(rule("10.0.0.0/8:80").unwrap(), AllowRule { host: network, port: Some(80) });
        let v6 = HostPattern::Network { address: "::1".parse().unwrap(), prefix: 128 };
        assert_eq!(rule("[::1]:80").unwrap(), AllowRule { host: v6.clone(), port: Some(80) });
        assert_eq!(rule("::1").unwrap(), AllowRule { host: v6, port: None });
    }

    #[test]
    fn refuses_what_is_no_rule() {
        assert_eq!(rule("a:0"), Err(AllowRuleError::Port("0".into())));
        assert_eq!(rule("10.0.0.0/33"), Err(AllowRuleError::Prefix("33".into())));
        assert_eq!(rule("a b"), Err(AllowRuleError::Host("a b".into())));
        assert_eq!(rule(""), Err(AllowRuleError::Host("".into())));
    }
}
