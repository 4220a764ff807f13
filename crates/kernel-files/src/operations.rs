//! What system calls do to names and to metadata, with every check that Linux makes, in its order.

mod acl;
mod attributes;
mod create;
mod remove;
mod rename;

pub use acl::{InheritedAcls, change_acl};
pub use attributes::{
    TimeChange, change_mode, change_owner, change_times, check_truncate, remove_privileges,
    truncate_location,
};
pub(crate) use create::Linkable;
pub use create::{create, create_in, link, new_inode};
pub use remove::{rmdir, unlink};
pub use rename::{RenameFlags, rename};
