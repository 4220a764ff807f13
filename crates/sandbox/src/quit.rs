//! The key that ends a sandbox whatever its programs do.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// So many times ...
const PRESSES: usize = 3;
/// ... in so short a time.
const WITHIN: Duration = Duration::from_secs(1);

/// Counts how often Ctrl-\ was pressed. A program may ignore `SIGINT` and `SIGQUIT`, or have keys as
/// bytes: whoever sits at the keyboard must still get out.
#[derive(Debug, Default)]
pub struct QuitPresses(VecDeque<Instant>);

impl QuitPresses {
    /// It was pressed once more: whether that is enough to end the sandbox.
    pub fn press(&mut self, now: Instant) -> bool {
        self.0.retain(|press| now.saturating_duration_since(*press) < WITHIN);
        self.0.push_back(now);
        self.0.len() >= PRESSES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_in_a_second_are_enough() {
        let mut presses = QuitPresses::default();
        let start = Instant::now();
        let mut press = |milliseconds| presses.press(start + Duration::from_millis(milliseconds));
        assert_eq!([press(0), press(600), press(1200)], [false; 3]);
        assert!(press(1500));
    }
}
