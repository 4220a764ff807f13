//! System V IPC: semaphores, message queues, shared memory. See sysvipc(7).

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The key that finds nothing and always makes a new object.
pub const IPC_PRIVATE: i32 = 0;
/// Make the object if it is not there.
pub const IPC_CREAT: u32 = 0o1000;
/// Fail if the object is there.
pub const IPC_EXCL: u32 = 0o2000;
/// Do not wait.
pub const IPC_NOWAIT: u32 = 0o4000;

/// Commands of `semctl`, `msgctl` and `shmctl`.
#[expect(missing_docs, reason = "the names are those of the man pages")]
pub mod command {
    pub const IPC_RMID: i32 = 0;
    pub const IPC_SET: i32 = 1;
    pub const IPC_STAT: i32 = 2;
    pub const IPC_INFO: i32 = 3;
    pub const MSG_STAT: i32 = 11;
    pub const MSG_INFO: i32 = 12;
    pub const MSG_STAT_ANY: i32 = 13;
    pub const GETPID: i32 = 11;
    pub const GETVAL: i32 = 12;
    pub const GETALL: i32 = 13;
    pub const GETNCNT: i32 = 14;
    pub const GETZCNT: i32 = 15;
    pub const SETVAL: i32 = 16;
    pub const SETALL: i32 = 17;
    pub const SEM_STAT: i32 = 18;
    pub const SEM_INFO: i32 = 19;
    pub const SEM_STAT_ANY: i32 = 20;
    pub const SHM_LOCK: i32 = 11;
    pub const SHM_UNLOCK: i32 = 12;
    pub const SHM_STAT: i32 = 13;
    pub const SHM_INFO: i32 = 14;
    pub const SHM_STAT_ANY: i32 = 15;
}

/// `struct ipc64_perm`.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct IpcPerm {
    /// The key it was made with.
    pub key: i32,
    /// The owner.
    pub uid: u32,
    /// The owner's group.
    pub gid: u32,
    /// The maker.
    pub cuid: u32,
    /// The maker's group.
    pub cgid: u32,
    /// Permission bits, and `SHM_DEST` and `SHM_LOCKED`.
    pub mode: u32,
    /// The part of the id that tells successors in the same place apart.
    pub seq: u16,
    /// Padding.
    pub pad: [u16; 3],
    /// Unused.
    pub unused: [u64; 2],
}

/// `struct semid64_ds`.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct SemidDs {
    /// Who may do what.
    pub perm: IpcPerm,
    /// The last `semop`.
    pub otime: i64,
    /// Unused.
    pub unused1: u64,
    /// The last change by `semctl`.
    pub ctime: i64,
    /// Unused.
    pub unused2: u64,
    /// How many semaphores there are.
    pub nsems: u64,
    /// Unused.
    pub unused3: [u64; 2],
}

/// `struct msqid64_ds`.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct MsqidDs {
    /// Who may do what.
    pub perm: IpcPerm,
    /// The last `msgsnd`.
    pub stime: i64,
    /// The last `msgrcv`.
    pub rtime: i64,
    /// The last change by `msgctl`.
    pub ctime: i64,
    /// Bytes in the queue.
    pub cbytes: u64,
    /// Messages in the queue.
    pub qnum: u64,
    /// How many bytes there may be.
    pub qbytes: u64,
    /// Who sent last.
    pub lspid: u32,
    /// Who received last.
    pub lrpid: u32,
    /// Unused.
    pub unused: [u64; 2],
}

/// `struct shmid64_ds`.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct ShmidDs {
    /// Who may do what.
    pub perm: IpcPerm,
    /// The size that was asked for.
    pub segsz: u64,
    /// The last `shmat`.
    pub atime: i64,
    /// The last `shmdt`.
    pub dtime: i64,
    /// The last change by `shmctl`.
    pub ctime: i64,
    /// The maker.
    pub cpid: u32,
    /// Who attached or detached last.
    pub lpid: u32,
    /// How often it is attached.
    pub nattch: u64,
    /// Unused.
    pub unused: [u64; 2],
}

/// `struct sembuf`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct SemBuf {
    /// Which semaphore of the set.
    pub number: u16,
    /// What to add; 0 waits for zero.
    pub op: i16,
    /// `IPC_NOWAIT`, `SEM_UNDO`.
    pub flags: u16,
}

/// Take the operation back when the process ends.
pub const SEM_UNDO: u32 = 0x1000;

/// `struct seminfo`.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
#[expect(missing_docs, reason = "the names are those of semctl(2)")]
pub struct SemInfo {
    pub semmap: i32,
    pub semmni: i32,
    pub semmns: i32,
    pub semmnu: i32,
    pub semmsl: i32,
    pub semopm: i32,
    pub semume: i32,
    pub semusz: i32,
    pub semvmx: i32,
    pub semaem: i32,
}

/// `struct msginfo`.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
#[expect(missing_docs, reason = "the names are those of msgctl(2)")]
pub struct MsgInfo {
    pub msgpool: i32,
    pub msgmap: i32,
    pub msgmax: i32,
    pub msgmnb: i32,
    pub msgmni: i32,
    pub msgssz: i32,
    pub msgtql: i32,
    pub msgseg: u16,
    pub pad: u16,
}

/// `struct shminfo64`.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
#[expect(missing_docs, reason = "the names are those of shmctl(2)")]
pub struct ShmLimits {
    pub shmmax: u64,
    pub shmmin: u64,
    pub shmmni: u64,
    pub shmseg: u64,
    pub shmall: u64,
    pub unused: [u64; 4],
}

/// `struct shm_info`.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
#[expect(missing_docs, reason = "the names are those of shmctl(2)")]
pub struct ShmUsage {
    pub used_ids: i32,
    pub pad: i32,
    pub shm_tot: u64,
    pub shm_rss: u64,
    pub shm_swp: u64,
    pub swap_attempts: u64,
    pub swap_successes: u64,
}

/// Take as much of a message as there is room for.
pub const MSG_NOERROR: u32 = 0o10000;
/// Take a message of any other type.
pub const MSG_EXCEPT: u32 = 0o20000;
/// Copy a message and leave it in the queue.
pub const MSG_COPY: u32 = 0o40000;

/// Attach for reading only.
pub const SHM_RDONLY: u32 = 0o10000;
/// Round the address down to `SHMLBA`.
pub const SHM_RND: u32 = 0o20000;
/// Replace what is mapped there.
pub const SHM_REMAP: u32 = 0o40000;
/// Attach for execution.
pub const SHM_EXEC: u32 = 0o100000;
/// Use huge pages.
pub const SHM_HUGETLB: u32 = 0o4000;
/// In the mode of a segment: it goes with its last attachment.
pub const SHM_DEST: u32 = 0o1000;
/// In the mode of a segment: it is locked in memory.
pub const SHM_LOCKED: u32 = 0o2000;
