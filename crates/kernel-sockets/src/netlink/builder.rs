//! Netlink messages in the making.

use linux_abi::sockets::netlink::{NlMsgHdr, nlm_f, nlmsg};
use linux_abi::{Errno, SysResult};
use zerocopy::{FromBytes, IntoBytes};

const HEADER: usize = size_of::<NlMsgHdr>();

/// Several messages, one after the other.
pub(super) struct Builder {
    bytes: Vec<u8>,
    /// Where the message under way starts.
    start: usize,
    request: NlMsgHdr,
    port: u32,
    flags: u16,
}

impl Builder {
    /// Answers to `request`, for the socket `port`.
    pub(super) fn new(request: NlMsgHdr, port: u32, flags: u16) -> Self {
        Self { bytes: Vec::new(), start: 0, request, port, flags }
    }

    /// Starts a message of this kind with its fixed part.
    pub(super) fn message(&mut self, kind: u16, fixed: &[u8]) -> &mut Self {
        self.start = self.bytes.len();
        let header = NlMsgHdr {
            len: 0,
            kind,
            flags: self.flags,
            sequence: self.request.sequence,
            port: self.port,
        };
        self.bytes.extend_from_slice(header.as_bytes());
        self.append(fixed);
        self
    }

    /// Adds an attribute to the message.
    pub(super) fn attribute(&mut self, kind: u16, data: &[u8]) -> &mut Self {
        let length = u16::try_from(data.len() + 4).unwrap_or(4);
        self.bytes.extend_from_slice(&length.to_ne_bytes());
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.append(data);
        self
    }

    /// Appends data, pads it, and sets the length of the message.
    fn append(&mut self, data: &[u8]) {
        self.bytes.extend_from_slice(data);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        let length = u32::try_from(self.bytes.len() - self.start).unwrap_or(0);
        if let Some(place) = self.bytes.get_mut(self.start..self.start + 4) {
            place.copy_from_slice(&length.to_ne_bytes());
        }
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

/// The end of a list.
pub(super) fn done(request: NlMsgHdr, port: u32) -> Vec<u8> {
    let mut builder = Builder::new(request, port, nlm_f::MULTI);
    builder.message(nlmsg::DONE, &0_i32.to_ne_bytes());
    builder.finish()
}

/// An error, or an acknowledgement if there is none.
pub(super) fn acknowledge(
    request: NlMsgHdr,
    whole: &[u8],
    port: u32,
    result: SysResult<()>,
) -> Vec<u8> {
    let code = result.err().map_or(0, |errno| -i32::from(errno.code()));
    // The request is repeated as a whole with an error, and only its header without.
    let repeated = if code == 0 { whole.get(..HEADER).unwrap_or_default() } else { whole };
    let flags = if code == 0 { nlm_f::CAPPED } else { 0 };
    let mut builder = Builder::new(request, port, flags);
    builder.message(nlmsg::ERROR, &[&code.to_ne_bytes()[..], repeated].concat());
    builder.finish()
}

/// Splits what a guest sent into requests: header, whole message, payload.
pub(super) fn requests(mut bytes: &[u8]) -> Vec<(NlMsgHdr, &[u8], &[u8])> {
    let mut found = Vec::new();
    while let Ok((header, _)) = NlMsgHdr::read_from_prefix(bytes) {
        let length = usize::try_from(header.len).unwrap_or(usize::MAX);
        let (Some(whole), Some(payload)) = (bytes.get(..length), bytes.get(HEADER..length)) else {
            break;
        };
        found.push((header, whole, payload));
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    found
}

/// The attribute of this kind after the fixed part of a request.
pub(super) fn find_attribute(payload: &[u8], fixed: usize, kind: u16) -> SysResult<Option<&[u8]>> {
    let mut rest = payload.get(fixed..).unwrap_or_default();
    while let Some((header, _)) = rest.split_first_chunk::<4>() {
        let [l0, l1, k0, k1] = *header;
        let length = usize::from(u16::from_ne_bytes([l0, l1]));
        let data = rest.get(4..length).ok_or(Errno::EINVAL)?;
        // The upper two bits say how the data is to be read.
        if u16::from_ne_bytes([k0, k1]) & 0x3fff == kind {
            return Ok(Some(data));
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(None)
}
