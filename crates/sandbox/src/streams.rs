//! The three standard streams.

use std::os::fd::{AsFd, OwnedFd};

/// The guest's standard streams. A stream that is `None` is closed.
///
/// They are the host's own descriptors: a file shares its offset with whoever else has it open, a
/// terminal stays a terminal and a pipe stays a pipe.
#[derive(Debug)]
pub struct Streams {
    /// Descriptor 0.
    pub input: Option<OwnedFd>,
    /// Descriptor 1.
    pub output: Option<OwnedFd>,
    /// Descriptor 2.
    pub errors: Option<OwnedFd>,
}

impl Streams {
    /// The streams of this process.
    pub fn inherit() -> Self {
        // The standard library opens /dev/null for a stream that was closed when the process
        // started, so that the only failure left is that no more descriptors are to be had.
        let share = |stream: std::os::fd::BorrowedFd<'_>| stream.try_clone_to_owned().ok();
        Self {
            input: share(std::io::stdin().as_fd()),
            output: share(std::io::stdout().as_fd()),
            errors: share(std::io::stderr().as_fd()),
        }
    }
}
