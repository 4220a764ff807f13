//! `PR_*`: options of `prctl(2)`.
#![expect(missing_docs, reason = "the names are those of prctl(2)")]

pub const SET_PDEATHSIG: i32 = 1;
pub const GET_PDEATHSIG: i32 = 2;
pub const GET_DUMPABLE: i32 = 3;
pub const SET_DUMPABLE: i32 = 4;
pub const GET_UNALIGN: i32 = 5;
pub const SET_UNALIGN: i32 = 6;
pub const GET_KEEPCAPS: i32 = 7;
pub const SET_KEEPCAPS: i32 = 8;
pub const GET_TIMING: i32 = 13;
pub const SET_TIMING: i32 = 14;
pub const SET_NAME: i32 = 15;
pub const GET_NAME: i32 = 16;
pub const GET_SECCOMP: i32 = 21;
pub const SET_SECCOMP: i32 = 22;
pub const CAPBSET_READ: i32 = 23;
pub const CAPBSET_DROP: i32 = 24;
pub const GET_TSC: i32 = 25;
pub const SET_TSC: i32 = 26;
pub const GET_SECUREBITS: i32 = 27;
pub const SET_SECUREBITS: i32 = 28;
pub const SET_TIMERSLACK: i32 = 29;
pub const GET_TIMERSLACK: i32 = 30;
pub const MCE_KILL: i32 = 33;
pub const MCE_KILL_GET: i32 = 34;
pub const SET_MM: i32 = 35;
pub const SET_CHILD_SUBREAPER: i32 = 36;
pub const GET_CHILD_SUBREAPER: i32 = 37;
pub const SET_NO_NEW_PRIVS: i32 = 38;
pub const GET_NO_NEW_PRIVS: i32 = 39;
pub const GET_TID_ADDRESS: i32 = 40;
pub const SET_THP_DISABLE: i32 = 41;
pub const GET_THP_DISABLE: i32 = 42;
pub const CAP_AMBIENT: i32 = 47;
pub const GET_SPECULATION_CTRL: i32 = 52;
pub const SET_SPECULATION_CTRL: i32 = 53;
pub const SET_IO_FLUSHER: i32 = 57;
pub const GET_IO_FLUSHER: i32 = 58;
pub const SET_MDWE: i32 = 65;
pub const GET_MDWE: i32 = 66;
pub const SET_MEMORY_MERGE: i32 = 67;
pub const GET_MEMORY_MERGE: i32 = 68;
pub const SET_PTRACER: i32 = 0x5961_6d61;
pub const SET_VMA: i32 = 0x5356_4d41;

/// Second arguments of [`CAP_AMBIENT`].
pub mod ambient {
    pub const IS_SET: u64 = 1;
    pub const RAISE: u64 = 2;
    pub const LOWER: u64 = 3;
    pub const CLEAR_ALL: u64 = 4;
}

/// `SECBIT_*`.
pub mod secbit {
    pub const NOROOT: u32 = 1;
    pub const NOROOT_LOCKED: u32 = 2;
    pub const NO_SETUID_FIXUP: u32 = 4;
    pub const NO_SETUID_FIXUP_LOCKED: u32 = 8;
    pub const KEEP_CAPS: u32 = 16;
    pub const KEEP_CAPS_LOCKED: u32 = 32;
    pub const NO_CAP_AMBIENT_RAISE: u32 = 64;
    pub const NO_CAP_AMBIENT_RAISE_LOCKED: u32 = 128;
    /// The settings, without their locks.
    pub const ALL_SETTINGS: u32 = 0x55;
    /// The locks; each lies one above its setting.
    pub const ALL_LOCKS: u32 = 0xaa;
}
