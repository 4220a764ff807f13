//! What the arguments of a system call are.
//!
//! The trace prints by it, and the shim copies by it: the bytes that an argument points to travel
//! with the request, so that the kernel seldom has to reach into guest memory. The description is
//! a hint for speed. What is described wrongly, or not at all, is fetched by the kernel and stays
//! correct.

/// One argument: its name in the man page, and what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argument {
    /// The name, as in the man page.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
}

/// What an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A signed number.
    Int,
    /// An unsigned number.
    Size,
    /// Flag bits, or anything best read in hexadecimal.
    Hex,
    /// Permission bits.
    Mode,
    /// A descriptor.
    Fd,
    /// A descriptor that may be `AT_FDCWD`.
    DirFd,
    /// A signal number.
    Signal,
    /// An address that is not followed.
    Address,
    /// A zero-terminated string to be read.
    Path,
    /// So many bytes to be read by the kernel.
    In(u16),
    /// As many bytes to be read by the kernel as the argument with this index says.
    InBy(u8),
    /// So many bytes that the kernel may write.
    Out(u16),
    /// As many bytes that the kernel may write as the argument with this index says.
    OutBy(u8),
    /// So many bytes that the kernel reads and may write.
    InOut(u16),
}

/// A signed number.
pub const fn int(name: &'static str) -> Argument {
    Argument { name, kind: Kind::Int }
}
/// An unsigned number.
pub const fn size(name: &'static str) -> Argument {
    Argument { name, kind: Kind::Size }
}
/// Flags.
pub const fn hex(name: &'static str) -> Argument {
    Argument { name, kind: Kind::Hex }
}
/// Permission bits.
pub const fn mode(name: &'static str) -> Argument {
    Argument { name, kind: Kind::Mode }
}
/// A descriptor.
pub const fn fd(name: &'static str) -> Argument {
    Argument { name, kind: Kind::Fd }
}
/// A directory descriptor or `AT_FDCWD`.
pub const fn dirfd(name: &'static str) -> Argument {
    Argument { name, kind: Kind::DirFd }
}
/// A signal number.
pub const fn signal(name: &'static str) -> Argument {
    Argument { name, kind: Kind::Signal }
}
/// An address.
pub const fn address(name: &'static str) -> Argument {
    Argument { name, kind: Kind::Address }
}
/// A string to be read.
pub const fn path(name: &'static str) -> Argument {
    Argument { name, kind: Kind::Path }
}
/// A structure of `bytes` bytes to be read.
pub const fn in_(name: &'static str, bytes: u16) -> Argument {
    Argument { name, kind: Kind::In(bytes) }
}
/// A buffer to be read whose length is the argument with index `length`.
pub const fn in_by(name: &'static str, length: u8) -> Argument {
    Argument { name, kind: Kind::InBy(length) }
}
/// A structure of `bytes` bytes to be written.
pub const fn out(name: &'static str, bytes: u16) -> Argument {
    Argument { name, kind: Kind::Out(bytes) }
}
/// A buffer to be written whose length is the argument with index `length`.
pub const fn out_by(name: &'static str, length: u8) -> Argument {
    Argument { name, kind: Kind::OutBy(length) }
}
/// A structure of `bytes` bytes to be read and written.
pub const fn in_out(name: &'static str, bytes: u16) -> Argument {
    Argument { name, kind: Kind::InOut(bytes) }
}
