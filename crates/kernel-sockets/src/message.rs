//! Messages on their way into and out of sockets.

use std::rc::Rc;

use kernel_core::io::{Sink, Source};
use kernel_files::OpenFile;
use linux_abi::sockets::{MessageFlags, Ucred};
use smallvec::SmallVec;

use crate::Caller;

/// An address as the guest sees it: a `struct sockaddr` of some family.
pub type RawName = SmallVec<[u8; 32]>;

/// A message that somebody sends.
pub struct Outgoing<'a> {
    /// The data.
    pub source: &'a mut dyn Source,
    /// `MSG_*`.
    pub flags: MessageFlags,
    /// Where to, if the message says.
    pub name: Option<&'a [u8]>,
    /// What travels along. Taken once the message is on its way.
    pub control: &'a mut OutgoingControl,
    /// Who sends it; `None` for a plain `write`.
    pub caller: Option<&'a dyn Caller>,
}

/// What travels with a message that is sent.
#[derive(Default)]
pub struct OutgoingControl {
    /// Open files to be given away.
    pub files: Vec<Rc<OpenFile>>,
    /// Who the sender says it is. Checked already.
    pub credentials: Option<Ucred>,
    /// Control messages of other levels, for the family to understand.
    pub others: Vec<RawControl>,
}

/// A control message as it is laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawControl {
    /// The level.
    pub level: i32,
    /// The kind.
    pub kind: i32,
    /// The data.
    pub data: Vec<u8>,
}

/// What somebody wants to receive.
pub struct Incoming<'a> {
    /// Where the data goes.
    pub sink: &'a mut dyn Sink,
    /// `MSG_*`.
    pub flags: MessageFlags,
}

/// What was received.
#[derive(Default)]
pub struct Received {
    /// How many bytes: those that went to the sink, or with `MSG_TRUNC` those that there were.
    pub n_bytes: usize,
    /// `MSG_*` for the receiver.
    pub flags: MessageFlags,
    /// Who sent it.
    pub name: Option<RawName>,
    /// What came along.
    pub control: Vec<Control>,
}

impl Received {
    /// `n_bytes` of plain data.
    pub fn bytes(n_bytes: usize) -> Self {
        Self { n_bytes, ..Self::default() }
    }
}

/// What came along with a message.
pub enum Control {
    /// Open files, to become descriptors.
    Files(Vec<Rc<OpenFile>>),
    /// Who sent it.
    Credentials(Ucred),
    /// Anything that is copied out as it is.
    Raw(RawControl),
}
