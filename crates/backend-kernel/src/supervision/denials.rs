//! What the rules denied.

use std::collections::BTreeMap;

use kernel_core::supervisor::Right;
use sandbox_spec::{Activity, Denial};

use super::asks::use_of;
use super::text;

/// How many denials are told apart.
const MAX_DENIALS: usize = 1_000;

/// What was denied, and how often.
#[derive(Default)]
pub struct Denials {
    by_use: BTreeMap<(Right, Vec<u8>), u64>,
    more: u64,
    last_program: Option<Vec<u8>>,
}

impl Denials {
    /// Something was denied.
    pub fn add(&mut self, right: Right, path: &[u8]) {
        if right == Right::Run {
            self.last_program = Some(path.to_vec());
        }
        let is_full = self.by_use.len() >= MAX_DENIALS;
        let key = (right, path.to_vec());
        match self.by_use.get_mut(&key) {
            Some(times) => *times += 1,
            None if is_full => self.more += 1,
            None => {
                self.by_use.insert(key, 1);
            }
        }
    }

    /// The program that was denied last.
    pub fn last_program(&self) -> Option<Vec<u8>> {
        self.last_program.clone()
    }

    /// Tells what was denied.
    pub fn tell(self, activity: &mut Activity) {
        activity.more_denied = self.more;
        for ((right, path), times) in self.by_use {
            activity.denied.push(Denial { wanted: use_of(right), path: text(&path), times });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_denials_are_one_and_the_rest_is_counted() {
        let mut denials = Denials::default();
        for n in 0..=MAX_DENIALS {
            denials.add(Right::Read, format!("/{n}").as_bytes());
            denials.add(Right::Read, b"/0");
        }
        let mut activity = Activity::default();
        denials.tell(&mut activity);
        assert_eq!(activity.denied.len(), MAX_DENIALS);
        assert_eq!(activity.more_denied, 1);
        assert_eq!(activity.denied[0].times, u64::try_from(MAX_DENIALS).unwrap() + 2);
    }
}
