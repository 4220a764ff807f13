//! What the header of a datagram says besides its addresses: how far it may go, and its class.

use std::net::IpAddr;

use linux_abi::sockets::inet::{ip, ipv6};
use linux_abi::sockets::sol;
use linux_abi::{Errno, SysResult};

use super::UdpSocket;
use crate::message::RawControl;

/// How far datagrams go unless somebody says otherwise.
const DEFAULT_HOPS: u8 = 64;

/// The header's fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Marks {
    /// Time to live, or hop limit.
    pub(super) hops: u8,
    /// Type of service, or traffic class.
    pub(super) class: u8,
}

impl Default for Marks {
    fn default() -> Self {
        Self { hops: DEFAULT_HOPS, class: 0 }
    }
}

impl UdpSocket {
    /// What a datagram to `remote` is marked with: what its message says, else what the options
    /// of the socket say.
    pub(super) fn marks_to(&self, remote: IpAddr, control: &[RawControl]) -> SysResult<Marks> {
        let options = &self.identity.options;
        let is_group = remote.is_multicast();
        let (hops, class) = match (remote.is_ipv4(), is_group) {
            (true, false) => ((sol::IP, ip::TTL, 64), (sol::IP, ip::TOS)),
            (true, true) => ((sol::IP, ip::MULTICAST_TTL, 1), (sol::IP, ip::TOS)),
            (false, false) => ((sol::IPV6, ipv6::UNICAST_HOPS, 64), (sol::IPV6, ipv6::TCLASS)),
            (false, true) => ((sol::IPV6, ipv6::MULTICAST_HOPS, 1), (sol::IPV6, ipv6::TCLASS)),
        };
        let byte = |number: i32| u8::try_from(number).unwrap_or(0);
        let mut marks = Marks {
            hops: byte(options.number_or(hops.0, hops.1, hops.2)),
            class: byte(options.number_or(class.0, class.1, 0)),
        };
        for one in control {
            marks.apply(one, remote.is_ipv4())?;
        }
        Ok(marks)
    }
}

impl Marks {
    /// Takes what a control message says.
    fn apply(&mut self, control: &RawControl, is_v4: bool) -> SysResult<()> {
        let number = || {
            let bytes = control.data.as_slice().try_into().map_err(|_| Errno::EINVAL)?;
            Ok(i32::from_ne_bytes(bytes))
        };
        match (control.level, control.kind) {
            (sol::IP, ip::TTL) if is_v4 => {
                let hops = u8::try_from(number()?).map_err(|_| Errno::EINVAL)?;
                self.hops = if hops == 0 { return Err(Errno::EINVAL) } else { hops };
            }
            (sol::IP, ip::TOS) if is_v4 => {
                self.class = match *control.data.as_slice() {
                    [class] => class,
                    _ => u8::try_from(number()?).map_err(|_| Errno::EINVAL)?,
                };
            }
            (sol::IPV6, ipv6::HOPLIMIT) if !is_v4 => set_unless_default(&mut self.hops, number()?)?,
            (sol::IPV6, ipv6::TCLASS) if !is_v4 => set_unless_default(&mut self.class, number()?)?,
            _ => {}
        }
        Ok(())
    }
}

/// -1 stands for the default.
fn set_unless_default(field: &mut u8, number: i32) -> SysResult<()> {
    if number != -1 {
        *field = u8::try_from(number).map_err(|_| Errno::EINVAL)?;
    }
    Ok(())
}
