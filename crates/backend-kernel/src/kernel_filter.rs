//! The seccomp filter of the kernel process: data, one rule and one reason each.
//!
//! It holds from before the guest's first instruction. What no rule names, or a rule does not
//! allow, ends the kernel process, and with it this sandbox. There is no call among them that
//! starts a process or a program, makes a connection, changes who this process is, or maps code.

use host_sys::seccomp::{
    self, ARCHITECTURE, Instruction, JUMP_IF_EQUAL, KILL_PROCESS, Rule, Test, X86_64, end, load,
    skip_if,
};

const PRIVATE: u32 = 128;
const WAKE: u32 = 1;
const PROT_EXEC: u32 = 4;
const MADV_DONTNEED: u32 = 4;
const MADV_FREE: u32 = 8;
const MADV_POPULATE_WRITE: u32 = 23;
const AF_UNIX: u32 = 1;
const SOL_SOCKET: u32 = 1;
const SO_PASSCRED: u32 = 16;
const SO_ERROR: u32 = 4;
const SO_LINGER: u32 = 13;
const SIGKILL: u32 = 9;
const SIGSTOP: u32 = 19;
const SIGCONT: u32 = 18;
const KICK: u32 = channel_abi::layout::KICK_SIGNAL.cast_unsigned();
const RLIMIT_DATA: u32 = 2;
const RLIMIT_AS: u32 = 9;
const F_GETFD: u32 = 1;
const F_GETFL: u32 = 3;
const F_SETFL: u32 = 4;
const F_DUPFD_CLOEXEC: u32 = 1030;
const F_SETPIPE_SZ: u32 = 1031;
const F_GETPIPE_SZ: u32 = 1032;
const F_ADD_SEALS: u32 = 1033;
const F_GET_SEALS: u32 = 1034;
const F_SETLEASE: u32 = 1024;
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
    Rule::always(
        310,
        "process_vm_readv",
        "arguments that lie in a guest's memory; the host checks that it is a process of ours",
    ),
    Rule::always(24, "sched_yield", "on one CPU, let guests have it"),
    Rule::always(0, "read", "streams, mounted files, signals of the host"),
    Rule::always(281, "epoll_pwait", "sleep until something happens"),
    Rule::always(61, "wait4", "collect guest processes that have ended"),
    Rule::always(45, "recvfrom", "orders of the starter"),
    Rule::always(17, "pread64", "mounted files, files in memory, statistics of the host"),
    Rule::always(332, "statx", "attributes of mounted files"),
    Rule::always(327, "preadv2", "whether a mounted file has to come from a disk"),
    Rule::always(221, "fadvise64", "have the host fetch it, without waiting"),
    Rule::always(3, "close", "descriptors"),
    Rule::always(
        437,
        "openat2",
        "files beneath the mounts: the kernel process asks for no way out of them, landlock enforces it",
    ),
    Rule::always(311, "process_vm_writev", "results that go to a guest's memory"),
    Rule::always(1, "write", "streams, mounted files, the doorbell"),
    Rule::always(18, "pwrite64", "mounted files, files in memory"),
    Rule::always(44, "sendto", "news for the starter"),
    Rule::always(46, "sendmsg", "descriptors for guest processes"),
    Rule::always(47, "recvmsg", "a guest process's hello, with its host's word for who it is"),
    Rule {
        number: 72,
        name: "fcntl",
        any_of: &[&[Test::OneOf(
            1,
            &[
                F_GETFD,
                F_GETFL,
                F_SETFL,
                F_DUPFD_CLOEXEC,
                F_SETPIPE_SZ,
                F_GETPIPE_SZ,
                F_ADD_SEALS,
                F_GET_SEALS,
                F_SETLEASE,
            ],
        )]],
        reason: "copies of descriptors, sizes of pipes, seals of memory files and whether anybody else has one",
    },
    Rule::always(5, "fstat", "attributes of open files"),
    Rule::always(
        257,
        "openat",
        "what the host says of guest processes in its `/proc`; another open file of the same memory \
         or pipe",
    ),
    Rule::always(2, "open", "another open file of the same memory, and modes, by `/proc/self/fd`"),
    Rule::always(293, "pipe2", "pipes that guest processes use by themselves"),
    Rule::always(276, "tee", "what is in such a pipe"),
    Rule::always(267, "readlinkat", "symbolic links beneath the mounts"),
    Rule::always(217, "getdents64", "folders beneath the mounts"),
    Rule::always(8, "lseek", "holes in files, offsets that are shared with the host"),
    Rule::always(193, "fgetxattr", "attributes of mounted files"),
    Rule::always(196, "flistxattr", "attributes of mounted files"),
    Rule::always(190, "fsetxattr", "attributes of mounted files"),
    Rule::always(199, "fremovexattr", "attributes of mounted files"),
    Rule::always(
        191,
        "getxattr",
        "owners that an overlay folder keeps, by a descriptor in `/proc`",
    ),
    Rule::always(192, "lgetxattr", "owners that an overlay folder keeps"),
    Rule::always(
        188,
        "setxattr",
        "owners that an overlay folder keeps, by a descriptor in `/proc`",
    ),
    Rule::always(189, "lsetxattr", "owners that an overlay folder keeps"),
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
    Rule::always(11, "munmap", "memory of its own"),
    Rule::always(25, "mremap", "memory of its own"),
    Rule::always(12, "brk", "memory of its own"),
    Rule {
        number: 28,
        name: "madvise",
        any_of: &[&[Test::OneOf(2, &[MADV_DONTNEED, MADV_FREE, MADV_POPULATE_WRITE])]],
        reason: "memory of its own",
    },
    Rule::always(319, "memfd_create", "channels, files in memory that guests map"),
    Rule::always(77, "ftruncate", "files in memory, mounted files"),
    Rule::always(285, "fallocate", "files in memory, mounted files"),
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
    Rule::always(233, "epoll_ctl", "what to sleep on"),
    Rule::always(434, "pidfd_open", "by which number `/proc` knows a guest process"),
    Rule {
        number: 62,
        name: "kill",
        any_of: &[&[Test::OneOf(1, &[SIGKILL, SIGSTOP, SIGCONT])]],
        reason: "end a guest process; stop all of them while too much memory is held",
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
    Rule::always(203, "sched_setaffinity", "the processors of a guest thread"),
    Rule::always(228, "clock_gettime", "CPU time of guest processes"),
    Rule::always(98, "getrusage", "CPU time of guest processes that have ended"),
    Rule::always(286, "timerfd_settime", "when to get up"),
    Rule::always(318, "getrandom", "random bytes for guests"),
    Rule::always(99, "sysinfo", "memory and load of the machine"),
    // Mounted folders.
    Rule::always(263, "unlinkat", "beneath mounts that may be written"),
    Rule::always(258, "mkdirat", "beneath mounts that may be written"),
    Rule::always(266, "symlinkat", "beneath mounts that may be written"),
    Rule::always(265, "linkat", "beneath mounts that may be written"),
    Rule::always(316, "renameat2", "beneath mounts that may be written"),
    Rule::always(
        259,
        "mknodat",
        "sockets and pipes beneath mounts that may be written; without capabilities no devices",
    ),
    Rule::always(280, "utimensat", "times of files that may be written"),
    Rule::always(
        268,
        "fchmodat",
        "modes of files that may be written, named by a descriptor in `/proc`",
    ),
    Rule::always(74, "fsync", "what the guest wants on the disk"),
    Rule::always(206, "io_setup", "room for requests to sync; those have no buffers"),
    Rule::always(209, "io_submit", "have the host sync a file, without waiting"),
    Rule::always(208, "io_getevents", "which files are synced"),
    Rule::always(290, "eventfd2", "hear that a file is synced"),
    Rule::always(306, "syncfs", "what the guest wants on the disk"),
    Rule::always(138, "fstatfs", "room on the disk"),
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
    Rule::always(271, "ppoll", "whether the starter's terminal takes more"),
    Rule {
        number: 55,
        name: "getsockopt",
        any_of: &[&[Test::Is(1, SOL_SOCKET), Test::Is(2, SO_ERROR)]],
        reason: "whether a connection that somebody else made for us came about",
    },
    Rule::always(48, "shutdown", "the end of a stream that leaves the sandbox"),
    // The end.
    Rule::always(186, "gettid", "who failed, in the words of a failure"),
    Rule::always(231, "exit_group", "the end"),
];

/// The filter as the host takes it.
pub fn assemble(rules: &[Rule]) -> Vec<Instruction> {
    let mut program = vec![
        load(ARCHITECTURE),
        skip_if(JUMP_IF_EQUAL, X86_64, 1, 0),
        // 32-bit entries.
        end(KILL_PROCESS),
    ];
    program.extend(seccomp::by_number(rules, KILL_PROCESS));
    program
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_filter_knows_the_numbers_of_the_rules_and_no_other() {
        let mut expected: Vec<u32> = RULES.iter().map(|rule| rule.number).collect();
        expected.sort_unstable();
        assert_eq!(seccomp::numbers(&assemble(RULES)), expected);
    }

    #[test]
    fn each_rule_has_a_reason_and_a_number_of_its_own() {
        assert_eq!(seccomp::faults(RULES), [""; 0]);
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
