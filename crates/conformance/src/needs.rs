//! How well what a program uses is supported.
//!
//! The program was run under a tracer. What it did in that run is what the answer is about, and
//! nothing else.

use kernel_syscalls::{SYSCALLS, Status};
use serde::Serialize;

use crate::trace::{CallUse, Calls, OptionUse, Uses};

/// How much something depends on what is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Priority {
    /// Not supported, and needed.
    Critical,
    /// Refused on purpose, or answered by Linux and never inside.
    High,
    /// Supported in part: whether the part is enough shows when it runs.
    Medium,
    /// Supported without effect, or not supported and of no use to the program.
    Low,
    /// Supported.
    None,
}

impl Priority {
    /// The word in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
            Self::None => "-",
        }
    }
}

/// Where the calls were seen.
#[derive(Clone, Copy, Debug)]
pub enum Evidence<'a> {
    /// On Linux: a call that succeeded there is needed.
    Native,
    /// On Linux and in the sandbox, whose calls these are.
    Both(&'a Calls),
    /// Only in the sandbox, where the program did what it should, or did not. What it lacks there
    /// it needs if it failed.
    Inside {
        /// Whether it did.
        worked: bool,
    },
}

/// One call that a program uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Need {
    /// The call.
    pub call: String,
    /// How often.
    #[serde(flatten)]
    pub uses: Uses,
    /// Its options, for a call with many meanings.
    pub options: Vec<OptionUse>,
    /// What Linux answered and the sandbox never did: options, or the call itself.
    pub differs: Vec<String>,
    /// The word in the table of system calls.
    pub status: &'static str,
    /// The note in the table.
    pub note: &'static str,
    /// How much it matters.
    pub priority: Priority,
}

/// Sets calls against the table; the worst first.
pub fn judge(calls: &Calls, evidence: Evidence<'_>) -> Vec<Need> {
    let mut needs: Vec<_> = calls.0.iter().map(|(call, made)| need(call, made, evidence)).collect();
    needs.sort_by(|a, b| (a.priority, b.uses.count).cmp(&(b.priority, a.uses.count)));
    needs
}

fn need(call: &str, made: &CallUse, evidence: Evidence<'_>) -> Need {
    let row = SYSCALLS.iter().find(|row| row.name == call);
    let differs = match evidence {
        Evidence::Both(inside) => {
            inside.0.get(call).map_or(Vec::new(), |it| differing(call, made, it))
        }
        Evidence::Native | Evidence::Inside { .. } => Vec::new(),
    };
    let is_needed = match evidence {
        Evidence::Native | Evidence::Both(_) => made.uses.succeeded > 0,
        Evidence::Inside { worked } => !worked,
    };
    let priority = match row.map(|row| row.status) {
        Some(Status::Refused(..)) if is_needed => Priority::High,
        Some(Status::Missing) | None if is_needed => Priority::Critical,
        Some(Status::Refused(..) | Status::Missing) | None => Priority::Low,
        _ if !differs.is_empty() => Priority::High,
        Some(Status::Full(_) | Status::Shim(_)) => Priority::None,
        Some(Status::Partial(..)) => Priority::Medium,
        Some(Status::Stub(..)) => Priority::Low,
    };
    Need {
        call: call.to_owned(),
        uses: made.uses,
        options: made.options.values().cloned().collect(),
        differs,
        status: row.map_or("unknown", |row| row.status.word()),
        note: row.map_or("", |row| row.status.note()),
        priority,
    }
}

/// What succeeded natively, and was tried inside and never succeeded.
fn differing(call: &str, native: &CallUse, inside: &CallUse) -> Vec<String> {
    let differs = |native: Uses, inside: Uses| {
        native.succeeded > 0 && inside.count > 0 && inside.succeeded == 0
    };
    let mut found: Vec<_> = native
        .options
        .iter()
        .filter(|(number, option)| {
            inside.options.get(*number).is_some_and(|other| differs(option.uses, other.uses))
        })
        .map(|(_, option)| option.name.clone())
        .collect();
    if native.options.is_empty() && differs(native.uses, inside.uses) {
        found.push(call.to_owned());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn priority(text: &str, evidence: Evidence<'_>) -> Priority {
        judge(&Calls::parse(text), evidence)[0].priority
    }

    #[test]
    fn what_linux_refused_too_matters_little() {
        let (fails, succeeds) = ("1 no_such_call() = -1 EPERM (x)", "1 no_such_call() = 0");
        assert_eq!(priority(fails, Evidence::Native), Priority::Low);
        assert_eq!(priority(succeeds, Evidence::Native), Priority::Critical);
    }

    #[test]
    fn what_a_working_program_lacks_inside_matters_little() {
        let line = "[1] no_such_call() = -1 ENOSYS (x)";
        assert_eq!(priority(line, Evidence::Inside { worked: true }), Priority::Low);
        assert_eq!(priority(line, Evidence::Inside { worked: false }), Priority::Critical);
    }

    #[test]
    fn an_option_that_only_linux_answers_is_told() {
        let native = Calls::parse("1 ioctl(3, 0x5401 /* TCGETS */, 0x1) = 0\n1 close(3) = 0");
        let inside = Calls::parse("[1] ioctl(3, 0x5401, 0x1) = -1 ENOTTY (x)\n[1] close(3) = 0");
        let needs = judge(&native, Evidence::Both(&inside));
        assert_eq!((needs[0].call.as_str(), needs[0].priority), ("ioctl", Priority::High));
        assert_eq!(needs[0].differs, ["TCGETS"]);
        assert_eq!(needs[1].priority, Priority::None);
    }
}
