//! Arguments made to the descriptions of the table.

use fastrand::Rng;
use kernel_syscalls::{Kind, Registers, Syscall};

use crate::memory::{Arena, word};

/// How many bytes a buffer has whose length another argument tells.
const BUFFER: usize = 600;
/// `AT_FDCWD`.
const HERE: u64 = (-100_i64).cast_unsigned();

/// What several calls in a row are about.
#[derive(Clone, Copy, Debug, Default)]
pub struct Focus {
    /// The descriptor.
    pub descriptor: Option<u64>,
    /// The path.
    pub path: Option<&'static str>,
}

/// The registers of one call.
pub fn registers(call: &Syscall, focus: Focus, arena: &mut Arena<'_>, rng: &mut Rng) -> Registers {
    let mut registers: Registers = std::array::from_fn(|_| word(rng));
    for (register, argument) in registers.iter_mut().zip(call.arguments) {
        let likely = likely_value(argument.name, rng)
            .or_else(|| likely_string(call.name, argument.name, arena, rng))
            .or_else(|| focused(argument.kind, focus, arena))
            .filter(|_| rng.u8(..8) != 0);
        *register = likely.unwrap_or_else(|| value(argument.kind, arena, rng));
    }
    registers
}

/// What an argument of this kind is while calls have something in common.
fn focused(kind: Kind, focus: Focus, arena: &mut Arena<'_>) -> Option<u64> {
    match kind {
        Kind::Fd => focus.descriptor,
        Kind::Path => focus.path.map(|path| arena.string(path)),
        _ => None,
    }
}

/// Strings that are not paths, and paths that only some calls take.
fn likely_string(call: &str, name: &str, arena: &mut Arena<'_>, rng: &mut Rng) -> Option<u64> {
    let strings: &[&str] = match (call, name) {
        (call, "name") if call.contains("xattr") => {
            &["user.a", "user.b", "trusted.a", "security.capability", "system.posix_acl_access"]
        }
        (call, "name") if call.starts_with("mq_") => &["queue", "other"],
        ("fsopen", _) => &["tmpfs", "proc", "overlay", "mqueue", "cgroup2"],
        ("fsconfig", "key") => &["size", "mode", "source", "ro", "lowerdir"],
        ("mount", "filesystemtype") => &["tmpfs", "proc", "sysfs", "overlay", "mqueue", "devpts"],
        ("mount" | "umount2" | "pivot_root" | "chroot", _) => &["/tmp/d", "/dir", "/tmp", "/"],
        ("execve" | "execveat", _) => &["/program", "/script", "/proc/self/exe", ""],
        _ => return None,
    };
    rng.choice(strings).map(|string| arena.string(string))
}

/// What an argument of this name most often is, so that calls get further than their first check.
fn likely_value(name: &str, rng: &mut Rng) -> Option<u64> {
    let values: &[u64] = match name {
        "sigsetsize" => &[8],
        "domain" => &[1, 1, 2, 10, 16],
        "type" => &[1, 2, 3, 5, 0x801, 0x80802],
        "protocol" => &[0, 0, 0, 1, 6, 17, 58],
        "addrlen" => &[16, 28, 110, 10, 2],
        "level" => &[0, 1, 6, 17, 41, 270],
        "whence" | "how" => &[0, 1, 2, 3, 4],
        "iovcnt" | "vlen" | "nsops" => &[1, 2, 3],
        "clockid" => &[0, 1, 2, 3, 7, 11],
        "request" => IOCTLS,
        "offset" => &[0, 1, 100, 4096],
        "key" | "semid" | "msqid" | "shmid" | "timerid" => &[0, 0, 1, 2, 3],
        "pid" | "tgid" | "tid" | "who" => &[0, 1, 2, 3, 4, 5],
        "prot" => &[0, 1, 3],
        "cmd" => &[0, 1, 2, 3, 4, 5, 6, 7, 12, 13, 14, 16, 17, 1024, 1030, 1031, 1032, 1033, 1034],
        "op" | "operation" => &[1, 2, 3, 4, 5, 16],
        "option" => &[1, 2, 3, 4, 8, 15, 16, 22, 23, 24, 36, 37, 38, 39, 47, 53],
        "futex_op" => &[0, 1, 3, 4, 5, 6, 7, 9, 10, 128, 129],
        "resource" => &[0, 1, 3, 5, 6, 7, 8, 9, 15],
        "usize" | "how_size" => &[16, 24],
        "msg_prio" => &[0, 1, 31],
        "backlog" => &[0, 1, 5],
        _ => return None,
    };
    rng.choice(values).copied()
}

/// Requests of terminals, pipes, sockets and files.
const IOCTLS: &[u64] = &[
    0x5401,
    0x5402,
    0x5403,
    0x5404,
    0x5409,
    0x540a,
    0x540b,
    0x540e,
    0x540f,
    0x5410,
    0x5411,
    0x5413,
    0x5414,
    0x541b,
    0x5420,
    0x5421,
    0x5422,
    0x5429,
    0x5450,
    0x5451,
    0x5452,
    0x8905,
    0x8912,
    0x8913,
    0x8927,
    0x8933,
    0x8004_5430,
    0x4004_5431,
    0x8004_5439,
    0x8008_6601,
    0x4020_940d,
];

fn value(kind: Kind, arena: &mut Arena<'_>, rng: &mut Rng) -> u64 {
    match kind {
        Kind::Fd => descriptor(rng),
        Kind::DirFd => match rng.u8(..4) {
            0 => descriptor(rng),
            _ => HERE,
        },
        Kind::Signal => rng.u64(..70),
        Kind::Mode => rng.u64(..0o10000),
        Kind::Hex => flags(rng),
        Kind::Int => match rng.u8(..4) {
            0 => word(rng),
            _ => rng.u64(..40),
        },
        Kind::Size => match rng.u8(..5) {
            0 => word(rng),
            1 => rng.u64(..64),
            _ => rng.u64(..BUFFER as u64),
        },
        Kind::Path => arena.path(rng),
        Kind::Address => arena.structure(rng, BUFFER),
        Kind::In(length) | Kind::InOut(length) => arena.structure(rng, length.into()),
        Kind::Out(length) => arena.room(rng, length.into()),
        Kind::InBy(_) => arena.structure(rng, BUFFER),
        Kind::OutBy(_) => arena.room(rng, BUFFER),
    }
}

fn descriptor(rng: &mut Rng) -> u64 {
    match rng.u8(..20) {
        0 => word(rng),
        1 => u64::MAX,
        2 => 1023,
        _ => rng.u64(..24),
    }
}

fn flags(rng: &mut Rng) -> u64 {
    match rng.u8(..6) {
        0 => word(rng),
        1 | 2 => 0,
        3 => 1 << rng.u64(..32),
        4 => 1 << rng.u64(..32) | 1 << rng.u64(..24),
        _ => rng.u64(..16),
    }
}
