//! Guest processes that share one host process (`CLONE_VM`).

use std::rc::Rc;

use linux_abi::Pid;

use super::GuestMachine;
use crate::engine::{Engine, Place};

impl GuestMachine {
    /// The guest process that the thread belongs to; `None` once it has left.
    fn process(&self) -> Option<Pid> {
        let thread = self.seat.thread.borrow();
        thread.as_ref().map(|thread| thread.process().pid)
    }

    /// Whether another guest process lives in the same host process.
    pub(super) fn has_neighbours(&self) -> bool {
        let space = &self.place.space;
        if !space.is_shared.get() {
            return false;
        }
        let Some(own) = self.process() else { return false };
        let seats = space.seats.borrow();
        seats.iter().any(|seat| seat.thread.borrow().is_some() && !seat.serves(own))
    }

    /// If other guest processes live in the same host process, ends only the threads of this one.
    /// Returns whether it did.
    pub(super) fn leave_others_alone(&self, engine: &Engine) -> bool {
        if !self.has_neighbours() {
            return false;
        }
        let Some(own) = self.process() else { return false };
        let seats: Vec<_> = self.place.space.seats.borrow().iter().cloned().enumerate().collect();
        for (index, seat) in seats {
            if seat.serves(own) {
                let space = Rc::clone(&self.place.space);
                engine.end_seat(&Place { space, index }, &seat);
            }
        }
        true
    }
}
