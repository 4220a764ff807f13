//! Advice about the instructions in `SKILL.md`.

use crate::finding::{Finding, Place};
use crate::pattern::Pattern;
use crate::skill::Skill;

/// The specification recommends fewer lines than this.
const MAX_LINES: usize = 500;
/// The specification recommends fewer tokens than this.
const MAX_TOKENS: usize = 5000;
/// A usual estimate.
const CHARACTERS_PER_TOKEN: usize = 4;

static LINK: Pattern = Pattern::new(r"\]\(<?([^)\s>]+)");

/// Checks length and local links.
pub(super) fn check(skill: &Skill) -> Vec<Finding> {
    let mut findings = Vec::new();
    let at = |line| Place::new(&skill.manifest, line, 1);
    if skill.body.trim().is_empty() {
        findings.push(
            Finding::warning("body", at(skill.body_line), "there are no instructions")
                .why("the description only says when to use the skill; the body says how")
                .mend("write the steps below the front matter"),
        );
    }
    let lines = skill.body.lines().count();
    if lines > MAX_LINES {
        findings.push(
            Finding::warning("body", at(skill.body_line), format!("{lines} lines of instructions"))
                .why(format!("fewer than {MAX_LINES} are recommended; all of it is loaded at once"))
                .mend("move details into files that are read on demand"),
        );
    }
    let tokens = skill.body.chars().count() / CHARACTERS_PER_TOKEN;
    if tokens > MAX_TOKENS {
        findings.push(
            Finding::warning(
                "body",
                at(skill.body_line),
                format!("about {tokens} tokens of instructions"),
            )
            .why(format!("fewer than {MAX_TOKENS} are recommended; all of it is loaded at once"))
            .mend("move details into files that are read on demand"),
        );
    }
    findings.extend(broken_links(skill));
    findings
}

/// Finds links to files that the skill does not have.
fn broken_links(skill: &Skill) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut is_code = false;
    for (index, line) in skill.body.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        if is_code {
            continue;
        }
        for link in LINK.find_groups(line) {
            let path = link.as_str().split(['#', '?']).next().unwrap_or_default();
            let path = path.trim_start_matches("./").trim_end_matches('/');
            let is_elsewhere = path.is_empty() || path.contains(':') || path.starts_with('/');
            if is_elsewhere || skill.find_file(path).is_some() || !path.contains(['/', '.']) {
                continue;
            }
            let column = line.get(..link.start()).unwrap_or_default().chars().count() + 1;
            let place = Place::new(&skill.manifest, skill.body_line + index, column);
            findings.push(
                Finding::warning("broken-link", place, format!("there is no `{path}`"))
                    .why("whoever follows the link finds nothing")
                    .mend("add the file or correct the link"),
            );
        }
    }
    findings
}
