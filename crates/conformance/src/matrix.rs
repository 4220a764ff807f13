//! The coverage matrix: every system call with its status, who uses it, which tests exercise it,
//! and how much it matters that it is not all there.

use std::collections::BTreeMap;

use kernel_syscalls::{SYSCALLS, Status};
use serde::Serialize;

use crate::needs::{Need, Priority};
use crate::report::rate;
use crate::results::Results;

/// One call.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Its name.
    pub call: &'static str,
    /// The word in the table of system calls.
    pub status: &'static str,
    /// The note in the table.
    pub note: &'static str,
    /// Interpreters and skills that make it.
    pub used_by: Vec<String>,
    /// Those among them that do not do inside what they should.
    pub blocks: Vec<String>,
    /// What they asked Linux for and never got inside.
    pub differs: Vec<String>,
    /// Test programs that make it, those first that make it most among their calls.
    pub tests: Vec<String>,
    /// How much it matters.
    pub priority: Priority,
}

/// The matrix, in the order of the table.
pub fn matrix(results: &Results) -> Vec<Row> {
    let mut tests = BTreeMap::<&str, Vec<(u64, &str)>>::new();
    for program in &results.programs {
        for (call, per_mille) in &program.exercises {
            tests.entry(call).or_default().push((*per_mille, &program.name));
        }
    }
    let needs: Vec<_> = results
        .usages
        .iter()
        .map(|usage| (usage.name.as_str(), usage.works(), usage.needs()))
        .collect();
    let failing: Vec<_> = results
        .programs
        .iter()
        .filter(|it| {
            let rate = rate(it);
            rate.passed < rate.counted
        })
        .map(|it| it.name.as_str())
        .collect();
    SYSCALLS
        .iter()
        .map(|call| {
            let mut tests = tests.remove(call.name).unwrap_or_default();
            tests.sort_by_key(|(share, name)| (std::cmp::Reverse(*share), *name));
            let users: Vec<_> = needs
                .iter()
                .filter_map(|(name, works, needs)| {
                    Some((*name, *works, needs.iter().find(|need| need.call == call.name)?))
                })
                .collect();
            let has_failing_test = tests.iter().any(|(_, name)| failing.contains(name));
            Row {
                call: call.name,
                status: call.status.word(),
                note: call.status.note(),
                priority: priority(&call.status, &users, has_failing_test),
                blocks: blocked(&call.status, &users),
                differs: users.iter().flat_map(|user| user.2.differs.clone()).collect(),
                used_by: users.iter().map(|(name, ..)| (*name).to_owned()).collect(),
                tests: tests.into_iter().map(|(_, name)| name.to_owned()).collect(),
            }
        })
        .collect()
}

/// Name, whether it works, and what it needs of this call.
type User<'a> = (&'a str, bool, &'a Need);

/// Users that do not work, where this call may be the reason: it is not all there, or answered
/// otherwise than on Linux.
fn blocked(status: &Status, users: &[User<'_>]) -> Vec<String> {
    let is_whole = matches!(status, Status::Full(_) | Status::Shim(_));
    users
        .iter()
        .filter(|(_, works, need)| !works && (!is_whole || !need.differs.is_empty()))
        .map(|(name, ..)| (*name).to_owned())
        .collect()
}

/// - critical: not there, and something that uses it does not work
/// - high: not all there and something that uses it does not work; or not there and used
/// - medium: supported in part and used; or not there, and tests that exercise it fail
/// - low: not all there, and nothing that was run needs more
fn priority(status: &Status, users: &[User<'_>], has_failing_test: bool) -> Priority {
    let blocks = !blocked(status, users).is_empty();
    let worst = users.iter().map(|(.., need)| need.priority).min().unwrap_or(Priority::None);
    match status {
        Status::Missing | Status::Refused(..) if blocks && worst <= Priority::High => {
            Priority::Critical
        }
        _ if blocks || worst <= Priority::High => Priority::High,
        Status::Full(_) | Status::Shim(_) => Priority::None,
        Status::Partial(..) if !users.is_empty() => Priority::Medium,
        Status::Missing if has_failing_test => Priority::Medium,
        _ => Priority::Low,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::results;
    use crate::trace::Calls;
    use crate::usage::{Kind, RunCase, Usage};

    fn usage(name: &str, line: &str, passed: bool) -> Usage {
        Usage {
            native: Some(Calls::parse(line)),
            inside: Calls::parse(line),
            cases: vec![RunCase { name: "c".into(), passed, reason: String::new() }],
            ..Usage::not_run(Kind::Skill, name.into(), "")
        }
    }

    #[test]
    fn what_blocks_something_comes_before_what_is_only_used() {
        let missing = SYSCALLS
            .iter()
            .find(|call| matches!(call.status, Status::Refused(..) | Status::Missing))
            .unwrap()
            .name;
        let line = format!("1 {missing}() = 0");
        let mut results = results("2026-01-01", &[]);
        results.programs[0].exercises.insert(missing.to_owned(), 3);
        let row = |results: &Results| {
            matrix(results).into_iter().find(|row| row.call == missing).unwrap()
        };
        assert_eq!(row(&results).tests, ["pipe_test"]);
        assert!(row(&results).priority >= Priority::Low);
        results.usages.push(usage("works", &line, true));
        assert_eq!(row(&results).priority, Priority::High);
        results.usages.push(usage("broken", &line, false));
        assert_eq!(row(&results).priority, Priority::Critical);
        assert_eq!(row(&results).blocks, ["broken"]);
    }
}
