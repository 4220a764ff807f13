//! What a stream socket has received: bytes, and who sent which of them.

use std::collections::VecDeque;
use std::rc::Rc;

use kernel_core::io::{Sink, Source};
use kernel_files::OpenFile;
use linux_abi::SysResult;
use linux_abi::sockets::Ucred;

use super::in_flight::Rights;
use crate::byte_queue::ByteQueue;

/// Bytes that came from one sender, the last of them possibly with open files.
struct Segment {
    len: usize,
    sender: Option<Ucred>,
    rights: Option<Rights>,
}

/// What a stream socket has received.
#[derive(Default)]
pub(super) struct StreamInbox {
    bytes: ByteQueue,
    segments: VecDeque<Segment>,
}

/// What a read of a stream gave.
#[derive(Default)]
pub(super) struct StreamPart {
    pub(super) n_bytes: usize,
    pub(super) sender: Option<Ucred>,
    pub(super) files: Vec<Rc<OpenFile>>,
}

/// Whether a reader minds who sent the bytes, and then never gets those of two in one piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Senders {
    Matter,
    DoNotMatter,
}

impl StreamInbox {
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Takes up to `max` bytes from `source`, and then `rights`, which stay where they are if
    /// nothing could be taken: whoever drops them must have nothing borrowed.
    pub(super) fn push(
        &mut self,
        source: &mut dyn Source,
        max: usize,
        sender: Option<Ucred>,
        rights: &mut Option<Rights>,
    ) -> SysResult<usize> {
        let len = self.bytes.fill(source, max)?;
        match self.segments.back_mut() {
            Some(last) if rights.is_none() && last.rights.is_none() && last.sender == sender => {
                last.len += len;
            }
            _ => self.segments.push_back(Segment { len, sender, rights: rights.take() }),
        }
        Ok(len)
    }

    /// Hands bytes over and forgets them.
    pub(super) fn take(&mut self, sink: &mut dyn Sink, senders: Senders) -> SysResult<StreamPart> {
        let mut part = StreamPart::default();
        while let Some(segment) = self.segments.front_mut() {
            if part.n_bytes == 0 {
                part.sender = segment.sender;
            } else if senders == Senders::Matter && part.sender != segment.sender {
                break;
            }
            let n = match self.bytes.drain(sink, segment.len) {
                Ok(n) => n,
                Err(errno) if part.n_bytes == 0 => return Err(errno),
                Err(_) => break,
            };
            part.n_bytes += n;
            segment.len -= n;
            if let Some(rights) = segment.rights.take() {
                part.files = rights.take();
            }
            if segment.len > 0 {
                break;
            }
            self.segments.pop_front();
            if !part.files.is_empty() || sink.remaining() == 0 {
                break;
            }
        }
        Ok(part)
    }

    /// Hands bytes over, from `skip` on, and keeps them.
    pub(super) fn peek(
        &self,
        sink: &mut dyn Sink,
        senders: Senders,
        mut skip: usize,
    ) -> SysResult<StreamPart> {
        let mut part = StreamPart::default();
        let mut start = 0;
        for segment in &self.segments {
            if skip >= segment.len {
                skip -= segment.len;
                start += segment.len;
                continue;
            }
            if part.n_bytes == 0 {
                part.sender = segment.sender;
            } else if senders == Senders::Matter && part.sender != segment.sender {
                break;
            }
            part.n_bytes += self.bytes.peek(start + skip, sink, segment.len - skip)?;
            start += segment.len;
            skip = 0;
            if let Some(rights) = &segment.rights {
                part.files = rights.files().to_vec();
                break;
            }
            if sink.remaining() == 0 {
                break;
            }
        }
        Ok(part)
    }

    /// The open files that wait here.
    pub(super) fn files(&self) -> impl Iterator<Item = &Rc<OpenFile>> {
        self.segments.iter().filter_map(|segment| segment.rights.as_ref()).flat_map(Rights::files)
    }
}
