//! `skill run --learn FILE`: the smallest policy that would have sufficed.
//!
//! Programs do not do the same each time: a cache is read in one run and not in the next. So a file
//! that was learned before is added to.

use std::path::{Path, PathBuf};

use host_sys::beneath::ResultFile;
use sandbox_spec::{Activity, MAX_NAME_CHARS, printable_path, printable_within};
use skills::RunPlan;
use skills::policy::{self, Learned, Policy, learn, widen};

use crate::failure::Failure;

/// The line by which a learned policy is known again.
const MARK: &str = "# Learned by belljar: runs with --learn add to it.";

/// How long a policy may be that is added to.
pub const MAX_POLICY_BYTES: u64 = 4 << 20;

/// How many names that are left out are told one by one.
const MAX_NAMED: usize = 5;

/// A file that a policy is learned in.
pub struct Lessons {
    path: PathBuf,
    /// Held from before the run: a guest may have its folder.
    file: ResultFile,
    /// What earlier runs needed.
    before: Option<Policy>,
}

impl Lessons {
    /// Fails now if the policy could not be written after the run, or if something else is there.
    /// What is there stays as it is.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let file = ResultFile::at(path).map_err(|error| failed(path, &error))?;
        let read = file.read(MAX_POLICY_BYTES).map_err(|error| failed(path, &error))?;
        let text = String::from_utf8_lossy(&read.unwrap_or_default()).into_owned();
        let path = path.to_path_buf();
        if text.trim().is_empty() {
            return Ok(Self { path, file, before: None });
        }
        let read = policy::read(&printable_path(&path), &text);
        if !text.lines().any(|line| line == MARK) || !read.is_valid() {
            let words =
                format!("{} has something else in it than a learned policy", printable_path(&path));
            return Err(Failure::new(words)
                .hint("choose another place for --learn, or remove that file")
                .code(Failure::CANNOT_START));
        }
        Ok(Self { path, file, before: Some(read.policy) })
    }

    /// Writes the policy. What could not be recorded is said, for the policy then lacks it.
    pub fn write(self, activity: &Activity, plan: &RunPlan) -> Result<(), Failure> {
        let Learned { policy, left_out } = learn(activity, &activity.connections, &plan.policy);
        let policy = widen(self.before, policy);
        let text = format!(
            "# What {} needed, at last in a run of {}.\n{MARK}\n# Names stand for themselves and for \
             what is beneath them; a * is any part of one name, a \\* is a star.\n{}",
            one_line(&plan.skill),
            one_line(&plan.script),
            policy.to_yaml()
        );
        self.file.write(text.as_bytes()).map_err(|error| failed(&self.path, &error))?;
        for name in left_out.iter().take(MAX_NAMED) {
            eprintln!(
                "warning: {} is not in the policy: it is no text, or a rule for it would allow \
                 everything",
                printable_within(name, MAX_NAME_CHARS)
            );
        }
        if let Some(n @ 1..) = left_out.len().checked_sub(MAX_NAMED) {
            eprintln!("warning: {n} more such names are not in the policy");
        }
        if activity.more_files + activity.more_programs > 0 {
            eprintln!(
                "warning: the run used more files or programs than are recorded; the policy in {} \
                 lacks some",
                printable_path(&self.path)
            );
        }
        Ok(())
    }
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot write the policy to {}: {error}", printable_path(path)))
        .hint("choose another place for --learn")
        .code(Failure::CANNOT_START)
}

fn one_line(text: &str) -> String {
    skills::printable(text).replace(['\n', '\r'], " ")
}
