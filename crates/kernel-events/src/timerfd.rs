//! Timers that are read. See timerfd_create(2).

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use kernel_core::clock_steps;
use kernel_core::io::Sink;
use kernel_core::memory::UserPtr;
use kernel_core::timers::{TimerKey, Timers, boot_time, now, real_time};
use kernel_core::wait::{Observer, PollEvents, Registration, WaitQueue};
use kernel_files::open_file::SeekTo;
use kernel_files::{FileOps, Ioctl, OpenFile};
use linux_abi::events::{TFD_IOC_SET_TICKS, TimerFdFlags};
use linux_abi::files::OpenFlags;
use linux_abi::time::{Itimerspec, Timespec, clock};
use linux_abi::{Errno, SysResult};

/// The clocks that a timerfd can follow. Alarm clocks are the same here: a sandbox wakes no
/// machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    Monotonic,
    Real,
    Boot,
}

impl Clock {
    fn now(self) -> u64 {
        match self {
            Self::Monotonic => now().0,
            Self::Real => real_time(),
            Self::Boot => boot_time(),
        }
    }
}

/// When the timer goes off next, and how often after that.
#[derive(Clone, Copy, Debug, Default)]
struct Setting {
    /// On the timer's clock, in nanoseconds.
    next: u64,
    /// In nanoseconds; 0 for a timer that goes off once.
    interval: u64,
    /// Whether `next` is still to come, or has come and was not counted.
    is_armed: bool,
}

/// A timerfd.
pub struct TimerFd {
    clock: Clock,
    clock_id: i32,
    /// What the timer is set by: a time from now on is no matter of the real time.
    followed: Cell<Clock>,
    /// The clock has made a step, and nobody who asked for it was told yet.
    is_cancelled: Cell<bool>,
    steps: RefCell<Option<Registration>>,
    timers: Timers,
    setting: Cell<Setting>,
    flags: Cell<TimerFdFlags>,
    /// Expirations that were counted and not read.
    ticks: Cell<u64>,
    alarm: Cell<Option<TimerKey>>,
    queue: WaitQueue,
    this: Weak<Self>,
}

impl TimerFd {
    /// An open timerfd on this clock. `EINVAL` for a clock that has none. `flags` may have
    /// `O_NONBLOCK`.
    pub fn open(timers: &Timers, clock_id: i32, flags: OpenFlags) -> SysResult<Rc<OpenFile>> {
        let clock = match clock_id {
            clock::MONOTONIC => Clock::Monotonic,
            clock::REALTIME | clock::REALTIME_ALARM => Clock::Real,
            clock::BOOTTIME | clock::BOOTTIME_ALARM => Clock::Boot,
            _ => return Err(Errno::EINVAL),
        };
        let this = Rc::new_cyclic(|this| Self {
            clock,
            clock_id,
            followed: Cell::new(clock),
            is_cancelled: Cell::new(false),
            steps: RefCell::default(),
            timers: timers.clone(),
            setting: Cell::default(),
            flags: Cell::default(),
            ticks: Cell::new(0),
            alarm: Cell::new(None),
            queue: WaitQueue::new(),
            this: Weak::clone(this),
        });
        Ok(OpenFile::new(this, (flags & OpenFlags::NONBLOCK) | OpenFlags::RDWR))
    }

    /// Whether it follows a clock that may wake a sleeping machine.
    pub fn is_alarm(&self) -> bool {
        matches!(self.clock_id, clock::REALTIME_ALARM | clock::BOOTTIME_ALARM)
    }

    /// Sets the timer. Returns what was set before. `EINVAL` for times that are none.
    pub fn set(&self, new: Itimerspec, flags: TimerFdFlags) -> SysResult<Itimerspec> {
        let value = new.it_value.to_nanos().ok_or(Errno::EINVAL)?;
        let interval = new.it_interval.to_nanos().ok_or(Errno::EINVAL)?;
        let old = self.get();
        let is_absolute = flags.contains(TimerFdFlags::ABSTIME);
        let clock = match self.clock {
            Clock::Real if !is_absolute => Clock::Monotonic,
            clock => clock,
        };
        let next = if is_absolute { value } else { clock.now().saturating_add(value) };
        self.followed.set(clock);
        self.is_cancelled.set(false);
        self.follow_steps();
        self.flags.set(flags);
        self.ticks.set(0);
        self.setting.set(Setting { next, interval, is_armed: value != 0 });
        self.start_alarm();
        Ok(old)
    }

    /// How long until the next expiration, and the interval.
    pub fn get(&self) -> Itimerspec {
        self.count_expirations();
        let setting = self.setting.get();
        let left = if setting.is_armed {
            // A timer that is armed never shows zero, which would mean that it is not.
            setting.next.saturating_sub(self.followed.get().now()).max(1)
        } else {
            0
        };
        Itimerspec {
            it_interval: Timespec::from_nanos(setting.interval),
            it_value: Timespec::from_nanos(left),
        }
    }

    /// Counts the expirations that have come, and arms the timer for the next.
    fn count_expirations(&self) {
        let Setting { next, interval, is_armed } = self.setting.get();
        let now = self.followed.get().now();
        if !is_armed || now < next {
            return;
        }
        let n = match interval {
            0 => 1,
            interval => 1 + (now - next) / interval,
        };
        self.ticks.set(self.ticks.get().saturating_add(n));
        let next = next.saturating_add(interval.saturating_mul(n));
        self.setting.set(Setting { next, interval, is_armed: interval != 0 });
        self.start_alarm();
    }

    /// Has the queue woken at the next expiration. Once only: until somebody has looked, further
    /// expirations are counted and wake nobody, as in Linux.
    fn start_alarm(&self) {
        if let Some(key) = self.alarm.take() {
            self.timers.cancel(key);
        }
        let setting = self.setting.get();
        if !setting.is_armed {
            return;
        }
        let left = setting.next.saturating_sub(self.followed.get().now());
        let this = Weak::clone(&self.this);
        let key = self.timers.at(now().after(left), move || {
            if let Some(this) = this.upgrade() {
                this.ring();
            }
        });
        self.alarm.set(Some(key));
    }

    fn ring(&self) {
        self.alarm.set(None);
        if self.followed.get().now() < self.setting.get().next {
            // The clock was set back since.
            self.start_alarm();
        } else {
            self.queue.wake(PollEvents::IN);
        }
    }

    /// Listens to steps of the clock, if they concern this timer.
    fn follow_steps(&self) {
        let registration = (self.followed.get() == Clock::Real)
            .then(|| clock_steps::queue().observe(PollEvents::IN, Weak::<Self>::clone(&self.this)));
        *self.steps.borrow_mut() = registration;
    }

    fn is_due(&self) -> bool {
        let setting = self.setting.get();
        self.ticks.get() > 0
            || self.is_cancelled.get()
            || setting.is_armed && self.followed.get().now() >= setting.next
    }
}

impl Drop for TimerFd {
    fn drop(&mut self) {
        if let Some(key) = self.alarm.take() {
            self.timers.cancel(key);
        }
    }
}

impl Observer for TimerFd {
    fn notify(&self, _events: PollEvents) {
        if self.flags.get().contains(TimerFdFlags::CANCEL_ON_SET) {
            self.is_cancelled.set(true);
            self.queue.wake(PollEvents::IN);
        } else {
            self.start_alarm();
        }
    }
}

impl FileOps for TimerFd {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn read(&self, _file: &OpenFile, sink: &mut dyn Sink, _offset: u64) -> SysResult<usize> {
        if sink.remaining() < size_of::<u64>() {
            return Err(Errno::EINVAL);
        }
        if self.is_cancelled.take() {
            // What has expired until then tells nothing about the new time.
            self.ticks.set(0);
            return Err(Errno::ECANCELED);
        }
        self.count_expirations();
        match self.ticks.take() {
            0 => Err(Errno::EAGAIN),
            ticks => sink.put(&ticks.to_ne_bytes()),
        }
    }

    fn poll(&self, _file: &OpenFile) -> PollEvents {
        if self.is_due() { PollEvents::IN } else { PollEvents::empty() }
    }

    fn queue(&self) -> Option<WaitQueue> {
        Some(self.queue.clone())
    }

    fn ioctl(&self, _file: &OpenFile, ioctl: &Ioctl<'_>) -> SysResult<u64> {
        if ioctl.command != TFD_IOC_SET_TICKS {
            return Err(Errno::ENOTTY);
        }
        let ticks = UserPtr::<u64>::new(ioctl.argument).read(ioctl.memory)?;
        if ticks == 0 {
            return Err(Errno::EINVAL);
        }
        self.ticks.set(ticks);
        self.queue.wake(PollEvents::IN);
        Ok(0)
    }

    fn seek(&self, file: &OpenFile, _to: SeekTo) -> SysResult<u64> {
        Ok(file.offset())
    }

    fn describe(&self) -> String {
        String::from("anon_inode:[timerfd]")
    }

    fn fdinfo(&self) -> String {
        let time = |time: Timespec| format!("({}, {})", time.tv_sec, time.tv_nsec);
        let current = self.get();
        format!(
            "clockid: {}\nticks: {}\nsettime flags: 0{:o}\nit_value: {}\nit_interval: {}\n",
            self.clock_id,
            self.ticks.get(),
            self.flags.get().bits(),
            time(current.it_value),
            time(current.it_interval),
        )
    }
}

#[cfg(test)]
mod tests {
    use kernel_core::io::VecSink;
    use kernel_core::timers::Instant;

    use super::*;

    const MS: u64 = 1_000_000;

    fn read(file: &OpenFile) -> SysResult<u64> {
        let mut sink = VecSink::new(8);
        file.read(&mut sink)?;
        Ok(u64::from_ne_bytes(sink.bytes.try_into().unwrap()))
    }

    fn spec(value: u64, interval: u64) -> Itimerspec {
        Itimerspec {
            it_value: Timespec::from_nanos(value),
            it_interval: Timespec::from_nanos(interval),
        }
    }

    #[test]
    fn a_time_that_has_passed_is_due_at_once_and_intervals_are_counted() {
        let timers = Timers::new();
        for id in [clock::MONOTONIC, clock::REALTIME, clock::BOOTTIME] {
            let file = TimerFd::open(&timers, id, OpenFlags::empty()).unwrap();
            let timer: &TimerFd = file.ops_as().unwrap();
            let start = timer.clock.now() - 10 * MS;
            timer.set(spec(start, 4 * MS), TimerFdFlags::ABSTIME).unwrap();
            assert_eq!(file.ops().poll(&file), PollEvents::IN);
            assert_eq!(read(&file), Ok(3));
            assert!(timer.get().it_value.tv_nsec > 0);
        }
    }

    #[test]
    fn a_timer_that_is_not_set_never_rings() {
        let timers = Timers::new();
        let file = TimerFd::open(&timers, clock::MONOTONIC, OpenFlags::empty()).unwrap();
        let timer: &TimerFd = file.ops_as().unwrap();
        timer.set(spec(MS, 0), TimerFdFlags::empty()).unwrap();
        assert!(timers.next_deadline().is_some());
        let old = timer.set(spec(0, MS), TimerFdFlags::empty()).unwrap();
        assert!(old.it_value.tv_nsec > 0);
        assert_eq!(timers.next_deadline(), None);
        assert_eq!(timer.get(), spec(0, MS));
        assert_eq!(read(&file), Err(Errno::EAGAIN));
    }

    #[test]
    fn an_unread_timer_rings_once() {
        let timers = Timers::new();
        let file = TimerFd::open(&timers, clock::MONOTONIC, OpenFlags::empty()).unwrap();
        let timer: &TimerFd = file.ops_as().unwrap();
        timer.set(spec(1, 1), TimerFdFlags::empty()).unwrap();
        timers.fire(Instant(now().0 + MS));
        assert_eq!(timers.next_deadline(), None);
        assert!(read(&file).unwrap() > 0);
        assert!(timers.next_deadline().is_some());
    }

    #[test]
    fn dropping_the_file_takes_the_alarm_back() {
        let timers = Timers::new();
        let file = TimerFd::open(&timers, clock::MONOTONIC, OpenFlags::empty()).unwrap();
        let timer: &TimerFd = file.ops_as().unwrap();
        timer.set(spec(u64::MAX, 0), TimerFdFlags::empty()).unwrap();
        drop(file);
        assert_eq!(timers.next_deadline(), None);
    }

    #[test]
    fn a_step_of_the_clock_is_told_to_those_who_asked() {
        let timers = Timers::new();
        let far = spec(real_time() + (1 << 50), 0);
        let asked = TimerFdFlags::ABSTIME | TimerFdFlags::CANCEL_ON_SET;
        let told = [
            (clock::REALTIME, asked, true),
            (clock::REALTIME_ALARM, asked, true),
            (clock::REALTIME, TimerFdFlags::ABSTIME, false),
            (clock::REALTIME, TimerFdFlags::CANCEL_ON_SET, false),
            (clock::MONOTONIC, asked, false),
        ];
        for (id, flags, is_told) in told {
            let file = TimerFd::open(&timers, id, OpenFlags::empty()).unwrap();
            let timer: &TimerFd = file.ops_as().unwrap();
            timer.set(far, flags).unwrap();
            clock_steps::queue().wake(PollEvents::IN);
            assert_eq!(!file.ops().poll(&file).is_empty(), is_told);
            let first = if is_told { Errno::ECANCELED } else { Errno::EAGAIN };
            assert_eq!(read(&file), Err(first));
            assert_eq!(read(&file), Err(Errno::EAGAIN));
        }
    }
}
