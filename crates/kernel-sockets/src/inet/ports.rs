//! Who is bound to which port.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::net::IpAddr;
use std::rc::{Rc, Weak};

use linux_abi::{Errno, SysResult};
use slab::Slab;

use super::time_wait::{Held, HoldKey, Parted};

/// The ports that the kernel chooses from (Linux: `net.ipv4.ip_local_port_range`).
pub const EPHEMERAL: std::ops::RangeInclusive<u16> = 32768..=60999;

/// A local address that a socket is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoundAddress {
    /// The address, which may be unspecified.
    pub ip: IpAddr,
    /// Whether `::` means IPv6 only.
    pub only_v6: bool,
}

impl BoundAddress {
    /// Whether something sent to `ip` may be for this address: the more exact, the higher the
    /// number.
    pub fn score(self, ip: IpAddr) -> Option<u32> {
        match self.ip {
            own if own == ip => Some(3),
            IpAddr::V4(own) if own.is_unspecified() && ip.is_ipv4() => Some(2),
            IpAddr::V6(own) if own.is_unspecified() && ip.is_ipv6() => Some(2),
            IpAddr::V6(own) if own.is_unspecified() && !self.only_v6 => Some(1),
            _ => None,
        }
    }

    fn overlaps(self, other: Self) -> bool {
        self.ip == other.ip
            || (other.ip.is_unspecified() && other.score(self.ip).is_some())
            || (self.ip.is_unspecified() && self.score(other.ip).is_some())
    }
}

/// What a socket allows others to do with its port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sharing {
    /// `SO_REUSEADDR`.
    pub reuse_address: bool,
    /// `SO_REUSEPORT`, and the user who set it.
    pub reuse_port: Option<u32>,
}

struct Binding {
    address: BoundAddress,
    sharing: Sharing,
    is_listening: bool,
}

struct Port<T: ?Sized> {
    bindings: Slab<Binding>,
    /// Those who receive what is sent to this port.
    receivers: Vec<(usize, BoundAddress, Weak<T>)>,
}

impl<T: ?Sized> Default for Port<T> {
    fn default() -> Self {
        Self { bindings: Slab::new(), receivers: Vec::new() }
    }
}

/// A place in the table, to be given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BindingKey {
    /// The port.
    pub port: u16,
    key: usize,
}

/// The ports of one protocol, with the `T` that receives on each.
pub struct Ports<T: ?Sized> {
    ports: RefCell<HashMap<u16, Port<T>>>,
    next: Cell<u16>,
    turn: Cell<usize>,
    held: Held,
}

impl<T: ?Sized> Default for Ports<T> {
    fn default() -> Self {
        let next = Cell::new(*EPHEMERAL.start());
        Self { ports: RefCell::default(), next, turn: Cell::new(0), held: Held::default() }
    }
}

impl<T: ?Sized> Ports<T> {
    /// Binds to `port`, or to a free one if it is 0. `EADDRINUSE` if others are in the way.
    pub fn bind(
        &self,
        address: BoundAddress,
        port: u16,
        sharing: Sharing,
    ) -> SysResult<BindingKey> {
        for overdue in self.held.take_overdue() {
            self.release(overdue);
        }
        let port = if port == 0 { self.choose()? } else { port };
        let mut ports = self.ports.borrow_mut();
        let place = ports.entry(port).or_default();
        let in_the_way = place.bindings.iter().any(|(_, other)| {
            let both_address = sharing.reuse_address && other.sharing.reuse_address;
            let both_port =
                sharing.reuse_port.is_some() && sharing.reuse_port == other.sharing.reuse_port;
            address.overlaps(other.address) && !both_port && (!both_address || other.is_listening)
        });
        if in_the_way {
            return Err(Errno::EADDRINUSE);
        }
        let key = place.bindings.insert(Binding { address, sharing, is_listening: false });
        Ok(BindingKey { port, key })
    }

    /// Adds one more socket to a port without asking: a connection of the `listener`, which allows
    /// what that one does.
    pub fn join(
        &self,
        address: BoundAddress,
        port: u16,
        listener: Option<BindingKey>,
    ) -> BindingKey {
        let mut ports = self.ports.borrow_mut();
        let place = ports.entry(port).or_default();
        let like = listener.and_then(|own| place.bindings.get(own.key));
        let sharing = like.map(|like| like.sharing).unwrap_or_default();
        let key = place.bindings.insert(Binding { address, sharing, is_listening: false });
        BindingKey { port, key }
    }

    /// A port that nobody uses.
    fn choose(&self) -> SysResult<u16> {
        let ports = self.ports.borrow();
        for _ in EPHEMERAL {
            let port = self.next.get();
            self.next.set(if port == *EPHEMERAL.end() { *EPHEMERAL.start() } else { port + 1 });
            if !ports.contains_key(&port) {
                return Ok(port);
            }
        }
        Err(Errno::EADDRINUSE)
    }

    /// From now on what is sent to this binding is for `receiver`. With `exclusive`, as for
    /// `listen`, nobody else may receive there unless both share the port.
    pub fn receive(&self, key: BindingKey, receiver: Weak<T>, exclusive: bool) -> SysResult<()> {
        let mut ports = self.ports.borrow_mut();
        let place = ports.get_mut(&key.port).ok_or(Errno::EINVAL)?;
        let own = place.bindings.get(key.key).ok_or(Errno::EINVAL)?;
        let (address, sharing) = (own.address, own.sharing);
        if exclusive {
            let in_the_way = place.bindings.iter().any(|(other_key, other)| {
                let both_port =
                    sharing.reuse_port.is_some() && sharing.reuse_port == other.sharing.reuse_port;
                let is_other = other_key != key.key && other.is_listening;
                is_other && !both_port && address.overlaps(other.address)
            });
            if in_the_way {
                return Err(Errno::EADDRINUSE);
            }
        }
        if let Some(own) = place.bindings.get_mut(key.key) {
            own.is_listening = exclusive;
        }
        place.receivers.push((key.key, address, receiver));
        Ok(())
    }

    /// Receives no longer, but keeps the port.
    pub fn stop_receiving(&self, key: BindingKey) {
        if let Some(place) = self.ports.borrow_mut().get_mut(&key.port) {
            place.receivers.retain(|(own, ..)| *own != key.key);
            if let Some(own) = place.bindings.get_mut(key.key) {
                own.is_listening = false;
            }
        }
    }

    /// The socket now allows others more, or less.
    pub fn set_sharing(&self, key: BindingKey, sharing: Sharing) {
        let mut ports = self.ports.borrow_mut();
        let binding = ports.get_mut(&key.port).and_then(|port| port.bindings.get_mut(key.key));
        if let Some(binding) = binding {
            binding.sharing = sharing;
        }
    }

    /// Gives the port back.
    pub fn release(&self, key: BindingKey) {
        let mut ports = self.ports.borrow_mut();
        let Some(place) = ports.get_mut(&key.port) else { return };
        place.bindings.try_remove(key.key);
        place.receivers.retain(|(own, ..)| *own != key.key);
        if place.bindings.is_empty() {
            ports.remove(&key.port);
        }
    }

    /// Keeps the port for a connection that is over, for the time that Linux calls `TIME_WAIT`.
    pub fn hold(&self, key: BindingKey, parted: Parted) -> HoldKey {
        let (hold, oldest) = self.held.add(key, parted);
        if let Some(oldest) = oldest {
            self.release(oldest);
        }
        hold
    }

    /// The other end is closed as well, and the time begins only now. Returns the new name of the
    /// hold, if it is not over.
    pub fn hold_again(&self, hold: HoldKey) -> Option<HoldKey> {
        let (key, parted) = self.held.remove(hold)?;
        Some(self.hold(key, Parted { is_closed: true, ..parted }))
    }

    /// The connections for which ports are held, with how many nanoseconds they have left.
    pub fn parted(&self) -> Vec<(u64, Parted)> {
        self.held.list()
    }

    /// Gives a port back that was held.
    pub fn end_hold(&self, hold: HoldKey) {
        if let Some((key, _)) = self.held.remove(hold) {
            self.release(key);
        }
    }

    /// Who receives what is sent to `ip` and `port`. Of several that match equally well, as
    /// `SO_REUSEPORT` allows, each gets its turn.
    pub fn find(&self, ip: IpAddr, port: u16) -> Option<Rc<T>> {
        let ports = self.ports.borrow();
        let place = ports.get(&port)?;
        let scored = place
            .receivers
            .iter()
            .filter_map(|(_, address, receiver)| address.score(ip).map(|score| (score, receiver)));
        let best = scored.clone().map(|(score, _)| score).max()?;
        let equals: Vec<&Weak<T>> =
            scored.filter(|(score, _)| *score == best).map(|(_, receiver)| receiver).collect();
        let turn = self.turn.get();
        if equals.len() > 1 {
            self.turn.set(turn.wrapping_add(1));
        }
        equals.get(turn % equals.len()).and_then(|receiver| receiver.upgrade())
    }

    /// Everybody who may receive what is sent to `ip` and `port`, with how well it matches.
    pub fn find_all(&self, ip: IpAddr, port: u16) -> Vec<(u32, Rc<T>)> {
        let ports = self.ports.borrow();
        let Some(place) = ports.get(&port) else { return Vec::new() };
        let matching = place
            .receivers
            .iter()
            .filter_map(|(_, address, receiver)| Some((address.score(ip)?, receiver.upgrade()?)));
        matching.collect()
    }

    /// Everybody who receives on `port`.
    pub fn receivers(&self, port: u16) -> Vec<Rc<T>> {
        let ports = self.ports.borrow();
        let place = ports.get(&port).map(|place| place.receivers.as_slice()).unwrap_or_default();
        place.iter().filter_map(|(_, _, receiver)| receiver.upgrade()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    fn v4(ip: Ipv4Addr) -> BoundAddress {
        BoundAddress { ip: ip.into(), only_v6: false }
    }

    const REUSE: Sharing = Sharing { reuse_address: true, reuse_port: None };
    const SHARE: Sharing = Sharing { reuse_address: false, reuse_port: Some(1000) };

    #[test]
    fn a_port_has_one_owner_unless_both_share() {
        let ports: Ports<u8> = Ports::default();
        let any = v4(Ipv4Addr::UNSPECIFIED);
        let local = v4(Ipv4Addr::LOCALHOST);
        ports.bind(any, 80, Sharing::default()).unwrap();
        assert_eq!(ports.bind(local, 80, REUSE), Err(Errno::EADDRINUSE));
        ports.bind(any, 81, REUSE).unwrap();
        ports.bind(local, 81, REUSE).unwrap();
        ports.bind(any, 82, SHARE).unwrap();
        ports.bind(any, 82, SHARE).unwrap();
        assert_eq!(ports.bind(any, 82, REUSE), Err(Errno::EADDRINUSE));
    }

    #[test]
    fn two_stacks_meet_unless_one_is_for_v6_only() {
        let ports: Ports<u8> = Ports::default();
        let any4 = v4(Ipv4Addr::UNSPECIFIED);
        let any6 = |only_v6| BoundAddress { ip: Ipv6Addr::UNSPECIFIED.into(), only_v6 };
        ports.bind(any4, 80, Sharing::default()).unwrap();
        assert_eq!(ports.bind(any6(false), 80, Sharing::default()), Err(Errno::EADDRINUSE));
        ports.bind(any6(true), 80, Sharing::default()).unwrap();
    }

    #[test]
    fn listening_takes_a_reusable_port_for_itself() {
        let ports: Ports<u8> = Ports::default();
        let any = v4(Ipv4Addr::UNSPECIFIED);
        let first = ports.bind(any, 80, REUSE).unwrap();
        let second = ports.bind(any, 80, REUSE).unwrap();
        let receiver = Rc::new(1);
        ports.receive(first, Rc::downgrade(&receiver), true).unwrap();
        assert_eq!(ports.receive(second, Weak::new(), true), Err(Errno::EADDRINUSE));
        assert_eq!(ports.bind(any, 80, REUSE), Err(Errno::EADDRINUSE));
        assert!(ports.find(Ipv4Addr::LOCALHOST.into(), 80).is_some());
        ports.release(first);
        assert!(ports.find(Ipv4Addr::LOCALHOST.into(), 80).is_none());
    }
}
