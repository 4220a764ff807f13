//! The seccomp filter of the kernel process: data, one rule and one reason each.
//!
//! It holds from before the guest's first instruction. What no rule names, or a rule does not
//! allow, ends the kernel process, and with it this sandbox. There is no call among them that
//! starts a process or a program, makes a connection, changes who this process is, or maps code.

use host_sys::seccomp::{
    self, ALWAYS, ARCHITECTURE, Instruction, JUMP_IF_EQUAL, KILL_PROCESS, Rule, Test, X86_64, end,
    load, skip_if,
};

const PRIVATE: u32 = 128;
const WAKE: u32 = 1;
const PROT_EXEC: u32 = 4;
const MADV_DONTNEED: u32 = 4;
const MADV_FREE: u32 = 8;
const AF_UNIX: u32 = 1;
const SOL_SOCKET: u32 = 1;
const SO_PASSCRED: u32 = 16;
const SO_ERROR: u32 = 4;
const SO_LINGER: u32 = 13;
const SIGKILL: u32 = 9;
const KICK: u32 = channel_abi::layout::KICK_SIGNAL.cast_unsigned();
const RLIMIT_DATA: u32 = 2;
const RLIMIT_AS: u32 = 9;
const F_GETFD: u32 = 1;
const F_GETFL: u32 = 3;
const F_SETFL: u32 = 4;
const F_DUPFD_CLOEXEC: u32 = 1030;
const F_ADD_SEALS: u32 = 1033;
const F_GET_SEALS: u32 = 1034;
const TCGETS: u32 = 0x5401;
const TCGETS2: u32 = 0x802c_542a;
const TCFLSH: u32 = 0x540b;
const TIOCGPGRP: u32 = 0x540f;
const TIOCGWINSZ: u32 = 0x5413;
const FIONREAD: u32 = 0x541b;
const FIONBIO: u32 = 0x5421;

/// Every host call that the kernel process can make, hottest first.
pub const RULES: &[Rule] = &[
    Rule {
        number: 202,
        name: "futex",
        any_of: &[&[Test::MaskedOneOf(1, PRIVATE, &[WAKE])]],
        reason: "wake guests that sleep on the bell",
    },
    Rule {
        number: 310,
        name: "process_vm_readv",
        any_of: ALWAYS,
        reason: "arguments that lie in a guest's memory; the host checks that it is a process of ours",
    },
    Rule {
        number: 0,
        name: "read",
        any_of: ALWAYS,
        reason: "streams, mounted files, signals of the host",
    },
    Rule {
        number: 281,
        name: "epoll_pwait",
        any_of: ALWAYS,
        reason: "sleep until something happens",
    },
    Rule {
        number: 61,
        name: "wait4",
        any_of: ALWAYS,
        reason: "collect guest processes that have ended",
    },
    Rule { number: 45, name: "recvfrom", any_of: ALWAYS, reason: "orders of the starter" },
    Rule {
        number: 17,
        name: "pread64",
        any_of: ALWAYS,
        reason: "mounted files, files in memory, statistics of the host",
    },
    Rule { number: 332, name: "statx", any_of: ALWAYS, reason: "attributes of mounted files" },
    Rule {
        number: 327,
        name: "preadv2",
        any_of: ALWAYS,
        reason: "whether a mounted file has to come from a disk",
    },
    Rule {
        number: 221,
        name: "fadvise64",
        any_of: ALWAYS,
        reason: "have the host fetch it, without waiting",
    },
    Rule { number: 3, name: "close", any_of: ALWAYS, reason: "descriptors" },
    Rule {
        number: 437,
        name: "openat2",
        any_of: ALWAYS,
        reason: "files beneath the mounts: the kernel process asks for no way out of them, landlock enforces it",
    },
    Rule {
        number: 311,
        name: "process_vm_writev",
        any_of: ALWAYS,
        reason: "results that go to a guest's memory",
    },
    Rule {
        number: 1,
        name: "write",
        any_of: ALWAYS,
        reason: "streams, mounted files, the doorbell",
    },
    Rule { number: 18, name: "pwrite64", any_of: ALWAYS, reason: "mounted files, files in memory" },
    Rule { number: 44, name: "sendto", any_of: ALWAYS, reason: "news for the starter" },
    Rule { number: 46, name: "sendmsg", any_of: ALWAYS, reason: "descriptors for guest processes" },
    Rule {
        number: 47,
        name: "recvmsg",
        any_of: ALWAYS,
        reason: "a guest process's hello, with its host's word for who it is",
    },
    Rule {
        number: 72,
        name: "fcntl",
        any_of: &[&[Test::OneOf(
            1,
            &[F_GETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC, F_ADD_SEALS, F_GET_SEALS],
        )]],
        reason: "copies of descriptors, seals of memory files",
    },
    Rule { number: 5, name: "fstat", any_of: ALWAYS, reason: "attributes of open files" },
    Rule {
        number: 257,
        name: "openat",
        any_of: ALWAYS,
        reason: "what the host says of guest processes in its `/proc`; another open file of the same memory",
    },
    Rule {
        number: 2,
        name: "open",
        any_of: ALWAYS,
        reason: "another open file of the same memory, and modes, by `/proc/self/fd`",
    },
    Rule {
        number: 267,
        name: "readlinkat",
        any_of: ALWAYS,
        reason: "symbolic links beneath the mounts",
    },
    Rule { number: 217, name: "getdents64", any_of: ALWAYS, reason: "folders beneath the mounts" },
    Rule {
        number: 8,
        name: "lseek",
        any_of: ALWAYS,
        reason: "holes in files, offsets that are shared with the host",
    },
    Rule { number: 193, name: "fgetxattr", any_of: ALWAYS, reason: "attributes of mounted files" },
    Rule { number: 196, name: "flistxattr", any_of: ALWAYS, reason: "attributes of mounted files" },
    Rule { number: 190, name: "fsetxattr", any_of: ALWAYS, reason: "attributes of mounted files" },
    Rule {
        number: 199,
        name: "fremovexattr",
        any_of: ALWAYS,
        reason: "attributes of mounted files",
    },
    Rule {
        number: 191,
        name: "getxattr",
        any_of: ALWAYS,
        reason: "owners that an overlay folder keeps, by a descriptor in `/proc`",
    },
    Rule {
        number: 192,
        name: "lgetxattr",
        any_of: ALWAYS,
        reason: "owners that an overlay folder keeps",
    },
    Rule {
        number: 188,
        name: "setxattr",
        any_of: ALWAYS,
        reason: "owners that an overlay folder keeps, by a descriptor in `/proc`",
    },
    Rule {
        number: 189,
        name: "lsetxattr",
        any_of: ALWAYS,
        reason: "owners that an overlay folder keeps",
    },
    // Memory.
    Rule {
        number: 9,
        name: "mmap",
        any_of: &[&[Test::Without(2, PROT_EXEC)]],
        reason: "memory of its own and channels; never code",
    },
    Rule {
        number: 10,
        name: "mprotect",
        any_of: &[&[Test::Without(2, PROT_EXEC)]],
        reason: "memory of its own; never code",
    },
    Rule { number: 11, name: "munmap", any_of: ALWAYS, reason: "memory of its own" },
    Rule { number: 25, name: "mremap", any_of: ALWAYS, reason: "memory of its own" },
    Rule { number: 12, name: "brk", any_of: ALWAYS, reason: "memory of its own" },
    Rule {
        number: 28,
        name: "madvise",
        any_of: &[&[Test::OneOf(2, &[MADV_DONTNEED, MADV_FREE])]],
        reason: "memory of its own",
    },
    Rule {
        number: 319,
        name: "memfd_create",
        any_of: ALWAYS,
        reason: "channels, files in memory that guests map",
    },
    Rule {
        number: 77,
        name: "ftruncate",
        any_of: ALWAYS,
        reason: "files in memory, mounted files",
    },
    Rule {
        number: 285,
        name: "fallocate",
        any_of: ALWAYS,
        reason: "files in memory, mounted files",
    },
    // Guest processes.
    Rule {
        number: 53,
        name: "socketpair",
        any_of: &[&[Test::Is(0, AF_UNIX)]],
        reason: "the socket to a new guest process",
    },
    Rule {
        number: 54,
        name: "setsockopt",
        any_of: &[&[Test::Is(1, SOL_SOCKET), Test::OneOf(2, &[SO_PASSCRED, SO_LINGER])]],
        reason: "who writes to that socket; how a stream ends",
    },
    Rule { number: 233, name: "epoll_ctl", any_of: ALWAYS, reason: "what to sleep on" },
    Rule {
        number: 434,
        name: "pidfd_open",
        any_of: ALWAYS,
        reason: "by which number `/proc` knows a guest process",
    },
    Rule {
        number: 62,
        name: "kill",
        any_of: &[&[Test::Is(1, SIGKILL)]],
        reason: "end a guest process",
    },
    Rule {
        number: 234,
        name: "tgkill",
        any_of: &[&[Test::OneOf(2, &[0, KICK])]],
        reason: "interrupt a guest thread, and ask whose a thread is",
    },
    Rule {
        number: 302,
        name: "prlimit64",
        any_of: &[&[Test::OneOf(1, &[RLIMIT_DATA, RLIMIT_AS])]],
        reason: "the memory limits of a guest process",
    },
    Rule {
        number: 203,
        name: "sched_setaffinity",
        any_of: ALWAYS,
        reason: "the processors of a guest thread",
    },
    Rule {
        number: 228,
        name: "clock_gettime",
        any_of: ALWAYS,
        reason: "CPU time of guest processes",
    },
    Rule { number: 286, name: "timerfd_settime", any_of: ALWAYS, reason: "when to get up" },
    Rule { number: 318, name: "getrandom", any_of: ALWAYS, reason: "random bytes for guests" },
    Rule { number: 99, name: "sysinfo", any_of: ALWAYS, reason: "memory and load of the machine" },
    // Mounted folders.
    Rule {
        number: 263,
        name: "unlinkat",
        any_of: ALWAYS,
        reason: "beneath mounts that may be written",
    },
    Rule {
        number: 258,
        name: "mkdirat",
        any_of: ALWAYS,
        reason: "beneath mounts that may be written",
    },
    Rule {
        number: 266,
        name: "symlinkat",
        any_of: ALWAYS,
        reason: "beneath mounts that may be written",
    },
    Rule {
        number: 265,
        name: "linkat",
        any_of: ALWAYS,
        reason: "beneath mounts that may be written",
    },
    Rule {
        number: 316,
        name: "renameat2",
        any_of: ALWAYS,
        reason: "beneath mounts that may be written",
    },
    Rule {
        number: 259,
        name: "mknodat",
        any_of: ALWAYS,
        reason: "sockets and pipes beneath mounts that may be written; without capabilities no devices",
    },
    Rule {
        number: 280,
        name: "utimensat",
        any_of: ALWAYS,
        reason: "times of files that may be written",
    },
    Rule {
        number: 268,
        name: "fchmodat",
        any_of: ALWAYS,
        reason: "modes of files that may be written, named by a descriptor in `/proc`",
    },
    Rule { number: 74, name: "fsync", any_of: ALWAYS, reason: "what the guest wants on the disk" },
    Rule {
        number: 75,
        name: "fdatasync",
        any_of: ALWAYS,
        reason: "what the guest wants on the disk",
    },
    Rule {
        number: 306,
        name: "syncfs",
        any_of: ALWAYS,
        reason: "what the guest wants on the disk",
    },
    Rule { number: 138, name: "fstatfs", any_of: ALWAYS, reason: "room on the disk" },
    // Streams.
    Rule {
        number: 16,
        name: "ioctl",
        any_of: &[&[Test::OneOf(
            1,
            &[TCGETS, TCGETS2, TCFLSH, TIOCGPGRP, TIOCGWINSZ, FIONREAD, FIONBIO],
        )]],
        reason: "the starter's terminal and pipes: its size and state, and how much there is to read; no input can be forged",
    },
    Rule {
        number: 271,
        name: "ppoll",
        any_of: ALWAYS,
        reason: "whether the starter's terminal takes more",
    },
    Rule {
        number: 55,
        name: "getsockopt",
        any_of: &[&[Test::Is(1, SOL_SOCKET), Test::Is(2, SO_ERROR)]],
        reason: "whether a connection that somebody else made for us came about",
    },
    Rule {
        number: 48,
        name: "shutdown",
        any_of: ALWAYS,
        reason: "the end of a stream that leaves the sandbox",
    },
    // The end.
    Rule { number: 131, name: "sigaltstack", any_of: ALWAYS, reason: "the runtime's clean-up" },
    Rule {
        number: 186,
        name: "gettid",
        any_of: ALWAYS,
        reason: "who failed, in the words of a failure",
    },
    Rule { number: 231, name: "exit_group", any_of: ALWAYS, reason: "the end" },
];

/// The filter as the host takes it.
pub fn assemble(rules: &[Rule]) -> Vec<Instruction> {
    let mut program = vec![
        load(ARCHITECTURE),
        skip_if(JUMP_IF_EQUAL, X86_64, 1, 0),
        // 32-bit entries.
        end(KILL_PROCESS),
    ];
    program.extend(seccomp::assemble(rules, KILL_PROCESS));
    program
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_filter_knows_the_numbers_of_the_rules_and_no_other() {
        let expected: Vec<u32> = RULES.iter().map(|rule| rule.number).collect();
        assert_eq!(seccomp::numbers(&assemble(RULES)), expected);
    }

    #[test]
    fn each_rule_has_a_reason_and_a_number_of_its_own() {
        for (index, rule) in RULES.iter().enumerate() {
            assert!(!rule.reason.is_empty());
            assert!(RULES[index + 1..].iter().all(|other| other.number != rule.number));
        }
    }

    #[test]
    fn nothing_starts_a_program_or_a_connection_or_changes_who_we_are() {
        // clone, fork, vfork, execve, ptrace, socket, connect, bind, mount, setuid, capset, prctl,
        // unshare, setns, seccomp, bpf, userfaultfd, execveat, io_uring_setup, clone3.
        let forbidden = [
            56, 57, 58, 59, 101, 41, 42, 49, 165, 105, 126, 157, 272, 308, 317, 321, 323, 322, 425,
            435,
        ];
        for number in forbidden {
            assert!(RULES.iter().all(|rule| rule.number != number), "{number}");
        }
    }
}
