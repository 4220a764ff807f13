//! `skill run --learn FILE`: the smallest policy that would have sufficed.

use std::path::Path;

use sandbox_spec::Activity;
use skills::RunPlan;
use skills::policy::learn;

use crate::failure::Failure;
use crate::report;

/// Fails now if the policy could not be written after the run. What is there stays as it is.
pub fn check(path: &Path) -> Result<(), Failure> {
    report::check_writable(path).map_err(|error| failed(path, &error))
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot write the policy to {}: {error}", path.display()))
        .hint("choose another place for --learn")
        .code(Failure::CANNOT_START)
}

/// Writes the policy. What could not be recorded is said, for the policy then lacks it.
pub fn write(path: &Path, activity: &Activity, plan: &RunPlan) -> Result<(), Failure> {
    let policy = learn(activity, &activity.connections, &plan.policy);
    let text = format!(
        "# What {} needed, learned from a run of {}.\n# Names stand for themselves and for what \
         is beneath them; a * is any part of one name.\n{}",
        one_line(&plan.skill),
        one_line(&plan.script),
        policy.to_yaml()
    );
    std::fs::write(path, text).map_err(|error| failed(path, &error))?;
    if activity.more_files + activity.more_programs > 0 {
        eprintln!(
            "warning: the run used more files or programs than are recorded; the policy in {} \
             lacks some",
            path.display()
        );
    }
    Ok(())
}

fn one_line(text: &str) -> String {
    skills::printable(text).replace(['\n', '\r'], " ")
}
