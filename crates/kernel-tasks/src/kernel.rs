//! What all processes of a sandbox share.

use kernel_core::timers::Timers;

/// The state of one sandbox's kernel.
pub struct Kernel {
    /// Everything that waits for a time.
    pub timers: Timers,
}
