//! What a datagram or `SOCK_SEQPACKET` socket has received: whole packets.

use std::collections::VecDeque;
use std::rc::{Rc, Weak};

use kernel_core::ledger::{self, Kind};
use kernel_files::OpenFile;
use linux_abi::sockets::{MessageFlags, Ucred};
use linux_abi::{Errno, SysResult};

use super::UnixSocket;
use super::in_flight::Rights;
use crate::{Incoming, RawName};

/// What a packet costs its sender's buffer on top of its bytes, about as in Linux.
const OVERHEAD: usize = 767;

/// A share of a sender's buffer, given back when the packet is gone.
pub(super) struct Charge {
    sender: Weak<UnixSocket>,
    n_bytes: usize,
    _memory: ledger::Charge,
}

impl Charge {
    /// Charges `sender` for a packet of `len` bytes; `ENOBUFS` if there is no memory for it.
    pub(super) fn new(sender: &Rc<UnixSocket>, len: usize) -> SysResult<Self> {
        let n_bytes = len + OVERHEAD;
        let memory = ledger::Charge::new(Kind::Sockets, n_bytes as u64);
        let memory = memory.map_err(|_| Errno::ENOBUFS)?;
        sender.charge(n_bytes);
        Ok(Self { sender: Rc::downgrade(sender), n_bytes, _memory: memory })
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if let Some(sender) = self.sender.upgrade() {
            sender.uncharge(self.n_bytes);
        }
    }
}

/// A packet.
pub(super) struct Packet {
    pub(super) data: Vec<u8>,
    /// Who sent it, if that socket has a name.
    pub(super) name: Option<RawName>,
    pub(super) sender: Option<Ucred>,
    pub(super) rights: Option<Rights>,
    pub(super) charge: Charge,
}

/// What a socket has received.
#[derive(Default)]
pub(super) struct PacketInbox {
    packets: VecDeque<Packet>,
    n_bytes: usize,
}

/// What a read gave.
pub(super) struct PacketPart {
    /// How long the packet was, from the point where reading started.
    pub(super) real_len: usize,
    /// How much of it the receiver took.
    pub(super) copied: SysResult<usize>,
    pub(super) name: Option<RawName>,
    pub(super) sender: Option<Ucred>,
    pub(super) files: Vec<Rc<OpenFile>>,
    /// Dropped by the caller when nothing is borrowed: this wakes the sender.
    pub(super) spent: Option<Charge>,
}

impl PacketInbox {
    pub(super) fn n_packets(&self) -> usize {
        self.packets.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// The bytes in all packets.
    pub(super) fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    /// The length of the first packet; 0 if there is none.
    pub(super) fn first_len(&self) -> usize {
        self.packets.front().map_or(0, |packet| packet.data.len())
    }

    /// Makes sure that one more packet fits.
    pub(super) fn reserve(&mut self) -> SysResult<()> {
        self.packets.try_reserve(1).map_err(|_| Errno::ENOMEM)
    }

    pub(super) fn push(&mut self, packet: Packet) {
        self.n_bytes += packet.data.len();
        self.packets.push_back(packet);
    }

    /// Hands the first packet over. With `MSG_PEEK` it stays, and reading starts at `skip`; whole
    /// packets before that are passed over.
    pub(super) fn receive(
        &mut self,
        wanted: &mut Incoming<'_>,
        mut skip: usize,
    ) -> SysResult<PacketPart> {
        let peeks = wanted.flags.contains(MessageFlags::PEEK);
        let mut index = 0;
        if peeks {
            while let Some(packet) = self.packets.get(index)
                && skip >= packet.data.len()
                && skip > 0
            {
                skip -= packet.data.len();
                index += 1;
            }
        }
        let packet = self.packets.get(index).ok_or(Errno::EAGAIN)?;
        let data = packet.data.get(skip..).unwrap_or_default();
        // A packet is gone even if the receiver's memory cannot take it.
        let copied = if data.is_empty() { Ok(0) } else { wanted.sink.put(data) };
        let mut part = PacketPart {
            real_len: data.len(),
            copied,
            name: packet.name.clone(),
            sender: packet.sender,
            files: Vec::new(),
            spent: None,
        };
        if peeks {
            part.files =
                packet.rights.as_ref().map(|rights| rights.files().to_vec()).unwrap_or_default();
        } else if let Some(packet) = self.packets.pop_front() {
            self.n_bytes -= packet.data.len();
            part.files = packet.rights.map(Rights::take).unwrap_or_default();
            part.spent = Some(packet.charge);
        }
        Ok(part)
    }

    /// The open files that wait here.
    pub(super) fn files(&self) -> impl Iterator<Item = &Rc<OpenFile>> {
        self.packets.iter().filter_map(|packet| packet.rights.as_ref()).flat_map(Rights::files)
    }
}
