//! Signals: dispositions, queues, sending, delivery, job control.
//!
//! The kernel owns dispositions and queues. The mask of a thread is a word that its shim changes
//! without asking ([`Machine::signal_mask`](crate::Machine::signal_mask)); so the kernel looks at
//! it whenever it matters and keeps no copy. A signal that arrives is queued, the thread that
//! shall take it is [kicked](crate::Machine::kick), its shim asks, and
//! [`next_signal`](deliver::next_signal) says what to do.

mod actions;
pub mod deliver;
mod job_control;
mod mask;
mod permission;
mod queue;
mod send;
mod signal_fd;

pub use actions::{DefaultAction, ProcessSignals};
pub use deliver::{AfterInterruption, Delivery, after_interruption, fault, next_signal};
pub use permission::may_signal;
pub(crate) use queue::QueueLimits;
pub use queue::{Pending, SignalQueue, SignalSource};
pub use send::{Sender, send_from_source, send_to_group, send_to_process, send_to_thread};
pub use signal_fd::SignalFd;

#[cfg(test)]
mod tests;
