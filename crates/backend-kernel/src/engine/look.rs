//! Looks for requests.

use std::rc::Rc;
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
    /// With one CPU, where the kernel gives way, looking again helps only then, and what can wait does so until it has.
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
        let mut groups = bell.groups.swap(0, SeqCst);
        let mut worked = false;
        while let Some(group) = take_lowest(&mut groups) {
            let Some(word) = bell.spaces.get(group) else { continue };
            let mut numbers = word.swap(0, SeqCst);
            while let Some(number) = take_lowest(&mut numbers) {
                worked |= self.serve_space(group * 64 + number);
            }
        }
        worked
    }

    fn serve_space(&self, number: usize) -> bool {
        let Some(space) = self.space(number) else { return false };
        let header = space.channel.header();
        let mut groups = header.groups.swap(0, SeqCst);
        let mut worked = false;
        while let Some(group) = take_lowest(&mut groups) {
            let Some(word) = header.slots.get(group) else { continue };
            let mut slots = word.swap(0, SeqCst);
            while let Some(slot) = take_lowest(&mut slots) {
                let place = Place { space: Rc::clone(&space), index: group * 64 + slot };
                worked |= self.serve(&place);
                self.heat(place);
            }
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

/// Takes the lowest bit out of a word.
fn take_lowest(word: &mut u64) -> Option<usize> {
    if *word == 0 {
        return None;
    }
    let bit = word.trailing_zeros() as usize;
    *word &= *word - 1;
    Some(bit)
}
