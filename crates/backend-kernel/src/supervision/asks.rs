//! What guests asked about without doing it.
//!
//! A program that is told that it may not read a file goes another way. So a policy that fits a run
//! has to answer its questions as well.

use kernel_core::supervisor::Right;
use sandbox_spec::{Activity, AskRecord, MoreOfKind, PathUse, sensitive_place};

use super::fair::{Doer, FairList, kept};
use super::text;

/// How many questions are told apart.
const MAX_ASKS: usize = 5_000;

/// Whether it was refused, what is kept there if it is a place of secrets, and what was wanted.
type Kind = (bool, Option<&'static str>, Right);

/// What was asked about.
pub struct Asks {
    all: FairList<Kind, (Right, Vec<u8>), bool>,
}

impl Default for Asks {
    fn default() -> Self {
        Self { all: FairList::new(MAX_ASKS) }
    }
}

impl Asks {
    /// Somebody asked, and was told whether it may.
    pub fn add(&mut self, doer: Doer, right: Right, path: &[u8], is_allowed: bool) {
        let path = kept(path);
        let kind = (!is_allowed, sensitive_place(&path), right);
        self.all.add(kind, doer, (right, path), is_allowed);
    }

    /// Tells what was asked about.
    pub fn tell(self, activity: &mut Activity) {
        let more = |((is_refused, what, right), times)| MoreOfKind {
            kind: format!("{}{}", named(right, what), if is_refused { ", refused" } else { "" }),
            times,
        };
        activity.more_asked_by_kind = self.all.left_out().map(more).collect();
        let left_out = activity.more_asked_by_kind.iter().map(|more| more.times);
        activity.more_asked = left_out.fold(0, u64::saturating_add);
        let told = |(_, (right, path), is_allowed, _): (Kind, (Right, Vec<u8>), bool, u64)| {
            AskRecord { wanted: use_of(right), path: text(&path), is_allowed }
        };
        activity.asked = self.all.into_entries().map(told).collect();
    }
}

/// The name of a kind in reports.
pub fn named(right: Right, what: Option<&str>) -> String {
    let word = use_of(right).word();
    what.map_or_else(|| word.to_owned(), |what| format!("{word} {what}"))
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
            asks.add(None, Right::Run, format!("/{n}").as_bytes(), true);
            asks.add(None, Right::Run, b"/0", true);
        }
        let mut activity = Activity::default();
        asks.tell(&mut activity);
        assert_eq!((activity.asked.len(), activity.more_asked), (MAX_ASKS, 1));
        let more = &activity.more_asked_by_kind;
        assert_eq!((more[0].kind.as_str(), more[0].times), ("run", 1));
    }

    #[test]
    fn a_refusal_is_not_pushed_out() {
        let mut asks = Asks::default();
        for n in 0..2 * MAX_ASKS {
            asks.add(None, Right::Read, format!("/{n}").as_bytes(), true);
        }
        asks.add(None, Right::Read, b"/data/x", false);
        let mut activity = Activity::default();
        asks.tell(&mut activity);
        assert!(activity.asked.iter().any(|ask| !ask.is_allowed && ask.path == "/data/x"));
    }
}
