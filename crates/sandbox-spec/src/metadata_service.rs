//! Addresses and names behind which clouds keep the keys of a machine.
//!
//! Whoever reaches such a service from inside a machine of a cloud is that machine: it gets its
//! passwords, its start-up scripts and keys to the owner's account. So nobody is told how to allow it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::{HostPattern, HostRule};

const EVERYBODY: &str = "there most clouds hand out the keys of the machine";

const fn v4(a: u8, b: u8, c: u8, d: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(a, b, c, d))
}

/// `first:second::last`.
const fn v6(first: u16, second: u16, last: u16) -> IpAddr {
    IpAddr::V6(Ipv6Addr::new(first, second, 0, 0, 0, 0, 0, last))
}

const OPENSTACK: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0xa9fe, 0xa9fe);

/// Networks, how many bits of them count, and what is there.
const ADDRESSES: [(IpAddr, u8, &str); 9] = [
    // Before the network that it is in, for its reason says more.
    (v4(169, 254, 170, 0), 24, "there Amazon hands out the keys of containers"),
    (v4(169, 254, 0, 0), 16, EVERYBODY),
    (v6(0xfd00, 0xec2, 0x254), 128, "there Amazon hands out the keys of the machine"),
    (v6(0xfd00, 0xec2, 0x23), 128, "there Amazon hands out the keys of containers"),
    (v6(0xfd20, 0xce, 0x254), 128, "there Google hands out the keys of the machine"),
    (IpAddr::V6(OPENSTACK), 128, "there OpenStack hands out the settings of the machine"),
    (v4(100, 100, 100, 200), 32, "there Alibaba hands out the keys of the machine"),
    (
        v4(168, 63, 129, 16),
        32,
        "there Azure hands out the settings and certificates of the machine",
    ),
    (v4(192, 0, 0, 192), 32, "there Oracle hands out the keys of the machine"),
];

/// Names of such services, in lower case.
const NAMES: [(&str, &str); 9] = [
    ("metadata.google.internal", "there Google hands out the keys of the machine"),
    ("metadata.goog", "there Google hands out the keys of the machine"),
    ("metadata", "there Google hands out the keys of the machine"),
    ("instance-data", "there Amazon hands out the keys of the machine"),
    ("instance-data.ec2.internal", "there Amazon hands out the keys of the machine"),
    ("metadata.azure.internal", "there Azure hands out the keys of the machine"),
    ("metadata.tencentyun.com", "there Tencent hands out the keys of the machine"),
    ("metadata.platformequinix.com", "there Equinix hands out the settings of the machine"),
    ("metadata.oraclecloud.com", "there Oracle hands out the keys of the machine"),
];

/// What a cloud keeps at this address, if it keeps something there.
pub fn metadata_at(address: IpAddr) -> Option<&'static str> {
    let address = as_v4(address);
    let is_in = |(network, bits, _): &&(IpAddr, u8, &str)| shares_bits(*network, address, *bits);
    ADDRESSES.iter().find(is_in).map(|(_, _, why)| *why)
}

/// What a cloud keeps behind this name, if it keeps something there.
pub fn metadata_named(name: &str) -> Option<&'static str> {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    match name.parse() {
        Ok(address) => metadata_at(address),
        Err(_) => NAMES.iter().find(|(known, _)| *known == name).map(|(_, why)| *why),
    }
}

impl HostRule {
    /// What a cloud keeps where this rule would lead, if it keeps something there. `*` is only what
    /// is public.
    pub fn metadata_service(&self) -> Option<&'static str> {
        match &self.host {
            HostPattern::Any => None,
            HostPattern::Name(name) => metadata_named(name),
            HostPattern::Below(end) => {
                let is_below =
                    |name: &str| name.strip_suffix(end).is_some_and(|it| it.ends_with('.'));
                NAMES.iter().find(|(known, _)| is_below(known)).map(|(_, why)| *why)
            }
            HostPattern::Network { address, prefix } => {
                let overlaps = |(network, bits, _): &&(IpAddr, u8, &str)| {
                    shares_bits(*network, *address, (*bits).min(*prefix))
                };
                let direct = ADDRESSES.iter().find(overlaps).map(|(_, _, why)| *why);
                direct.or_else(|| metadata_at(*address))
            }
        }
    }
}

/// An address of IPv4 that is written as one of IPv6, or is led there by a translator (RFC 6052).
fn as_v4(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    match v6.octets() {
        [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d] => v4(a, b, c, d),
        _ => v6.to_canonical(),
    }
}

fn shares_bits(one: IpAddr, other: IpAddr, n_bits: u8) -> bool {
    match (one, other) {
        (IpAddr::V4(one), IpAddr::V4(other)) => {
            let different = u32::from(one) ^ u32::from(other);
            different.leading_zeros() >= n_bits.into()
        }
        (IpAddr::V6(one), IpAddr::V6(other)) => {
            let different = u128::from(one) ^ u128::from(other);
            different.leading_zeros() >= n_bits.into()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_clouds_are_known_in_every_form() {
        for text in [
            "169.254.169.254",
            "169.254.170.2",
            "::ffff:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "fd00:ec2::254",
            "100.100.100.200",
            "168.63.129.16",
        ] {
            assert!(metadata_at(text.parse().unwrap()).is_some(), "{text}");
        }
        for text in ["127.0.0.1", "10.0.0.1", "8.8.8.8", "fd00::1", "::1"] {
            assert_eq!(metadata_at(text.parse().unwrap()), None, "{text}");
        }
        for text in ["metadata.google.internal", "METADATA.google.internal.", "169.254.169.254"] {
            assert!(metadata_named(text).is_some(), "{text}");
        }
        assert_eq!(metadata_named("example.org"), None);
    }

    #[test]
    fn rules_that_lead_there_are_known() {
        let leads = |text: &str| text.parse::<HostRule>().unwrap().metadata_service().is_some();
        for text in ["169.254.169.254:80", "169.254.0.0/16", "0.0.0.0/0", "*.google.internal"] {
            assert!(leads(text), "{text}");
        }
        for text in ["*", "example.org:443", "10.0.0.0/8", "*.example.org"] {
            assert!(!leads(text), "{text}");
        }
    }
}
