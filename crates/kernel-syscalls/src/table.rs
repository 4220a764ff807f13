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
        pub const SYSCALLS: &[Syscall] = &[$(Syscall {
            name: stringify!($name),
            number: $number,
            arguments: &[$($argument),*],
            status: syscalls!(@status $status $($($detail)*)?),
        },)*];
    };
    (@status Full wait $body:path) => { Status::Full(syscalls!(@wait $body)) };
    (@status Full $body:path) => { Status::Full(syscalls!(@now $body)) };
    (@status Partial wait $body:path, $note:literal) => {
        Status::Partial(syscalls!(@wait $body), $note)
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
}

// A row: name, number, arguments (see `argument.rs`), status. `Full(wait f)` is an `async fn`.
//     read [0] (fd("fd"), out_by("buf", 2), size("count")) Full(wait files::read);
syscalls! {
    read                     [  0] () Missing;
    write                    [  1] () Missing;
    open                     [  2] () Missing;
    close                    [  3] () Missing;
    stat                     [  4] () Missing;
    fstat                    [  5] () Missing;
    lstat                    [  6] () Missing;
    poll                     [  7] (address("fds"), size("nfds"), int("timeout")) Full(wait events::poll);
    lseek                    [  8] () Missing;
    mmap                     [  9] () Missing;
    mprotect                 [ 10] () Missing;
    munmap                   [ 11] () Missing;
    brk                      [ 12] () Missing;
    rt_sigaction             [ 13] () Missing;
    rt_sigprocmask           [ 14] () Missing;
    rt_sigreturn             [ 15] () Missing;
    ioctl                    [ 16] () Missing;
    pread64                  [ 17] () Missing;
    pwrite64                 [ 18] () Missing;
    readv                    [ 19] () Missing;
    writev                   [ 20] () Missing;
    access                   [ 21] () Missing;
    pipe                     [ 22] (out("pipefd", 8)) Full(events::pipe);
    select                   [ 23] (int("nfds"), address("readfds"), address("writefds"), address("exceptfds"), in_out("timeout", 16)) Full(wait events::select);
    sched_yield              [ 24] () Missing;
    mremap                   [ 25] () Missing;
    msync                    [ 26] () Missing;
    mincore                  [ 27] () Missing;
    madvise                  [ 28] () Missing;
    shmget                   [ 29] () Missing;
    shmat                    [ 30] () Missing;
    shmctl                   [ 31] () Missing;
    dup                      [ 32] () Missing;
    dup2                     [ 33] () Missing;
    pause                    [ 34] () Missing;
    nanosleep                [ 35] () Missing;
    getitimer                [ 36] () Missing;
    alarm                    [ 37] () Missing;
    setitimer                [ 38] () Missing;
    getpid                   [ 39] () Missing;
    sendfile                 [ 40] () Missing;
    socket                   [ 41] () Missing;
    connect                  [ 42] () Missing;
    accept                   [ 43] () Missing;
    sendto                   [ 44] () Missing;
    recvfrom                 [ 45] () Missing;
    sendmsg                  [ 46] () Missing;
    recvmsg                  [ 47] () Missing;
    shutdown                 [ 48] () Missing;
    bind                     [ 49] () Missing;
    listen                   [ 50] () Missing;
    getsockname              [ 51] () Missing;
    getpeername              [ 52] () Missing;
    socketpair               [ 53] () Missing;
    setsockopt               [ 54] () Missing;
    getsockopt               [ 55] () Missing;
    clone                    [ 56] () Missing;
    fork                     [ 57] () Missing;
    vfork                    [ 58] () Missing;
    execve                   [ 59] () Missing;
    exit                     [ 60] () Missing;
    wait4                    [ 61] () Missing;
    kill                     [ 62] () Missing;
    uname                    [ 63] () Missing;
    semget                   [ 64] () Missing;
    semop                    [ 65] () Missing;
    semctl                   [ 66] () Missing;
    shmdt                    [ 67] () Missing;
    msgget                   [ 68] () Missing;
    msgsnd                   [ 69] () Missing;
    msgrcv                   [ 70] () Missing;
    msgctl                   [ 71] () Missing;
    fcntl                    [ 72] () Missing;
    flock                    [ 73] () Missing;
    fsync                    [ 74] () Missing;
    fdatasync                [ 75] () Missing;
    truncate                 [ 76] () Missing;
    ftruncate                [ 77] () Missing;
    getdents                 [ 78] () Missing;
    getcwd                   [ 79] () Missing;
    chdir                    [ 80] () Missing;
    fchdir                   [ 81] () Missing;
    rename                   [ 82] () Missing;
    mkdir                    [ 83] () Missing;
    rmdir                    [ 84] () Missing;
    creat                    [ 85] () Missing;
    link                     [ 86] () Missing;
    unlink                   [ 87] () Missing;
    symlink                  [ 88] () Missing;
    readlink                 [ 89] () Missing;
    chmod                    [ 90] () Missing;
    fchmod                   [ 91] () Missing;
    chown                    [ 92] () Missing;
    fchown                   [ 93] () Missing;
    lchown                   [ 94] () Missing;
    umask                    [ 95] () Missing;
    gettimeofday             [ 96] () Missing;
    getrlimit                [ 97] () Missing;
    getrusage                [ 98] () Missing;
    sysinfo                  [ 99] () Missing;
    times                    [100] () Missing;
    ptrace                   [101] () Missing;
    getuid                   [102] () Missing;
    syslog                   [103] () Missing;
    getgid                   [104] () Missing;
    setuid                   [105] () Missing;
    setgid                   [106] () Missing;
    geteuid                  [107] () Missing;
    getegid                  [108] () Missing;
    setpgid                  [109] () Missing;
    getppid                  [110] () Missing;
    getpgrp                  [111] () Missing;
    setsid                   [112] () Missing;
    setreuid                 [113] () Missing;
    setregid                 [114] () Missing;
    getgroups                [115] () Missing;
    setgroups                [116] () Missing;
    setresuid                [117] () Missing;
    getresuid                [118] () Missing;
    setresgid                [119] () Missing;
    getresgid                [120] () Missing;
    getpgid                  [121] () Missing;
    setfsuid                 [122] () Missing;
    setfsgid                 [123] () Missing;
    getsid                   [124] () Missing;
    capget                   [125] () Missing;
    capset                   [126] () Missing;
    rt_sigpending            [127] () Missing;
    rt_sigtimedwait          [128] () Missing;
    rt_sigqueueinfo          [129] () Missing;
    rt_sigsuspend            [130] () Missing;
    sigaltstack              [131] () Missing;
    utime                    [132] () Missing;
    mknod                    [133] () Missing;
    uselib                   [134] () Missing;
    personality              [135] () Missing;
    ustat                    [136] () Missing;
    statfs                   [137] () Missing;
    fstatfs                  [138] () Missing;
    sysfs                    [139] () Missing;
    getpriority              [140] () Missing;
    setpriority              [141] () Missing;
    sched_setparam           [142] () Missing;
    sched_getparam           [143] () Missing;
    sched_setscheduler       [144] () Missing;
    sched_getscheduler       [145] () Missing;
    sched_get_priority_max   [146] () Missing;
    sched_get_priority_min   [147] () Missing;
    sched_rr_get_interval    [148] () Missing;
    mlock                    [149] () Missing;
    munlock                  [150] () Missing;
    mlockall                 [151] () Missing;
    munlockall               [152] () Missing;
    vhangup                  [153] () Missing;
    modify_ldt               [154] () Missing;
    pivot_root               [155] () Missing;
    _sysctl                  [156] () Missing;
    prctl                    [157] () Missing;
    arch_prctl               [158] () Missing;
    adjtimex                 [159] () Missing;
    setrlimit                [160] () Missing;
    chroot                   [161] () Missing;
    sync                     [162] () Missing;
    acct                     [163] () Missing;
    settimeofday             [164] () Missing;
    mount                    [165] () Missing;
    umount2                  [166] () Missing;
    swapon                   [167] () Missing;
    swapoff                  [168] () Missing;
    reboot                   [169] () Missing;
    sethostname              [170] () Missing;
    setdomainname            [171] () Missing;
    iopl                     [172] () Missing;
    ioperm                   [173] () Missing;
    create_module            [174] () Missing;
    init_module              [175] () Missing;
    delete_module            [176] () Missing;
    get_kernel_syms          [177] () Missing;
    query_module             [178] () Missing;
    quotactl                 [179] () Missing;
    nfsservctl               [180] () Missing;
    getpmsg                  [181] () Missing;
    putpmsg                  [182] () Missing;
    afs_syscall              [183] () Missing;
    tuxcall                  [184] () Missing;
    security                 [185] () Missing;
    gettid                   [186] () Missing;
    readahead                [187] () Missing;
    setxattr                 [188] () Missing;
    lsetxattr                [189] () Missing;
    fsetxattr                [190] () Missing;
    getxattr                 [191] () Missing;
    lgetxattr                [192] () Missing;
    fgetxattr                [193] () Missing;
    listxattr                [194] () Missing;
    llistxattr               [195] () Missing;
    flistxattr               [196] () Missing;
    removexattr              [197] () Missing;
    lremovexattr             [198] () Missing;
    fremovexattr             [199] () Missing;
    tkill                    [200] () Missing;
    time                     [201] () Missing;
    futex                    [202] () Missing;
    sched_setaffinity        [203] () Missing;
    sched_getaffinity        [204] () Missing;
    set_thread_area          [205] () Missing;
    io_setup                 [206] () Missing;
    io_destroy               [207] () Missing;
    io_getevents             [208] () Missing;
    io_submit                [209] () Missing;
    io_cancel                [210] () Missing;
    get_thread_area          [211] () Missing;
    lookup_dcookie           [212] () Missing;
    epoll_create             [213] (int("size")) Full(events::epoll_create);
    epoll_ctl_old            [214] () Missing;
    epoll_wait_old           [215] () Missing;
    remap_file_pages         [216] () Missing;
    getdents64               [217] () Missing;
    set_tid_address          [218] () Missing;
    restart_syscall          [219] () Missing;
    semtimedop               [220] () Missing;
    fadvise64                [221] () Missing;
    timer_create             [222] () Missing;
    timer_settime            [223] () Missing;
    timer_gettime            [224] () Missing;
    timer_getoverrun         [225] () Missing;
    timer_delete             [226] () Missing;
    clock_settime            [227] () Missing;
    clock_gettime            [228] () Missing;
    clock_getres             [229] () Missing;
    clock_nanosleep          [230] () Missing;
    exit_group               [231] () Missing;
    epoll_wait               [232] (fd("epfd"), out("events", 12), int("maxevents"), int("timeout")) Full(wait events::epoll_wait);
    epoll_ctl                [233] (fd("epfd"), int("op"), fd("fd"), in_("event", 12)) Full(events::epoll_ctl);
    tgkill                   [234] () Missing;
    utimes                   [235] () Missing;
    vserver                  [236] () Missing;
    mbind                    [237] () Missing;
    set_mempolicy            [238] () Missing;
    get_mempolicy            [239] () Missing;
    mq_open                  [240] () Missing;
    mq_unlink                [241] () Missing;
    mq_timedsend             [242] () Missing;
    mq_timedreceive          [243] () Missing;
    mq_notify                [244] () Missing;
    mq_getsetattr            [245] () Missing;
    kexec_load               [246] () Missing;
    waitid                   [247] () Missing;
    add_key                  [248] () Missing;
    request_key              [249] () Missing;
    keyctl                   [250] () Missing;
    ioprio_set               [251] () Missing;
    ioprio_get               [252] () Missing;
    inotify_init             [253] () Missing;
    inotify_add_watch        [254] () Missing;
    inotify_rm_watch         [255] () Missing;
    migrate_pages            [256] () Missing;
    openat                   [257] () Missing;
    mkdirat                  [258] () Missing;
    mknodat                  [259] () Missing;
    fchownat                 [260] () Missing;
    futimesat                [261] () Missing;
    newfstatat               [262] () Missing;
    unlinkat                 [263] () Missing;
    renameat                 [264] () Missing;
    linkat                   [265] () Missing;
    symlinkat                [266] () Missing;
    readlinkat               [267] () Missing;
    fchmodat                 [268] () Missing;
    faccessat                [269] () Missing;
    pselect6                 [270] (int("nfds"), address("readfds"), address("writefds"), address("exceptfds"), in_out("timeout", 16), in_("sigmask", 16)) Full(wait events::pselect6);
    ppoll                    [271] (address("fds"), size("nfds"), in_out("tmo_p", 16), in_("sigmask", 8), size("sigsetsize")) Full(wait events::ppoll);
    unshare                  [272] () Missing;
    set_robust_list          [273] () Missing;
    get_robust_list          [274] () Missing;
    splice                   [275] () Missing;
    tee                      [276] () Missing;
    sync_file_range          [277] () Missing;
    vmsplice                 [278] () Missing;
    move_pages               [279] () Missing;
    utimensat                [280] () Missing;
    epoll_pwait              [281] (fd("epfd"), out("events", 12), int("maxevents"), int("timeout"), in_("sigmask", 8), size("sigsetsize")) Full(wait events::epoll_pwait);
    signalfd                 [282] () Missing;
    timerfd_create           [283] (int("clockid"), hex("flags")) Full(events::timerfd_create);
    eventfd                  [284] (size("initval")) Full(events::eventfd);
    fallocate                [285] () Missing;
    timerfd_settime          [286] (fd("fd"), hex("flags"), in_("new_value", 32), out("old_value", 32)) Full(events::timerfd_settime);
    timerfd_gettime          [287] (fd("fd"), out("curr_value", 32)) Full(events::timerfd_gettime);
    accept4                  [288] () Missing;
    signalfd4                [289] () Missing;
    eventfd2                 [290] (size("initval"), hex("flags")) Full(events::eventfd2);
    epoll_create1            [291] (hex("flags")) Full(events::epoll_create1);
    dup3                     [292] () Missing;
    pipe2                    [293] (out("pipefd", 8), hex("flags")) Full(events::pipe2);
    inotify_init1            [294] () Missing;
    preadv                   [295] () Missing;
    pwritev                  [296] () Missing;
    rt_tgsigqueueinfo        [297] () Missing;
    perf_event_open          [298] () Missing;
    recvmmsg                 [299] () Missing;
    fanotify_init            [300] () Missing;
    fanotify_mark            [301] () Missing;
    prlimit64                [302] () Missing;
    name_to_handle_at        [303] () Missing;
    open_by_handle_at        [304] () Missing;
    clock_adjtime            [305] () Missing;
    syncfs                   [306] () Missing;
    sendmmsg                 [307] () Missing;
    setns                    [308] () Missing;
    getcpu                   [309] () Missing;
    process_vm_readv         [310] () Missing;
    process_vm_writev        [311] () Missing;
    kcmp                     [312] () Missing;
    finit_module             [313] () Missing;
    sched_setattr            [314] () Missing;
    sched_getattr            [315] () Missing;
    renameat2                [316] () Missing;
    seccomp                  [317] () Missing;
    getrandom                [318] () Missing;
    memfd_create             [319] () Missing;
    kexec_file_load          [320] () Missing;
    bpf                      [321] () Missing;
    execveat                 [322] () Missing;
    userfaultfd              [323] () Missing;
    membarrier               [324] () Missing;
    mlock2                   [325] () Missing;
    copy_file_range          [326] () Missing;
    preadv2                  [327] () Missing;
    pwritev2                 [328] () Missing;
    pkey_mprotect            [329] () Missing;
    pkey_alloc               [330] () Missing;
    pkey_free                [331] () Missing;
    statx                    [332] () Missing;
    io_pgetevents            [333] () Missing;
    rseq                     [334] () Missing;
    uretprobe                [335] () Missing;
    pidfd_send_signal        [424] () Missing;
    io_uring_setup           [425] () Missing;
    io_uring_enter           [426] () Missing;
    io_uring_register        [427] () Missing;
    open_tree                [428] () Missing;
    move_mount               [429] () Missing;
    fsopen                   [430] () Missing;
    fsconfig                 [431] () Missing;
    fsmount                  [432] () Missing;
    fspick                   [433] () Missing;
    pidfd_open               [434] () Missing;
    clone3                   [435] () Missing;
    close_range              [436] () Missing;
    openat2                  [437] () Missing;
    pidfd_getfd              [438] () Missing;
    faccessat2               [439] () Missing;
    process_madvise          [440] () Missing;
    epoll_pwait2             [441] (fd("epfd"), out("events", 12), int("maxevents"), in_("timeout", 16), in_("sigmask", 8), size("sigsetsize")) Full(wait events::epoll_pwait2);
    mount_setattr            [442] () Missing;
    quotactl_fd              [443] () Missing;
    landlock_create_ruleset  [444] () Missing;
    landlock_add_rule        [445] () Missing;
    landlock_restrict_self   [446] () Missing;
    memfd_secret             [447] () Missing;
    process_mrelease         [448] () Missing;
    futex_waitv              [449] () Missing;
    set_mempolicy_home_node  [450] () Missing;
    cachestat                [451] () Missing;
    fchmodat2                [452] () Missing;
    map_shadow_stack         [453] () Missing;
    futex_wake               [454] () Missing;
    futex_wait               [455] () Missing;
    futex_requeue            [456] () Missing;
    statmount                [457] () Missing;
    listmount                [458] () Missing;
    lsm_get_self_attr        [459] () Missing;
    lsm_set_self_attr        [460] () Missing;
    lsm_list_modules         [461] () Missing;
    mseal                    [462] () Missing;
    setxattrat               [463] () Missing;
    getxattrat               [464] () Missing;
    listxattrat              [465] () Missing;
    removexattrat            [466] () Missing;
    open_tree_attr           [467] () Missing;
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
