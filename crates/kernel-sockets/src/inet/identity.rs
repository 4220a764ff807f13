//! Where an Internet socket is: its own address and that of its peer.

use std::cell::Cell;
use std::net::{IpAddr, SocketAddr};

use kernel_core::credentials::cap;
use linux_abi::sockets::inet::ipv6;
use linux_abi::sockets::{af, sol};
use linux_abi::{Errno, SysResult};

use super::address;
use super::options::InetOptions;
use super::ports::{BindingKey, BoundAddress, Ports, Sharing};
use crate::options::Switches;
use crate::{Caller, Common, RawName};

/// Ports below this one are for the privileged.
const FIRST_FREE_PORT: u16 = 1024;

/// Where an Internet socket is.
#[derive(Default)]
pub struct Identity {
    /// Its own address, if it has one.
    pub local: Cell<Option<SocketAddr>>,
    /// That of its peer, if it has one.
    pub remote: Cell<Option<SocketAddr>>,
    /// Its place in the table of ports.
    pub binding: Cell<Option<BindingKey>>,
    /// Options below `SOL_SOCKET`.
    pub options: InetOptions,
}

impl Identity {
    /// Takes over addresses and options, but not the place in the table of ports.
    pub fn copy_from(&self, other: &Self) {
        self.local.set(other.local.get());
        self.remote.set(other.remote.get());
        self.options.copy_from(&other.options);
    }

    /// Whether an `AF_INET6` socket refuses IPv4.
    pub fn is_only_v6(&self) -> bool {
        self.options.is_on(sol::IPV6, ipv6::V6ONLY)
    }

    /// Reads an address to bind to.
    pub fn parse_local(&self, common: &Common, name: &[u8]) -> SysResult<SocketAddr> {
        let family = address::family(name)?;
        let shortest = if common.domain == af::INET { 16 } else { 24 };
        if name.len() < shortest {
            return Err(Errno::EINVAL);
        }
        let mut name = name.to_vec();
        if family != common.domain {
            // An old habit that Linux still allows: no family, and any address.
            let is_any = name.get(4..8) == Some(&[0; 4]);
            if common.domain != af::INET || family != af::UNSPEC || !is_any {
                return Err(Errno::EAFNOSUPPORT);
            }
            name.splice(..2, af::INET.to_ne_bytes());
        }
        let local = address::parse(&name)?;
        self.check_family(local.ip(), Errno::EINVAL)?;
        Ok(local)
    }

    /// Reads an address to connect or send to.
    pub fn parse_remote(&self, common: &Common, name: &[u8]) -> SysResult<SocketAddr> {
        if common.domain == af::INET && address::family(name)? == af::INET6 {
            return Err(Errno::EAFNOSUPPORT);
        }
        let remote = address::parse(name)?;
        self.check_family(remote.ip(), Errno::ENETUNREACH)?;
        Ok(remote)
    }

    fn check_family(&self, ip: IpAddr, errno: Errno) -> SysResult<()> {
        if ip.is_ipv4() && self.is_only_v6() { Err(errno) } else { Ok(()) }
    }

    /// What the socket allows others to do with its port.
    pub fn sharing(common: &Common, uid: u32) -> Sharing {
        Sharing {
            reuse_address: common.options.is_on(Switches::REUSEADDR),
            reuse_port: common.options.is_on(Switches::REUSEPORT).then_some(uid),
        }
    }

    /// Tells the table of ports that options of the socket have changed.
    pub fn update_sharing<T: ?Sized>(
        &self,
        common: &Common,
        ports: &Ports<T>,
        caller: &dyn Caller,
    ) {
        if let Some(key) = self.binding.get() {
            ports.set_sharing(key, Self::sharing(common, caller.credentials().euid));
        }
    }

    /// Binds to an address; the port may be 0.
    pub fn bind<T: ?Sized>(
        &self,
        common: &Common,
        ports: &Ports<T>,
        caller: &dyn Caller,
        local: SocketAddr,
    ) -> SysResult<()> {
        let network = &common.network;
        if !network.interfaces.is_local(local.ip())
            && !local.ip().is_multicast()
            && !network.interfaces.is_broadcast(local.ip())
        {
            return Err(Errno::EADDRNOTAVAIL);
        }
        let credentials = caller.credentials();
        if local.port() != 0
            && local.port() < FIRST_FREE_PORT
            && !credentials.has(cap::NET_BIND_SERVICE)
        {
            return Err(Errno::EACCES);
        }
        if self.binding.get().is_some() {
            return Err(Errno::EINVAL);
        }
        let sharing = Self::sharing(common, credentials.euid);
        let key = ports.bind(self.bound(local.ip()), local.port(), sharing)?;
        self.binding.set(Some(key));
        self.local.set(Some(SocketAddr::new(local.ip(), key.port)));
        Ok(())
    }

    /// An address as the table of ports knows it.
    pub fn bound(&self, ip: IpAddr) -> BoundAddress {
        BoundAddress { ip, only_v6: self.is_only_v6() }
    }

    /// The socket's own address, as `getsockname` shows it.
    pub fn local_name(&self, domain: u16) -> RawName {
        let nowhere = SocketAddr::new(address::unspecified(domain), 0);
        address::encode(domain, self.local.get().unwrap_or(nowhere))
    }

    /// The peer's address, as `getpeername` shows it.
    pub fn peer_name(&self, domain: u16) -> SysResult<RawName> {
        self.remote.get().map(|remote| address::encode(domain, remote)).ok_or(Errno::ENOTCONN)
    }
}
