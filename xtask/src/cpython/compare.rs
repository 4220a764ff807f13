//! What differs between the two sides.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Result, bail};

use super::lists::Exceptions;
use super::run::{Outcome, Outcomes};

/// The tests that pass natively, do not pass inside, and are not excepted.
pub fn failing(native: &Outcomes, inside: &Outcomes, exceptions: &Exceptions) -> Vec<String> {
    let counted = native.tests.iter().filter(|(_, outcome)| **outcome == Outcome::Passed);
    counted
        .filter(|(name, _)| inside.tests.get(*name) != Some(&Outcome::Passed))
        .filter(|(name, _)| exceptions.find(name).is_none())
        .map(|(name, _)| name.clone())
        .collect()
}

/// The tests that fail natively.
pub fn failing_natively(native: &Outcomes) -> Vec<String> {
    let fails = |outcome: &Outcome| matches!(outcome, Outcome::Failed | Outcome::Unfinished);
    native.tests.iter().filter(|(_, it)| fails(it)).map(|(name, _)| name.clone()).collect()
}

/// What all modules have shown together.
#[derive(Default)]
pub struct Tally {
    n_passed: usize,
    n_failed: usize,
    n_expected: usize,
    n_uncounted: usize,
    /// Entries of the list of which a test was counted.
    seen: BTreeSet<usize>,
    /// Entries of the list of which a test failed.
    needed: BTreeSet<usize>,
}

impl Tally {
    /// Counts a module and prints what is to be said of it.
    pub fn add(
        &mut self,
        module: &str,
        native: &Outcomes,
        inside: &Outcomes,
        exceptions: &Exceptions,
    ) {
        let before = (self.n_passed, self.n_failed);
        if !native.is_finished {
            test_skips::skip(&format!("cpython {module}"), "it does not come to its end natively");
        }
        for name in failing_natively(native) {
            // The names of classes and modules that cannot be set up have parentheses and spaces.
            test_skips::skip(&format!("cpython {name}"), "it fails natively");
        }
        for (name, outcome) in &native.tests {
            if *outcome != Outcome::Passed {
                self.n_uncounted += 1;
                continue;
            }
            let exception = exceptions.find(name);
            self.seen.extend(exception);
            match (inside.tests.get(name), exception) {
                (Some(Outcome::Passed), _) => self.n_passed += 1,
                (_, Some(exception)) => {
                    self.n_expected += 1;
                    self.needed.insert(exception);
                }
                (outcome, None) => {
                    self.n_failed += 1;
                    match outcome {
                        Some(outcome) => println!("FAILED   {name}: {outcome:?} inside"),
                        None => println!("FAILED   {name}: was not reached inside"),
                    }
                }
            }
        }
        let (native, inside) = (native.wall_time.as_secs_f64(), inside.wall_time.as_secs_f64());
        let (passed, failed) = (self.n_passed - before.0, self.n_failed - before.1);
        println!(
            "{module:<28} {passed:>4} passed, {failed} failed, {native:.1} s native, {inside:.1} s inside"
        );
    }

    /// Tells a skip unless as many pass as have passed before. Fewer do where the machine lacks
    /// something and CPython skips what needs it, or where tests got lost.
    pub fn compare_with(&self, passes: usize) {
        let now = self.n_passed;
        if now < passes {
            let reason = format!("{now} tests of CPython passed, and {passes} have before");
            test_skips::skip("cpython in part", &reason);
        }
        if now > passes {
            println!("more pass than before: raise `quick-passes` in tests/cpython/modules.toml");
        }
    }

    /// Says how it went, and fails if anything did, or if an exception is not needed any more.
    pub fn finish(&self, exceptions: &Exceptions, logs: &Path) -> Result<()> {
        for place in &self.needed {
            if let Some(exception) = exceptions.exception.get(*place) {
                println!("expected {}: {}", exception.test, exception.reason);
            }
        }
        let stale: Vec<_> = self.seen.difference(&self.needed).collect();
        for place in &stale {
            if let Some(exception) = exceptions.exception.get(**place) {
                println!("FAILED   {}: passes; take it from the list", exception.test);
            }
        }
        println!(
            "{} passed, {} failed, {} expected to fail, {} skipped or failing natively",
            self.n_passed, self.n_failed, self.n_expected, self.n_uncounted
        );
        if self.n_failed > 0 || !stale.is_empty() {
            bail!("CPython's tests differ inside; what they said is in {}", logs.display());
        }
        Ok(())
    }
}
