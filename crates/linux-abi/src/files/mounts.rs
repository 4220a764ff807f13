//! What the newer calls about mounts are told, and tell.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// `struct mount_attr`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
#[expect(missing_docs, reason = "the names are those of mount_attr(2type)")]
pub struct MountAttr {
    pub attr_set: u64,
    pub attr_clr: u64,
    pub propagation: u64,
    pub userns_fd: u64,
}

/// `MOUNT_ATTR_*`.
#[expect(missing_docs, reason = "the names are those of mount_setattr(2)")]
pub mod mount_attr {
    pub const RDONLY: u64 = 0x01;
    pub const NOSUID: u64 = 0x02;
    pub const NODEV: u64 = 0x04;
    pub const NOEXEC: u64 = 0x08;
    /// One of three: relative (0), none, strict.
    pub const ATIME: u64 = 0x70;
    pub const NOATIME: u64 = 0x10;
    pub const STRICTATIME: u64 = 0x20;
    pub const NODIRATIME: u64 = 0x80;
    pub const IDMAP: u64 = 0x10_0000;
    pub const NOSYMFOLLOW: u64 = 0x20_0000;
}

/// `struct mnt_id_req`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
#[expect(missing_docs, reason = "the names are those of statmount(2)")]
pub struct MountIdRequest {
    pub size: u32,
    pub mnt_ns_fd: u32,
    pub mnt_id: u64,
    pub param: u64,
    pub mnt_ns_id: u64,
}

/// `struct statmount`, without the texts that follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
#[expect(missing_docs, reason = "the names are those of statmount(2)")]
pub struct StatMount {
    pub size: u32,
    pub mnt_opts: u32,
    pub mask: u64,
    pub sb_dev_major: u32,
    pub sb_dev_minor: u32,
    pub sb_magic: u64,
    pub sb_flags: u32,
    pub fs_type: u32,
    pub mnt_id: u64,
    pub mnt_parent_id: u64,
    pub mnt_id_old: u32,
    pub mnt_parent_id_old: u32,
    pub mnt_attr: u64,
    pub mnt_propagation: u64,
    pub mnt_peer_group: u64,
    pub mnt_master: u64,
    pub propagate_from: u64,
    pub mnt_root: u32,
    pub mnt_point: u32,
    pub mnt_ns_id: u64,
    pub fs_subtype: u32,
    pub sb_source: u32,
    pub opt_num: u32,
    pub opt_array: u32,
    pub opt_sec_num: u32,
    pub opt_sec_array: u32,
    pub supported_mask: u64,
    pub mnt_uidmap_num: u32,
    pub mnt_uidmap: u32,
    pub mnt_gidmap_num: u32,
    pub mnt_gidmap: u32,
    pub spare: [u64; 43],
}

/// `STATMOUNT_*`.
#[expect(missing_docs, reason = "the names are those of statmount(2)")]
pub mod statmount_mask {
    pub const SB_BASIC: u64 = 0x01;
    pub const MNT_BASIC: u64 = 0x02;
    pub const PROPAGATE_FROM: u64 = 0x04;
    pub const MNT_ROOT: u64 = 0x08;
    pub const MNT_POINT: u64 = 0x10;
    pub const FS_TYPE: u64 = 0x20;
    pub const MNT_NS_ID: u64 = 0x40;
    pub const MNT_OPTS: u64 = 0x80;
    pub const FS_SUBTYPE: u64 = 0x100;
    pub const SB_SOURCE: u64 = 0x200;
    pub const OPT_ARRAY: u64 = 0x400;
    pub const OPT_SEC_ARRAY: u64 = 0x800;
    pub const SUPPORTED_MASK: u64 = 0x1000;
    pub const MNT_UIDMAP: u64 = 0x2000;
    pub const MNT_GIDMAP: u64 = 0x4000;
    /// All of them.
    pub const ALL: u64 = 0x7fff;
    /// Those that are texts.
    pub const TEXTS: u64 = MNT_ROOT
        | MNT_POINT
        | FS_TYPE
        | MNT_OPTS
        | FS_SUBTYPE
        | SB_SOURCE
        | OPT_ARRAY
        | OPT_SEC_ARRAY
        | MNT_UIDMAP
        | MNT_GIDMAP;
}
