//! Processes that fill memory at one time, and whose turn it is.
//!
//! Together they pass the limit by what they fill until the kernel process gets to look, and on a busy machine
//! that takes long. So when they would be there soon they go on one at a time: one has one CPU at most to fill
//! with, and the kernel process has fewer to wait for. Others of the sandbox run as before.

use std::cell::RefCell;
use std::collections::HashMap;

use host_sys::rustix::process::Pid;

/// It is a race if all would be filled in so many looks like the last one.
const LOOKS_AHEAD: u64 = 4;
/// Who has taken more than this since the last look fills memory.
const FILLING: u64 = 64 << 10;
/// A turn is over after so much CPU time, or when whose turn it is sleeps: it may wait for another one.
const TURN_NANOS: u64 = 10_000_000;

/// A process, as far as it matters here.
#[derive(Clone, Copy)]
pub struct Runner {
    /// Its number.
    pub pid: Pid,
    /// What it holds, in bytes.
    pub size: u64,
    /// CPU time that it has used, in nanoseconds.
    pub cpu_time: u64,
    /// It waits for something.
    pub is_asleep: bool,
}

/// How fast memory is filled, from look to look.
#[derive(Default)]
pub struct Race(RefCell<State>);

#[derive(Default)]
struct State {
    sizes: HashMap<Pid, u64>,
    held: u64,
    /// Those that fill memory. It is the first one's turn.
    racers: Vec<Pid>,
    /// CPU time of the first one when its turn began.
    began_at: u64,
    /// So many turns in a row, the one under way included, have seen no race.
    n_quiet: usize,
}

impl Race {
    /// Who has to wait, if all hold `held`.
    pub fn who_waits(&self, runners: &[Runner], held: u64, limit: u64) -> Vec<Pid> {
        let mut state = self.0.borrow_mut();
        state.look(runners, held, limit);
        state.racers.iter().skip(1).copied().collect()
    }
}

impl State {
    fn look(&mut self, runners: &[Runner], held: u64, limit: u64) {
        let before = |runner: &Runner| self.sizes.get(&runner.pid).copied().unwrap_or(0);
        let growth = |runner: &Runner| (runner.size.saturating_sub(before(runner)), runner.pid);
        let mut grown: Vec<_> = runners.iter().map(growth).filter(|it| it.0 > FILLING).collect();
        grown.sort_unstable_by_key(|it| std::cmp::Reverse(it.0));
        self.sizes = runners.iter().map(|runner| (runner.pid, runner.size)).collect();
        let ahead = held.saturating_sub(self.held).saturating_mul(LOOKS_AHEAD);
        self.held = held;
        let is_race = held.saturating_add(ahead) > limit;
        let first = self.racers.first().copied();
        self.racers.retain(|pid| self.sizes.contains_key(pid));
        if is_race {
            self.n_quiet = 0;
            let fresh = grown.iter().map(|it| it.1).filter(|pid| !self.racers.contains(pid));
            let fresh: Vec<_> = fresh.collect();
            self.racers.extend(fresh);
        }
        let of_first = |racers: &[Pid]| {
            let first = racers.first()?;
            runners.iter().find(|runner| runner.pid == *first).copied()
        };
        let Some(runner) = of_first(&self.racers) else { return };
        if first != Some(runner.pid) {
            self.began_at = runner.cpu_time;
            return;
        }
        let has_had_its_turn = runner.cpu_time.saturating_sub(self.began_at) >= TURN_NANOS;
        if !has_had_its_turn && !runner.is_asleep {
            return;
        }
        self.n_quiet += 1;
        if self.n_quiet > self.racers.len() {
            self.racers.clear();
            return;
        }
        self.racers.rotate_left(1);
        self.began_at = of_first(&self.racers).map_or(0, |runner| runner.cpu_time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn pid(number: i32) -> Pid {
        Pid::from_raw(number).unwrap()
    }

    /// Two processes of so many MiB, which have used so much CPU time.
    fn waits(race: &Race, sizes: [u64; 2], cpu_times: [u64; 2]) -> Vec<Pid> {
        let runner = |at: usize| Runner {
            pid: pid(i32::try_from(at).unwrap() + 1),
            size: sizes[at] * MIB,
            cpu_time: cpu_times[at],
            is_asleep: false,
        };
        let held = sizes.iter().sum::<u64>() * MIB;
        race.who_waits(&[runner(0), runner(1)], held, 100 * MIB)
    }

    #[test]
    fn of_two_that_fill_fast_one_goes_on_at_a_time() {
        let race = Race::default();
        assert_eq!(waits(&race, [5, 5], [1, 1]), []);
        assert_eq!(waits(&race, [20, 25], [2, 2]), [pid(1)]);
        assert_eq!(waits(&race, [20, 25], [2, 2]), [pid(1)], "it was not given a CPU");
        assert_eq!(waits(&race, [20, 40], [2, 2 + TURN_NANOS]), [pid(2)]);
    }

    #[test]
    fn who_sleeps_may_wait_for_the_other_one() {
        let race = Race::default();
        waits(&race, [5, 5], [1, 1]);
        assert_eq!(waits(&race, [20, 25], [2, 2]), [pid(1)]);
        let asleep = Runner { pid: pid(2), size: 25 * MIB, cpu_time: 3, is_asleep: true };
        let other = Runner { pid: pid(1), size: 20 * MIB, cpu_time: 2, is_asleep: false };
        assert_eq!(race.who_waits(&[other, asleep], 45 * MIB, 100 * MIB), [pid(2)]);
    }

    #[test]
    fn when_each_had_a_turn_without_a_race_all_go_on() {
        let race = Race::default();
        waits(&race, [5, 5], [1, 1]);
        waits(&race, [20, 25], [2, 2]);
        let mut n_turns = 0;
        let mut cpu_time = 2;
        while !waits(&race, [20, 25], [cpu_time, cpu_time]).is_empty() {
            cpu_time += TURN_NANOS;
            n_turns += 1;
            assert!(n_turns < 10);
        }
        assert!(n_turns >= 2, "{n_turns}");
    }

    #[test]
    fn one_that_fills_alone_and_slow_ones_do_not_wait() {
        let race = Race::default();
        assert_eq!(waits(&race, [5, 1], [1, 1]), []);
        assert_eq!(waits(&race, [50, 1], [2, 1]), []);
        let slow = Race::default();
        waits(&slow, [10, 10], [1, 1]);
        assert_eq!(waits(&slow, [12, 12], [2, 2]), []);
    }

    #[test]
    fn when_the_one_has_ended_the_next_one_goes_on() {
        let race = Race::default();
        waits(&race, [5, 5], [1, 1]);
        assert_eq!(waits(&race, [20, 25], [2, 2]), [pid(1)]);
        let left = Runner { pid: pid(1), size: 20 * MIB, cpu_time: 2, is_asleep: false };
        assert_eq!(race.who_waits(&[left], 20 * MIB, 100 * MIB), []);
    }
}
