//! Bytes that a sender holds back until there are enough for a segment.
//!
//! With `TCP_CORK`, or `MSG_MORE`, Linux sends whole segments only, and what is left when the cork
//! is taken out, when the sender ends, or after a fifth of a second. Held bytes are in the
//! receiver's inbox already, at its end, and the receiver does not see them.

use std::rc::Rc;

use kernel_core::timers;
use kernel_core::wait::PollEvents;

use super::TcpSocket;

/// The segments of the loopback interface.
const SEGMENT: usize = 32_741;

/// For how long bytes are held at most.
const LONGEST_NANOS: u64 = 200_000_000;

impl TcpSocket {
    /// How many bytes have come.
    pub(super) fn n_arrived(&self) -> usize {
        self.inbox.borrow().len().saturating_sub(self.held.get())
    }

    /// `n` bytes were put into this socket's inbox, by a sender that wants to send more with them.
    pub(super) fn hold(self: &Rc<Self>, n: usize) {
        self.held.set((self.held.get() + n) % SEGMENT);
        if self.held.get() > 0 && self.held_until.get().is_none() {
            let socket = Rc::downgrade(self);
            let deadline = timers::now().after(LONGEST_NANOS);
            let key = self.common.network.timers.at(deadline, move || {
                if let Some(socket) = socket.upgrade() {
                    socket.let_arrive();
                    socket.common.queue.wake(PollEvents::READABLE);
                }
            });
            self.held_until.set(Some(key));
        }
    }

    /// Everything has come. Returns whether something was held.
    pub(super) fn let_arrive(&self) -> bool {
        if let Some(key) = self.held_until.take() {
            self.common.network.timers.cancel(key);
        }
        self.held.replace(0) > 0
    }

    /// Sends what this socket holds back.
    pub(super) fn send_held(&self) {
        if let Some(peer) = &*self.peer.borrow()
            && peer.let_arrive()
        {
            peer.common.queue.wake(PollEvents::READABLE);
        }
    }
}
