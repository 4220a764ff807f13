//! The table of system calls. The only place where a call is declared.

#![expect(clippy::allow_attributes, reason = "which imports are used changes with the rows")]

use linux_abi::Errno;

#[allow(unused_imports, reason = "which of them are used changes with the rows")]
use crate::argument::{
    Argument, address, dirfd, fd, hex, in_, in_by, in_out, int, mode, out, out_by, path, signal,
    size,
};
#[allow(unused_imports, reason = "which of them are used changes with the rows")]
use crate::{Body, events, files, handler, ipc, memory, signals, sockets, system, tasks, time};

/// How well a call is supported, with its body if it has one.
#[derive(Clone, Copy, Debug)]
pub enum Status {
    /// Behaves as on Linux for every argument.
    Full(Body),
    /// Works. The note names what does not.
    Partial(Body, &'static str),
    /// Answers without effect. The note says why that is harmless.
    Stub(Body, &'static str),
    /// Answered by the shim inside the guest process, or by the host under the filter, and never
    /// seen by the kernel process. The note says which.
    Shim(&'static str),
    /// Refused on purpose. The note says why.
    Refused(Errno, &'static str),
    /// Not written yet; answers `ENOSYS`.
    Missing,
}

/// One system call.
#[derive(Clone, Copy, Debug)]
pub struct Syscall {
    /// The name, as in the man page.
    pub name: &'static str,
    /// The number on x86-64.
    pub number: u16,
    /// What its arguments are.
    pub arguments: &'static [Argument],
    /// How well it is supported.
    pub status: Status,
}

macro_rules! syscalls {
    ($($name:ident [$number:literal] ($($argument:expr),*) $status:ident $(($($detail:tt)*))?;)*) => {
        /// Every Linux system call of x86-64, by number.
        pub static SYSCALLS: &[Syscall] = &[$(Syscall {
            name: stringify!($name),
            number: $number,
            arguments: &[$($argument),*],
            status: syscalls!(@status $status $($($detail)*)?),
        },)*];
    };
    (@status Full wait $body:path) => { Status::Full(syscalls!(@wait $body)) };
    (@status Full try $body:path) => { Status::Full(syscalls!(@try $body)) };
    (@status Full $body:path) => { Status::Full(syscalls!(@now $body)) };
    (@status Partial wait $body:path, $note:literal) => {
        Status::Partial(syscalls!(@wait $body), $note)
    };
    (@status Partial try $body:path, $note:literal) => {
        Status::Partial(syscalls!(@try $body), $note)
    };
    (@status Partial $body:path, $note:literal) => { Status::Partial(syscalls!(@now $body), $note) };
    (@status Stub $body:path, $note:literal) => { Status::Stub(syscalls!(@now $body), $note) };
    (@status Shim $note:literal) => { Status::Shim($note) };
    (@status Refused $errno:ident, $note:literal) => { Status::Refused(Errno::$errno, $note) };
    (@status Missing) => { Status::Missing };
    (@now $body:path) => {
        Body::Now(|thread, registers| handler::Handler::call($body, thread, registers))
    };
    (@wait $body:path) => {
        Body::MayWait(|thread, registers| handler::AsyncHandler::call($body, thread, registers))
    };
    (@try $body:path) => {
        Body::Try(|thread, registers| handler::TryHandler::call($body, thread, registers))
    };
}

// A row: name, number, arguments (see `argument.rs`), status. `Full(wait f)` is an `async fn`,
// `Full(try f)` a plain one that makes a future only when it has to wait.
//     read [0] (fd("fd"), out_by("buf", 2), size("count")) Full(wait files::read);
syscalls! {
    read                     [  0] (fd("fd"), out_by("buf", 2), size("count")) Full(wait files::read);
    write                    [  1] (fd("fd"), in_by("buf", 2), size("count")) Full(wait files::write);
    open                     [  2] (path("pathname"), hex("flags"), mode("mode")) Full(try files::open);
    close                    [  3] (fd("fd")) Full(files::close);
    stat                     [  4] (path("pathname"), out("statbuf", 144)) Full(files::stat);
    fstat                    [  5] (fd("fd"), out("statbuf", 144)) Full(files::fstat);
    lstat                    [  6] (path("pathname"), out("statbuf", 144)) Full(files::lstat);
    poll                     [  7] (in_out("fds", 64), size("nfds"), int("timeout")) Full(wait events::poll);
    lseek                    [  8] (fd("fd"), int("offset"), int("whence")) Full(files::lseek);
    mmap                     [  9] (address("addr"), size("length"), hex("prot"), hex("flags"), fd("fd"), hex("offset")) Partial(wait memory::mmap, "anonymous memory is done by the host under the filter; no MAP_HUGETLB, and MAP_LOCKED locks nothing");
    mprotect                 [ 10] (address("addr"), size("len"), hex("prot")) Shim("done by the host under the filter");
    munmap                   [ 11] (address("addr"), size("len")) Shim("done by the host under the filter");
    brk                      [ 12] (address("addr")) Shim("done by the shim with the host's mmap");
    rt_sigaction             [ 13] (signal("signum"), in_("act", 32), out("oldact", 32), size("sigsetsize")) Full(signals::rt_sigaction);
    rt_sigprocmask           [ 14] (int("how"), in_("set", 8), out("oldset", 8), size("sigsetsize")) Full(signals::rt_sigprocmask);
    rt_sigreturn             [ 15] () Shim("the frame is the shim's");
    ioctl                    [ 16] (fd("fd"), hex("request"), address("argp")) Full(wait files::ioctl);
    pread64                  [ 17] (fd("fd"), out_by("buf", 2), size("count"), int("offset")) Full(wait files::pread64);
    pwrite64                 [ 18] (fd("fd"), in_by("buf", 2), size("count"), int("offset")) Full(wait files::pwrite64);
    readv                    [ 19] (fd("fd"), address("iov"), size("iovcnt")) Full(wait files::readv);
    writev                   [ 20] (fd("fd"), address("iov"), size("iovcnt")) Full(wait files::writev);
    access                   [ 21] (path("pathname"), int("mode")) Full(files::access);
    pipe                     [ 22] (out("pipefd", 8)) Full(events::pipe);
    select                   [ 23] (int("nfds"), in_out("readfds", 128), in_out("writefds", 128), in_out("exceptfds", 128), in_out("timeout", 16)) Full(wait events::select);
    sched_yield              [ 24] () Shim("done by the host");
    mremap                   [ 25] (address("old"), size("old_size"), size("new_size"), hex("flags"), address("new")) Shim("done by the host under the filter");
    msync                    [ 26] (address("addr"), size("len"), hex("flags")) Shim("done by the host under the filter");
    mincore                  [ 27] (address("addr"), size("len"), address("vec")) Shim("done by the host under the filter");
    madvise                  [ 28] (address("addr"), size("len"), int("advice")) Shim("done by the host under the filter; advice that concerns other processes is refused");
    shmget                   [ 29] (int("key"), size("size"), hex("shmflg")) Partial(ipc::shmget, "no huge pages");
    shmat                    [ 30] (int("shmid"), address("shmaddr"), hex("shmflg")) Full(ipc::shmat);
    shmctl                   [ 31] (int("shmid"), int("cmd"), address("buf")) Partial(ipc::shmctl, "SHM_LOCK only marks the segment");
    dup                      [ 32] (fd("oldfd")) Full(files::dup);
    dup2                     [ 33] (fd("oldfd"), fd("newfd")) Full(files::dup2);
    pause                    [ 34] () Full(wait signals::pause);
    nanosleep                [ 35] (in_("req", 16), out("rem", 16)) Full(wait time::nanosleep);
    getitimer                [ 36] (int("which"), out("curr_value", 32)) Full(time::getitimer);
    alarm                    [ 37] (int("seconds")) Full(time::alarm);
    setitimer                [ 38] (int("which"), in_("new_value", 32), out("old_value", 32)) Full(time::setitimer);
    getpid                   [ 39] () Full(tasks::getpid);
    sendfile                 [ 40] (fd("out_fd"), fd("in_fd"), in_out("offset", 8), size("count")) Full(wait files::sendfile);
    socket                   [ 41] (int("domain"), hex("type"), int("protocol")) Full(sockets::socket);
    connect                  [ 42] (fd("sockfd"), in_by("addr", 2), size("addrlen")) Full(wait sockets::connect);
    accept                   [ 43] (fd("sockfd"), address("addr"), in_out("addrlen", 4)) Full(wait sockets::accept);
    sendto                   [ 44] (fd("sockfd"), in_by("buf", 2), size("len"), hex("flags"), in_by("dest_addr", 5), size("addrlen")) Full(wait sockets::sendto);
    recvfrom                 [ 45] (fd("sockfd"), out_by("buf", 2), size("len"), hex("flags"), address("src_addr"), in_out("addrlen", 4)) Full(wait sockets::recvfrom);
    sendmsg                  [ 46] (fd("sockfd"), in_("msg", 56), hex("flags")) Partial(wait sockets::sendmsg, "of control messages only SCM_RIGHTS and SCM_CREDENTIALS have an effect; MSG_ZEROCOPY copies");
    recvmsg                  [ 47] (fd("sockfd"), in_out("msg", 56), hex("flags")) Partial(wait sockets::recvmsg, "no control messages of SO_TIMESTAMPING; TTL, TOS and hop limit are always the defaults");
    shutdown                 [ 48] (fd("sockfd"), int("how")) Full(sockets::shutdown);
    bind                     [ 49] (fd("sockfd"), in_by("addr", 2), size("addrlen")) Full(sockets::bind);
    listen                   [ 50] (fd("sockfd"), int("backlog")) Full(sockets::listen);
    getsockname              [ 51] (fd("sockfd"), address("addr"), in_out("addrlen", 4)) Full(sockets::getsockname);
    getpeername              [ 52] (fd("sockfd"), address("addr"), in_out("addrlen", 4)) Full(sockets::getpeername);
    socketpair               [ 53] (int("domain"), hex("type"), int("protocol"), out("sv", 8)) Full(sockets::socketpair);
    setsockopt               [ 54] (fd("sockfd"), int("level"), int("optname"), in_by("optval", 4), size("optlen")) Partial(sockets::setsockopt, "SO_ATTACH_FILTER is refused (EPERM), TCP_ULP is unknown (ENOENT), lists of multicast sources and netfilter options too (ENOPROTOOPT); options about packets (TTL, TOS, pacing, congestion) are kept without effect; of a socket whose peer is outside only SO_LINGER reaches the host");
    getsockopt               [ 55] (fd("sockfd"), int("level"), int("optname"), address("optval"), in_out("optlen", 4)) Partial(sockets::getsockopt, "TCP_INFO has states and sizes, no timing; options that setsockopt does not know are unknown here too (ENOPROTOOPT)");
    clone                    [ 56] (hex("flags"), address("stack"), address("parent_tid"), address("child_tid"), address("tls")) Partial(wait tasks::clone, "pid and time namespaces are refused (EPERM); CLONE_PTRACE is ignored");
    fork                     [ 57] () Full(wait tasks::fork);
    vfork                    [ 58] () Full(wait tasks::vfork);
    execve                   [ 59] (path("pathname"), address("argv"), address("envp")) Partial(wait tasks::execve, "a file that is open for writing is not refused (ETXTBSY); file capabilities are not obeyed");
    exit                     [ 60] (int("status")) Full(wait tasks::exit);
    wait4                    [ 61] (int("pid"), out("wstatus", 4), hex("options"), out("rusage", 144)) Full(wait tasks::wait4);
    kill                     [ 62] (int("pid"), signal("sig")) Full(signals::kill);
    uname                    [ 63] (out("buf", 390)) Full(system::uname);
    semget                   [ 64] (int("key"), int("nsems"), hex("semflg")) Full(ipc::semget);
    semop                    [ 65] (int("semid"), in_("sops", 24), size("nsops")) Full(wait ipc::semop);
    semctl                   [ 66] (int("semid"), int("semnum"), int("cmd"), address("arg")) Full(ipc::semctl);
    shmdt                    [ 67] (address("shmaddr")) Full(ipc::shmdt);
    msgget                   [ 68] (int("key"), hex("msgflg")) Full(ipc::msgget);
    msgsnd                   [ 69] (int("msqid"), address("msgp"), size("msgsz"), hex("msgflg")) Full(wait ipc::msgsnd);
    msgrcv                   [ 70] (int("msqid"), address("msgp"), size("msgsz"), int("msgtyp"), hex("msgflg")) Full(wait ipc::msgrcv);
    msgctl                   [ 71] (int("msqid"), int("cmd"), address("buf")) Full(ipc::msgctl);
    fcntl                    [ 72] (fd("fd"), int("cmd"), hex("arg")) Full(wait files::fcntl);
    flock                    [ 73] (fd("fd"), int("operation")) Full(wait files::flock);
    fsync                    [ 74] (fd("fd")) Full(wait files::fsync);
    fdatasync                [ 75] (fd("fd")) Full(wait files::fdatasync);
    truncate                 [ 76] (path("path"), int("length")) Full(wait files::truncate);
    ftruncate                [ 77] (fd("fd"), int("length")) Full(files::ftruncate);
    getdents                 [ 78] (fd("fd"), out_by("dirp", 2), size("count")) Full(files::getdents);
    getcwd                   [ 79] (out_by("buf", 1), size("size")) Full(files::getcwd);
    chdir                    [ 80] (path("path")) Full(files::chdir);
    fchdir                   [ 81] (fd("fd")) Full(files::fchdir);
    rename                   [ 82] (path("oldpath"), path("newpath")) Full(files::rename);
    mkdir                    [ 83] (path("pathname"), mode("mode")) Full(files::mkdir);
    rmdir                    [ 84] (path("pathname")) Full(files::rmdir);
    creat                    [ 85] (path("pathname"), mode("mode")) Full(try files::creat);
    link                     [ 86] (path("oldpath"), path("newpath")) Full(files::link);
    unlink                   [ 87] (path("pathname")) Full(files::unlink);
    symlink                  [ 88] (path("target"), path("linkpath")) Full(files::symlink);
    readlink                 [ 89] (path("pathname"), out_by("buf", 2), size("bufsiz")) Full(files::readlink);
    chmod                    [ 90] (path("pathname"), mode("mode")) Full(files::chmod);
    fchmod                   [ 91] (fd("fd"), mode("mode")) Full(files::fchmod);
    chown                    [ 92] (path("pathname"), int("owner"), int("group")) Full(files::chown);
    fchown                   [ 93] (fd("fd"), int("owner"), int("group")) Full(files::fchown);
    lchown                   [ 94] (path("pathname"), int("owner"), int("group")) Full(files::lchown);
    umask                    [ 95] (mode("mask")) Full(files::umask);
    gettimeofday             [ 96] (out("tv", 16), out("tz", 8)) Full(time::gettimeofday);
    getrlimit                [ 97] (int("resource"), out("rlim", 16)) Full(tasks::getrlimit);
    getrusage                [ 98] (int("who"), out("usage", 144)) Partial(tasks::getrusage, "times and the largest resident memory; faults, blocks and switches are zero");
    sysinfo                  [ 99] (out("info", 112)) Partial(system::sysinfo, "load and free memory are the host's; swap is not shown");
    times                    [100] (out("buf", 32)) Full(tasks::times);
    ptrace                   [101] (int("request"), int("pid"), address("addr"), address("data")) Partial(wait tasks::ptrace, "no hardware breakpoints, no change of segments or the GS base, no seccomp metadata");
    getuid                   [102] () Full(tasks::getuid);
    syslog                   [103] (int("type"), address("bufp"), int("len")) Refused(EPERM, "there is no kernel log; as Linux with dmesg_restrict");
    getgid                   [104] () Full(tasks::getgid);
    setuid                   [105] (int("uid")) Full(tasks::setuid);
    setgid                   [106] (int("gid")) Full(tasks::setgid);
    geteuid                  [107] () Full(tasks::geteuid);
    getegid                  [108] () Full(tasks::getegid);
    setpgid                  [109] (int("pid"), int("pgid")) Full(tasks::setpgid);
    getppid                  [110] () Full(tasks::getppid);
    getpgrp                  [111] () Full(tasks::getpgrp);
    setsid                   [112] () Full(tasks::setsid);
    setreuid                 [113] (int("ruid"), int("euid")) Full(tasks::setreuid);
    setregid                 [114] (int("rgid"), int("egid")) Full(tasks::setregid);
    getgroups                [115] (int("size"), address("list")) Full(tasks::getgroups);
    setgroups                [116] (int("size"), address("list")) Full(tasks::setgroups);
    setresuid                [117] (int("ruid"), int("euid"), int("suid")) Full(tasks::setresuid);
    getresuid                [118] (out("ruid", 4), out("euid", 4), out("suid", 4)) Full(tasks::getresuid);
    setresgid                [119] (int("rgid"), int("egid"), int("sgid")) Full(tasks::setresgid);
    getresgid                [120] (out("rgid", 4), out("egid", 4), out("sgid", 4)) Full(tasks::getresgid);
    getpgid                  [121] (int("pid")) Full(tasks::getpgid);
    setfsuid                 [122] (int("fsuid")) Full(tasks::setfsuid);
    setfsgid                 [123] (int("fsgid")) Full(tasks::setfsgid);
    getsid                   [124] (int("pid")) Full(tasks::getsid);
    capget                   [125] (in_out("hdrp", 8), out("datap", 24)) Full(tasks::capget);
    capset                   [126] (in_out("hdrp", 8), in_("datap", 24)) Full(tasks::capset);
    rt_sigpending            [127] (out("set", 8), size("sigsetsize")) Full(signals::rt_sigpending);
    rt_sigtimedwait          [128] (in_("set", 8), out("info", 128), in_("timeout", 16), size("sigsetsize")) Full(wait signals::rt_sigtimedwait);
    rt_sigqueueinfo          [129] (int("tgid"), signal("sig"), in_("info", 128)) Full(signals::rt_sigqueueinfo);
    rt_sigsuspend            [130] (in_("mask", 8), size("sigsetsize")) Full(wait signals::rt_sigsuspend);
    sigaltstack              [131] (in_("ss", 24), out("old_ss", 24)) Shim("the shim chooses the stack of handlers");
    utime                    [132] (path("filename"), in_("times", 16)) Full(files::utime);
    mknod                    [133] (path("pathname"), mode("mode"), hex("dev")) Full(files::mknod);
    uselib                   [134] (path("library")) Refused(ENOSYS, "gone from Linux");
    personality              [135] (hex("persona")) Partial(tasks::personality, "the value is kept and told; no flag has an effect");
    ustat                    [136] (hex("dev"), address("ubuf")) Refused(ENOSYS, "obsolete; statfs says more");
    statfs                   [137] (path("path"), out("buf", 120)) Full(files::statfs);
    fstatfs                  [138] (fd("fd"), out("buf", 120)) Full(files::fstatfs);
    sysfs                    [139] (int("option"), hex("arg1"), hex("arg2")) Refused(ENOSYS, "obsolete; /proc/filesystems says the same");
    getpriority              [140] (int("which"), int("who")) Full(tasks::getpriority);
    setpriority              [141] (int("which"), int("who"), int("prio")) Partial(tasks::setpriority, "the value is kept and told; the host schedules guest threads as it likes");
    sched_setparam           [142] (int("pid"), in_("param", 4)) Partial(tasks::sched_setparam, "the value is kept and told; the host schedules guest threads as it likes");
    sched_getparam           [143] (int("pid"), out("param", 4)) Full(tasks::sched_getparam);
    sched_setscheduler       [144] (int("pid"), int("policy"), in_("param", 4)) Partial(tasks::sched_setscheduler, "the policy is kept and told; the host schedules guest threads as it likes; SCHED_DEADLINE is refused (EINVAL)");
    sched_getscheduler       [145] (int("pid")) Full(tasks::sched_getscheduler);
    sched_get_priority_max   [146] (int("policy")) Full(tasks::sched_get_priority_max);
    sched_get_priority_min   [147] (int("policy")) Full(tasks::sched_get_priority_min);
    sched_rr_get_interval    [148] (int("pid"), out("tp", 16)) Full(tasks::sched_rr_get_interval);
    mlock                    [149] (address("addr"), size("len")) Partial(memory::mlock, "checks the limit and the range, locks nothing of the host's");
    munlock                  [150] (address("addr"), size("len")) Partial(memory::munlock, "as mlock");
    mlockall                 [151] (hex("flags")) Partial(memory::mlockall, "as mlock");
    munlockall               [152] () Partial(memory::munlockall, "as mlock");
    vhangup                  [153] () Refused(EPERM, "needs CAP_SYS_TTY_CONFIG over the host's terminals");
    modify_ldt               [154] (int("func"), address("ptr"), size("bytecount")) Refused(ENOSYS, "no 16-bit or 32-bit segments; as Linux without CONFIG_MODIFY_LDT_SYSCALL");
    pivot_root               [155] (path("new_root"), path("put_old")) Partial(files::pivot_root, "only the caller's root and working directory follow");
    _sysctl                  [156] (address("args")) Refused(ENOSYS, "gone from Linux");
    prctl                    [157] (int("option"), hex("arg2"), hex("arg3"), hex("arg4"), hex("arg5")) Partial(tasks::prctl, "options that change hardware, scheduling or memory layout are refused (EINVAL); names of mappings are checked and forgotten");
    arch_prctl               [158] (int("code"), address("addr")) Shim("FS base only: GS is the shim's; no CET, AMX or LAM");
    adjtimex                 [159] (in_out("buf", 208)) Partial(time::adjtimex, "tells of a clock that nobody adjusts; adjusting is refused (EPERM)");
    setrlimit                [160] (int("resource"), in_("rlim", 16)) Partial(tasks::setrlimit, "RTTIME, RSS, LOCKS and MSGQUEUE are kept and told, not enforced");
    chroot                   [161] (path("path")) Full(files::chroot);
    sync                     [162] () Full(files::sync);
    acct                     [163] (path("filename")) Refused(EPERM, "process accounting is the host's");
    settimeofday             [164] (in_("tv", 16), in_("tz", 8)) Partial(time::settimeofday, "clocks are the host's: setting one is refused (EPERM)");
    mount                    [165] (path("source"), path("target"), path("filesystemtype"), hex("mountflags"), path("data")) Partial(files::mount, "tmpfs, proc, sysfs, devpts and mqueue, bind, move and remount; propagation has nowhere to go");
    umount2                  [166] (path("target"), hex("flags")) Partial(files::umount2, "MNT_EXPIRE unmounts at once");
    swapon                   [167] (path("path"), hex("swapflags")) Refused(EPERM, "swap space is the host's");
    swapoff                  [168] (path("path")) Refused(EPERM, "swap space is the host's");
    reboot                   [169] (hex("magic"), hex("magic2"), hex("op"), address("arg")) Refused(EPERM, "a sandbox ends with its first process");
    sethostname              [170] (in_by("name", 1), size("len")) Full(system::sethostname);
    setdomainname            [171] (in_by("name", 1), size("len")) Full(system::setdomainname);
    iopl                     [172] (int("level")) Refused(EPERM, "there are no I/O ports");
    ioperm                   [173] (hex("from"), hex("num"), int("turn_on")) Refused(EPERM, "there are no I/O ports");
    create_module            [174] (path("name"), size("size")) Refused(ENOSYS, "gone from Linux");
    init_module              [175] (address("module_image"), size("len"), path("param_values")) Refused(EPERM, "this kernel has no modules");
    delete_module            [176] (path("name"), hex("flags")) Refused(EPERM, "this kernel has no modules");
    get_kernel_syms          [177] (address("table")) Refused(ENOSYS, "gone from Linux");
    query_module             [178] (path("name"), int("which"), address("buf"), size("bufsize"), address("ret")) Refused(ENOSYS, "gone from Linux");
    quotactl                 [179] (int("op"), path("special"), int("id"), address("addr")) Refused(ENOSYS, "as a kernel without quotas; sizes are limited per file system");
    nfsservctl               [180] (int("cmd"), address("argp"), address("resp")) Refused(ENOSYS, "gone from Linux");
    getpmsg                  [181] () Refused(ENOSYS, "never was in Linux");
    putpmsg                  [182] () Refused(ENOSYS, "never was in Linux");
    afs_syscall              [183] () Refused(ENOSYS, "never was in Linux");
    tuxcall                  [184] () Refused(ENOSYS, "never was in Linux");
    security                 [185] () Refused(ENOSYS, "never was in Linux");
    gettid                   [186] () Full(tasks::gettid);
    readahead                [187] (fd("fd"), int("offset"), size("count")) Stub(files::readahead, "the host reads ahead by itself");
    setxattr                 [188] (path("path"), path("name"), in_by("value", 3), size("size"), hex("flags")) Full(files::setxattr);
    lsetxattr                [189] (path("path"), path("name"), in_by("value", 3), size("size"), hex("flags")) Full(files::lsetxattr);
    fsetxattr                [190] (fd("fd"), path("name"), in_by("value", 3), size("size"), hex("flags")) Full(files::fsetxattr);
    getxattr                 [191] (path("path"), path("name"), out_by("value", 3), size("size")) Full(files::getxattr);
    lgetxattr                [192] (path("path"), path("name"), out_by("value", 3), size("size")) Full(files::lgetxattr);
    fgetxattr                [193] (fd("fd"), path("name"), out_by("value", 3), size("size")) Full(files::fgetxattr);
    listxattr                [194] (path("path"), out_by("list", 2), size("size")) Full(files::listxattr);
    llistxattr               [195] (path("path"), out_by("list", 2), size("size")) Full(files::llistxattr);
    flistxattr               [196] (fd("fd"), out_by("list", 2), size("size")) Full(files::flistxattr);
    removexattr              [197] (path("path"), path("name")) Full(files::removexattr);
    lremovexattr             [198] (path("path"), path("name")) Full(files::lremovexattr);
    fremovexattr             [199] (fd("fd"), path("name")) Full(files::fremovexattr);
    tkill                    [200] (int("tid"), signal("sig")) Full(signals::tkill);
    time                     [201] (out("tloc", 8)) Full(time::time);
    futex                    [202] (address("uaddr"), hex("futex_op"), size("val"), address("timeout"), address("uaddr2"), size("val3")) Shim("run on the host's futexes; locks with priority inheritance are made of plain ones, and change no priority");
    sched_setaffinity        [203] (int("pid"), size("cpusetsize"), in_by("mask", 1)) Partial(tasks::sched_setaffinity, "the set is kept and told; the host schedules guest threads as it likes");
    sched_getaffinity        [204] (int("pid"), size("cpusetsize"), out_by("mask", 1)) Full(tasks::sched_getaffinity);
    set_thread_area          [205] (address("u_info")) Refused(ENOSYS, "32-bit programs only");
    io_setup                 [206] (size("nr_events"), in_out("ctx_idp", 8)) Full(events::io_setup);
    io_destroy               [207] (hex("ctx_id")) Full(events::io_destroy);
    io_getevents             [208] (hex("ctx_id"), int("min_nr"), int("nr"), address("events"), in_("timeout", 16)) Full(wait events::io_getevents);
    io_submit                [209] (hex("ctx_id"), int("nr"), address("iocbpp")) Full(wait events::io_submit);
    io_cancel                [210] (hex("ctx_id"), address("iocb"), address("result")) Full(events::io_cancel);
    get_thread_area          [211] (address("u_info")) Refused(ENOSYS, "32-bit programs only");
    lookup_dcookie           [212] (hex("cookie"), address("buffer"), size("len")) Refused(ENOSYS, "gone from Linux");
    epoll_create             [213] (int("size")) Full(events::epoll_create);
    epoll_ctl_old            [214] () Missing;
    epoll_wait_old           [215] () Missing;
    remap_file_pages         [216] (address("addr"), size("size"), hex("prot"), size("pgoff"), hex("flags")) Stub(memory::remap_file_pages, "always EINVAL: emulated even on Linux, and unused");
    getdents64               [217] (fd("fd"), out_by("dirp", 2), size("count")) Full(files::getdents64);
    set_tid_address          [218] (address("tidptr")) Shim("the shim clears the word and wakes when the thread ends");
    restart_syscall          [219] () Full(wait time::restart_syscall);
    semtimedop               [220] (int("semid"), in_("sops", 24), size("nsops"), in_("timeout", 16)) Full(wait ipc::semtimedop);
    fadvise64                [221] (fd("fd"), int("offset"), int("len"), int("advice")) Stub(files::fadvise64, "advice changes speed only");
    timer_create             [222] (int("clockid"), in_("sevp", 64), out("timerid", 4)) Partial(time::timer_create, "alarm clocks are refused (EPERM)");
    timer_settime            [223] (int("timerid"), hex("flags"), in_("new_value", 32), out("old_value", 32)) Full(time::timer_settime);
    timer_gettime            [224] (int("timerid"), out("curr_value", 32)) Full(time::timer_gettime);
    timer_getoverrun         [225] (int("timerid")) Full(time::timer_getoverrun);
    timer_delete             [226] (int("timerid")) Full(time::timer_delete);
    clock_settime            [227] (int("clockid"), in_("tp", 16)) Partial(time::clock_settime, "clocks are the host's: setting one is refused (EPERM)");
    clock_gettime            [228] (int("clockid"), out("tp", 16)) Full(time::clock_gettime);
    clock_getres             [229] (int("clockid"), out("res", 16)) Full(time::clock_getres);
    clock_nanosleep          [230] (int("clockid"), hex("flags"), in_("request", 16), out("remain", 16)) Partial(wait time::clock_nanosleep, "an absolute sleep on CLOCK_REALTIME does not follow a host clock that is set meanwhile");
    exit_group               [231] (int("status")) Full(wait tasks::exit_group);
    epoll_wait               [232] (fd("epfd"), out("events", 768), int("maxevents"), int("timeout")) Full(wait events::epoll_wait);
    epoll_ctl                [233] (fd("epfd"), int("op"), fd("fd"), in_("event", 12)) Full(events::epoll_ctl);
    tgkill                   [234] (int("tgid"), int("tid"), signal("sig")) Full(signals::tgkill);
    utimes                   [235] (path("filename"), in_("times", 32)) Full(files::utimes);
    vserver                  [236] () Refused(ENOSYS, "never was in Linux");
    mbind                    [237] (address("addr"), size("len"), int("mode"), address("nodemask"), size("maxnode"), hex("flags")) Stub(memory::mbind, "checked; there is one memory node");
    set_mempolicy            [238] (int("mode"), address("nodemask"), size("maxnode")) Stub(memory::set_mempolicy, "there is one memory node");
    get_mempolicy            [239] (address("mode"), address("nodemask"), size("maxnode"), address("addr"), hex("flags")) Stub(memory::get_mempolicy, "there is one memory node");
    mq_open                  [240] (path("name"), hex("oflag"), mode("mode"), in_("attr", 64)) Full(ipc::mq_open);
    mq_unlink                [241] (path("name")) Full(ipc::mq_unlink);
    mq_timedsend             [242] (fd("mqdes"), in_by("msg_ptr", 2), size("msg_len"), size("msg_prio"), in_("abs_timeout", 16)) Full(wait ipc::mq_timedsend);
    mq_timedreceive          [243] (fd("mqdes"), out_by("msg_ptr", 2), size("msg_len"), out("msg_prio", 4), in_("abs_timeout", 16)) Full(wait ipc::mq_timedreceive);
    mq_notify                [244] (fd("mqdes"), in_("sevp", 64)) Full(ipc::mq_notify);
    mq_getsetattr            [245] (fd("mqdes"), in_("newattr", 64), out("oldattr", 64)) Full(ipc::mq_getsetattr);
    kexec_load               [246] (address("entry"), size("nr_segments"), address("segments"), hex("flags")) Refused(EPERM, "this kernel is not replaced from inside");
    waitid                   [247] (int("idtype"), int("id"), out("infop", 28), hex("options"), out("rusage", 144)) Full(wait tasks::waitid);
    add_key                  [248] (path("type"), path("description"), address("payload"), size("plen"), int("keyring")) Refused(ENOSYS, "no key rings; as Linux without CONFIG_KEYS");
    request_key              [249] (path("type"), path("description"), path("callout_info"), int("dest_keyring")) Refused(ENOSYS, "no key rings; as Linux without CONFIG_KEYS");
    keyctl                   [250] (int("operation"), hex("arg2"), hex("arg3"), hex("arg4"), hex("arg5")) Refused(ENOSYS, "no key rings; as Linux without CONFIG_KEYS");
    ioprio_set               [251] (int("which"), int("who"), int("ioprio")) Partial(tasks::ioprio_set, "the value is kept and told, and has no effect");
    ioprio_get               [252] (int("which"), int("who")) Full(tasks::ioprio_get);
    inotify_init             [253] () Full(files::inotify_init);
    inotify_add_watch        [254] (fd("fd"), path("pathname"), hex("mask")) Partial(files::inotify_add_watch, "IN_EXCL_UNLINK is always in force; IN_UNMOUNT does not come");
    inotify_rm_watch         [255] (fd("fd"), int("wd")) Full(files::inotify_rm_watch);
    migrate_pages            [256] () Refused(ENOSYS, "there is one memory node");
    openat                   [257] (dirfd("dirfd"), path("pathname"), hex("flags"), mode("mode")) Full(try files::openat);
    mkdirat                  [258] (dirfd("dirfd"), path("pathname"), mode("mode")) Full(files::mkdirat);
    mknodat                  [259] (dirfd("dirfd"), path("pathname"), mode("mode"), hex("dev")) Full(files::mknodat);
    fchownat                 [260] (dirfd("dirfd"), path("pathname"), int("owner"), int("group"), hex("flags")) Full(files::fchownat);
    futimesat                [261] (dirfd("dirfd"), path("pathname"), in_("times", 32)) Full(files::futimesat);
    newfstatat               [262] (dirfd("dirfd"), path("pathname"), out("statbuf", 144), hex("flags")) Full(files::newfstatat);
    unlinkat                 [263] (dirfd("dirfd"), path("pathname"), hex("flags")) Full(files::unlinkat);
    renameat                 [264] (dirfd("olddirfd"), path("oldpath"), dirfd("newdirfd"), path("newpath")) Full(files::renameat);
    linkat                   [265] (dirfd("olddirfd"), path("oldpath"), dirfd("newdirfd"), path("newpath"), hex("flags")) Full(files::linkat);
    symlinkat                [266] (path("target"), dirfd("newdirfd"), path("linkpath")) Full(files::symlinkat);
    readlinkat               [267] (dirfd("dirfd"), path("pathname"), out_by("buf", 3), size("bufsiz")) Full(files::readlinkat);
    fchmodat                 [268] (dirfd("dirfd"), path("pathname"), mode("mode")) Full(files::fchmodat);
    faccessat                [269] (dirfd("dirfd"), path("pathname"), int("mode")) Full(files::faccessat);
    pselect6                 [270] (int("nfds"), in_out("readfds", 128), in_out("writefds", 128), in_out("exceptfds", 128), in_out("timeout", 16), in_("sigmask", 16)) Full(wait events::pselect6);
    ppoll                    [271] (in_out("fds", 64), size("nfds"), in_out("tmo_p", 16), in_("sigmask", 8), size("sigsetsize")) Full(wait events::ppoll);
    unshare                  [272] (hex("flags")) Partial(tasks::unshare, "user, mount, UTS, IPC, network and cgroup namespaces; pid and time namespaces are refused (EPERM)");
    set_robust_list          [273] (address("head"), size("len")) Shim("the shim walks the list when the thread ends by itself, the kernel when it is killed");
    get_robust_list          [274] (int("pid"), out("head_ptr", 8), out("len_ptr", 8)) Full(tasks::get_robust_list);
    splice                   [275] (fd("fd_in"), in_out("off_in", 8), fd("fd_out"), in_out("off_out", 8), size("size"), hex("flags")) Full(wait files::splice);
    tee                      [276] (fd("fd_in"), fd("fd_out"), size("size"), hex("flags")) Full(wait files::tee);
    sync_file_range          [277] (fd("fd"), int("offset"), int("nbytes"), hex("flags")) Full(wait files::sync_file_range);
    vmsplice                 [278] (fd("fd"), address("iov"), size("nr_segs"), hex("flags")) Partial(wait files::vmsplice, "SPLICE_F_GIFT copies");
    move_pages               [279] () Refused(ENOSYS, "there is one memory node");
    utimensat                [280] (dirfd("dirfd"), path("pathname"), in_("times", 32), hex("flags")) Full(files::utimensat);
    epoll_pwait              [281] (fd("epfd"), out("events", 768), int("maxevents"), int("timeout"), in_("sigmask", 8), size("sigsetsize")) Full(wait events::epoll_pwait);
    signalfd                 [282] (fd("fd"), in_("mask", 8), size("sizemask")) Partial(signals::signalfd, "polling of a descriptor that was inherited by fork asks for the signals of its last reader");
    timerfd_create           [283] (int("clockid"), hex("flags")) Full(events::timerfd_create);
    eventfd                  [284] (size("initval")) Full(events::eventfd);
    fallocate                [285] (fd("fd"), hex("mode"), int("offset"), int("len")) Partial(files::fallocate, "files in memory cannot collapse, insert or zero ranges (EOPNOTSUPP), as on Linux's tmpfs");
    timerfd_settime          [286] (fd("fd"), hex("flags"), in_("new_value", 32), out("old_value", 32)) Full(events::timerfd_settime);
    timerfd_gettime          [287] (fd("fd"), out("curr_value", 32)) Full(events::timerfd_gettime);
    accept4                  [288] (fd("sockfd"), address("addr"), in_out("addrlen", 4), hex("flags")) Full(wait sockets::accept4);
    signalfd4                [289] (fd("fd"), in_("mask", 8), size("sizemask"), hex("flags")) Partial(signals::signalfd4, "polling of a descriptor that was inherited by fork asks for the signals of its last reader");
    eventfd2                 [290] (size("initval"), hex("flags")) Full(events::eventfd2);
    epoll_create1            [291] (hex("flags")) Full(events::epoll_create1);
    dup3                     [292] (fd("oldfd"), fd("newfd"), hex("flags")) Full(files::dup3);
    pipe2                    [293] (out("pipefd", 8), hex("flags")) Full(events::pipe2);
    inotify_init1            [294] (hex("flags")) Full(files::inotify_init1);
    preadv                   [295] (fd("fd"), address("iov"), size("iovcnt"), int("offset")) Full(wait files::preadv);
    pwritev                  [296] (fd("fd"), address("iov"), size("iovcnt"), int("offset")) Full(wait files::pwritev);
    rt_tgsigqueueinfo        [297] (int("tgid"), int("tid"), signal("sig"), in_("info", 128)) Full(signals::rt_tgsigqueueinfo);
    perf_event_open          [298] (address("attr"), int("pid"), int("cpu"), fd("group_fd"), hex("flags")) Refused(EACCES, "counters are the host's; as Linux with perf_event_paranoid");
    recvmmsg                 [299] (fd("sockfd"), address("msgvec"), size("vlen"), hex("flags"), in_out("timeout", 16)) Full(wait sockets::recvmmsg);
    fanotify_init            [300] (hex("flags"), hex("event_f_flags")) Refused(ENOSYS, "as a kernel without fanotify; inotify is there");
    fanotify_mark            [301] (fd("fanotify_fd"), hex("flags"), hex("mask"), dirfd("dirfd"), path("pathname")) Refused(ENOSYS, "as a kernel without fanotify; inotify is there");
    prlimit64                [302] (int("pid"), int("resource"), in_("new_limit", 16), out("old_limit", 16)) Partial(tasks::prlimit64, "RTTIME, RSS, LOCKS and MSGQUEUE are kept and told, not enforced");
    name_to_handle_at        [303] (dirfd("dirfd"), path("pathname"), address("handle"), address("mount_id"), hex("flags")) Stub(files::name_to_handle_at, "checked, then EOPNOTSUPP: files have no handles that outlive the sandbox");
    open_by_handle_at        [304] (fd("mount_fd"), address("handle"), hex("flags")) Refused(EPERM, "files have no handles that outlive the sandbox");
    clock_adjtime            [305] (int("clockid"), in_out("buf", 208)) Partial(time::clock_adjtime, "tells of a clock that nobody adjusts; adjusting is refused (EPERM)");
    syncfs                   [306] (fd("fd")) Full(files::syncfs);
    sendmmsg                 [307] (fd("sockfd"), address("msgvec"), size("vlen"), hex("flags")) Full(wait sockets::sendmmsg);
    setns                    [308] (fd("fd"), hex("nstype")) Partial(tasks::setns, "of pid and time namespaces there is one each");
    getcpu                   [309] (out("cpu", 4), out("node", 4)) Stub(system::getcpu, "the vDSO answers it; the call names the first processor");
    process_vm_readv         [310] (int("pid"), address("local"), size("liovcnt"), address("remote"), size("riovcnt"), hex("flags")) Full(memory::process_vm_readv);
    process_vm_writev        [311] (int("pid"), address("local"), size("liovcnt"), address("remote"), size("riovcnt"), hex("flags")) Full(memory::process_vm_writev);
    kcmp                     [312] (int("pid1"), int("pid2"), int("type"), hex("idx1"), hex("idx2")) Partial(tasks::kcmp, "KCMP_EPOLL_TFD is refused (EINVAL)");
    finit_module             [313] (fd("fd"), path("param_values"), hex("flags")) Refused(EPERM, "this kernel has no modules");
    sched_setattr            [314] (int("pid"), address("attr"), hex("flags")) Partial(tasks::sched_setattr, "values are kept and told; the host schedules guest threads as it likes; SCHED_DEADLINE is refused (EINVAL)");
    sched_getattr            [315] (int("pid"), out_by("attr", 2), size("size"), hex("flags")) Full(tasks::sched_getattr);
    renameat2                [316] (dirfd("olddirfd"), path("oldpath"), dirfd("newdirfd"), path("newpath"), hex("flags")) Full(files::renameat2);
    seccomp                  [317] (int("operation"), hex("flags"), address("args")) Partial(tasks::seccomp, "no listener in user space (SECCOMP_RET_USER_NOTIF)");
    getrandom                [318] (out_by("buf", 1), size("buflen"), hex("flags")) Full(system::getrandom);
    memfd_create             [319] (path("name"), hex("flags")) Partial(files::memfd_create, "no huge pages");
    kexec_file_load          [320] (fd("kernel_fd"), fd("initrd_fd"), size("cmdline_len"), address("cmdline"), hex("flags")) Refused(EPERM, "this kernel is not replaced from inside");
    bpf                      [321] (int("cmd"), address("attr"), size("size")) Partial(tasks::bpf, "programs that judge the use of devices for control groups (load, attach, detach, query); no maps, no calls, no loops; other kinds are EINVAL");
    execveat                 [322] (dirfd("dirfd"), path("pathname"), address("argv"), address("envp"), hex("flags")) Partial(wait tasks::execveat, "a file that is open for writing is not refused (ETXTBSY); file capabilities are not obeyed");
    userfaultfd              [323] () Refused(EPERM, "a way to stop the host's memory management half-way");
    membarrier               [324] (int("cmd"), hex("flags"), int("cpu_id")) Shim("done by the host under the filter");
    mlock2                   [325] (address("addr"), size("len"), hex("flags")) Partial(memory::mlock2, "as mlock");
    copy_file_range          [326] (fd("fd_in"), in_out("off_in", 8), fd("fd_out"), in_out("off_out", 8), size("size"), hex("flags")) Full(wait files::copy_file_range);
    preadv2                  [327] (fd("fd"), address("iov"), size("iovcnt"), int("offset"), hex("pos_h"), hex("flags")) Full(wait files::preadv2);
    pwritev2                 [328] (fd("fd"), address("iov"), size("iovcnt"), int("offset"), hex("pos_h"), hex("flags")) Full(wait files::pwritev2);
    pkey_mprotect            [329] (address("addr"), size("len"), hex("prot"), int("pkey")) Shim("as mprotect without a key; keys are not offered");
    pkey_alloc               [330] (hex("flags"), hex("rights")) Refused(ENOSPC, "protection keys are not offered; as on a processor without them");
    pkey_free                [331] (int("pkey")) Refused(EINVAL, "protection keys are not offered");
    statx                    [332] (dirfd("dirfd"), path("pathname"), hex("flags"), hex("mask"), out("statxbuf", 256)) Full(files::statx);
    io_pgetevents            [333] (hex("ctx_id"), int("min_nr"), int("nr"), address("events"), in_("timeout", 16), in_("usig", 16)) Full(wait events::io_pgetevents);
    rseq                     [334] (address("area"), size("len"), hex("flags"), hex("sig")) Refused(ENOSYS, "glibc does without; the host cannot be told about guest memory it does not own");
    uretprobe                [335] () Refused(ENOSYS, "probes are the host's");
    pidfd_send_signal        [424] (fd("pidfd"), signal("sig"), in_("info", 128), hex("flags")) Partial(tasks::pidfd_send_signal, "PIDFD_SIGNAL_PROCESS_GROUP is refused (EINVAL)");
    io_uring_setup           [425] () Refused(ENOSYS, "a second way to make every call; programs fall back");
    io_uring_enter           [426] () Refused(ENOSYS, "a second way to make every call; programs fall back");
    io_uring_register        [427] () Refused(ENOSYS, "a second way to make every call; programs fall back");
    open_tree                [428] (dirfd("dfd"), path("pathname"), hex("flags")) Full(files::open_tree);
    move_mount               [429] (dirfd("from_dfd"), path("from_path"), dirfd("to_dfd"), path("to_path"), hex("flags")) Partial(files::move_mount, "mounts have no groups to join, and none is put beneath another (EINVAL)");
    fsopen                   [430] (path("fs_name"), hex("flags")) Full(files::fsopen);
    fsconfig                 [431] (fd("fs_fd"), int("cmd"), path("key"), address("value"), int("aux")) Partial(files::fsconfig, "options are words and strings");
    fsmount                  [432] (fd("fs_fd"), hex("flags"), hex("attr_flags")) Full(files::fsmount);
    fspick                   [433] (dirfd("dfd"), path("path"), hex("flags")) Full(files::fspick);
    pidfd_open               [434] (int("pid"), hex("flags")) Full(tasks::pidfd_open);
    clone3                   [435] (in_by("cl_args", 1), size("size")) Partial(wait tasks::clone3, "pid and time namespaces are refused (EPERM)");
    close_range              [436] (fd("first"), fd("last"), hex("flags")) Full(files::close_range);
    openat2                  [437] (dirfd("dirfd"), path("pathname"), in_by("how", 3), size("size")) Full(try files::openat2);
    pidfd_getfd              [438] (fd("pidfd"), fd("targetfd"), hex("flags")) Full(tasks::pidfd_getfd);
    faccessat2               [439] (dirfd("dirfd"), path("pathname"), int("mode"), hex("flags")) Full(files::faccessat2);
    process_madvise          [440] (fd("pidfd"), address("vec"), size("vlen"), int("advice"), hex("flags")) Stub(memory::process_madvise, "the advice it takes concerns speed alone");
    epoll_pwait2             [441] (fd("epfd"), out("events", 768), int("maxevents"), in_("timeout", 16), in_("sigmask", 8), size("sigsetsize")) Full(wait events::epoll_pwait2);
    mount_setattr            [442] (dirfd("dfd"), path("path"), hex("flags"), in_by("uattr", 4), size("usize")) Partial(files::mount_setattr, "owners cannot be mapped (EINVAL)");
    quotactl_fd              [443] (fd("fd"), int("op"), int("id"), address("addr")) Refused(ENOSYS, "as a kernel without quotas; sizes are limited per file system");
    landlock_create_ruleset  [444] (address("attr"), size("size"), hex("flags")) Full(files::landlock_create_ruleset);
    landlock_add_rule        [445] (fd("ruleset_fd"), int("rule_type"), address("rule_attr"), hex("flags")) Full(files::landlock_add_rule);
    landlock_restrict_self   [446] (fd("ruleset_fd"), hex("flags")) Partial(files::landlock_restrict_self, "version 6 of the interface; the flags about the log are refused (EINVAL)");
    memfd_secret             [447] () Refused(ENOSYS, "as on a host without it");
    process_mrelease         [448] () Refused(ENOSYS, "memory is freed by the host at once");
    futex_waitv              [449] (address("waiters"), size("nr_futexes"), hex("flags"), address("timeout"), int("clockid")) Shim("the host's; one before 5.16 does not have it");
    set_mempolicy_home_node  [450] () Refused(ENOSYS, "there is one memory node");
    cachestat                [451] () Missing;
    fchmodat2                [452] (dirfd("dirfd"), path("pathname"), mode("mode"), hex("flags")) Full(files::fchmodat2);
    map_shadow_stack         [453] () Refused(ENOSYS, "shadow stacks are not offered");
    futex_wake               [454] () Missing;
    futex_wait               [455] () Missing;
    futex_requeue            [456] () Missing;
    statmount                [457] (address("req"), address("buf"), size("bufsize"), hex("flags")) Full(files::statmount);
    listmount                [458] (address("req"), address("mnt_ids"), size("nr_mnt_ids"), hex("flags")) Full(files::listmount);
    lsm_get_self_attr        [459] (int("attr"), address("ctx"), address("size"), hex("flags")) Refused(EOPNOTSUPP, "there are no security modules");
    lsm_set_self_attr        [460] (int("attr"), address("ctx"), size("size"), hex("flags")) Refused(EOPNOTSUPP, "there are no security modules");
    lsm_list_modules         [461] (address("ids"), address("size"), hex("flags")) Refused(EOPNOTSUPP, "there are no security modules");
    mseal                    [462] () Refused(ENOSYS, "not offered by hosts before 6.10");
    setxattrat               [463] (dirfd("dfd"), path("pathname"), hex("at_flags"), path("name"), in_("args", 16), size("usize")) Full(files::setxattrat);
    getxattrat               [464] (dirfd("dfd"), path("pathname"), hex("at_flags"), path("name"), in_("args", 16), size("usize")) Full(files::getxattrat);
    listxattrat              [465] (dirfd("dfd"), path("pathname"), hex("at_flags"), address("list"), size("size")) Full(files::listxattrat);
    removexattrat            [466] (dirfd("dfd"), path("pathname"), hex("at_flags"), path("name")) Full(files::removexattrat);
    open_tree_attr           [467] (dirfd("dfd"), path("pathname"), hex("flags"), in_by("uattr", 4), size("usize")) Partial(files::open_tree_attr, "owners cannot be mapped (EINVAL)");
}

/// Finds a call by its number. Runs once per call, so it is a table look-up.
pub fn find(number: u64) -> Option<&'static Syscall> {
    let row = (*BY_NUMBER.get(usize::try_from(number).ok()?)?)?;
    SYSCALLS.get(usize::from(row))
}

const NUMBERS: usize = 512;
static BY_NUMBER: [Option<u16>; NUMBERS] = rows_by_number();

/// Runs at compile time, where a panic is a build error: two rows cannot share a number.
#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
#[expect(clippy::cast_possible_truncation, reason = "asserted below")]
const fn rows_by_number() -> [Option<u16>; NUMBERS] {
    assert!(SYSCALLS.len() <= u16::MAX as usize);
    let mut index = [None; NUMBERS];
    let mut row = 0;
    while row < SYSCALLS.len() {
        let number = SYSCALLS[row].number as usize;
        assert!(index[number].is_none(), "two system calls share a number");
        index[number] = Some(row as u16);
        row += 1;
    }
    index
}
