//! Names of Unix sockets.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::{Rc, Weak};

use linux_abi::sockets::af;
use linux_abi::{Errno, SysResult};

use super::UnixSocket;
use crate::RawName;

/// The length of `sun_path`.
const PATH_MAX: usize = 108;

/// Where `sun_path` starts.
const PATH_OFFSET: usize = 2;

/// How many names `bind` can choose by itself: five hexadecimal digits.
const N_CHOSEN_NAMES: u32 = 1 << 20;

/// The name of a Unix socket.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum UnixName {
    /// A path in the tree of files, without its zero.
    Path(Vec<u8>),
    /// Bytes that mean nothing, without the leading zero.
    Abstract(Vec<u8>),
}

/// What a `struct sockaddr_un` may say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParsedName {
    /// A name.
    Name(UnixName),
    /// No more than the family: choose one for me.
    Choose,
}

impl UnixName {
    /// Reads a `struct sockaddr_un`; `EINVAL` if it is none.
    pub fn parse(bytes: &[u8]) -> SysResult<ParsedName> {
        let (family, path) = bytes.split_first_chunk::<PATH_OFFSET>().ok_or(Errno::EINVAL)?;
        if path.len() > PATH_MAX || u16::from_ne_bytes(*family) != af::UNIX {
            return Err(Errno::EINVAL);
        }
        Ok(match path.split_first() {
            None => ParsedName::Choose,
            Some((0, rest)) => ParsedName::Name(Self::Abstract(rest.to_vec())),
            Some(_) => {
                let end = path.iter().position(|&byte| byte == 0).unwrap_or(path.len());
                ParsedName::Name(Self::Path(path.get(..end).unwrap_or_default().to_vec()))
            }
        })
    }

    /// The `struct sockaddr_un` of a socket's name, or of a socket without one.
    pub fn encode(name: Option<&Self>) -> RawName {
        let mut raw = RawName::from_slice(&af::UNIX.to_ne_bytes());
        match name {
            Some(Self::Path(path)) => {
                raw.extend_from_slice(path);
                raw.push(0);
            }
            Some(Self::Abstract(name)) => {
                raw.push(0);
                raw.extend_from_slice(name);
            }
            None => {}
        }
        raw
    }
}

/// The abstract names of a sandbox.
#[derive(Default)]
pub struct AbstractNames {
    names: RefCell<HashMap<Vec<u8>, Weak<UnixSocket>>>,
    next: Cell<u32>,
}

impl AbstractNames {
    /// The socket of that name.
    pub fn find(&self, name: &[u8]) -> Option<Rc<UnixSocket>> {
        self.names.borrow().get(name).and_then(Weak::upgrade)
    }

    pub(super) fn add(&self, name: &[u8], socket: Weak<UnixSocket>) -> SysResult<()> {
        let mut names = self.names.borrow_mut();
        if names.contains_key(name) {
            return Err(Errno::EADDRINUSE);
        }
        names.insert(name.to_vec(), socket);
        Ok(())
    }

    /// A name that nobody has.
    pub(super) fn choose(&self) -> SysResult<Vec<u8>> {
        let names = self.names.borrow();
        for _ in 0..N_CHOSEN_NAMES {
            let number = self.next.get();
            self.next.set((number + 1) % N_CHOSEN_NAMES);
            let name = format!("{number:05x}").into_bytes();
            if !names.contains_key(&name) {
                return Ok(name);
            }
        }
        Err(Errno::ENOSPC)
    }

    pub(super) fn remove(&self, name: &[u8]) {
        self.names.borrow_mut().remove(name);
    }
}
