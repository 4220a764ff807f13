//! Destinations, as people write them: names, wildcards, addresses and networks, with ports.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One destination that is allowed, or denied: `HOST[:PORT]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostRule {
    /// The host.
    pub host: HostPattern,
    /// The port, or every port.
    pub port: Option<u16>,
}

/// The hosts of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostPattern {
    /// Every name, and every address that is public: `*`.
    Any,
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
pub enum HostRuleError {
    /// The port is no port.
    #[error("`{0}` is no port: use a number from 1 to 65535")]
    Port(String),
    /// The prefix length is no prefix length.
    #[error("`{0}` is no prefix length of such an address")]
    Prefix(String),
    /// Neither a name nor an address.
    #[error(
        "`{0}` is neither a name, nor *.NAME, nor an address: \
         write HOST, HOST:PORT, *.HOST, ADDRESS/PREFIX or [IPV6]:PORT"
    )]
    Host(String),
}

impl FromStr for HostRule {
    type Err = HostRuleError;

    fn from_str(text: &str) -> Result<Self, HostRuleError> {
        let (host, port) = split_port(text)?;
        Ok(Self { host: host_pattern(host)?, port })
    }
}

impl HostRule {
    /// Whether it names one host, by its name or by its address.
    pub fn is_one_host(&self) -> bool {
        match &self.host {
            HostPattern::Name(_) => true,
            HostPattern::Network { address, prefix } => *prefix == bits(*address),
            HostPattern::Any | HostPattern::Below(_) => false,
        }
    }
}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.host, self.port) {
            (HostPattern::Network { address: IpAddr::V6(_), .. }, Some(port)) => {
                write!(f, "[{}]:{port}", self.host)
            }
            (host, Some(port)) => write!(f, "{host}:{port}"),
            (host, None) => write!(f, "{host}"),
        }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Name(name) => f.write_str(name),
            Self::Below(name) => write!(f, "*.{name}"),
            Self::Network { address, prefix } if *prefix == bits(*address) => {
                write!(f, "{address}")
            }
            Self::Network { address, prefix } => write!(f, "{address}/{prefix}"),
        }
    }
}

/// How many bits such an address has.
fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// Splits off a port. IPv6 addresses need brackets to have one.
fn split_port(text: &str) -> Result<(&str, Option<u16>), HostRuleError> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) =
            rest.split_once(']').ok_or_else(|| HostRuleError::Host(text.to_owned()))?;
        return match rest.strip_prefix(':') {
            Some(number) => Ok((host, Some(port(number)?))),
            None if rest.is_empty() => Ok((host, None)),
            None => Err(HostRuleError::Host(text.to_owned())),
        };
    }
    match text.split_once(':') {
        Some((_, rest)) if rest.contains(':') => Ok((text, None)),
        Some((host, number)) => Ok((host, Some(port(number)?))),
        None => Ok((text, None)),
    }
}

fn port(text: &str) -> Result<u16, HostRuleError> {
    match text.parse() {
        Ok(0) | Err(_) => Err(HostRuleError::Port(text.to_owned())),
        Ok(port) => Ok(port),
    }
}

fn host_pattern(text: &str) -> Result<HostPattern, HostRuleError> {
    let (start, prefix) = match text.split_once('/') {
        Some((start, prefix)) => (start, Some(prefix)),
        None => (text, None),
    };
    if let Ok(address) = start.parse::<IpAddr>() {
        let longest = bits(address);
        let prefix = match prefix {
            None => longest,
            Some(text) => text
                .parse()
                .ok()
                .filter(|prefix| *prefix <= longest)
                .ok_or_else(|| HostRuleError::Prefix(text.to_owned()))?,
        };
        return Ok(HostPattern::Network { address, prefix });
    }
    if text == "*" {
        return Ok(HostPattern::Any);
    }
    let (name, pattern): (_, fn(String) -> HostPattern) = match text.strip_prefix("*.") {
        Some(name) => (name, HostPattern::Below),
        None => (text, HostPattern::Name),
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    if is_host_name(name) {
        Ok(pattern(name.to_ascii_lowercase()))
    } else {
        Err(HostRuleError::Host(text.to_owned()))
    }
}

/// Whether this can be the name of a host.
pub(crate) fn is_host_name(name: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    name.len() <= 253 && name.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> Result<HostRule, HostRuleError> {
        text.parse()
    }

    #[test]
    fn reads_names_and_addresses() {
        let name = HostPattern::Name("example.com".into());
        assert_eq!(rule("Example.com:443").unwrap(), HostRule { host: name, port: Some(443) });
        let below = HostPattern::Below("example.com".into());
        assert_eq!(rule("*.example.com").unwrap(), HostRule { host: below, port: None });
        let network = HostPattern::Network { address: "10.0.0.0".parse().unwrap(), prefix: 8 };
        assert_eq!(rule("10.0.0.0/8:80").unwrap(), HostRule { host: network, port: Some(80) });
        let v6 = HostPattern::Network { address: "::1".parse().unwrap(), prefix: 128 };
        assert_eq!(rule("[::1]:80").unwrap(), HostRule { host: v6.clone(), port: Some(80) });
        assert_eq!(rule("::1").unwrap(), HostRule { host: v6, port: None });
    }

    #[test]
    fn is_written_as_it_is_read() {
        for text in ["*", "*:80", "a.org:443", "*.a.org", "10.0.0.0/8", "::1", "[fd00::/8]:80"] {
            assert_eq!(rule(text).unwrap().to_string(), text);
        }
        assert_eq!(rule("A.org.").unwrap().to_string(), "a.org");
    }

    #[test]
    fn refuses_what_is_no_rule() {
        assert_eq!(rule("a:0"), Err(HostRuleError::Port("0".into())));
        assert_eq!(rule("10.0.0.0/33"), Err(HostRuleError::Prefix("33".into())));
        assert_eq!(rule("a b"), Err(HostRuleError::Host("a b".into())));
        assert_eq!(rule(""), Err(HostRuleError::Host("".into())));
    }
}
