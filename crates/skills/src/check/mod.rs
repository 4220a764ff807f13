//! Checking: the whole specification of a skill, strictly.
//!
//! [`check`] never stops at the first problem and never fails: a skill that cannot even be loaded
//! yields a report with that as its finding. Rules about the front matter are in `manifest`, about
//! the instructions in `body`, about scripts in `scripts`; `belljar.yaml` and test cases are
//! checked by their own readers.

mod body;
mod manifest;
mod scripts;

use std::path::Path;

use crate::cases;
use crate::finding::{Finding, Place, Report};
use crate::front_matter::{self, FrontMatter};
use crate::load::{self, Limits, LoadError, Staged};
use crate::policy;
use crate::skill::Skill;

/// Checks the skill at a path, which is a folder or an archive.
pub fn check(path: &Path, limits: &Limits) -> Report {
    match load::stage(path, limits) {
        Ok(staged) => Report::new(check_staged(staged, path)),
        Err(error) => Report::new(vec![load_finding(path, &error)]),
    }
}

fn check_staged(mut staged: Staged, path: &Path) -> Vec<Finding> {
    let mut findings = std::mem::take(&mut staged.findings);
    let Some(file) = staged.manifest.clone() else {
        let error = LoadError::NoManifest(path.into());
        findings.push(load_finding(path, &error));
        return findings;
    };
    let text = match staged.read_manifest() {
        Ok(text) => text,
        Err(error @ LoadError::NotText { line, column }) => {
            let place = Place { file, line, column };
            findings.push(Finding { place, ..load_finding(path, &error) });
            return findings;
        }
        Err(error) => {
            findings.push(load_finding(path, &error));
            return findings;
        }
    };
    if file != "SKILL.md" {
        findings.push(
            Finding::warning(
                "manifest-name",
                Place::start_of(&file),
                "the file is not named SKILL.md",
            )
            .why("many readers look for exactly `SKILL.md`")
            .mend("rename it to SKILL.md"),
        );
    }
    let (front, body, line) = match front_matter::split(&text) {
        Ok(parts) => {
            findings.extend(manifest::check(&file, parts.yaml, &staged.folder_name));
            let front = front_matter::read_leniently(parts.yaml).unwrap_or_default();
            (front, parts.body.to_owned(), parts.body_line)
        }
        Err(missing) => {
            findings.push(load::fence_finding(&file, missing));
            (FrontMatter::default(), String::new(), 1)
        }
    };
    let has_front_matter = line > 1;
    let skill = staged.into_skill(file, front, body, line);
    if has_front_matter {
        findings.extend(body::check(&skill));
    }
    findings.extend(scripts::check(&skill));
    findings.extend(check_extras(&skill));
    findings
}

/// Checks `belljar.yaml` and the test cases.
fn check_extras(skill: &Skill) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Ok(Some(read)) = policy::of_skill(skill) {
        findings.extend(read.findings);
    }
    for (_, case_findings) in cases::read_all(skill) {
        findings.extend(case_findings);
    }
    findings
}

/// The finding for a skill that cannot be loaded.
fn load_finding(path: &Path, error: &LoadError) -> Finding {
    let (rule, mend) = match error {
        LoadError::NotFound(_) => ("load", "give the path of a folder or of an archive"),
        LoadError::NotASkill(_) | LoadError::NoManifest(_) => {
            ("load", "give the folder that holds SKILL.md, or an archive of it")
        }
        LoadError::NotText { .. } => ("encoding", "save SKILL.md as UTF-8"),
        LoadError::NoFrontMatter | LoadError::FrontMatter(_) | LoadError::NoDescription => {
            ("front-matter", "begin SKILL.md with `---`, `name:`, `description:` and `---`")
        }
        LoadError::Read { .. } | LoadError::Unpack(_) => {
            ("load", "see that it can be read; `belljar skill pack` makes archives that can")
        }
        LoadError::Archive { .. } => ("load", "pack the skill again"),
        LoadError::TooManyEntries(_)
        | LoadError::FileTooLarge { .. }
        | LoadError::TooLarge(_)
        | LoadError::Overlap
        | LoadError::Bomb { .. } => {
            ("file-limit", "remove what the skill does not need, and pack it again")
        }
    };
    let mut why = "a skill that cannot be loaded cannot be used".to_owned();
    if let Some(cause) = std::error::Error::source(error) {
        why = format!("{why} ({cause})");
    }
    let place = Place::start_of(path.display().to_string());
    Finding::error(rule, place, error.to_string()).why(why).mend(mend)
}

#[cfg(test)]
mod tests;
