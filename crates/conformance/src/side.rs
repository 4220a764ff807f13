//! One test program on one side: natively, or inside.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use crate::launcher::Launcher;
use crate::process::{self, Ending, Finished};
use crate::protocol::{Protocol, Verdict};

/// So many cases run in one process. A crash or a hang costs one more process per such case.
const CASES_PER_RUN: usize = 200;

/// How the cases of a program went on one side.
#[derive(Default)]
pub(crate) struct Side {
    /// The verdict of each case.
    pub verdicts: HashMap<String, Verdict>,
    /// The cases that failed among others and passed alone.
    pub only_alone: Vec<String>,
    /// What the failing cases printed when they ran alone.
    pub outputs: HashMap<String, Vec<u8>>,
}

/// A program to be tested.
pub(crate) struct Subject<'a> {
    pub program: &'a Path,
    pub protocol: Protocol,
    pub launcher: &'a Launcher,
    pub case_timeout: Duration,
}

impl Subject<'_> {
    /// The program's own list of its cases, or `None` if it has none.
    pub fn list(&self) -> Option<Vec<String>> {
        let argument = self.protocol.list_argument()?;
        let mut command = self.launcher.command(self.program);
        command.arg(argument);
        let finished = process::run(&mut command, b"", self.case_timeout).ok()?;
        let text = String::from_utf8_lossy(&finished.output);
        Some(self.protocol.parse_list(&text))
    }

    /// Runs cases that can be selected. Every one of them gets a verdict.
    pub fn run_listed(&self, cases: &[String]) -> Side {
        let mut side = Side::default();
        for chunk in cases.chunks(CASES_PER_RUN) {
            self.run_chunk(chunk, &mut side.verdicts);
        }
        for case in cases {
            let is_bad = |verdict| !matches!(verdict, Verdict::Passed | Verdict::Skipped);
            if side.verdicts.get(case).copied().is_some_and(is_bad) {
                self.run_again(case, &mut side);
            }
        }
        side
    }

    /// Runs some cases in one process and, as often as one of them ends it, the rest in another.
    fn run_chunk(&self, cases: &[String], verdicts: &mut HashMap<String, Verdict>) {
        let mut pending = cases;
        while !pending.is_empty() {
            let Some(finished) = self.run_once(pending) else { break };
            let text = String::from_utf8_lossy(&finished.output);
            verdicts.extend(self.protocol.parse(&text));
            // The cases run in order: the first without a verdict is where the program stopped.
            let Some(culprit) = pending.iter().position(|case| !verdicts.contains_key(case)) else {
                break;
            };
            let Some((case, rest)) = pending.get(culprit..).and_then(<[String]>::split_first)
            else {
                break;
            };
            verdicts.insert(case.clone(), stopped(&finished));
            pending = rest;
        }
        for case in pending {
            verdicts.entry(case.clone()).or_insert(Verdict::Missing);
        }
    }

    /// A case that failed, or was hit by the time-out of all, may pass alone; its output is kept if
    /// it does not.
    fn run_again(&self, case: &String, side: &mut Side) {
        let Some(finished) = self.run_once(std::slice::from_ref(case)) else { return };
        let text = String::from_utf8_lossy(&finished.output);
        let verdict = self.protocol.parse(&text).into_iter().find(|(name, _)| name == case);
        match verdict {
            Some((_, Verdict::Passed)) => {
                side.verdicts.insert(case.clone(), Verdict::Passed);
                side.only_alone.push(case.clone());
            }
            _ => {
                let mut output = finished.output;
                output.extend(finished.errors);
                side.outputs.insert(case.clone(), output);
            }
        }
    }

    fn run_once(&self, cases: &[String]) -> Option<Finished> {
        let mut command = self.launcher.command(self.program);
        self.protocol.select(&mut command, cases);
        let further = u32::try_from(cases.len().saturating_sub(1)).unwrap_or(u32::MAX);
        let timeout = self.case_timeout + (Duration::from_millis(500) * further);
        process::run(&mut command, b"", timeout).ok()
    }

    /// Runs a program that cannot select its cases.
    pub fn run_whole(&self) -> Side {
        let mut side = Side::default();
        let Some(finished) = self.run_once(&[]) else { return side };
        let text = String::from_utf8_lossy(&finished.output).into_owned()
            + &String::from_utf8_lossy(&finished.errors);
        side.verdicts.extend(self.protocol.parse(&text));
        if side.verdicts.is_empty() {
            side.verdicts.insert(String::new(), of_code(&finished));
        }
        let is_bad = |verdict: &Verdict| !matches!(verdict, Verdict::Passed | Verdict::Skipped);
        let bad: Vec<_> =
            side.verdicts.iter().filter(|it| is_bad(it.1)).map(|it| it.0.clone()).collect();
        for case in bad {
            side.outputs.insert(case, text.clone().into_bytes());
        }
        side
    }
}

fn stopped(finished: &Finished) -> Verdict {
    match finished.ending {
        Ending::TimedOut => Verdict::TimedOut,
        Ending::Code(0 | 1) => Verdict::Missing,
        Ending::Code(_) | Ending::Signal(_) => Verdict::Crashed,
    }
}

fn of_code(finished: &Finished) -> Verdict {
    match finished.ending {
        Ending::Code(0) => Verdict::Passed,
        // What automake, LTP and others use for "does not apply".
        Ending::Code(77 | 32) => Verdict::Skipped,
        Ending::TimedOut => Verdict::TimedOut,
        Ending::Signal(_) => Verdict::Crashed,
        Ending::Code(code) if code > 128 => Verdict::Crashed,
        Ending::Code(_) => Verdict::Failed,
    }
}
