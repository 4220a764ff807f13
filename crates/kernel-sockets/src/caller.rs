//! Who makes a call on a socket.

use std::rc::Rc;

use kernel_core::credentials::Credentials;
use kernel_files::Location;
use linux_abi::SysResult;
use linux_abi::sockets::Ucred;

/// What sockets must know of the thread that makes a call.
pub trait Caller {
    /// The id of its process.
    fn pid(&self) -> u32;

    /// Who it is.
    fn credentials(&self) -> Rc<Credentials>;

    /// How many descriptors it may have.
    fn descriptor_limit(&self) -> u32;

    /// Makes a name for a socket in the tree of files; `EEXIST` if there is something.
    fn create_socket_node(&self, path: &[u8]) -> SysResult<Location>;

    /// Finds the name of a socket that the caller may write to.
    fn find_socket_node(&self, path: &[u8]) -> SysResult<Location>;

    /// Who sends a message, if the message does not say: the real ids.
    fn real_ucred(&self) -> Ucred {
        let credentials = self.credentials();
        Ucred { pid: self.pid(), uid: credentials.uid, gid: credentials.gid }
    }

    /// Who makes a connection: the effective ids.
    fn ucred(&self) -> Ucred {
        let credentials = self.credentials();
        Ucred { pid: self.pid(), uid: credentials.euid, gid: credentials.egid }
    }
}
