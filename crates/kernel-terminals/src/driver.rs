//! What is behind a terminal: a master, or a host terminal.

use std::time::Duration;

use linux_abi::SysResult;
use linux_abi::terminals::PacketStatus;

/// The side of a terminal that programs do not see.
pub trait Driver {
    /// How many bytes of output it can take now.
    fn room(&self) -> usize;

    /// Takes output; no more than there is [room](Self::room) for.
    fn put(&self, bytes: &[u8]) -> SysResult<()>;

    /// Shows what it has taken, for which it waits so long at most. Returns whether it is done.
    fn show(&self, _patience: Duration) -> bool {
        true
    }

    /// Throws away output that has not been shown.
    fn flush_output(&self);

    /// Tells the other side what happened, if it wants to know.
    fn tell(&self, status: PacketStatus);

    /// Throws away input that has not arrived at the terminal.
    fn flush_input(&self);

    /// Somebody waits for input, or changes how it is treated.
    fn input_wanted(&self) {}

    /// Whether output is processed (`OPOST`) behind it, so that it wants what programs wrote.
    fn processes_output(&self) -> bool {
        false
    }

    /// There is room for input again.
    fn input_drained(&self);

    /// The terminal has this many open files now.
    fn users_changed(&self, n_open: usize);
}
