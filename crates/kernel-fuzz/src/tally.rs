//! What the calls answered, to see that they got somewhere.

use std::collections::BTreeMap;
use std::time::Duration;

use linux_abi::{Errno, Interrupted, WaitResult};

/// How often one call answered what.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    /// It worked.
    pub good: u64,
    /// It has to wait.
    pub waiting: u64,
    /// It failed, by error.
    pub errors: BTreeMap<u16, u64>,
    /// The longest time that one call took.
    pub slowest: Duration,
}

/// The answers of all calls.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// By the name of the call.
    pub by_call: BTreeMap<&'static str, Answers>,
    /// How many calls there were.
    pub n_calls: u64,
}

impl Tally {
    /// Counts a call.
    pub fn count(&mut self, name: &'static str, answer: Option<WaitResult<u64>>, took: Duration) {
        self.n_calls += 1;
        let answers = self.by_call.entry(name).or_default();
        answers.slowest = answers.slowest.max(took);
        match answer {
            None => answers.waiting += 1,
            Some(Ok(_)) => answers.good += 1,
            Some(Err(Interrupted::Errno(errno))) => answers.add_error(errno),
            Some(Err(Interrupted::Signal(_))) => answers.add_error(Errno::EINTR),
        }
    }

    /// Calls that never worked and never waited.
    pub fn never_good(&self) -> Vec<&'static str> {
        let bad = self.by_call.iter().filter(|(_, answers)| answers.good + answers.waiting == 0);
        bad.map(|(name, _)| *name).collect()
    }

    /// How many different pairs of call and answer were seen.
    pub fn n_different(&self) -> usize {
        let kinds = |answers: &Answers| {
            usize::from(answers.good > 0) + usize::from(answers.waiting > 0) + answers.errors.len()
        };
        self.by_call.values().map(kinds).sum()
    }

    /// The calls that took longest.
    pub fn slowest(&self, n: usize) -> Vec<(&'static str, Duration)> {
        let mut all: Vec<_> =
            self.by_call.iter().map(|(name, answers)| (*name, answers.slowest)).collect();
        all.sort_by_key(|(_, took)| std::cmp::Reverse(*took));
        all.truncate(n);
        all
    }
}

impl Answers {
    fn add_error(&mut self, errno: Errno) {
        *self.errors.entry(errno.code()).or_default() += 1;
    }
}
