//! Taking turns on one CPU: the only one, or one of several that others want.
//!
//! There, spinning keeps the other side from answering, and a wake-up each way is most of what a
//! request costs. So guest and kernel stay ready to run and give way to each other (`sched_yield`),
//! which takes a little more than half of that. It is right only between the two of them: who gives
//! way lets *everybody* go first who wants the CPU, for milliseconds. So guests say when it took
//! long, and for a while both sleep again: who is woken gets the CPU back at once.

use std::cell::Cell;

/// Somebody else had the CPU, if it takes so long to get it back.
const TOO_LONG_MICROS: u64 = 500;
/// How long to do without at first, and at most: twice as long each time.
const BACK_OFF_MICROS: (u64, u64) = (4_000, 256_000);

/// Whether to give way, and what is known about those who do.
#[derive(Debug)]
pub struct GivingWay {
    /// Whether all share one CPU.
    has_one_cpu: bool,
    /// Whether they may, because others want the CPUs.
    is_contended: Cell<bool>,
    ticks_per_micro: u64,
    /// Not before then; 0 while it works.
    not_before: Cell<u64>,
    /// When it was begun again.
    since: Cell<u64>,
    /// For how long to do without, the next time.
    back_off: Cell<u64>,
    /// The kernel's own longest turn since it was last told of a long wait.
    longest_turn: Cell<u64>,
}

impl GivingWay {
    /// For this many CPUs.
    pub fn new(n_cpus: usize, ticks_per_micro: u64) -> Self {
        Self {
            has_one_cpu: n_cpus <= 1,
            is_contended: Cell::new(false),
            ticks_per_micro,
            not_before: Cell::new(0),
            since: Cell::new(0),
            back_off: Cell::new(BACK_OFF_MICROS.0 * ticks_per_micro),
            longest_turn: Cell::new(0),
        }
    }

    /// Whether guests and kernel give way now.
    pub fn is_on(&self) -> bool {
        self.is_useful() && self.not_before.get() == 0
    }

    fn is_useful(&self) -> bool {
        self.has_one_cpu || self.is_contended.get()
    }

    /// Whether others want the CPUs.
    pub fn set_contended(&self, is_contended: bool) {
        self.is_contended.set(is_contended);
    }

    /// The kernel gave way from one time to another. Where there are other CPUs for guests, somebody
    /// else had this one, if that was long.
    pub fn was_long(&self, from: u64, to: u64) -> bool {
        !self.has_one_cpu && to.saturating_sub(from) > TOO_LONG_MICROS * self.ticks_per_micro
    }

    /// What guests take for too long, in ticks; 0 if they shall not give way.
    pub fn too_long(&self) -> u64 {
        if self.is_on() { TOO_LONG_MICROS * self.ticks_per_micro } else { 0 }
    }

    /// The kernel has worked from one time to another.
    pub fn note_turn(&self, from: u64, to: u64) {
        self.longest_turn.set(self.longest_turn.get().max(to.saturating_sub(from)));
    }

    /// Whether a change is due: `was_long` if somebody says that it took long.
    pub fn has_changed(&self, now: u64, was_long: bool) -> bool {
        if !self.is_useful() {
            return false;
        }
        let not_before = self.not_before.get();
        if not_before != 0 {
            let is_over = now >= not_before;
            if is_over {
                self.not_before.set(0);
                self.since.set(now);
            }
            return is_over;
        }
        // A guest waits long for a kernel that works long, too.
        let turn = self.longest_turn.replace(0);
        if !was_long || turn >= TOO_LONG_MICROS / 2 * self.ticks_per_micro {
            return false;
        }
        let (least, most) = BACK_OFF_MICROS;
        let last = self.back_off.get();
        let was_calm = now.saturating_sub(self.since.get()) > last;
        let back_off = if was_calm { least * self.ticks_per_micro } else { last };
        self.not_before.set(now + back_off);
        self.back_off.set((back_off * 2).min(most * self.ticks_per_micro));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICRO: u64 = 1_000;
    const FIRST: u64 = BACK_OFF_MICROS.0 * MICRO;

    #[test]
    fn it_is_for_one_cpu() {
        let giving_way = GivingWay::new(2, MICRO);
        assert_eq!((giving_way.is_on(), giving_way.too_long()), (false, 0));
        assert!(!giving_way.has_changed(1, true), "nobody gives way");
        let giving_way = GivingWay::new(1, MICRO);
        assert_eq!((giving_way.is_on(), giving_way.too_long()), (true, TOO_LONG_MICROS * MICRO));
    }

    #[test]
    fn it_is_for_cpus_that_others_want() {
        let giving_way = GivingWay::new(2, MICRO);
        giving_way.set_contended(true);
        assert!(giving_way.is_on());
        let long = TOO_LONG_MICROS * MICRO + 1;
        assert!(giving_way.was_long(0, long) && !giving_way.was_long(1, long));
        assert!(giving_way.has_changed(long, true) && !giving_way.is_on());
        giving_way.set_contended(false);
        assert!(!giving_way.has_changed(long + FIRST, false), "nobody gives way");
        assert!(!GivingWay::new(1, MICRO).was_long(0, long), "guests computed");
    }

    #[test]
    fn others_who_want_the_cpu_end_it_for_twice_as_long_each_time() {
        let giving_way = GivingWay::new(1, MICRO);
        let mut now = 10 * FIRST;
        assert!(!giving_way.has_changed(now, false));
        for times in [1, 2, 4, 8] {
            assert!(giving_way.has_changed(now, true));
            assert_eq!((giving_way.is_on(), giving_way.too_long()), (false, 0));
            now += times * FIRST;
            assert!(!giving_way.has_changed(now - 1, true), "too early");
            assert!(giving_way.has_changed(now, false));
            assert!(giving_way.is_on());
        }
        now += 100 * FIRST;
        assert!(giving_way.has_changed(now, true));
        assert!(giving_way.has_changed(now + FIRST, false), "it had been calm");
    }

    #[test]
    fn it_is_never_ended_for_very_long() {
        let giving_way = GivingWay::new(1, MICRO);
        let mut now = 10 * FIRST;
        for _ in 0..20 {
            assert!(giving_way.has_changed(now, true));
            now += BACK_OFF_MICROS.1 * MICRO;
            assert!(giving_way.has_changed(now, false));
        }
    }

    #[test]
    fn a_kernel_that_works_long_is_nobody_else() {
        let giving_way = GivingWay::new(1, MICRO);
        giving_way.note_turn(0, TOO_LONG_MICROS * MICRO);
        assert!(!giving_way.has_changed(FIRST, true));
        giving_way.note_turn(0, MICRO);
        assert!(giving_way.has_changed(FIRST, true));
    }
}
