//! What the host's kernel holds for the mappings of guests.
//!
//! A shim maps memory without asking, and guest code can do so without the shim. The host has some
//! hundred bytes for each mapping, tells nobody how many there are, and takes long to list them. But it
//! tells the size of all of them and the CPU time of their process, which bound how many there can be:
//! only where so many would not fit are they counted.

use std::cell::RefCell;
use std::collections::HashMap;

use host_sys::OuterPid;

use crate::engine::census::{Census, Listed};

/// What the host holds for a mapping, measured on Linux 6.18: the mapping itself, its place in the tree,
/// and a link to those who may share its pages ...
const MAPPING_BYTES: u64 = 384;
/// ... with one more link for each process that it was copied from.
const GENERATION_BYTES: u64 = 64;
/// Of processes that were copied one from the other and have ended, the host keeps so many links.
const ENDED_GENERATIONS: u64 = 2;
/// No process makes mappings faster: nanoseconds of CPU time for each.
const FASTEST_MAPPING_NANOS: u64 = 500;
const PAGE: u64 = 4096;

/// The most mappings that the host lets a process have.
fn most_per_process() -> u64 {
    let text = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap_or_default();
    // Their size bounds them, too.
    text.trim().parse().unwrap_or(u64::MAX)
}

/// How many mappings a process had, and the CPU time that it had used then.
#[derive(Clone, Copy, Default)]
struct Counted {
    n_mappings: u64,
    cpu_time: u64,
}

/// What one process holds: at least, and at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Estimate {
    least: u64,
    most: u64,
    /// Bytes for each mapping.
    each: u64,
}

impl Estimate {
    fn unsure(&self) -> u64 {
        (self.most.saturating_sub(self.least)).saturating_mul(self.each)
    }

    fn sure(&self) -> u64 {
        self.least.saturating_mul(self.each)
    }
}

/// Counts where it may matter: until what is unsure is no more than `allowed`, or fits into `room` with
/// all that is sure.
fn settle(
    estimates: &mut [Estimate],
    room: u64,
    allowed: u64,
    mut count: impl FnMut(usize) -> u64,
) {
    loop {
        let sum = |of: fn(&Estimate) -> u64| estimates.iter().map(of).fold(0, u64::saturating_add);
        let left = room.saturating_sub(sum(Estimate::sure));
        if sum(Estimate::unsure) <= left.max(allowed) {
            return;
        }
        let most_unsure = estimates.iter_mut().enumerate().max_by_key(|(_, it)| it.unsure());
        let Some((index, estimate)) = most_unsure.filter(|(_, it)| it.unsure() > 0) else { return };
        let n_mappings = count(index);
        (estimate.least, estimate.most) = (n_mappings, n_mappings);
    }
}

/// The mappings of all guests.
pub struct Mappings {
    counted: RefCell<HashMap<OuterPid, Counted>>,
    most_per_process: u64,
}

impl Mappings {
    /// Knows nothing as yet.
    pub fn new() -> Self {
        Self { counted: RefCell::default(), most_per_process: most_per_process() }
    }

    /// How many bytes the host holds for mappings. They are counted where what is unsure is more than
    /// `allowed` and does not fit into `room`; that calls `while_counting` again and again.
    pub fn bytes(
        &self,
        census: &Census,
        room: u64,
        allowed: u64,
        mut while_counting: impl FnMut(),
    ) -> u64 {
        let mut counted = self.counted.take();
        let n_processes = census.processes.len() as u64;
        let generations = census.processes.iter().filter_map(Listed::generation);
        let oldest = generations.max().unwrap_or(0).saturating_add(1);
        let mut known = HashMap::with_capacity(census.processes.len());
        let mut estimates: Vec<Estimate> = Vec::with_capacity(census.processes.len());
        for it in &census.processes {
            let generation = u64::from(it.generation().unwrap_or(oldest));
            let before = counted.remove(&it.outer);
            known.extend(before.map(|before| (it.outer, before)));
            let each = bytes_for_each(generation.min(n_processes + ENDED_GENERATIONS));
            estimates.push(self.estimate(it, before, each));
        }
        settle(&mut estimates, room, allowed, |index| {
            let Some(it) = census.processes.get(index) else { return 0 };
            // Before: what is made meanwhile may be missing.
            let cpu_time = it.state.pid.map_or(0, host_sys::process_cpu_time);
            // Who cannot be looked at has as many as it can have.
            let n_mappings = it.outer.count_mappings(&mut while_counting);
            let n_mappings = n_mappings.unwrap_or_else(|_| self.most(it));
            known.insert(it.outer, Counted { n_mappings, cpu_time });
            n_mappings
        });
        self.counted.replace(known);
        estimates.iter().map(Estimate::sure).fold(0, u64::saturating_add)
    }

    /// The most mappings that a process can have, whatever it did.
    fn most(&self, it: &Listed) -> u64 {
        self.most_per_process.min(it.state.mapped / PAGE)
    }

    fn estimate(&self, it: &Listed, before: Option<Counted>, each: u64) -> Estimate {
        let made = |before: Counted| {
            let used = it.cpu_time.saturating_sub(before.cpu_time);
            before.n_mappings.saturating_add(used / FASTEST_MAPPING_NANOS)
        };
        let least = before.map_or(0, |before| before.n_mappings);
        let most = self.most(it).min(before.map_or(u64::MAX, made)).max(least);
        Estimate { least, most, each }
    }
}

/// What is held for one mapping of a process of this generation, and for its copy: the host copies all of
/// them for a child before it lists the child.
fn bytes_for_each(generation: u64) -> u64 {
    let bytes = |generation: u64| MAPPING_BYTES + GENERATION_BYTES * generation;
    bytes(generation) + bytes(generation + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNSURE: Estimate = Estimate { least: 10, most: 110, each: 2 };

    fn count_in(estimates: &mut [Estimate], room: u64, allowed: u64) -> Vec<usize> {
        let mut asked = Vec::new();
        settle(estimates, room, allowed, |index| {
            asked.push(index);
            50
        });
        asked
    }

    #[test]
    fn nobody_is_counted_while_all_fits() {
        assert_eq!(count_in(&mut [UNSURE, UNSURE], 440, 0), [0; 0]);
        assert_eq!(count_in(&mut [UNSURE, UNSURE], 0, 400), [0; 0]);
    }

    #[test]
    fn who_is_most_unsure_is_counted_first() {
        let large = Estimate { most: 120, ..UNSURE };
        let mut estimates = [UNSURE, large, UNSURE];
        assert_eq!(count_in(&mut estimates, 540, 0), [1]);
        assert_eq!(estimates[1], Estimate { least: 50, most: 50, each: 2 });
    }

    #[test]
    fn all_are_counted_when_nothing_fits_and_each_once() {
        let mut estimates = [UNSURE, UNSURE, UNSURE];
        let mut asked = count_in(&mut estimates, 0, 0);
        asked.sort_unstable();
        assert_eq!(asked, [0, 1, 2]);
        assert_eq!(estimates.iter().map(Estimate::sure).sum::<u64>(), 300);
    }

    #[test]
    fn a_copy_of_a_copy_holds_more() {
        assert_eq!(bytes_for_each(0), 384 + 448);
        assert_eq!(bytes_for_each(12) - bytes_for_each(11), 128);
    }
}
