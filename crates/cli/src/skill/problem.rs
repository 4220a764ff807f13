//! What can be wrong with a skill, in words for the user.

use std::error::Error;
use std::path::Path;

use sandbox_spec::printable_path;
use skills::cases::RunnerError;
use skills::{Limits, LoadError, PackError, PlanError, Severity, Skill, printable};

use crate::failure::Failure;

/// The exit code for a script or program that is not there.
const NOT_FOUND: u8 = 127;
/// The exit code for a file that cannot be run.
const NOT_EXECUTABLE: u8 = 126;

/// Loads a skill. What cannot be loaded is a failure with the general exit code.
pub fn load(path: &Path) -> Result<Skill, Failure> {
    skills::load(path, &Limits::default())
        .map_err(|error| Failure::new(with_causes(&error)).hint(hint_of_loading(path, &error)))
}

fn hint_of_loading(path: &Path, error: &LoadError) -> String {
    match error {
        LoadError::NotFound(_) => "give the path of a folder, or of a .skill archive".to_owned(),
        LoadError::NotASkill(_) | LoadError::NoManifest(_) => {
            "give the folder that holds SKILL.md, or an archive of it".to_owned()
        }
        LoadError::NotText { .. }
        | LoadError::NoFrontMatter
        | LoadError::FrontMatter(_)
        | LoadError::NoDescription => {
            format!("`belljar skill check {}` shows what to mend", printable_path(path))
        }
        LoadError::Archive { .. } => {
            "the archive may be cut off, or locked by a password; get or pack it again".to_owned()
        }
        LoadError::TooManyEntries(_)
        | LoadError::FileTooLarge { .. }
        | LoadError::TooLarge(_)
        | LoadError::Overlap
        | LoadError::Bomb { .. } => {
            "this is more than a skill may hold; do not trust where it came from".to_owned()
        }
        LoadError::Read { .. } if path.is_file() => {
            "the archive may be damaged, or packed in an unusual way; get or pack it again"
                .to_owned()
        }
        LoadError::Read { .. } => "see that you may read everything in the folder".to_owned(),
        LoadError::Unpack(_) => "let TMPDIR name a folder with enough room".to_owned(),
    }
}

/// Says on standard error what loading found wrong. It does not hinder loading.
pub fn warn(skill: &Skill) {
    for finding in &skill.findings {
        let word = match finding.severity {
            Severity::Error => "warning: unsafe file",
            Severity::Warning => "warning",
        };
        eprintln!("{word}: {}: {}", printable(&finding.place.file), printable(&finding.what));
    }
}

/// The failure for a skill that cannot be packed.
pub fn of_packing(folder: &Path, error: &PackError) -> Failure {
    let failure = Failure::new(with_causes(error));
    match error {
        PackError::Invalid(report) => {
            eprint!("{}", report.to_text());
            failure.hint(format!(
                "mend it, and look with `belljar skill check {}`",
                printable_path(folder)
            ))
        }
        PackError::ManifestIgnored => {
            failure.hint("take SKILL.md out of .gitignore and .skillignore")
        }
        PackError::LinkLeaves { .. } => {
            failure.hint("replace the link by a copy, or name it in .skillignore")
        }
        PackError::Write { .. } => failure.hint("choose another place with -o FILE.skill"),
        PackError::NotAFolder(_) => failure.hint("only a folder can be packed"),
        PackError::Read { .. } | PackError::List(_) | PackError::Archive(_) => failure,
    }
}

/// The failure for a script that cannot be run, with the exit codes of a shell.
pub fn of_planning(path: &Path, error: &PlanError) -> Failure {
    let failure = Failure::new(with_causes(error)).code(Failure::CANNOT_START);
    let list = |scripts: &[String]| {
        let lines: Vec<String> = scripts.iter().map(|s| format!("\n  {}", printable(s))).collect();
        lines.concat()
    };
    match error {
        PlanError::NoSuchScript { scripts, .. } if scripts.is_empty() => {
            failure.hint("the skill has no scripts at all").code(NOT_FOUND)
        }
        PlanError::NoSuchScript { scripts, .. } => {
            failure.hint(format!("it has these:{}", list(scripts))).code(NOT_FOUND)
        }
        PlanError::Ambiguous { scripts, .. } => {
            failure.hint(format!("give the whole path:{}", list(scripts))).code(NOT_FOUND)
        }
        PlanError::NoScriptNamed(scripts) => failure.hint(format!(
            "belljar skill run {} SCRIPT [-- ARGS], where SCRIPT is one of:{}",
            printable_path(path),
            list(scripts)
        )),
        PlanError::NoScripts => failure
            .hint("this skill is to be read, not to be run: see its SKILL.md")
            .code(NOT_FOUND),
        PlanError::NotAScript(_) => failure
            .hint("`belljar skill show` lists the scripts; a `#!` line makes a file one")
            .code(NOT_EXECUTABLE),
        PlanError::NotExecutable { host, .. } => failure
            .hint(format!("`chmod +x {}` makes it one that can be run", printable_path(host)))
            .code(NOT_EXECUTABLE),
        PlanError::BadPolicy(findings) => {
            let report = skills::Report::new(findings.clone());
            eprint!("{}", report.to_text());
            failure.hint("mend belljar.yaml in the skill, or remove it")
        }
        PlanError::NoHome(_) => failure.hint("set HOME to your home folder"),
        PlanError::UnsafeFiles(_) => {
            failure.hint("`belljar skill check` shows which; do not trust where it came from")
        }
        PlanError::Read(_) => failure,
    }
}

/// The failure for a plan that cannot be carried out.
pub fn of_runner(error: &RunnerError) -> Failure {
    let failure = Failure::new(with_causes(error)).code(Failure::CANNOT_START);
    match error {
        RunnerError::NoInterpreter(_) => failure
            .hint(
                "install it, or one of them; `belljar skill deps` shows what else the skill needs",
            )
            .code(NOT_FOUND),
        _ => failure,
    }
}

/// An error and what caused it, in one line that cannot drive the terminal.
pub fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text = format!("{text}: {next}");
        cause = next.source();
    }
    printable(&text)
}
