//! `uname(2)`, `sethostname(2)`, `setdomainname(2)`.

use std::rc::Rc;

use kernel_core::credentials::cap;
use kernel_core::memory::UserPtr;
use kernel_tasks::Thread;
use kernel_tasks::kernel::{RELEASE, VERSION};
use linux_abi::system::{UTS_FIELD, Utsname};
use linux_abi::{Errno, SysResult};

/// The longest name that can be set.
const MAX_NAME: i32 = 64;

fn field(text: &[u8]) -> [u8; UTS_FIELD] {
    let mut field = [0; UTS_FIELD];
    for (place, &byte) in field.iter_mut().zip(text.iter().take(UTS_FIELD - 1)) {
        *place = byte;
    }
    field
}

/// Tells what system this is.
pub(crate) fn uname(thread: &Rc<Thread>, place: UserPtr<Utsname>) -> SysResult<()> {
    let uts = Rc::clone(&thread.namespaces().uts);
    let names = Utsname {
        system: field(b"Linux"),
        node: field(&uts.hostname()),
        release: field(RELEASE.as_bytes()),
        version: field(VERSION.as_bytes()),
        machine: field(b"x86_64"),
        domain: field(&uts.domainname()),
    };
    place.write(&thread.memory(), &names)
}

fn read_name(thread: &Rc<Thread>, name: UserPtr<u8>, length: i32) -> SysResult<Vec<u8>> {
    if !thread.namespaces().uts.tag.owner.grants(&thread.credentials(), cap::SYS_ADMIN) {
        return Err(Errno::EPERM);
    }
    if !(0..=MAX_NAME).contains(&length) {
        return Err(Errno::EINVAL);
    }
    let length = usize::try_from(length).map_err(|_| Errno::EINVAL)?;
    name.read_many(&thread.memory(), length)
}

/// Sets the host name.
pub(crate) fn sethostname(thread: &Rc<Thread>, name: UserPtr<u8>, length: i32) -> SysResult<()> {
    let name = read_name(thread, name, length)?;
    thread.namespaces().uts.set_hostname(name);
    Ok(())
}

/// Sets the NIS domain name.
pub(crate) fn setdomainname(thread: &Rc<Thread>, name: UserPtr<u8>, length: i32) -> SysResult<()> {
    let name = read_name(thread, name, length)?;
    thread.namespaces().uts.set_domainname(name);
    Ok(())
}
