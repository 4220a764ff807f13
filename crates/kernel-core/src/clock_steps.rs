//! Somebody sets the host's clock.
//!
//! Guests cannot, but the host may, and programs can ask to be told (`TFD_TIMER_CANCEL_ON_SET`).
//! The host tells us in the same way: by a timer of its own that is never due.

use std::cell::RefCell;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::{Rc, Weak};

use host_sys::errno_of;
use host_sys::rustix::io::read;
use host_sys::rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use linux_abi::SysResult;

use crate::host_events::{HostEvents, Watch};
use crate::wait::{Observer, PollEvents, Registration, WaitQueue};

/// Centuries from now.
const NEVER: Timespec = Timespec { tv_sec: 1 << 33, tv_nsec: 0 };

thread_local! {
    static STEPS: WaitQueue = WaitQueue::new();
    static WATCHER: RefCell<Option<Rc<Watcher>>> = const { RefCell::new(None) };
}

struct Watcher {
    // Before the descriptor that it watches, so that it is dropped first.
    _watch: Watch,
    registration: RefCell<Option<Registration>>,
    host: OwnedFd,
}

impl Observer for Watcher {
    fn notify(&self, _events: PollEvents) {
        // The answer is that the timer was cancelled; asking has the next step told as well.
        let _ = read(&self.host, &mut [0; 8]);
        queue().wake(PollEvents::IN);
    }
}

/// Has the host tell of steps of its clock, from now on.
pub fn watch(events: &HostEvents) -> SysResult<()> {
    let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
    let host = timerfd_create(TimerfdClockId::Realtime, flags).map_err(errno_of)?;
    let time = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: NEVER };
    let flags = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
    timerfd_settime(&host, flags, &time).map_err(errno_of)?;
    let host_queue = WaitQueue::new();
    let watch = events.watch(host.as_fd(), host_queue.clone())?;
    let watcher = Rc::new(Watcher { _watch: watch, registration: RefCell::default(), host });
    let observer: Weak<dyn Observer> = Rc::<Watcher>::downgrade(&watcher);
    *watcher.registration.borrow_mut() = Some(host_queue.observe(PollEvents::IN, observer));
    WATCHER.set(Some(watcher));
    Ok(())
}

/// Is woken when the clock has made a step.
pub fn queue() -> WaitQueue {
    STEPS.with(WaitQueue::clone)
}
