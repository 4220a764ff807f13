//! Names of hosts, looked up by the host's own resolver.

#![expect(unsafe_code, reason = "the standard library does not say why a lookup failed")]

use std::ffi::CString;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why a name has no addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookupError {
    /// There is no such name, or it has no address.
    NotFound,
    /// The resolver could not find out.
    Failed,
}

/// The addresses of a name, as the host's resolver gives them. Waits for the network: not for the
/// kernel's thread.
pub fn lookup_host(name: &str) -> Result<Vec<IpAddr>, LookupError> {
    let name = CString::new(name).map_err(|_| LookupError::NotFound)?;
    // SAFETY: every field of this plain structure may be zero.
    let mut hints: libc::addrinfo = unsafe { std::mem::zeroed() };
    // One entry per address, not one per kind of socket.
    hints.ai_socktype = libc::SOCK_STREAM;
    let mut list = std::ptr::null_mut();
    // SAFETY: the name ends with a zero byte, the hints are initialised, and the list is written
    // on success only.
    let code = unsafe {
        libc::getaddrinfo(name.as_ptr(), std::ptr::null(), &raw const hints, &raw mut list)
    };
    match code {
        0 => {}
        libc::EAI_NONAME | libc::EAI_NODATA => return Err(LookupError::NotFound),
        _ => return Err(LookupError::Failed),
    }
    let mut addresses = Vec::new();
    let mut next = list;
    // SAFETY: the list came from getaddrinfo and is not freed yet; it ends with a null pointer.
    while let Some(entry) = unsafe { next.as_ref() } {
        // SAFETY: `ai_addr` and `ai_addrlen` belong together.
        if let Some(address) = unsafe { address_of(entry) } {
            addresses.push(address);
        }
        next = entry.ai_next;
    }
    // SAFETY: the list came from getaddrinfo, and nothing refers to it any more.
    unsafe { libc::freeaddrinfo(list) };
    Ok(addresses)
}

/// The address in an entry, if it is one of the internet's.
///
/// # Safety
///
/// `ai_addr` must point to `ai_addrlen` bytes, or be null.
unsafe fn address_of(entry: &libc::addrinfo) -> Option<IpAddr> {
    let length = usize::try_from(entry.ai_addrlen).ok()?;
    match entry.ai_family {
        libc::AF_INET if length >= size_of::<libc::sockaddr_in>() && !entry.ai_addr.is_null() => {
            // SAFETY: long enough, and the family says what it is; it may be unaligned.
            let name = unsafe { entry.ai_addr.cast::<libc::sockaddr_in>().read_unaligned() };
            Some(Ipv4Addr::from(u32::from_be(name.sin_addr.s_addr)).into())
        }
        libc::AF_INET6 if length >= size_of::<libc::sockaddr_in6>() && !entry.ai_addr.is_null() => {
            // SAFETY: as above.
            let name = unsafe { entry.ai_addr.cast::<libc::sockaddr_in6>().read_unaligned() };
            Some(Ipv6Addr::from(name.sin6_addr.s6_addr).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_localhost_and_no_nonsense() {
        let found = lookup_host("localhost").unwrap();
        assert!(!found.is_empty() && found.iter().all(IpAddr::is_loopback), "{found:?}");
        assert_eq!(lookup_host("a\0b"), Err(LookupError::NotFound));
    }
}
