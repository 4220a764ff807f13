//! The rules of a sandbox, applied. The only place that decides.

use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use sandbox_spec::{EgressRules, HostPattern, HostRule, Reason, Verdict};

use crate::special::{Block, canonical, is_destination, is_link_local, special_block};
use crate::ties::Ties;

#[cfg(test)]
mod tests;

/// What was decided about a destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether it is allowed.
    pub verdict: Verdict,
    /// Why.
    pub reason: Reason,
    /// The name that it is about, if it is known.
    pub name: Option<String>,
}

impl Decision {
    fn allowed(rule: &HostRule, name: Option<&str>) -> Self {
        let reason = Reason::AllowedBy(rule.clone());
        Self { verdict: Verdict::Allowed, reason, name: name.map(str::to_owned) }
    }

    fn denied(reason: Reason, name: Option<&str>) -> Self {
        Self { verdict: Verdict::Denied, reason, name: name.map(str::to_owned) }
    }

    /// Whether it is allowed.
    pub fn is_allowed(&self) -> bool {
        self.verdict == Verdict::Allowed
    }
}

/// The rules of a sandbox.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    rules: EgressRules,
}

impl Policy {
    /// Applies these rules.
    pub fn new(rules: EgressRules) -> Self {
        Self { rules }
    }

    /// Whether the guest may send something to `to`, which `ties` may know names of.
    pub fn decide(&self, to: SocketAddr, ties: &Ties, now: Instant) -> Decision {
        let address = canonical(to.ip());
        let mut names = ties.names(address, now).peekable();
        let first_name = names.peek().copied();
        if !is_destination(address) || to.port() == 0 {
            return Decision::denied(Reason::NoDestination, first_name);
        }
        let on_port = |rule: &&HostRule| rule.port.is_none_or(|port| port == to.port());
        if let Some(rule) =
            self.rules.deny.iter().filter(on_port).find(|rule| denies_address(&rule.host, address))
        {
            return Decision::denied(Reason::DeniedBy(rule.clone()), first_name);
        }
        let allow = || self.rules.allow.iter().filter(on_port);
        if let Some(rule) = allow().find(|rule| allows_address(&rule.host, address)) {
            return Decision::allowed(rule, first_name);
        }
        let mut reason = Reason::NoRule;
        for name in names {
            let named = |rule: &&HostRule| matches_name(&rule.host, name);
            if let Some(rule) = self.rules.deny.iter().filter(on_port).find(named) {
                reason = Reason::DeniedBy(rule.clone());
                continue;
            }
            match allow().find(named) {
                Some(rule) if self.may_have(name, rule, address) => {
                    return Decision::allowed(rule, Some(name));
                }
                Some(_) => reason = Reason::PrivateAddress,
                None => {}
            }
        }
        Decision::denied(reason, first_name)
    }

    /// Whether the guest may learn the addresses of a name, in lower case and without a dot at the
    /// end.
    pub fn decide_name(&self, name: &str) -> Decision {
        let everywhere = |rule: &&HostRule| rule.port.is_none();
        let named = |rule: &&HostRule| matches_name(&rule.host, name);
        if let Some(rule) = self.rules.deny.iter().filter(everywhere).find(named) {
            return Decision::denied(Reason::DeniedBy(rule.clone()), Some(name));
        }
        match self.rules.allow.iter().find(named) {
            Some(rule) => Decision::allowed(rule, Some(name)),
            None => Decision::denied(Reason::NoRule, Some(name)),
        }
    }

    /// Whether the guest may be told that an allowed name has this address: not if it could not
    /// use it.
    pub fn may_tell(&self, name: &str, address: IpAddr) -> bool {
        let address = canonical(address);
        self.rules.allow.iter().any(|rule| {
            allows_address(&rule.host, address)
                || (matches_name(&rule.host, name) && self.may_have(name, rule, address))
        })
    }

    /// The addresses that the user has given a name.
    pub fn given_addresses(&self, name: &str) -> Vec<IpAddr> {
        let given = self.rules.hosts.iter().filter(|entry| entry.name == name);
        given.map(|entry| entry.address).collect()
    }

    /// Whether a name that `rule` allows may lead to this address. A public one always. Others only
    /// if the user has said so: by giving the name this address, or by naming exactly a name that
    /// is local by its form, which nobody outside can point anywhere. Never to a link.
    fn may_have(&self, name: &str, rule: &HostRule, address: IpAddr) -> bool {
        if special_block(address).is_none() {
            return true;
        }
        let given = self.given_addresses(name);
        if given.iter().any(|given| canonical(*given) == address) {
            return true;
        }
        matches!(rule.host, HostPattern::Name(_)) && is_local_name(name) && !is_link_local(address)
    }

    /// Where the guest's own loopback addresses lead to the host instead, when nobody inside
    /// listens there: to what the user has allowed by address, or as `localhost`.
    pub fn loopback_routes(&self) -> Vec<(Block, Option<u16>)> {
        let mut routes = Vec::new();
        for rule in &self.rules.allow {
            let mut add = |address: IpAddr, prefix| {
                routes.push((Block { address, prefix }, rule.port));
            };
            match &rule.host {
                HostPattern::Network { address, prefix }
                    if address.is_loopback() && allows_address(&rule.host, *address) =>
                {
                    add(*address, *prefix);
                }
                HostPattern::Name(name) if name == "localhost" => {
                    add(std::net::Ipv4Addr::LOCALHOST.into(), 32);
                    add(std::net::Ipv6Addr::LOCALHOST.into(), 128);
                }
                _ => {}
            }
        }
        let given = self.rules.hosts.iter().filter(|entry| entry.address.is_loopback());
        for entry in given {
            let prefix = if entry.address.is_ipv4() { 32 } else { 128 };
            routes.push((Block { address: entry.address, prefix }, None));
        }
        routes
    }
}

/// Whether a rule that allows speaks of this canonical address. A network that is larger than the
/// special block in which an address lies does not name that address.
fn allows_address(host: &HostPattern, address: IpAddr) -> bool {
    let special = special_block(address);
    match host {
        HostPattern::Any => special.is_none(),
        HostPattern::Network { address: own, prefix } => {
            let (own, prefix) = canonical_network(*own, *prefix);
            Block { address: own, prefix }.contains(address)
                && special.is_none_or(|block| prefix >= block.prefix)
        }
        HostPattern::Name(name) => name == "localhost" && address.is_loopback_itself(),
        HostPattern::Below(_) => false,
    }
}

/// Whether a rule that denies speaks of this canonical address.
fn denies_address(host: &HostPattern, address: IpAddr) -> bool {
    match host {
        HostPattern::Any => true,
        HostPattern::Network { address: own, prefix } => {
            let (own, prefix) = canonical_network(*own, *prefix);
            Block { address: own, prefix }.contains(address)
        }
        HostPattern::Name(name) => name == "localhost" && address.is_loopback_itself(),
        HostPattern::Below(_) => false,
    }
}

trait LoopbackItself {
    /// Whether this is what `localhost` means.
    fn is_loopback_itself(&self) -> bool;
}

impl LoopbackItself for IpAddr {
    fn is_loopback_itself(&self) -> bool {
        matches!(self, Self::V4(v4) if *v4 == std::net::Ipv4Addr::LOCALHOST)
            || matches!(self, Self::V6(v6) if *v6 == std::net::Ipv6Addr::LOCALHOST)
    }
}

/// A network of IPv4 addresses that is written as one of IPv6 addresses is what it means.
fn canonical_network(address: IpAddr, prefix: u8) -> (IpAddr, u8) {
    match (address, canonical(address)) {
        (IpAddr::V6(_), v4 @ IpAddr::V4(_)) if prefix >= 96 => (v4, prefix - 96),
        _ => (address, prefix),
    }
}

/// Whether a rule speaks of a name in lower case.
fn matches_name(host: &HostPattern, name: &str) -> bool {
    match host {
        HostPattern::Any => true,
        HostPattern::Name(own) => own == name,
        HostPattern::Below(own) => name
            .strip_suffix(own.as_str())
            .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
        HostPattern::Network { .. } => false,
    }
}

/// Whether a name is local by its form: no public name server has an answer for it.
fn is_local_name(name: &str) -> bool {
    const LOCAL: [&str; 5] = ["local", "localhost", "internal", "test", "home.arpa"];
    !name.contains('.')
        || LOCAL.iter().any(|end| {
            name.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        })
}
