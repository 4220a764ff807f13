//! Giving up what is not needed.

#![expect(unsafe_code, reason = "capabilities and no-new-privileges are not wrapped by rustix")]

use std::io;

/// Ends this process when its parent does.
pub fn die_with_parent() -> io::Result<()> {
    let signal = Some(rustix::process::Signal::KILL);
    Ok(rustix::process::set_parent_process_death_signal(signal)?)
}

/// Gives up every capability, and the way to new ones. Files of this process's own user remain in
/// reach, as for any other program of that user.
pub fn drop_privileges() -> io::Result<()> {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    const VERSION_3: u32 = 0x2008_0522;
    let header = Header { version: VERSION_3, pid: 0 };
    let none = [0u32; 6];
    // SAFETY: reads the header and two sets of three words.
    let failed = unsafe { libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) };
    if failed != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a flag of this process; touches no memory.
    let failed = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    if failed != 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
