//! What a sandbox reaches.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use sandbox_spec::{
    ByteSize, DEFAULT_AUDIT_LIMIT, EgressRules, HostEntry, HostRule, MIN_AUDIT_LIMIT,
    NetworkPolicy, PublishedPort, SandboxSpec,
};

use super::absolute;
use crate::failure::Failure;

/// What package managers are told where nothing may leave.
const OFFLINE: [(&str, &str); 8] = [
    ("PIP_RETRIES", "0"),
    ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
    ("UV_HTTP_RETRIES", "0"),
    ("NPM_CONFIG_FETCH_RETRIES", "0"),
    ("NPM_CONFIG_UPDATE_NOTIFIER", "false"),
    ("NPM_CONFIG_AUDIT", "false"),
    ("CARGO_NET_OFFLINE", "true"),
    ("GOPROXY", "off"),
];

/// What `--net` can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Net {
    /// No internet sockets at all
    None,
    /// The sandbox's own loopback; nothing leaves
    Loopback,
    /// Loopback, and what --allow names
    Allow,
}

/// Options about the network.
#[derive(Args, Debug)]
#[command(next_help_heading = "Network")]
pub struct NetworkOptions {
    /// What sockets reach; `loopback` unless something is allowed
    #[arg(long, value_enum, value_name = "WHAT")]
    pub net: Option<Net>,
    /// Let connections to this destination out: a name, *.NAME, an address, a network, or * for
    /// everything public
    #[arg(long, visible_alias = "allow-net", value_name = "HOST[:PORT]")]
    pub allow: Vec<HostRule>,
    /// Keep connections to this destination in, whatever is allowed
    #[arg(long, value_name = "HOST[:PORT]")]
    pub deny: Vec<HostRule>,
    /// Give a name an address
    #[arg(long, value_name = "NAME:ADDRESS")]
    add_host: Vec<HostEntry>,
    /// Let a port of the host's 127.0.0.1 lead to a port inside
    #[arg(long, value_name = "HOSTPORT:GUESTPORT")]
    publish: Vec<PublishedPort>,
    /// Write every decision about the network to a file, a line of JSON each
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,
    /// The most that the file of --audit may take; then one line says so, and what is missing is
    /// counted
    #[arg(long, value_name = "SIZE", default_value_t = DEFAULT_AUDIT_LIMIT, requires = "audit")]
    audit_limit: ByteSize,
}

impl NetworkOptions {
    /// Fails if the options contradict each other.
    pub fn check(&self) -> Result<(), Failure> {
        let contradiction = |what: &str, net: &str| {
            let message = format!("{what} makes no sense with --net {net}");
            Err(Failure::new(message).code(Failure::CANNOT_START))
        };
        if self.audit_limit < MIN_AUDIT_LIMIT {
            let message = format!("--audit-limit {} has no room", self.audit_limit);
            let hint = format!("it takes at least {MIN_AUDIT_LIMIT}");
            return Err(Failure::new(message).hint(hint).code(Failure::CANNOT_START));
        }
        match self.net {
            Some(Net::None) if self.says_something() => {
                contradiction("--allow, --deny or --add-host", "none")
            }
            Some(Net::Loopback) if self.says_something() => {
                contradiction("--allow, --deny or --add-host", "loopback")
            }
            Some(Net::None) if !self.publish.is_empty() => contradiction("--publish", "none"),
            _ => Ok(()),
        }
    }

    fn says_something(&self) -> bool {
        !(self.allow.is_empty() && self.deny.is_empty() && self.add_host.is_empty())
    }

    /// Puts what was said about the network into a specification.
    pub fn apply(&self, spec: &mut SandboxSpec) -> Result<(), Failure> {
        self.check()?;
        let open = if self.says_something() { Net::Allow } else { Net::Loopback };
        match self.net.unwrap_or(open) {
            Net::None => spec.network = NetworkPolicy::None,
            Net::Loopback => spec.network = NetworkPolicy::Loopback,
            Net::Allow => {
                spec.network = NetworkPolicy::Allow(EgressRules {
                    allow: self.allow.clone(),
                    deny: self.deny.clone(),
                    hosts: Vec::new(),
                });
            }
        }
        self.apply_beside_rules(spec)
    }

    /// Tells package managers that there is no network, so that they fail at once and do not try
    /// again for a minute. A registry inside still works. What the user says goes before it.
    pub fn tell_offline(spec: &mut SandboxSpec) {
        if matches!(spec.network, NetworkPolicy::Allow(_)) {
            return;
        }
        for (name, value) in OFFLINE {
            if spec.environment.iter().all(|(known, _)| known != name) {
                spec.environment.push((name.into(), value.into()));
            }
        }
    }

    /// Puts everything into a specification but the destinations, which a policy holds already.
    pub fn apply_beside_rules(&self, spec: &mut SandboxSpec) -> Result<(), Failure> {
        match (self.net, &mut spec.network) {
            (Some(Net::None), network) => *network = NetworkPolicy::None,
            (Some(Net::Loopback), network) => *network = NetworkPolicy::Loopback,
            (_, NetworkPolicy::Allow(rules)) => rules.hosts.clone_from(&self.add_host),
            (net, network) if net == Some(Net::Allow) || !self.add_host.is_empty() => {
                let hosts = self.add_host.clone();
                *network = NetworkPolicy::Allow(EgressRules { hosts, ..EgressRules::default() });
            }
            _ => {}
        }
        spec.publish.clone_from(&self.publish);
        spec.audit = self.audit.as_deref().map(absolute).transpose()?;
        spec.audit_limit = self.audit_limit;
        Ok(())
    }
}
