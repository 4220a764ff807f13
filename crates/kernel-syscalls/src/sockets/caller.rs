//! What sockets must know of the thread that makes a call.

use std::rc::Rc;

use kernel_core::credentials::Credentials;
use kernel_files::inode::NewKind;
use kernel_files::permission::{self, Want};
use kernel_files::walk::{LastLink, lookup};
use kernel_files::{Access, FileKind, Location, operations};
use kernel_sockets::Caller;
use kernel_tasks::Thread;
use linux_abi::{Errno, SysResult};

/// A thread, as sockets see it.
pub(super) struct Calling<'a>(pub(super) &'a Rc<Thread>);

impl Caller for Calling<'_> {
    fn pid(&self) -> u32 {
        self.0.process().pid.0
    }

    fn credentials(&self) -> Rc<Credentials> {
        self.0.credentials()
    }

    fn descriptor_limit(&self) -> u32 {
        self.0.descriptor_limit()
    }

    fn create_socket_node(&self, path: &[u8]) -> SysResult<Location> {
        let (fs, credentials) = (self.0.fs(), self.0.credentials());
        let access = Access { fs: &fs, credentials: &credentials, caller: &**self.0 };
        operations::create(&access, &fs.cwd(), path, NewKind::Socket, 0o777)
    }

    fn find_socket_node(&self, path: &[u8]) -> SysResult<Location> {
        let (fs, credentials) = (self.0.fs(), self.0.credentials());
        let access = Access { fs: &fs, credentials: &credentials, caller: &**self.0 };
        let location = lookup(&access, &fs.cwd(), path, LastLink::Follow)?;
        let inode = location.inode()?;
        permission::check(&**inode, &credentials, Want::WRITE)?;
        let is_socket = FileKind::of_mode(inode.ownership()?.mode) == FileKind::Socket;
        if is_socket { Ok(location) } else { Err(Errno::ECONNREFUSED) }
    }
}
