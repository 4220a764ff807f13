//! Options of the calls that have many meanings.

/// Which arguments of a call choose what it does.
fn positions(call: &str) -> &'static [usize] {
    match call {
        "arch_prctl" | "prctl" | "keyctl" | "bpf" => &[0],
        "fcntl" | "futex" | "ioctl" => &[1],
        "madvise" => &[2],
        "socket" => &[0, 1],
        "getsockopt" | "setsockopt" => &[1, 2],
        _ => &[],
    }
}

/// The number and the name of the option that a call was made with. These arguments are plain
/// numbers in both traces, and no argument before them holds a comma.
pub(super) fn of_call(call: &str, arguments: &str) -> Option<(String, String)> {
    let positions = positions(call);
    if positions.is_empty() {
        return None;
    }
    let arguments: Vec<_> = arguments.splitn(5, ", ").collect();
    let (mut numbers, mut names) = (Vec::new(), Vec::new());
    for position in positions {
        let (number, name) = number_and_name(arguments.get(*position)?)?;
        let level = numbers.first().copied();
        names.push(match name {
            Some(name) => name.to_owned(),
            None => name_of(call, level, number).map_or_else(|| format!("{number:#x}"), Into::into),
        });
        numbers.push(number);
    }
    let numbers: Vec<_> = numbers.iter().map(|number| format!("{number:#x}")).collect();
    Some((numbers.join(" "), names.join(" ")))
}

/// `0x5401 /* TCGETS */`, `0x5401` or `21505`.
fn number_and_name(argument: &str) -> Option<(u64, Option<&str>)> {
    let end = argument.find([' ', ')']).unwrap_or(argument.len());
    let number = argument.get(..end)?;
    let number = match number.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None => number.parse().ok()?,
    };
    let name = argument.split_once("/* ").and_then(|(_, rest)| rest.split_once(" */"));
    // A number without a name gets a comment with question marks.
    Some((number, name.map(|it| it.0).filter(|name| !name.contains("???"))))
}

/// The name of an option, for traces from inside. Socket options depend on their level.
fn name_of(call: &str, level: Option<u64>, number: u64) -> Option<&'static str> {
    let names = match (call, level) {
        ("fcntl", _) => FCNTL,
        ("ioctl", _) => IOCTL,
        ("prctl", _) => PRCTL,
        ("arch_prctl", _) => ARCH_PRCTL,
        ("madvise", _) => MADVISE,
        ("futex", _) => FUTEX,
        ("socket", None) => FAMILY,
        ("getsockopt" | "setsockopt", None) => LEVEL,
        ("getsockopt" | "setsockopt", Some(1)) => SOL_SOCKET,
        ("getsockopt" | "setsockopt", Some(6)) => TCP,
        ("getsockopt" | "setsockopt", Some(0)) => IP,
        ("getsockopt" | "setsockopt", Some(41)) => IPV6,
        _ => return None,
    };
    names.iter().find(|(known, _)| *known == number).map(|(_, name)| *name)
}

type Names = &'static [(u64, &'static str)];

const FCNTL: Names = &[
    (0, "F_DUPFD"),
    (1, "F_GETFD"),
    (2, "F_SETFD"),
    (3, "F_GETFL"),
    (4, "F_SETFL"),
    (5, "F_GETLK"),
    (6, "F_SETLK"),
    (7, "F_SETLKW"),
    (8, "F_SETOWN"),
    (9, "F_GETOWN"),
    (10, "F_SETSIG"),
    (11, "F_GETSIG"),
    (36, "F_OFD_GETLK"),
    (37, "F_OFD_SETLK"),
    (38, "F_OFD_SETLKW"),
    (1024, "F_SETLEASE"),
    (1025, "F_GETLEASE"),
    (1026, "F_NOTIFY"),
    (1030, "F_DUPFD_CLOEXEC"),
    (1031, "F_SETPIPE_SZ"),
    (1032, "F_GETPIPE_SZ"),
    (1033, "F_ADD_SEALS"),
    (1034, "F_GET_SEALS"),
];

const IOCTL: Names = &[
    (0x5401, "TCGETS"),
    (0x5402, "TCSETS"),
    (0x5403, "TCSETSW"),
    (0x5404, "TCSETSF"),
    (0x540b, "TCFLSH"),
    (0x540e, "TIOCSCTTY"),
    (0x540f, "TIOCGPGRP"),
    (0x5410, "TIOCSPGRP"),
    (0x5413, "TIOCGWINSZ"),
    (0x5414, "TIOCSWINSZ"),
    (0x541b, "FIONREAD"),
    (0x5421, "FIONBIO"),
    (0x5422, "TIOCNOTTY"),
    (0x5429, "TIOCGSID"),
    (0x5450, "FIONCLEX"),
    (0x5451, "FIOCLEX"),
    (0x5452, "FIOASYNC"),
    (0x8910, "SIOCGIFNAME"),
    (0x8912, "SIOCGIFCONF"),
    (0x8913, "SIOCGIFFLAGS"),
    (0x8915, "SIOCGIFADDR"),
    (0x8933, "SIOCGIFINDEX"),
    (0x8004_5430, "TIOCGPTN"),
    (0x4004_5431, "TIOCSPTLCK"),
    (0x5441, "TIOCGPTPEER"),
    (0x4004_9409, "FICLONE"),
];

const PRCTL: Names = &[
    (1, "PR_SET_PDEATHSIG"),
    (2, "PR_GET_PDEATHSIG"),
    (3, "PR_GET_DUMPABLE"),
    (4, "PR_SET_DUMPABLE"),
    (7, "PR_GET_KEEPCAPS"),
    (8, "PR_SET_KEEPCAPS"),
    (15, "PR_SET_NAME"),
    (16, "PR_GET_NAME"),
    (22, "PR_SET_SECCOMP"),
    (23, "PR_CAPBSET_READ"),
    (29, "PR_SET_TIMERSLACK"),
    (30, "PR_GET_TIMERSLACK"),
    (35, "PR_SET_MM"),
    (36, "PR_SET_CHILD_SUBREAPER"),
    (37, "PR_GET_CHILD_SUBREAPER"),
    (38, "PR_SET_NO_NEW_PRIVS"),
    (39, "PR_GET_NO_NEW_PRIVS"),
    (0x5356_4d41, "PR_SET_VMA"),
    (0x5961_6d61, "PR_SET_PTRACER"),
];

const ARCH_PRCTL: Names =
    &[(0x1001, "ARCH_SET_GS"), (0x1002, "ARCH_SET_FS"), (0x1003, "ARCH_GET_FS")];

const MADVISE: Names = &[
    (0, "MADV_NORMAL"),
    (3, "MADV_WILLNEED"),
    (4, "MADV_DONTNEED"),
    (8, "MADV_FREE"),
    (10, "MADV_DONTFORK"),
    (14, "MADV_HUGEPAGE"),
    (15, "MADV_NOHUGEPAGE"),
    (16, "MADV_DONTDUMP"),
    (18, "MADV_WIPEONFORK"),
];

const FUTEX: Names = &[
    (0, "FUTEX_WAIT"),
    (1, "FUTEX_WAKE"),
    (0x80, "FUTEX_WAIT_PRIVATE"),
    (0x81, "FUTEX_WAKE_PRIVATE"),
    (0x84, "FUTEX_CMP_REQUEUE_PRIVATE"),
    (0x89, "FUTEX_WAIT_BITSET_PRIVATE"),
    (0x109, "FUTEX_WAIT_BITSET|FUTEX_CLOCK_REALTIME"),
    (0x189, "FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME"),
];

const FAMILY: Names =
    &[(1, "AF_UNIX"), (2, "AF_INET"), (10, "AF_INET6"), (16, "AF_NETLINK"), (17, "AF_PACKET")];

const LEVEL: Names = &[(0, "SOL_IP"), (1, "SOL_SOCKET"), (6, "SOL_TCP"), (41, "SOL_IPV6")];

const SOL_SOCKET: Names = &[
    (2, "SO_REUSEADDR"),
    (3, "SO_TYPE"),
    (4, "SO_ERROR"),
    (6, "SO_BROADCAST"),
    (7, "SO_SNDBUF"),
    (8, "SO_RCVBUF"),
    (9, "SO_KEEPALIVE"),
    (13, "SO_LINGER"),
    (15, "SO_REUSEPORT"),
    (16, "SO_PASSCRED"),
    (17, "SO_PEERCRED"),
    (20, "SO_RCVTIMEO_OLD"),
    (21, "SO_SNDTIMEO_OLD"),
    (30, "SO_ACCEPTCONN"),
    (38, "SO_PROTOCOL"),
    (39, "SO_DOMAIN"),
];

const TCP: Names = &[
    (1, "TCP_NODELAY"),
    (4, "TCP_KEEPIDLE"),
    (5, "TCP_KEEPINTVL"),
    (6, "TCP_KEEPCNT"),
    (11, "TCP_INFO"),
    (18, "TCP_USER_TIMEOUT"),
];

const IP: Names = &[(1, "IP_TOS"), (2, "IP_TTL"), (11, "IP_RECVERR")];

const IPV6: Names = &[(25, "IPV6_RECVERR"), (26, "IPV6_V6ONLY"), (67, "IPV6_TCLASS")];
