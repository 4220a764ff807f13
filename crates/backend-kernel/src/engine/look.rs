//! Looks for requests.

use std::rc::Rc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use host_sys::ticks;
use kernel_files::tmpfs::spare_memfds;
use kernel_files::{ahead, late_closes};

use super::{Engine, Place};

/// How many slots are polled directly.
const MAX_HOT: usize = 4;
/// Timers and the host get their turn after this time, however much there is to do.
const LONG_TURN_NANOS: u64 = 200_000;
/// How often it looks for requests before it does so.
const LOOKS: usize = 16;

impl Engine {
    /// Looks a few times at everything that may have work, and does what can wait while there is
    /// none. Returns whether there was any.
    ///
    /// Where the kernel gives way, looking again helps only after that, and so long waits what can.
    pub(super) fn look_around(&self, gives_way: bool, has_given_way: bool) -> bool {
        let mut worked = false;
        let until = self.policy.in_micros(LONG_TURN_NANOS / 1000);
        for _ in 0..if gives_way { 1 } else { LOOKS } {
            let has_worked = self.look();
            worked |= has_worked;
            if has_worked {
                if ticks() > until {
                    break;
                }
            } else if !gives_way || has_given_way {
                ahead::read();
                late_closes::close_one();
                spare_memfds::make_one();
            }
            std::hint::spin_loop();
        }
        worked
    }

    /// Looks once at everything that may have work. Returns whether there was any.
    fn look(&self) -> bool {
        let mut worked = false;
        let mut index = 0;
        loop {
            // Serving may change the list.
            let place = self.hot.borrow().get(index).cloned();
            let Some(place) = place else { break };
            worked |= self.serve(&place);
            index += 1;
        }
        worked |= self.answer_the_bell();
        worked |= self.run_ready();
        worked
    }

    /// Serves everyone who rang.
    fn answer_the_bell(&self) -> bool {
        let bell = self.bell.get();
        if bell.groups.load(Relaxed) == 0 {
            return false;
        }
        let mut worked = false;
        for number in take_bits(&bell.groups, &bell.spaces) {
            worked |= self.serve_space(number);
        }
        worked
    }

    fn serve_space(&self, number: usize) -> bool {
        let Some(space) = self.space(number) else { return false };
        let header = space.channel.header();
        let mut worked = false;
        for index in take_bits(&header.groups, &header.slots) {
            let place = Place { space: Rc::clone(&space), index };
            worked |= self.serve(&place);
            self.heat(place);
        }
        worked
    }

    /// Polls this slot directly from now on.
    fn heat(&self, place: Place) {
        if !self.policy.polls() || place.space.is_retired.get() {
            return;
        }
        let mut hot = self.hot.borrow_mut();
        if hot.iter().any(|other| other.is(&place)) {
            return;
        }
        let oldest = (hot.len() >= MAX_HOT).then(|| hot.remove(0));
        place.space.channel.slot(place.index).polled.store(1, SeqCst);
        hot.push(place);
        drop(hot);
        if let Some(oldest) = oldest {
            self.cool(&oldest);
        }
    }

    pub(super) fn cool(&self, place: &Place) {
        place.space.channel.slot(place.index).polled.store(0, SeqCst);
        self.serve(place); // it may have asked without ringing
    }
}

/// Takes the bits out of words that come in groups: a bit of `groups` says which word has some. A
/// word is emptied when its turn comes.
fn take_bits(groups: &AtomicU64, words: &[AtomicU64]) -> impl Iterator<Item = usize> {
    bits(groups.swap(0, SeqCst)).flat_map(|group| {
        let word = words.get(group).map_or(0, |word| word.swap(0, SeqCst));
        bits(word).map(move |bit| group * 64 + bit)
    })
}

/// The bits of a word that are set, the lowest first.
fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros() as usize)?;
        word &= word - 1;
        Some(bit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_come_once_and_in_order() {
        let groups = AtomicU64::new(0b1010_0001);
        let words = [0b11, 1 << 63, 0, 1 << 5].map(AtomicU64::new);
        assert_eq!(take_bits(&groups, &words).collect::<Vec<_>>(), [0, 1]);
        groups.store(0b1010, SeqCst);
        assert_eq!(take_bits(&groups, &words).collect::<Vec<_>>(), [64 + 63, 3 * 64 + 5]);
        assert_eq!(take_bits(&groups, &words).count(), 0);
    }
}
