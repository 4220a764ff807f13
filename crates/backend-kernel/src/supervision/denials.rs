//! What the rules denied.

use kernel_core::supervisor::Right;
use sandbox_spec::{Activity, Denial, MoreOfKind, sensitive_place};

use super::asks::{named, use_of};
use super::fair::{Doer, FairList, kept};
use super::text;

/// How many denials are told apart.
const MAX_DENIALS: usize = 1_000;

/// What was wanted, and what is kept there if it is a place of secrets.
type Kind = (Option<&'static str>, Right);

/// What was denied, and how often.
pub struct Denials {
    all: FairList<Kind, (Right, Vec<u8>), ()>,
    last_program: Option<Vec<u8>>,
}

impl Default for Denials {
    fn default() -> Self {
        Self { all: FairList::new(MAX_DENIALS), last_program: None }
    }
}

impl Denials {
    /// Something was denied.
    pub fn add(&mut self, doer: Doer, right: Right, path: &[u8]) {
        if right == Right::Run {
            self.last_program = Some(path.to_vec());
        }
        let path = kept(path);
        self.all.add((sensitive_place(&path), right), doer, (right, path), ());
    }

    /// The program that was denied last.
    pub fn last_program(&self) -> Option<Vec<u8>> {
        self.last_program.clone()
    }

    /// Tells what was denied.
    pub fn tell(self, activity: &mut Activity) {
        let more = |((what, right), times)| MoreOfKind { kind: named(right, what), times };
        activity.more_denied_by_kind = self.all.left_out().map(more).collect();
        let left_out = activity.more_denied_by_kind.iter().map(|more| more.times);
        activity.more_denied = left_out.fold(0, u64::saturating_add);
        for (_, (right, path), (), times) in self.all.into_entries() {
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
            denials.add(None, Right::Read, format!("/{n}").as_bytes());
            denials.add(None, Right::Read, b"/0");
        }
        let mut activity = Activity::default();
        denials.tell(&mut activity);
        assert_eq!(activity.denied.len(), MAX_DENIALS);
        assert_eq!(activity.more_denied, 1);
        assert_eq!(activity.denied[0].times, u64::try_from(MAX_DENIALS).unwrap() + 2);
    }

    #[test]
    fn denials_that_are_made_up_hide_none() {
        let mut denials = Denials::default();
        let (liar, other) = (Some(linux_abi::Pid(2)), Some(linux_abi::Pid(3)));
        for n in 0..2 * MAX_DENIALS {
            denials.add(liar, Right::Read, format!("/work/{n}").as_bytes());
        }
        denials.add(liar, Right::Read, b"/etc/shadow");
        denials.add(liar, Right::Write, b"/work/x");
        denials.add(other, Right::Read, b"/data/customers");
        let mut activity = Activity::default();
        denials.tell(&mut activity);
        for path in ["/etc/shadow", "/work/x", "/data/customers"] {
            assert!(activity.denied.iter().any(|denial| denial.path == path), "{path}");
        }
        assert_eq!(activity.denied.len(), MAX_DENIALS);
        let more = &activity.more_denied_by_kind;
        assert_eq!((more.len(), more[0].kind.as_str(), more[0].times), (1, "read", 1_003));
    }
}
