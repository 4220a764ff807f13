//! The network interfaces of a sandbox.

use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use linux_abi::{Errno, SysResult};

/// An interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its number.
    pub index: u32,
    /// Its name.
    pub name: &'static str,
    /// `IFF_*`.
    pub flags: u32,
    /// The largest packet.
    pub mtu: u32,
    /// `ARPHRD_*`.
    pub hardware: u16,
    /// The hardware address.
    pub mac: [u8; 6],
    /// Its addresses, with the lengths of their prefixes.
    pub addresses: Vec<(IpAddr, u8)>,
}

impl Interface {
    /// The loopback interface.
    pub fn loopback() -> Self {
        Self {
            index: 1,
            name: "lo",
            // UP | LOOPBACK | RUNNING | LOWER_UP
            flags: 0x1_0049,
            mtu: 65536,
            hardware: 772,
            mac: [0; 6],
            addresses: vec![(Ipv4Addr::LOCALHOST.into(), 8), (Ipv6Addr::LOCALHOST.into(), 128)],
        }
    }

    /// The interface that leads out of the sandbox, where something may leave.
    pub fn outward(has_ipv6: bool) -> Self {
        let mut addresses = vec![(Ipv4Addr::new(10, 0, 2, 15).into(), 24)];
        if has_ipv6 {
            addresses.push((Ipv6Addr::new(0xfd00, 0, 0, 2, 0, 0, 0, 0x15).into(), 64));
        }
        Self {
            index: 2,
            name: "eth0",
            // UP | BROADCAST | RUNNING | MULTICAST | LOWER_UP
            flags: 0x1_1043,
            mtu: 1500,
            hardware: 1,
            mac: [2, 0, 0, 0, 0, 15],
            addresses,
        }
    }

    /// The first IPv4 address.
    pub fn ipv4(&self) -> Option<(Ipv4Addr, u8)> {
        self.addresses.iter().find_map(|&(ip, prefix)| match ip {
            IpAddr::V4(ip) => Some((ip, prefix)),
            IpAddr::V6(_) => None,
        })
    }

    /// Whether this is the loopback interface.
    pub fn is_loopback(&self) -> bool {
        self.index == 1
    }
}

/// `IFF_UP`.
const IFF_UP: u32 = 0x1;
/// How many addresses an interface may have.
const MAX_ADDRESSES: usize = 16;
/// `IFF_LOOPBACK`.
const IFF_LOOPBACK: u32 = 0x8;

/// The gateway that the outward interface seems to have.
pub const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 2);

/// The same for IPv6.
pub const GATEWAY6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 2, 0, 0, 0, 2);

/// The interfaces of a sandbox.
pub struct Interfaces {
    list: RefCell<Vec<Interface>>,
}

impl Default for Interfaces {
    fn default() -> Self {
        Self { list: RefCell::new(vec![Interface::loopback()]) }
    }
}

impl Interfaces {
    /// All of them.
    pub fn list(&self) -> Vec<Interface> {
        self.list.borrow().clone()
    }

    /// Whether the loopback interface is up.
    pub fn is_up(&self) -> bool {
        self.list.borrow().first().is_some_and(|loopback| loopback.flags & IFF_UP != 0)
    }

    /// Brings the loopback interface up, with its usual addresses if it has none.
    pub fn bring_up(&self) {
        if let Some(loopback) = self.list.borrow_mut().first_mut() {
            let usual = Interface::loopback();
            loopback.flags = usual.flags;
            if loopback.addresses.is_empty() {
                loopback.addresses = usual.addresses;
            }
        }
    }

    /// Gives the loopback interface one of its usual addresses; `EEXIST` if it has it.
    pub fn add_loopback_address(&self, ip: IpAddr, prefix: u8) -> SysResult<()> {
        let mut list = self.list.borrow_mut();
        let loopback = list.first_mut().ok_or(Errno::ENODEV)?;
        if loopback.addresses.iter().any(|&(own, _)| own == ip) {
            return Err(Errno::EEXIST);
        }
        if !ip.is_loopback() || loopback.addresses.len() >= MAX_ADDRESSES {
            return Err(Errno::EPERM);
        }
        loopback.addresses.push((ip, prefix));
        Ok(())
    }

    /// Takes the loopback interface down and its addresses off, as in a network that was just made.
    pub fn take_down(&self) {
        if let Some(loopback) = self.list.borrow_mut().first_mut() {
            loopback.flags = IFF_LOOPBACK;
            loopback.addresses.clear();
        }
    }

    /// Adds one.
    pub fn add(&self, interface: Interface) {
        self.list.borrow_mut().push(interface);
    }

    /// Whether an address is one of ours, so that a socket may be bound to it and what is sent to
    /// it stays inside.
    pub fn is_local(&self, ip: IpAddr) -> bool {
        ip.is_unspecified()
            || ip.is_loopback() && self.is_up()
            || self.list.borrow().iter().any(|one| one.addresses.iter().any(|&(own, _)| own == ip))
    }

    /// Whether an address reaches everybody.
    pub fn is_broadcast(&self, ip: IpAddr) -> bool {
        let IpAddr::V4(ip) = ip else { return false };
        if ip.is_broadcast() {
            return true;
        }
        self.list.borrow().iter().filter_map(Interface::ipv4).any(|(own, prefix)| {
            let mask = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
            u32::from(own) & mask == u32::from(ip) & mask && u32::from(ip) & !mask == !mask
        })
    }
}

/// What an address means when something is sent to it: nowhere means here.
pub fn destination(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    }
}

/// The address that something sent to `ip` inside the sandbox comes from.
pub fn source_for(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(v4) if v4.is_loopback() || v4.is_multicast() || v4.is_broadcast() => {
            Ipv4Addr::LOCALHOST.into()
        }
        IpAddr::V6(v6) if v6.is_multicast() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    }
}
