//! Options of levels `SOL_IP`, `SOL_IPV6`, `SOL_TCP` and `SOL_UDP` that are kept and reported.
//!
//! Where there are no packets most of them have no effect; the few that have are asked for by
//! [`InetOptions::number`].

use std::cell::RefCell;
use std::collections::BTreeMap;

use kernel_core::credentials::cap;
use linux_abi::sockets::inet::{ip, ipv6, tcp, udp};
use linux_abi::sockets::sol;
use linux_abi::{Errno, SysResult};

use crate::Caller;
use crate::options::int_bytes;

/// What values an option takes.
#[derive(Clone, Copy)]
enum Values {
    /// On or off.
    Switch,
    /// A number from here to there.
    Range(i32, i32),
    /// The same, and `-1` means the default.
    OrDefault(i32, i32),
    /// A number that is brought into this range; what is too large becomes the largest.
    Clamped(i32, i32),
    /// Only the privileged may turn it on.
    Privileged,
}

use Values::{Clamped, OrDefault, Privileged, Range, Switch};

/// For how many seconds a closed connection waits for the other side, by default and at most.
const FIN_TIMEOUT: i32 = 60;
const FIN_TIMEOUT_MAX: i32 = 120;

/// Level, name, values, default.
type Row = (i32, i32, Values, i32);

const KNOWN: &[Row] = &[
    (sol::IP, ip::TOS, Range(0, 255), 0),
    (sol::IP, ip::TTL, OrDefault(1, 255), 64),
    (sol::IP, ip::RECVOPTS, Switch, 0),
    (sol::IP, ip::RETOPTS, Switch, 0),
    (sol::IP, ip::PKTINFO, Switch, 0),
    (sol::IP, ip::MTU_DISCOVER, Range(0, 5), 1),
    (sol::IP, ip::RECVERR, Switch, 0),
    (sol::IP, ip::RECVERR_RFC4884, Switch, 0),
    (sol::IP, ip::RECVTTL, Switch, 0),
    (sol::IP, ip::RECVTOS, Switch, 0),
    (sol::IP, ip::FREEBIND, Switch, 0),
    (sol::IP, ip::TRANSPARENT, Privileged, 0),
    (sol::IP, ip::RECVORIGDSTADDR, Switch, 0),
    (sol::IP, ip::MINTTL, Range(0, 255), 0),
    (sol::IP, ip::BIND_ADDRESS_NO_PORT, Switch, 0),
    (sol::IP, ip::MULTICAST_TTL, OrDefault(0, 255), 1),
    // An address, as it stands in memory.
    (sol::IP, ip::MULTICAST_IF, Range(i32::MIN, i32::MAX), 0),
    (sol::IP, ip::MULTICAST_LOOP, Switch, 1),
    (sol::IP, ip::MULTICAST_ALL, Switch, 1),
    (sol::IP, ip::UNICAST_IF, Range(i32::MIN, i32::MAX), 0),
    (sol::IP, ip::LOCAL_PORT_RANGE, Range(i32::MIN, i32::MAX), 0),
    (sol::IPV6, ipv6::UNICAST_HOPS, OrDefault(0, 255), 64),
    (sol::IPV6, ipv6::MULTICAST_IF, Range(0, i32::MAX), 0),
    (sol::IPV6, ipv6::MULTICAST_HOPS, OrDefault(0, 255), 1),
    (sol::IPV6, ipv6::MULTICAST_LOOP, Switch, 1),
    (sol::IPV6, ipv6::MULTICAST_ALL, Switch, 1),
    (sol::IPV6, ipv6::MTU_DISCOVER, Range(0, 5), 1),
    (sol::IPV6, ipv6::RECVERR, Switch, 0),
    (sol::IPV6, ipv6::V6ONLY, Switch, 0),
    (sol::IPV6, ipv6::RECVPKTINFO, Switch, 0),
    (sol::IPV6, ipv6::RECVHOPLIMIT, Switch, 0),
    (sol::IPV6, ipv6::RECVTCLASS, Switch, 0),
    (sol::IPV6, ipv6::TCLASS, OrDefault(0, 255), 0),
    (sol::IPV6, ipv6::AUTOFLOWLABEL, Switch, 1),
    (sol::IPV6, ipv6::ADDR_PREFERENCES, Range(0, 0x3ff), 0),
    (sol::IPV6, ipv6::MINHOPCOUNT, Range(0, 255), 0),
    (sol::IPV6, ipv6::FREEBIND, Switch, 0),
    (sol::IPV6, ipv6::DONTFRAG, Switch, 0),
    (sol::IPV6, ipv6::RECVPATHMTU, Switch, 0),
    (sol::IPV6, ipv6::FLOWINFO_SEND, Switch, 0),
    (sol::IPV6, ipv6::RECVORIGDSTADDR, Switch, 0),
    (sol::TCP, tcp::NODELAY, Switch, 0),
    (sol::TCP, tcp::MAXSEG, Range(0, 32767), 0),
    (sol::TCP, tcp::CORK, Switch, 0),
    (sol::TCP, tcp::KEEPIDLE, Range(1, 32767), 7200),
    (sol::TCP, tcp::KEEPINTVL, Range(1, 32767), 75),
    (sol::TCP, tcp::KEEPCNT, Range(1, 127), 9),
    (sol::TCP, tcp::SYNCNT, Range(1, 127), 6),
    (sol::TCP, tcp::LINGER2, Clamped(-1, FIN_TIMEOUT_MAX), FIN_TIMEOUT),
    (sol::TCP, tcp::DEFER_ACCEPT, Clamped(0, i32::MAX), 0),
    (sol::TCP, tcp::WINDOW_CLAMP, Range(0, i32::MAX), 0),
    // The place in the list of names.
    (sol::TCP, tcp::CONGESTION, Range(0, 1), 0),
    (sol::TCP, tcp::QUICKACK, Switch, 1),
    (sol::TCP, tcp::THIN_LINEAR_TIMEOUTS, Range(0, 1), 0),
    (sol::TCP, tcp::THIN_DUPACK, Range(0, 1), 0),
    (sol::TCP, tcp::USER_TIMEOUT, Range(0, i32::MAX), 0),
    (sol::TCP, tcp::FASTOPEN, Range(0, i32::MAX), 0),
    (sol::TCP, tcp::TIMESTAMP, Range(i32::MIN, i32::MAX), 0),
    (sol::TCP, tcp::NOTSENT_LOWAT, Range(i32::MIN, i32::MAX), -1),
    (sol::TCP, tcp::SAVE_SYN, Range(0, 2), 0),
    (sol::TCP, tcp::FASTOPEN_CONNECT, Range(0, 1), 0),
    (sol::TCP, tcp::FASTOPEN_NO_COOKIE, Range(0, 1), 0),
    (sol::TCP, tcp::INQ, Range(0, 1), 0),
    (sol::TCP, tcp::TX_DELAY, Range(0, i32::MAX), 0),
    (sol::UDP, udp::CORK, Switch, 0),
    (sol::UDP, udp::NO_CHECK6_TX, Switch, 0),
    (sol::UDP, udp::NO_CHECK6_RX, Switch, 0),
    (sol::UDP, udp::GRO, Switch, 0),
];

/// The options that a socket was given.
#[derive(Clone, Default)]
pub struct InetOptions {
    given: RefCell<BTreeMap<(i32, i32), i32>>,
}

fn find(level: i32, name: i32) -> SysResult<&'static Row> {
    KNOWN.iter().find(|row| row.0 == level && row.1 == name).ok_or(Errno::ENOPROTOOPT)
}

impl InetOptions {
    /// Takes over the options of another socket.
    pub fn copy_from(&self, other: &Self) {
        if !other.given.borrow().is_empty() {
            *self.given.borrow_mut() = other.given.borrow().clone();
        }
    }

    /// The value of an option that is a number.
    pub fn number(&self, level: i32, name: i32) -> i32 {
        let given = self.given.borrow().get(&(level, name)).copied();
        given.unwrap_or_else(|| find(level, name).map_or(0, |row| row.3))
    }

    /// The value of an option that is a number and has this default.
    pub fn number_or(&self, level: i32, name: i32, default: i32) -> i32 {
        // Most sockets are given none, and are asked often.
        if self.given.borrow().is_empty() { default } else { self.number(level, name) }
    }

    /// Whether an option is on.
    pub fn is_on(&self, level: i32, name: i32) -> bool {
        // Most sockets are given none, and are asked often.
        !self.given.borrow().is_empty() && self.number(level, name) != 0
    }

    /// Reads an option.
    pub fn get(&self, level: i32, name: i32) -> SysResult<Vec<u8>> {
        find(level, name)?;
        Ok(int_bytes(self.number(level, name)))
    }

    /// Sets an option.
    pub fn set(&self, caller: &dyn Caller, level: i32, name: i32, value: &[u8]) -> SysResult<()> {
        let &(_, _, values, default) = find(level, name)?;
        let number = number_of(level, value)?;
        let number = match values {
            Switch => i32::from(number != 0),
            OrDefault(..) if number == -1 => default,
            Range(from, to) | OrDefault(from, to) if (from..=to).contains(&number) => number,
            Range(..) | OrDefault(..) => return Err(Errno::EINVAL),
            Clamped(..) if number == 0 => default,
            Clamped(from, to) => number.clamp(from, to),
            Privileged if number != 0 && !caller.credentials().has(cap::NET_ADMIN) => {
                return Err(Errno::EPERM);
            }
            Privileged => i32::from(number != 0),
        };
        self.given.borrow_mut().insert((level, name), number);
        Ok(())
    }
}

/// Options of IPv4 may also be given as a single byte.
fn number_of(level: i32, value: &[u8]) -> SysResult<i32> {
    match value {
        &[a, b, c, d, ..] => Ok(i32::from_ne_bytes([a, b, c, d])),
        [byte, ..] if level == sol::IP => Ok((*byte).into()),
        _ => Err(Errno::EINVAL),
    }
}
