//! Advice about scripts: can they be started, and as what.

use crate::finding::{Finding, Place};
use crate::script::{self, Interpreter};
use crate::skill::Skill;

/// Checks every script of the skill.
pub(super) fn check(skill: &Skill) -> Vec<Finding> {
    let mut findings = Vec::new();
    for script in script::find_scripts(skill) {
        let place = Place::start_of(&script.path);
        let Some(entry) = skill.find_file(&script.path) else { continue };
        let start = skill.read_start(entry, script::HEAD_BYTES).unwrap_or_default();
        let first_line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let has_shebang = first_line.starts_with(b"#!");
        if has_shebang && first_line.ends_with(b"\r") {
            findings.push(
                Finding::warning(
                    "script-line-ends",
                    place.clone(),
                    "the `#!` line ends with a carriage return",
                )
                .why("Linux looks for an interpreter whose name ends with it, and finds none")
                .mend("save the script with Linux line ends"),
            );
        }
        if entry.is_executable && !has_shebang && script.interpreter != Interpreter::Elf {
            findings.push(
                Finding::warning(
                    "script-shebang",
                    place.clone(),
                    "executable, but without a `#!` line",
                )
                .why("started directly it is read by a shell, whatever its language")
                .mend(format!(
                    "add a first line such as `#!/usr/bin/env {}`",
                    script.interpreter.usual_program()
                )),
            );
        }
    }
    for entry in skill.regular_files() {
        let is_script_folder = entry.path.starts_with("scripts/") && entry.is_executable;
        if is_script_folder && script::interpreter_of(skill, entry).is_none() {
            findings.push(
                Finding::warning(
                    "script-unknown",
                    Place::start_of(&entry.path),
                    "executable, but no interpreter is known for it",
                )
                .why("it has no `#!` line, no known extension and is no program")
                .mend("add a `#!` line, or take the execute bit away"),
            );
        }
    }
    findings
}
