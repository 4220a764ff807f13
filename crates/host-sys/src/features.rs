#![expect(unsafe_code, reason = "asks the host by calls that rustix does not wrap")]
//! What the host's kernel offers, found out by asking it.

use std::io;

/// The version of Landlock that the host enforces.
pub fn landlock_abi() -> io::Result<u32> {
    const LANDLOCK_CREATE_RULESET_VERSION: libc::c_uint = 1;
    // SAFETY: with this flag the call takes a null pointer and a size of zero, reads nothing and
    // creates nothing.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<u8>(),
            0_usize,
            LANDLOCK_CREATE_RULESET_VERSION,
        )
    };
    u32::try_from(answer).map_err(|_| io::Error::last_os_error())
}

/// Whether the host's seccomp knows the action that turns a system call into a `SIGSYS`.
pub fn seccomp_trap_available() -> io::Result<()> {
    const SECCOMP_GET_ACTION_AVAIL: libc::c_uint = 2;
    let action: u32 = libc::SECCOMP_RET_TRAP;
    // SAFETY: the call reads the four bytes of `action`, which lives until it returns.
    let answer = unsafe {
        libc::syscall(libc::SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, std::ptr::from_ref(&action))
    };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
