//! What interpreters and skills really use, from runs of them.

use kernel_syscalls::{SYSCALLS, Status};
use serde::{Deserialize, Serialize};

use crate::needs::{Evidence, Need, judge};
use crate::report::Rate;
use crate::trace::Calls;

/// What kind of thing was run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// An interpreter, with a script of ours.
    Interpreter,
    /// A skill, with the test cases that it brings.
    Skill,
}

impl Kind {
    /// The word in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Interpreter => "interpreter",
            Self::Skill => "skill",
        }
    }
}

/// One thing that was run inside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunCase {
    /// Its name.
    pub name: String,
    /// Whether it did inside what it should.
    pub passed: bool,
    /// What differed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// What an interpreter or a skill used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// What it is.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// Its calls on Linux, where it was run there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Calls>,
    /// Its calls in the sandbox.
    pub inside: Calls,
    /// What was run.
    pub cases: Vec<RunCase>,
    /// Why nothing was run, if nothing was.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub not_run: String,
}

impl Usage {
    /// Something that could not be run, and why.
    pub fn not_run(kind: Kind, name: String, why: impl Into<String>) -> Self {
        let (native, inside, cases) = (None, Calls::default(), Vec::new());
        Self { kind, name, native, inside, cases, not_run: why.into() }
    }

    /// Whether everything that was run did what it should.
    pub fn works(&self) -> bool {
        self.cases.iter().all(|case| case.passed)
    }

    /// The calls it makes: on Linux where that is known, since inside it may have given up early.
    pub fn calls(&self) -> &Calls {
        self.native.as_ref().unwrap_or(&self.inside)
    }

    /// Its calls against the table.
    pub fn needs(&self) -> Vec<Need> {
        match &self.native {
            Some(native) => judge(native, Evidence::Both(&self.inside)),
            None => judge(&self.inside, Evidence::Inside { worked: self.works() }),
        }
    }

    /// How many of the calls it makes are fully supported.
    pub fn coverage(&self) -> Rate {
        let is_full = |name: &String| {
            let row = SYSCALLS.iter().find(|row| row.name == name);
            row.is_some_and(|row| matches!(row.status, Status::Full(_) | Status::Shim(_)))
        };
        let calls = &self.calls().0;
        Rate { counted: calls.len(), passed: calls.keys().filter(|name| is_full(name)).count() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coverage_counts_each_call_once() {
        let native = Calls::parse("1 close(1) = 0\n1 close(2) = 0\n1 no_such_call() = 0");
        let usage =
            Usage { native: Some(native), ..Usage::not_run(Kind::Interpreter, "sh".into(), "") };
        assert_eq!(usage.coverage(), Rate { counted: 2, passed: 1 });
    }
}
