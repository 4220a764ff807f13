//! Open files, descriptors, the virtual file system and the file systems.
//!
//! Start with [`open_file`]: an [`OpenFile`] is what a descriptor names, a [`FileOps`] is what an
//! open file can do; [`open`] makes one from a path. Then [`inode`]: what file systems implement.
//! [`walk`] finds a file by its path, [`operations`] change names and metadata with all checks,
//! [`mount`] makes one tree of many file systems. Pipes, sockets, terminals and epoll implement [`FileOps`] in crates above;
//! files that have a name implement it here, on top of inodes.
//!
//! This crate knows no process: who asks is a [`kernel_core::credentials::Credentials`].

#![forbid(unsafe_code)]

pub mod acl;
pub mod ahead;
pub mod anonymous;
pub mod attachments;
mod copy;
pub mod copy_out;
pub mod dentry;
pub mod descriptors;
pub mod devfs;
pub mod device_numbers;
pub mod directory_file;
pub mod dnotify;
pub mod fs_context;
pub mod host_memory;
pub mod host_stream;
pub mod hostfs;
pub mod inode;
pub mod inotify;
mod known_directories;
pub mod landlock;
pub mod late_closes;
pub mod lending;
pub mod listings;
pub mod locks;
pub mod memfd;
pub mod metadata;
pub mod mount;
mod name_map;
pub mod notify;
pub mod observed;
pub mod open;
pub mod open_file;
pub mod operations;
pub mod overlay;
pub mod permission;
pub mod pseudo;
pub mod regular_file;
pub mod root;
pub mod special;
pub mod static_directory;
pub mod subtree;
pub mod tarfs;
pub mod text_busy;
pub mod tmpfs;
pub mod walk;
pub mod xattr_map;

pub use descriptors::FdTable;
pub use fs_context::{Access, FsContext};
pub use inode::{Content, Directory, FileSystem, Inode};
pub use metadata::{FileKind, Metadata};
pub use mount::{Location, Mount, MountNamespace};
pub use open_file::{FileOps, Intent, Ioctl, MapRequest, MappedFile, OpenFile, ReleaseObserver};
