//! What guests asked about without doing it.
//!
//! A program that is told that it may not read a file goes another way. So a policy that fits a run
//! has to answer its questions as well.

use std::collections::BTreeMap;

use kernel_core::supervisor::Right;
use sandbox_spec::{Activity, AskRecord, PathUse};

use super::text;

/// How many questions are told apart.
const MAX_ASKS: usize = 5_000;

/// What was asked about.
#[derive(Default)]
pub struct Asks {
    known: BTreeMap<(Right, Vec<u8>), bool>,
    more: u64,
}

impl Asks {
    /// Somebody asked, and was told whether it may.
    pub fn add(&mut self, right: Right, path: &[u8], is_allowed: bool) {
        let key = (right, path.to_vec());
        if self.known.contains_key(&key) {
            return;
        }
        if self.known.len() >= MAX_ASKS {
            self.more += 1;
            return;
        }
        self.known.insert(key, is_allowed);
    }

    /// Tells what was asked about.
    pub fn tell(self, activity: &mut Activity) {
        activity.more_asked = self.more;
        let told = |((right, path), is_allowed): ((Right, Vec<u8>), bool)| AskRecord {
            wanted: use_of(right),
            path: text(&path),
            is_allowed,
        };
        activity.asked = self.known.into_iter().map(told).collect();
    }
}

/// The word of reports for a right.
pub fn use_of(right: Right) -> PathUse {
    match right {
        Right::Read => PathUse::Read,
        Right::Write => PathUse::Write,
        Right::Run => PathUse::Run,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_questions_are_one_and_the_rest_is_counted() {
        let mut asks = Asks::default();
        for n in 0..=MAX_ASKS {
            asks.add(Right::Run, format!("/{n}").as_bytes(), true);
            asks.add(Right::Run, b"/0", true);
        }
        let mut activity = Activity::default();
        asks.tell(&mut activity);
        assert_eq!((activity.asked.len(), activity.more_asked), (MAX_ASKS, 1));
    }
}
