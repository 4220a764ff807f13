//! Safe wrappers over the host calls that the kernel process makes.
//!
//! Most of them are `rustix`; what it does not have is here, each in a file of its own. This
//! crate knows nothing of guests or of the kernel's objects.

mod errno;

pub use errno::errno_of;
pub use rustix;
