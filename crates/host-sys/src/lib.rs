//! Safe wrappers over the host calls that the kernel process makes.
//!
//! Most of them are `rustix`; what it does not have is here, each in a file of its own. This
//! crate knows nothing of guests or of the kernel's objects.

mod errno;
mod features;
mod namespaces;
mod signal_descriptor;

pub use errno::errno_of;
pub use features::{landlock_abi, seccomp_trap_available};
pub use namespaces::{Namespace, enter_new_namespaces};
pub use rustix;
pub use signal_descriptor::SignalDescriptor;
