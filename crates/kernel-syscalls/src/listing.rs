//! The table in words, for pages and people.

use crate::{SYSCALLS, Status, Syscall};

impl Status {
    /// One word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Full(_) => "full",
            Self::Partial(..) => "partial",
            Self::Stub(..) => "stub",
            Self::Shim(_) => "shim",
            Self::Refused(..) => "refused",
            Self::Missing => "missing",
        }
    }

    /// What there is to say beside the word.
    pub fn note(&self) -> &'static str {
        match self {
            Self::Partial(_, note)
            | Self::Stub(_, note)
            | Self::Shim(note)
            | Self::Refused(_, note) => note,
            Self::Full(_) | Self::Missing => "",
        }
    }

    /// What the call answers where it is not supported.
    pub fn refusal(&self) -> Option<&'static str> {
        match self {
            Self::Refused(errno, _) => Some(errno.name()),
            Self::Missing => Some("ENOSYS"),
            _ => None,
        }
    }
}

impl Syscall {
    /// The call with the names of its arguments, as a man page writes it.
    pub fn signature(&self) -> String {
        let names: Vec<_> = self.arguments.iter().map(|argument| argument.name).collect();
        format!("{}({})", self.name, names.join(", "))
    }
}

/// How many calls have which status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Rows in the table.
    pub total: usize,
    /// As on Linux.
    pub full: usize,
    /// As on Linux, answered without the kernel process.
    pub shim: usize,
    /// With something left out.
    pub partial: usize,
    /// Answered without effect.
    pub stub: usize,
    /// Refused on purpose.
    pub refused: usize,
    /// Not written yet.
    pub missing: usize,
}

/// Counts the rows of the table.
pub fn coverage() -> Coverage {
    let mut counts = Coverage { total: SYSCALLS.len(), ..Coverage::default() };
    for call in SYSCALLS {
        match call.status {
            Status::Full(_) => counts.full += 1,
            Status::Shim(_) => counts.shim += 1,
            Status::Partial(..) => counts.partial += 1,
            Status::Stub(..) => counts.stub += 1,
            Status::Refused(..) => counts.refused += 1,
            Status::Missing => counts.missing += 1,
        }
    }
    counts
}
