//! Addresses that are not public: private networks, the host itself, links, groups, reserved ones.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A block of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its first address.
    pub address: IpAddr,
    /// How many leading bits its addresses share.
    pub prefix: u8,
}

const fn v4(a: u8, b: u8, c: u8, d: u8, prefix: u8) -> Block {
    Block { address: IpAddr::V4(Ipv4Addr::new(a, b, c, d)), prefix }
}

const fn v6(first: u16, second: u16, prefix: u8) -> Block {
    Block { address: IpAddr::V6(Ipv6Addr::new(first, second, 0, 0, 0, 0, 0, 0)), prefix }
}

/// What the registries of special-purpose addresses keep from the public internet (RFC 6890 and
/// what came after it). IPv4 addresses inside IPv6 ones are looked at as IPv4: see [`canonical`].
const SPECIAL: [Block; 26] = [
    v4(0, 0, 0, 0, 8),
    v4(10, 0, 0, 0, 8),
    v4(100, 64, 0, 0, 10),
    v4(127, 0, 0, 0, 8),
    v4(169, 254, 0, 0, 16),
    v4(172, 16, 0, 0, 12),
    v4(192, 0, 0, 0, 24),
    v4(192, 0, 2, 0, 24),
    v4(192, 88, 99, 0, 24),
    v4(192, 168, 0, 0, 16),
    v4(198, 18, 0, 0, 15),
    v4(198, 51, 100, 0, 24),
    v4(203, 0, 113, 0, 24),
    v4(224, 0, 0, 0, 4),
    v4(240, 0, 0, 0, 4),
    // Nowhere, the host itself, and what is left of IPv4-compatible addresses.
    v6(0, 0, 8),
    v6(0x64, 0xff9b, 16),
    v6(0x100, 0, 16),
    v6(0x2001, 0, 23),
    v6(0x2001, 0xdb8, 32),
    v6(0x2002, 0, 16),
    v6(0x3fff, 0, 20),
    v6(0x5f00, 0, 16),
    v6(0xfc00, 0, 7),
    v6(0xfe80, 0, 9),
    v6(0xff00, 0, 8),
];

/// Where an address leads: an IPv4 address that is written as an IPv6 one is itself.
pub fn canonical(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    if let Some(v4) = v6.to_ipv4_mapped() {
        return v4.into();
    }
    match v6.octets() {
        // A translator of the network takes these to IPv4 (RFC 6052).
        [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d] => {
            Ipv4Addr::new(a, b, c, d).into()
        }
        _ => address,
    }
}

/// Whether the first `prefix` bits of two addresses of one family are the same.
pub fn shares_prefix(one: IpAddr, other: IpAddr, prefix: u8) -> bool {
    match (one, other) {
        (IpAddr::V4(one), IpAddr::V4(other)) => {
            let shift = 32u32.saturating_sub(prefix.into());
            (u32::from(one) ^ u32::from(other)).checked_shr(shift).unwrap_or(0) == 0
        }
        (IpAddr::V6(one), IpAddr::V6(other)) => {
            let shift = 128u32.saturating_sub(prefix.into());
            (u128::from(one) ^ u128::from(other)).checked_shr(shift).unwrap_or(0) == 0
        }
        _ => false,
    }
}

impl Block {
    /// Whether an address is in it.
    pub fn contains(&self, address: IpAddr) -> bool {
        shares_prefix(self.address, address, self.prefix)
    }
}

/// The block that keeps a canonical address from being public, if there is one.
pub fn special_block(address: IpAddr) -> Option<Block> {
    SPECIAL.into_iter().find(|block| block.contains(address))
}

/// Whether a canonical address is of one's own link: it is what clouds put their secrets behind.
pub fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

/// Whether a canonical address can be that of one receiver.
pub fn is_destination(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => !(v4.is_unspecified() || v4.is_multicast() || v4.is_broadcast()),
        IpAddr::V6(v6) => !(v6.is_unspecified() || v6.is_multicast()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_public(text: &str) -> bool {
        special_block(canonical(text.parse().unwrap())).is_none()
    }

    #[test]
    fn knows_what_is_public() {
        for text in ["1.1.1.1", "93.184.216.34", "172.32.0.1", "2606:4700::1111", "100.128.0.1"] {
            assert!(is_public(text), "{text}");
        }
    }

    #[test]
    fn knows_what_is_not() {
        let special = [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "127.8.8.8",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "fd00::1",
            "fc00::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
            "2002:a00:1::",
        ];
        for text in special {
            assert!(!is_public(text), "{text}");
        }
    }

    #[test]
    fn an_ipv4_address_cannot_hide_in_an_ipv6_one() {
        assert!(!is_public("::ffff:169.254.169.254"));
        assert!(!is_public("64:ff9b::10.0.0.1"));
        assert!(!is_public("::10.0.0.1"));
        assert!(is_public("::ffff:1.1.1.1"));
        assert_eq!(canonical("::ffff:1.1.1.1".parse().unwrap()).to_string(), "1.1.1.1");
    }

    #[test]
    fn compares_prefixes() {
        let shares = |one: &str, other: &str, prefix| {
            shares_prefix(one.parse().unwrap(), other.parse().unwrap(), prefix)
        };
        assert!(shares("10.0.0.0", "10.255.0.1", 8));
        assert!(!shares("10.0.0.0", "11.0.0.1", 8));
        assert!(shares("10.0.0.0", "192.0.0.1", 0));
        assert!(shares("10.0.0.1", "10.0.0.1", 32));
        assert!(!shares("10.0.0.1", "10.0.0.0", 32));
        assert!(shares("fd00::", "fd00::1", 127) || !shares("fd00::", "fd00::1", 128));
        assert!(!shares("::", "0.0.0.0", 0));
    }
}
