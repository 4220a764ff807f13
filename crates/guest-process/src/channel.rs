//! Requests and replies.

use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};

use channel_abi::layout::{
    CHANNEL_HEADER, CHANNEL_SIZE, DATA_SIZE, MAX_THREADS, SLOT_HEADER, SLOT_SIZE,
};
use channel_abi::request::reply;
use channel_abi::staging::{Entry, MAX_PATH, MAX_PIECE, kind, next, out_length};
use channel_abi::{ChannelHeader, MOVED, Slot, closing, state};
use rustix::io::Errno;

use crate::shared::{ProtocolValue, SharedMemory};

/// A request, copied out of shared memory once.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The system call, or a private request.
    pub number: u32,
    /// Its arguments.
    pub args: [u64; 6],
    /// The guest has something to tell besides: see [`Channel::moved`], [`Channel::take_closed`].
    pub has_told: bool,
    /// What it has closed before; see [`Closed`].
    pub closed: Closed,
    staged: u8,
    path_lengths: [u16; 2],
}

/// What a guest says that it has closed without a request. The same is said more than once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Closed(u16);

impl Closed {
    /// The descriptor, if there is one.
    pub fn descriptor(self) -> Option<u16> {
        (self.0 & closing::DESCRIPTOR).checked_sub(1)
    }
}

/// A piece of guest memory that travelled with a request. All of it is a guest's claim, checked
/// to lie inside the data area.
#[derive(Clone, Copy, Debug, Default)]
pub struct Piece {
    /// Where it is in the guest.
    pub address: u64,
    /// How long it is.
    pub length: usize,
    /// Where it is in the data area.
    pub offset: usize,
    /// It holds what the guest has there.
    pub is_input: bool,
    /// What is put there is copied to the guest with the reply.
    pub is_output: bool,
}

impl Request {
    /// The pieces that came with it, by argument.
    pub fn pieces(&self, entry: &Entry) -> [Piece; 6] {
        let mut pieces = [Piece::default(); 6];
        if self.staged == 0 {
            return pieces;
        }
        let mut at = 0;
        let mut paths = self.path_lengths.iter();
        for (index, (piece, part)) in pieces.iter_mut().zip(&entry.parts).enumerate() {
            if self.staged >> index & 1 == 0 {
                continue;
            }
            let length = match part.kind {
                kind::PATH => paths.next().map_or(0, |&length| usize::from(length) + 1),
                kind::IN_BY | kind::OUT_BY => {
                    let length = self
                        .args
                        .get(usize::from(part.length_argument))
                        .and_then(|&length| usize::try_from(length).ok())
                        .unwrap_or(usize::MAX);
                    if part.kind == kind::OUT_BY { out_length(length) } else { length }
                }
                _ => usize::from(part.length),
            };
            let limit = if part.kind == kind::PATH { MAX_PATH } else { MAX_PIECE };
            if length > limit || at + length > DATA_SIZE {
                break; // not what a shim of ours sends: believe nothing of the rest
            }
            *piece = Piece {
                address: self.args.get(index).copied().unwrap_or(0),
                length,
                offset: at,
                is_input: !matches!(part.kind, kind::OUT | kind::OUT_BY | kind::NONE),
                is_output: matches!(part.kind, kind::OUT | kind::OUT_BY | kind::IN_OUT),
            };
            at = next(at, length);
        }
        pieces
    }
}

/// The answer to a request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reply {
    /// A value, a negative error number, or one of `request::restart`.
    pub result: i64,
    /// One of `request::action`, with its detail.
    pub action: u64,
    /// Details of the action.
    pub details: [u64; 2],
    /// How many bytes of each staged argument are to be copied out.
    pub out_lengths: [u16; 6],
    /// The caller shall wake whoever sleeps on this word.
    pub wake_word: Option<u16>,
}

/// The channel of one host process.
#[derive(Debug)]
pub struct Channel {
    memory: SharedMemory,
}

impl Channel {
    /// A channel without requests.
    pub fn new() -> Result<Self, Errno> {
        Ok(Self { memory: SharedMemory::new("channel", CHANNEL_SIZE)? })
    }

    /// Touches the pages that its first thread uses first, so that they are there when it runs.
    pub fn warm(&self) {
        self.header().groups.store(0, Relaxed);
        self.reset_slot(0);
        self.write_data(0, 0, &[0]);
    }

    /// The descriptor to hand to the host process.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.memory.file()
    }

    /// Who has rung.
    pub fn header(&self) -> &ChannelHeader {
        self.memory.at(0)
    }

    /// A thread's slot. `index` is below `MAX_THREADS`.
    pub fn slot(&self, index: usize) -> &Slot {
        self.memory.at(CHANNEL_HEADER + (index % MAX_THREADS) * SLOT_SIZE)
    }

    /// The request in a slot, if there is one.
    pub fn request(&self, index: usize) -> Option<Request> {
        let slot = self.slot(index);
        match slot.state.load(Acquire) {
            state::POSTED | state::ASLEEP | state::PARKED => {}
            _ => return None,
        }
        let mut args = [0; 6];
        for (to, from) in args.iter_mut().zip(&slot.args) {
            *to = from.load(Relaxed);
        }
        let [first, second] = &slot.path_lengths;
        let staged = slot.staged.load(Relaxed);
        let closed = Closed(slot.closed.load(Relaxed));
        Some(Request {
            number: slot.number.load(Relaxed).into(),
            args,
            has_told: staged & MOVED != 0 || closed != Closed::default(),
            closed,
            staged: staged & !MOVED,
            path_lengths: [first.load(Relaxed), second.load(Relaxed)],
        })
    }

    /// The file that was handed over and how far the guest has read it, once more if it has not made
    /// a request since.
    pub fn moved(&self, index: usize, is_request: bool) -> Option<(u32, u64)> {
        let slot = self.slot(index);
        let handed = if !is_request {
            slot.handed.load(Relaxed)
        } else if slot.staged.load(Relaxed) & MOVED != 0 {
            slot.handed.swap(0, Relaxed)
        } else {
            0
        };
        Some((handed.checked_sub(1)?, slot.position.load(Relaxed)))
    }

    /// What the guest has closed without a request, perhaps told by one since.
    pub fn take_closed(&self, index: usize) -> Closed {
        Closed(self.slot(index).closing.swap(0, SeqCst))
    }

    /// Tells a guest that its call has to wait, so that it sleeps instead of spinning.
    pub fn park(&self, index: usize) {
        let _ =
            self.slot(index).state.compare_exchange(state::POSTED, state::PARKED, SeqCst, SeqCst);
    }

    /// Whether the guest sleeps (or is about to) for its reply.
    pub fn is_asleep(&self, index: usize) -> bool {
        self.slot(index).state.load(Acquire) == state::ASLEEP
    }

    /// Answers. Returns whether the guest sleeps and has to be woken.
    pub fn reply(&self, index: usize, answer: &Reply) -> bool {
        let slot = self.slot(index);
        let lengths = answer.out_lengths.map(u64::from);
        let [a, b, c, d, e, f] = lengths;
        slot.args[reply::RESULT].store(answer.result.cast_unsigned(), Relaxed);
        slot.args[reply::ACTION].store(answer.action, Relaxed);
        slot.args[reply::OUT_LOW].store(a | b << 16 | c << 32 | d << 48, Relaxed);
        slot.args[reply::OUT_HIGH].store(e | f << 16, Relaxed);
        slot.args[reply::DETAIL].store(answer.details[0], Relaxed);
        slot.args[reply::DETAIL2].store(answer.details[1], Relaxed);
        slot.wake_word.store(answer.wake_word.unwrap_or(0), Relaxed);
        slot.wake.store(u8::from(answer.wake_word.is_some()), Relaxed);
        slot.state.swap(state::DONE, SeqCst) == state::ASLEEP
    }

    fn data_offset(index: usize, offset: usize, length: usize) -> Option<usize> {
        if offset.checked_add(length)? > DATA_SIZE {
            return None;
        }
        Some(CHANNEL_HEADER + (index % MAX_THREADS) * SLOT_SIZE + SLOT_HEADER + offset)
    }

    /// Copies bytes out of a slot's data area. Returns whether they lie inside.
    pub fn read_data(&self, index: usize, offset: usize, to: &mut [u8]) -> bool {
        Self::data_offset(index, offset, to.len()).is_some_and(|at| self.memory.read(at, to))
    }

    /// Copies bytes into a slot's data area. Returns whether they fit.
    pub fn write_data(&self, index: usize, offset: usize, from: &[u8]) -> bool {
        Self::data_offset(index, offset, from.len()).is_some_and(|at| self.memory.write(at, from))
    }

    /// Puts a structure of the protocol at the start of a slot's data area.
    pub fn write_value<T: ProtocolValue>(&self, index: usize, value: &T) {
        self.write_data(index, 0, value.as_bytes());
    }

    /// Reads a host file straight into a slot's data area.
    pub fn read_file(
        &self,
        index: usize,
        offset: usize,
        length: usize,
        file: BorrowedFd<'_>,
        position: Option<u64>,
    ) -> Result<usize, Errno> {
        let at = Self::data_offset(index, offset, length).ok_or(Errno::FAULT)?;
        self.memory.read_file(at, length, file, position)
    }

    /// Writes a slot's data area straight to a host file.
    pub fn write_file(
        &self,
        index: usize,
        offset: usize,
        length: usize,
        file: BorrowedFd<'_>,
        position: Option<u64>,
    ) -> Result<usize, Errno> {
        let at = Self::data_offset(index, offset, length).ok_or(Errno::FAULT)?;
        self.memory.write_file(at, length, file, position)
    }

    /// Makes a slot as new.
    pub fn reset_slot(&self, index: usize) {
        let slot = self.slot(index);
        slot.state.store(state::IDLE, SeqCst);
        slot.polled.store(0, SeqCst);
        slot.pending.store(0, SeqCst);
        slot.plain_actions.store(0, SeqCst);
        slot.watch.store(0, SeqCst);
        slot.resume.store(0, SeqCst);
        slot.signal_mask.store(0, SeqCst);
        slot.host_tid.store(0, SeqCst);
        slot.closing.store(0, SeqCst);
        slot.closed.store(0, SeqCst);
        slot.handed.store(0, SeqCst);
        slot.robust_list.store(0, SeqCst);
    }
}
