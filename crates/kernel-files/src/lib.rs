//! Open files, descriptors, the virtual file system and the file systems.
//!
//! Start with [`open_file`]: an [`OpenFile`] is what a descriptor names, a [`FileOps`] is what an
//! open file can do. Pipes, sockets, terminals and epoll implement [`FileOps`] in crates above;
//! files that have a name implement it here, on top of inodes.
//!
//! This crate knows no process: who asks is a [`kernel_core::credentials::Credentials`].

#![forbid(unsafe_code)]

pub mod descriptors;
pub mod open_file;

pub use descriptors::FdTable;
pub use open_file::{FileOps, Intent, Ioctl, MapRequest, MappedFile, OpenFile, ReleaseObserver};
