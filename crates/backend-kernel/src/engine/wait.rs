//! When to look for requests and when to sleep.
//!
//! A wake-up across CPUs is the dearest thing here, so the kernel polls for a while before it
//! sleeps, and tells guests how long to spin. How long depends on the number of CPUs and on
//! whether somebody else wants them: see the table in the design.

use std::cell::{Cell, OnceCell, RefCell};
use std::os::fd::AsFd;
use std::rc::Rc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use channel_abi::sleep;
use host_sys::rustix;
use host_sys::{RunDelay, current_cpu, ticks};
use kernel_core::host_events::Watch;
use kernel_core::kept_events;
use kernel_core::timers::{self, Instant};
use kernel_core::wait::WaitQueue;
use kernel_files::late_closes;
use linux_abi::SysResult;
use rustix::event::epoll;

use super::giving_way::GivingWay;
use super::{Engine, Place};

/// How often the kernel looks at how long it had to wait for a CPU.
const SAMPLE_NANOS: u64 = 2_000_000;
/// CPUs count as contended this long after the kernel had to wait for one: twice as long each time
/// that it has to wait again as soon as they do not. Three busy processes for a moment are not a busy
/// machine, and a request costs many times as much for as long.
const BACK_OFF_NANOS: (u64, u64) = (2_000_000, 20_000_000);
/// How often the kernel looks at every thread that may run, whether it rang or not.
const PATROL_NANOS: u64 = 100_000_000;
/// More than one part in this many of a sample spent waiting means contention.
const CONTENDED_PART: u64 = 5;

/// The longest that the kernel polls when its sleeps turn out to be short: a CPU that has gone idle
/// may take that long to get up.
const PATIENCE_NANOS: u64 = 200_000;
/// A new host process or thread makes its first request after about this time: waking the kernel
/// for it would cost more than the kernel's waiting.
const BIRTH_NANOS: u64 = 100_000;
/// A host that is not slept in is asked this often for what it has to tell.
const ASK_NANOS: u64 = 2_000_000;
/// While nobody asks, host processes that begin or are about to end are looked after this often.
const LOOK_AFTER_NANOS: u64 = 20_000;
const ZERO: rustix::time::Timespec = rustix::time::Timespec { tv_sec: 0, tv_nsec: 0 };

/// How long to poll and to spin, in ticks of the time stamp counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spins {
    /// The kernel polls this long before it sleeps.
    pub kernel: u64,
    /// A guest spins this long for a reply.
    pub guest: u64,
    /// The same if it had to wake the kernel.
    pub after_wake: u64,
}

/// The waiting policy and what it knows.
pub struct Policy {
    usual: Spins,
    contended: Spins,
    now: Cell<Spins>,
    giving_way: GivingWay,
    ticks_per_micro: u64,
    ask_the_host_every: u64,
    /// How long the kernel polls, learned from its last sleep.
    patience: Cell<u64>,
    most_patience: u64,
    /// When to look after host processes.
    next_look_after: Cell<u64>,
    /// The kernel expects a request until then.
    expects_until: Cell<u64>,
    delay: RunDelay,
    sampled_at: Cell<u64>,
    sampled_delay: Cell<u64>,
    contended_until: Cell<u64>,
    /// For how long the next contention counts.
    back_off: Cell<u64>,
    /// When the next patrol is due, by both clocks.
    next_patrol: Cell<(u64, Instant)>,
    timer: rustix::fd::OwnedFd,
    timer_set_for: Cell<Option<Instant>>,
    scratch: RefCell<Vec<epoll::Event>>,
    /// The doorbell and the timer, whose events say nothing but "get up".
    alarms: OnceCell<[Watch; 2]>,
}

impl Policy {
    /// The policy for this many CPUs.
    pub fn new(n_cpus: usize) -> rustix::io::Result<Self> {
        let per_micro = host_sys::ticks_per_microsecond();
        let micros = |kernel: u64, guest: u64, after_wake: u64| Spins {
            kernel: kernel * per_micro,
            guest: guest * per_micro,
            after_wake: after_wake * per_micro,
        };
        let (usual, contended) = match n_cpus {
            0 | 1 => (micros(0, 0, 0), micros(0, 0, 0)),
            2 => (micros(20, 120, 50), micros(5, 10, 0)),
            _ => (micros(100, 120, 50), micros(10, 10, 0)),
        };
        let timer = rustix::time::timerfd_create(
            rustix::time::TimerfdClockId::Monotonic,
            rustix::time::TimerfdFlags::CLOEXEC | rustix::time::TimerfdFlags::NONBLOCK,
        )?;
        let delay = RunDelay::open();
        let sampled_delay = Cell::new(delay.nanos());
        Ok(Self {
            usual,
            contended,
            now: Cell::new(usual),
            giving_way: GivingWay::new(n_cpus, per_micro),
            ticks_per_micro: per_micro,
            ask_the_host_every: ASK_NANOS / 1000 * per_micro,
            patience: Cell::new(usual.kernel),
            most_patience: if usual.kernel == 0 { 0 } else { PATIENCE_NANOS / 1000 * per_micro },
            next_look_after: Cell::new(0),
            expects_until: Cell::new(0),
            delay,
            sampled_at: Cell::new(ticks()),
            sampled_delay,
            contended_until: Cell::new(0),
            back_off: Cell::new(BACK_OFF_NANOS.0),
            next_patrol: Cell::new((0, timers::now())),
            timer,
            timer_set_for: Cell::new(None),
            scratch: RefCell::new(Vec::with_capacity(32)),
            alarms: OnceCell::new(),
        })
    }
}

impl Policy {
    /// The time in so many microseconds, in ticks.
    pub(super) fn in_micros(&self, micros: u64) -> u64 {
        ticks() + micros * self.ticks_per_micro
    }

    /// Whether the kernel looks at slots by itself.
    pub(super) fn polls(&self) -> bool {
        self.now.get().kernel != 0 || self.giving_way.is_on()
    }

    /// A sleep took this long. After a short one it would have been better to wait awake; after a
    /// long one it would not.
    fn learn(&self, asleep: u64) {
        let is_short = asleep < self.most_patience;
        self.patience.set(if is_short { self.most_patience } else { self.usual.kernel });
    }
}

impl Engine {
    /// Tells guests how long to spin.
    fn publish(&self, spins: Spins) {
        self.policy.now.set(spins);
        let bell = self.bell.get();
        let unit = |ticks: u64| u32::try_from(ticks / 64).unwrap_or(u32::MAX);
        bell.spin.store(unit(spins.guest), Relaxed);
        bell.spin_after_wake.store(unit(spins.after_wake), Relaxed);
        bell.give_way.store(unit(self.policy.giving_way.too_long()), Relaxed);
    }

    /// Has a sleeping kernel get up for requests and timers.
    pub fn set_alarms(&self) -> SysResult<()> {
        let watch = |host| self.host_events.watch(host, WaitQueue::new());
        let alarms = [watch(self.doorbell.as_fd())?, watch(self.policy.timer.as_fd())?];
        // Set once; again would change nothing.
        let _ = self.policy.alarms.set(alarms);
        Ok(())
    }

    /// Serves guests until `is_over`. `after_sleep` is told whether the host has news.
    pub fn serve_until(&self, is_over: impl Fn() -> bool, mut after_sleep: impl FnMut(bool)) {
        self.publish(self.policy.usual);
        let mut last_work = ticks();
        let mut last_asked = last_work;
        // Whether guests have had this CPU since there was something to do, and since when the kernel
        // has it.
        let (mut has_given_way, mut on_cpu_since) = (false, last_work);
        loop {
            let gives_way = self.policy.giving_way.is_on();
            let worked = self.look_around(gives_way, has_given_way);
            if is_over() {
                return;
            }
            let now = ticks();
            if worked {
                last_work = now;
                has_given_way = false;
            } else if gives_way && !has_given_way && !self.is_quiet() {
                // First of all, since nobody else can run.
                has_given_way = true;
                self.policy.giving_way.note_turn(on_cpu_since, now);
                std::thread::yield_now();
                on_cpu_since = ticks();
                if self.policy.giving_way.was_long(now, on_cpu_since) {
                    self.bell.get().crowded.store(1, Relaxed);
                }
                continue;
            } else {
                self.make_spare();
                self.look_after_processes(now);
            }
            if self.timers.next_deadline().is_some_and(|at| at <= timers::now()) {
                self.timers.fire(timers::now());
                kept_events::may_be_taken();
                last_work = now;
                continue;
            }
            if now >= self.policy.next_patrol.get().0 {
                self.patrol(now);
            }
            // When every guest thread waits here, nobody can ask: sleep at once.
            if !worked && (self.is_quiet() || self.is_tired(now, last_work)) {
                let may_be_asked = !self.is_quiet();
                let has_news = self.sleep();
                self.hear(has_news, &mut after_sleep);
                last_work = ticks();
                on_cpu_since = last_work;
                if may_be_asked {
                    self.policy.learn(last_work - now);
                }
                last_asked = last_work;
            } else if now - last_asked >= self.policy.ask_the_host_every {
                // Guests that never pause must not keep others from what the host has for them.
                last_asked = now;
                let has_news = self.ask_the_host(Some(&ZERO));
                self.hear(has_news, &mut after_sleep);
            }
            self.note_contention(now);
            self.note_crowd(now);
            let cpu = current_cpu() + 1;
            let bell = self.bell.get();
            if bell.kernel_cpu.load(Relaxed) != cpu {
                bell.kernel_cpu.store(cpu, Relaxed);
            }
        }
    }

    /// Has guests and kernel give way to each other on one CPU, unless others want it.
    fn note_crowd(&self, now: u64) {
        let bell = self.bell.get();
        let was_long = bell.crowded.load(Relaxed) != 0;
        if was_long {
            bell.crowded.store(0, Relaxed);
        }
        if self.policy.giving_way.has_changed(now, was_long) {
            self.publish(self.policy.now.get());
        }
    }

    /// Whether nothing has come for so long that it is better to sleep.
    fn is_tired(&self, now: u64, last_work: u64) -> bool {
        let policy = &self.policy;
        if policy.contended_until.get() != 0 || policy.usual.kernel == 0 {
            return now - last_work >= policy.now.get().kernel;
        }
        now - last_work >= policy.patience.get() && now >= policy.expects_until.get()
    }

    /// A host process or thread is about to begin, and will ask something soon.
    pub fn expect_a_birth(&self) {
        let policy = &self.policy;
        policy.expects_until.set(policy.in_micros(BIRTH_NANOS / 1000));
    }

    /// Collects a host process that has ended, if one is about to, and greets a new one. The host tells
    /// of the first too, but later, and then perhaps while somebody waits for an answer.
    fn look_after_processes(&self, now: u64) {
        let policy = &self.policy;
        if now < policy.next_look_after.get() {
            return;
        }
        policy.next_look_after.set(now + LOOK_AFTER_NANOS / 1000 * policy.ticks_per_micro);
        self.greet_newborn();
        if !self.dying.borrow().is_empty() {
            self.reap_one();
        }
    }

    fn hear(&self, has_news: bool, after_sleep: &mut impl FnMut(bool)) {
        after_sleep(has_news);
        if has_news {
            // After the signals of children have been taken: each is followed by a look.
            self.reap();
        }
    }

    /// How many guest threads do not wait here, and so may ask.
    pub fn n_awake(&self) -> usize {
        self.n_threads.get().saturating_sub(self.n_parked.get())
    }

    /// Whether every guest thread waits here, so that nobody can ask.
    pub fn is_quiet(&self) -> bool {
        self.n_awake() == 0
    }

    /// What the bell says is the word of guests, and a hostile one can silence it for the others of
    /// its sandbox: so everybody who may run is looked at from time to time, those who should have
    /// been woken by a guest are woken, and what the bell tells guests is said again.
    fn patrol(&self, now: u64) {
        let ticks = PATROL_NANOS / 1000 * self.policy.ticks_per_micro;
        self.policy.next_patrol.set((now + ticks, timers::now().after(PATROL_NANOS)));
        if self.is_quiet() {
            return;
        }
        self.publish(self.policy.now.get());
        let spaces: Vec<_> = self.spaces.borrow().iter().flatten().cloned().collect();
        for space in spaces {
            self.wake_on_behalf_of(&space);
            self.bury_unknown(&space);
            let n_seats = space.seats.borrow().len();
            for index in 0..n_seats {
                let place = Place { space: Rc::clone(&space), index };
                if !self.serve(&place) {
                    self.wake_again(&place);
                }
            }
        }
    }

    /// Sleeps until something happens. Returns whether the host has news, other than that it is
    /// time to get up.
    fn sleep(&self) -> bool {
        late_closes::close_all();
        let hot = std::mem::take(&mut *self.hot.borrow_mut());
        for place in &hot {
            self.cool(place);
        }
        self.kill_overdue();
        self.newborn.take();
        // A failure shows when the next program starts.
        let _ = self.fill_pool();
        if self.executor.borrow().has_ready() {
            return false;
        }
        let bell = self.bell.get();
        bell.sleeping.store(sleep::IN_EPOLL, SeqCst);
        let has_news = bell.groups.load(SeqCst) == 0 && self.wait_for_host();
        bell.sleeping.store(sleep::AWAKE, SeqCst);
        has_news
    }

    /// Sleeps in the host's `epoll` until something happens or a timer is due. Returns whether
    /// there was more than an alarm.
    fn wait_for_host(&self) -> bool {
        let patrol = self.policy.next_patrol.get().1;
        if patrol <= timers::now() {
            // Not what the timer is set for: that one may have gone off already.
            self.patrol(ticks());
            return false;
        }
        // One that is set already may as well stay: setting a timer is a host call.
        let wants_patrol = !self.is_quiet() || self.policy.timer_set_for.get() == Some(patrol);
        let all = [self.timers.next_deadline(), self.next_kill(), wants_patrol.then_some(patrol)];
        let deadline = all.into_iter().flatten().min();
        if self.policy.timer_set_for.get() != deadline {
            self.set_timer(deadline);
        }
        self.ask_the_host(None)
    }

    /// Takes in what the host has to tell, waiting for it until the time is over. Returns whether
    /// there was more than an alarm.
    fn ask_the_host(&self, time: Option<&rustix::time::Timespec>) -> bool {
        let mut events = self.policy.scratch.borrow_mut();
        events.clear();
        let spare = rustix::buffer::spare_capacity(&mut events);
        // An interrupted wait is as good as one that ended.
        let _ = epoll::wait(self.host_events.epoll(), spare, time);
        let mut has_news = false;
        for event in events.iter() {
            // Copies: the structure is packed.
            let (data, flags) = (event.data, event.flags);
            let is_alarm = |alarms: &[Watch; 2]| alarms.iter().any(|it| it.data() == data.u64());
            if !self.policy.alarms.get().is_some_and(is_alarm) {
                has_news = true;
                self.host_events.dispatch(data.u64(), flags.bits());
            }
        }
        if has_news {
            kept_events::may_be_taken();
        }
        has_news
    }

    fn set_timer(&self, deadline: Option<Instant>) {
        self.policy.timer_set_for.set(deadline);
        let value = deadline.map_or(ZERO, |at| {
            // Zero would mean "never": a deadline in the past is one nanosecond after zero.
            let at = linux_abi::time::Timespec::from_nanos(at.0.max(1));
            rustix::time::Timespec { tv_sec: at.tv_sec, tv_nsec: at.tv_nsec }
        });
        let timer = rustix::time::Itimerspec { it_interval: ZERO, it_value: value };
        let flags = rustix::time::TimerfdTimerFlags::ABSTIME;
        let _ = rustix::time::timerfd_settime(&self.policy.timer, flags, &timer);
    }

    /// Did the kernel have to wait for a CPU lately? Then spinning takes time from whoever should
    /// run, the guests included.
    fn note_contention(&self, now: u64) {
        let policy = &self.policy;
        let nanos = |ticks: u64| ticks.saturating_mul(1000) / policy.ticks_per_micro.max(1);
        let elapsed = nanos(now.saturating_sub(policy.sampled_at.get()));
        if elapsed < SAMPLE_NANOS || policy.usual == policy.contended {
            return;
        }
        let delay = policy.delay.nanos();
        let waited = delay.saturating_sub(policy.sampled_delay.get());
        if waited.saturating_mul(CONTENDED_PART) > elapsed {
            let back_off = policy.back_off.get();
            let until = now + back_off / 1000 * policy.ticks_per_micro;
            if policy.contended_until.replace(until) == 0 {
                policy.back_off.set(BACK_OFF_NANOS.1.min(2 * back_off));
                policy.giving_way.set_contended(true);
                self.publish(policy.contended);
            }
        } else if policy.contended_until.get() == 0 {
            policy.back_off.set(BACK_OFF_NANOS.0);
        } else if now > policy.contended_until.get() {
            policy.contended_until.set(0);
            policy.giving_way.set_contended(false);
            self.publish(policy.usual);
        }
        policy.sampled_at.set(now);
        policy.sampled_delay.set(delay);
    }
}
