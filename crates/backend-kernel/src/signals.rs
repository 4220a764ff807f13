//! What shims ask and tell about signals.

use std::rc::Rc;

use channel_abi::request::{Delivery, FATAL, action};
use kernel_tasks::Thread;
use kernel_tasks::signals::{self as tasks_signals};
use linux_abi::signals::{SigAction, SigInfo, Signal};
use linux_abi::tasks::ExitStatus;
use zerocopy::IntoBytes;

use crate::engine::space::Seat;
use crate::engine::{Engine, Place};
use crate::trace::Tracer;

/// The next signal to deliver: its number, or 0. The rest is put into the data area.
pub async fn next(place: &Place, thread: Rc<Thread>, tracer: Option<Rc<Tracer>>) -> u64 {
    let Some(delivery) = tasks_signals::next_signal(Rc::clone(&thread)).await else { return 0 };
    if let Some(tracer) = tracer {
        tracer.delivery(&thread, delivery.signal);
    }
    let mut info = [0; 16];
    for (to, from) in info.iter_mut().zip(delivery.info.as_bytes().chunks(8)) {
        let mut word = [0; 8];
        word.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        *to = u64::from_le_bytes(word);
    }
    let seat = place.space.seat(place.index);
    let raw = Delivery {
        handler: delivery.action.handler,
        flags: delivery.action.flags().bits(),
        restorer: delivery.action.restorer,
        old_mask: delivery.saved_mask.0,
        info,
        trap: seat.trap.take(),
    };
    place.space.channel.write_value(place.index, &raw);
    u64::from(delivery.signal.number())
}

/// The processor raised a signal in guest code: signal, code, address, trap number, error code,
/// fault address.
pub fn fault(engine: &Engine, seat: &Seat, thread: &Rc<Thread>, args: [u64; 6]) {
    let [signal, code, address, trap_number, error_code, fault_address] = args;
    let number = u32::try_from(signal).unwrap_or(0);
    let signal = Signal::new(number).unwrap_or(Signal::SIGSEGV);
    #[expect(clippy::cast_possible_truncation, reason = "the guest's own signal code")]
    let code = code as u32;
    if let Some(tracer) = &engine.tracer {
        tracer.fault(thread, signal, code.cast_signed(), address);
    }
    if trap_number == FATAL {
        thread.process().signals.set_action(signal, SigAction::default());
    }
    seat.trap.set([trap_number, error_code, fault_address]);
    tasks_signals::fault(thread, signal, SigInfo::fault(signal, code.cast_signed(), address));
}

/// The host refused what a reply told the shim to do: the child that was prepared is gone.
pub fn action_failed(engine: &Engine, place: &Place, args: [u64; 6]) {
    let word = args[0];
    let seat = place.space.seat(place.index);
    let Some(child) = seat.prepared.borrow_mut().take() else { return };
    match word & 0xff {
        action::FORK => child.process().exit(ExitStatus::signaled(Signal::SIGKILL, false)),
        action::THREAD => child.exit(ExitStatus::exited(0)),
        _ => {}
    }
    let _ = engine;
}
