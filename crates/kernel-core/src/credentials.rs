//! Who a guest task is.

use std::rc::Rc;

use crate::landlock::Domain;
use crate::user_namespace::UserNamespace;

/// A set of capabilities, one bit each, in Linux's numbering.
pub type CapabilitySet = u64;

/// Capability numbers that the kernel asks for.
#[expect(missing_docs, reason = "the names are those of capabilities(7)")]
pub mod cap {
    pub const CHOWN: u32 = 0;
    pub const DAC_OVERRIDE: u32 = 1;
    pub const DAC_READ_SEARCH: u32 = 2;
    pub const FOWNER: u32 = 3;
    pub const FSETID: u32 = 4;
    pub const KILL: u32 = 5;
    pub const SETGID: u32 = 6;
    pub const SETUID: u32 = 7;
    pub const SETPCAP: u32 = 8;
    pub const LINUX_IMMUTABLE: u32 = 9;
    pub const NET_BIND_SERVICE: u32 = 10;
    pub const NET_ADMIN: u32 = 12;
    pub const NET_RAW: u32 = 13;
    pub const IPC_LOCK: u32 = 14;
    pub const IPC_OWNER: u32 = 15;
    pub const SYS_CHROOT: u32 = 18;
    pub const SYS_PTRACE: u32 = 19;
    pub const SYS_ADMIN: u32 = 21;
    pub const SYS_NICE: u32 = 23;
    pub const SYS_RESOURCE: u32 = 24;
    pub const SYS_TIME: u32 = 25;
    pub const SYS_TTY_CONFIG: u32 = 26;
    pub const MKNOD: u32 = 27;
    pub const LEASE: u32 = 28;
    pub const SETFCAP: u32 = 31;
    pub const WAKE_ALARM: u32 = 35;
    pub const BPF: u32 = 39;
    /// The highest capability that Linux knows today (`CAP_CHECKPOINT_RESTORE`).
    pub const LAST: u32 = 40;
}

/// Every capability.
pub const ALL_CAPABILITIES: CapabilitySet = (1 << (cap::LAST + 1)) - 1;

/// The identity of a task. Shared and never changed in place: a call that changes identity makes
/// a new value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// Real user id.
    pub uid: u32,
    /// Effective user id.
    pub euid: u32,
    /// Saved user id.
    pub suid: u32,
    /// User id for file access.
    pub fsuid: u32,
    /// Real group id.
    pub gid: u32,
    /// Effective group id.
    pub egid: u32,
    /// Saved group id.
    pub sgid: u32,
    /// Group id for file access.
    pub fsgid: u32,
    /// Supplementary groups.
    pub groups: Rc<[u32]>,
    /// Capabilities in force.
    pub effective: CapabilitySet,
    /// Capabilities that may be put in force.
    pub permitted: CapabilitySet,
    /// Capabilities kept over `execve` together with the file's.
    pub inheritable: CapabilitySet,
    /// Capabilities that `execve` may give.
    pub bounding: CapabilitySet,
    /// Capabilities kept over `execve` of an ordinary program.
    pub ambient: CapabilitySet,
    /// `SECBIT_*`.
    pub securebits: u32,
    /// Where the ids have their meaning and the capabilities their reach.
    pub user_namespace: Rc<UserNamespace>,
    /// The rules that the task has put on itself, if it has.
    pub landlock: Option<Rc<Domain>>,
}

impl Credentials {
    /// User `uid` and group `gid`: with every capability for user 0, with none for others.
    pub fn of_user(uid: u32, gid: u32) -> Self {
        let caps = if uid == 0 { ALL_CAPABILITIES } else { 0 };
        Self {
            uid,
            euid: uid,
            suid: uid,
            fsuid: uid,
            gid,
            egid: gid,
            sgid: gid,
            fsgid: gid,
            groups: Rc::from([]),
            effective: caps,
            permitted: caps,
            inheritable: 0,
            bounding: ALL_CAPABILITIES,
            ambient: 0,
            securebits: 0,
            user_namespace: UserNamespace::initial(),
            landlock: None,
        }
    }

    /// The same user in a namespace that was just made: with every capability there.
    #[must_use]
    pub fn in_new_user_namespace(&self, namespace: &Rc<UserNamespace>) -> Self {
        Self {
            effective: ALL_CAPABILITIES,
            permitted: ALL_CAPABILITIES,
            inheritable: 0,
            bounding: ALL_CAPABILITIES,
            ambient: 0,
            securebits: 0,
            user_namespace: Rc::clone(namespace),
            ..self.clone()
        }
    }

    /// Whether this capability is in force over the whole sandbox. In a user namespace that a
    /// guest has made no capability is.
    pub fn has(&self, capability: u32) -> bool {
        self.has_own(capability) && self.user_namespace.is_initial()
    }

    /// Whether this capability is in force in the task's own user namespace.
    pub fn has_own(&self, capability: u32) -> bool {
        self.effective >> capability & 1 == 1
    }

    /// Whether this capability is in force over a file of this owner: the file's ids must mean
    /// something in the task's namespace.
    pub fn has_over(&self, capability: u32, uid: u32, gid: u32) -> bool {
        let namespace = &self.user_namespace;
        self.has_own(capability) && namespace.uid(uid).is_some() && namespace.gid(gid).is_some()
    }

    /// Real and effective user and group, as the task's namespace counts.
    pub fn shown_ids(&self) -> [u32; 4] {
        let namespace = &self.user_namespace;
        [
            namespace.shown_uid(self.uid),
            namespace.shown_uid(self.euid),
            namespace.shown_gid(self.gid),
            namespace.shown_gid(self.egid),
        ]
    }

    /// The user whose number is 0 in the task's namespace, if there is one.
    pub fn root_uid(&self) -> Option<u32> {
        self.user_namespace.kernel_uid(0)
    }

    /// Whether the task is in this group, for file access.
    pub fn in_group(&self, gid: u32) -> bool {
        self.fsgid == gid || self.groups.contains(&gid)
    }
}
