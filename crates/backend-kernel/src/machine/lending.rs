//! What a guest process may use without asking, and what it then tells.

use std::os::fd::{AsFd, BorrowedFd};

use channel_abi::layout::{HANDED_CONTENT, HANDED_OFFSET, MAX_HANDED};
use channel_abi::lent;
use channel_abi::request::action;
use host_sys::errno_of;
use kernel_core::facts;
use kernel_core::io::Sink;
use kernel_files::lending::{Lender, Loan};
use kernel_tasks::machine::{Question, SharedFile, Told};
use linux_abi::files::OpenFlags;
use linux_abi::{Errno, Fd, SysResult};

use super::GuestMachine;
use crate::engine::Place;

impl GuestMachine {
    pub(super) fn lend_now(&self, fd: u32, loan: &Loan, access: OpenFlags) -> SysResult<bool> {
        let space = &self.place.space;
        let reads = if access.can_read() { lent::READS } else { 0 };
        let writes = if access.can_write() { lent::WRITES } else { 0 };
        let (kind, host) = match loan {
            Loan::Null => (lent::NULL | reads | writes, None),
            Loan::Zero => (lent::ZERO | reads | writes, None),
            Loan::File(host) => (lent::FILE, Some(host)),
            Loan::Pipe(host) => (lent::PIPE | reads | writes, Some(host)),
        };
        let word = space.lend(fd, kind).ok_or(Errno::EBADF)?;
        let Some(host) = host else { return Ok(false) };
        let message = space.next_message();
        let what = lent::MESSAGE | u64::from(word) << lent::MESSAGE_SHIFT | u64::from(fd);
        if let Err(errno) = space.host.send([message, what], &[host.as_fd()]) {
            space.take_back(fd);
            return Err(errno_of(errno));
        }
        self.set_action(action::LEND, [0, message]);
        Ok(true)
    }

    /// Whether the guest process may answer for itself what follows the call under way.
    fn may_tell(&self) -> bool {
        // A trace shows every call; a `vfork` child shares its slot with its parent.
        let is_traced = self.engine().is_ok_and(|engine| engine.tracer.is_some());
        !is_traced && !self.is_vfork_child.get() && self.is_calling()
    }

    pub(super) fn allow_later(&self, flags: OpenFlags) -> bool {
        if !self.may_tell() {
            return false;
        }
        self.place.space.remember_lending();
        self.set_action(action::LATER, [0, flags.bits().into()]);
        true
    }

    pub(super) fn hand_now(
        &self,
        stat: &[u8],
        length: usize,
        fill: &mut dyn FnMut(&mut dyn Sink) -> bool,
    ) {
        let (Ok(detail), true) = (u64::try_from(length), length <= MAX_HANDED) else { return };
        let mut sink = HandedContent { place: &self.place, at: HANDED_CONTENT, rest: length };
        let channel = &self.place.space.channel;
        if fill(&mut sink) && channel.write_data(self.place.index, HANDED_OFFSET, stat) {
            let [_, flags] = self.seat.reply.get().details;
            self.set_action(action::HAND | detail << action::INDEX_SHIFT, [0, flags]);
        }
    }

    pub(super) fn tell_stat_now(&self, stat: &[u8]) {
        if self.place.space.channel.write_data(self.place.index, HANDED_OFFSET, stat) {
            let [_, flags] = self.seat.reply.get().details;
            self.set_action(action::TELL, [facts::now().names, flags]);
        }
    }

    pub(super) fn tell_shared_now(&self, answer: &[u8], about: SharedFile) {
        let channel = &self.place.space.channel;
        if self.may_tell() && channel.write_data(self.place.index, HANDED_OFFSET, answer) {
            let is_extended = about.question == Question::Statx;
            let bits = u64::from(about.is_alone) | u64::from(is_extended) << 1;
            let now = facts::now();
            let flags = u64::from(about.flags.bits()) | now.descriptors << 32;
            self.set_action(action::TELL_SHARED | bits << action::INDEX_SHIFT, [now.names, flags]);
        }
    }

    pub(super) fn told(&self, is_request: bool) -> Told {
        let channel = &self.place.space.channel;
        let moved = channel.moved(self.place.index, is_request);
        let said = if is_request {
            self.seat.says_closed.take()
        } else {
            channel.take_closed(self.place.index)
        };
        let is_new = said != self.seat.last_closed.get();
        let closed = said.descriptor().filter(|_| is_new);
        if closed.is_some() {
            self.seat.last_closed.set(said);
        }
        Told {
            moved: moved.and_then(|(fd, position)| Some((Fd(fd.try_into().ok()?), position))),
            closed: closed.map(|fd| Fd(fd.into())),
        }
    }
}

/// The content of a file on its way into the data area.
struct HandedContent<'a> {
    place: &'a Place,
    at: usize,
    rest: usize,
}

impl HandedContent<'_> {
    fn moved(&mut self, n: usize) -> usize {
        self.at += n;
        self.rest -= n;
        n
    }
}

impl Sink for HandedContent<'_> {
    fn remaining(&self) -> usize {
        self.rest
    }

    fn put(&mut self, bytes: &[u8]) -> SysResult<usize> {
        let n = bytes.len().min(self.rest);
        let bytes = bytes.get(..n).unwrap_or_default();
        let fits = self.place.space.channel.write_data(self.place.index, self.at, bytes);
        if fits { Ok(self.moved(n)) } else { Err(Errno::EFAULT) }
    }

    fn put_from_host(
        &mut self,
        file: BorrowedFd<'_>,
        offset: Option<u64>,
        max: usize,
    ) -> SysResult<usize> {
        let most = self.rest.min(max);
        let channel = &self.place.space.channel;
        let read = channel.read_file(self.place.index, self.at, most, file, offset);
        Ok(self.moved(read.map_err(errno_of)?))
    }
}
