//! uname, sysinfo, getrandom and other answers about the system.
