//! Where packages come from.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Where packages come from, and what the installer must be told to find it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// Variables for the installer.
    pub env: BTreeMap<String, String>,
    /// The hosts that it reaches, as `HOST:PORT`. Nothing else is let out.
    pub hosts: BTreeSet<String>,
    /// Files and folders of the host that it reads: certificates, folders of packages.
    pub paths: BTreeSet<PathBuf>,
}

impl Source {
    /// Adds an address: its host, or its path if it is one of a file.
    pub(super) fn add_address(&mut self, address: &str) {
        if let Some(host) = host_of(address) {
            self.hosts.insert(host);
        } else if let Some(path) = path_of(address) {
            self.paths.insert(path);
        }
    }

    /// Uses the proxy that the host's environment names. Whoever has a proxy reaches the registry
    /// only through it, so the proxy is then the only host.
    pub fn use_proxy(&mut self, host_env: &BTreeMap<String, String>) {
        let mut proxies = BTreeSet::new();
        for name in ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"] {
            for name in [name.to_owned(), name.to_lowercase()] {
                let Some(value) = host_env.get(&name).filter(|value| !value.is_empty()) else {
                    continue;
                };
                let address =
                    if value.contains("://") { value.clone() } else { format!("http://{value}") };
                proxies.extend(host_of(&address));
                self.env.insert(name, value.clone());
            }
        }
        if proxies.is_empty() || self.hosts.is_empty() {
            return;
        }
        for name in ["NO_PROXY", "no_proxy"] {
            if let Some(value) = host_env.get(name) {
                self.env.insert(name.to_owned(), value.clone());
            }
        }
        // What NO_PROXY exempts is reached directly. Rules for hosts that are not reached directly
        // let nothing more out than the proxy does.
        self.hosts.extend(proxies);
    }

    /// Takes over the certificates that the host's environment names.
    pub fn use_certificates(&mut self, host_env: &BTreeMap<String, String>) {
        for name in ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"] {
            if let Some(value) = host_env.get(name).filter(|value| value.starts_with('/')) {
                self.env.insert(name.to_owned(), value.clone());
                self.paths.insert(value.into());
            }
        }
    }
}

/// `HOST:PORT` of an address. Names and passwords in it are not part of the host.
pub(super) fn host_of(address: &str) -> Option<String> {
    let (scheme, rest) = address.split_once("://")?;
    let port = match scheme {
        "https" => 443,
        "http" => 80,
        _ => return None,
    };
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let after_brackets = host.rsplit(']').next()?;
    match (host.is_empty(), after_brackets.contains(':')) {
        (true, _) => None,
        (false, true) => Some(host.to_ascii_lowercase()),
        (false, false) => Some(format!("{}:{port}", host.to_ascii_lowercase())),
    }
}

fn path_of(address: &str) -> Option<PathBuf> {
    let path = address.strip_prefix("file://").unwrap_or(address);
    path.starts_with('/').then(|| PathBuf::from(path))
}
