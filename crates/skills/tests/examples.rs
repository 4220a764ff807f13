//! The example skills are valid, pack well, and do natively what their cases say.
//!
//! Some examples need large programs. One whose needs are not met is skipped (see `test-skips`);
//! `REQUIRE_EXAMPLES=1` makes that a failure. `EXAMPLE=name` runs only one.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::path::PathBuf;
use std::process::Command;

use skills::cases::{CaseResult, NativeRunner, read_all, run_case, table};
use skills::deps::{self, PathInventory, Presence};
use skills::{GUEST_PATH, Limits, Skill, check, load, pack};

fn example_folders() -> Vec<PathBuf> {
    let top = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/skills");
    let mut folders: Vec<PathBuf> = std::fs::read_dir(top)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("SKILL.md").is_file())
        .collect();
    folders.sort();
    folders
}

/// What a skill needs and the host does not have.
fn missing(skill: &Skill) -> Vec<String> {
    let needs = deps::find_needs(skill);
    let inventory = PathInventory { path: GUEST_PATH.to_owned() };
    let mut missing: Vec<String> = deps::assess(&needs, &inventory)
        .into_iter()
        .filter(|status| !status.is_optional && status.presence == Presence::Missing)
        .map(|status| status.name)
        .collect();
    let probe = deps::python_probe(&needs);
    let asked = Command::new("python3").args(probe.iter().skip(1)).env("PATH", GUEST_PATH).output();
    match asked {
        Ok(output) => {
            let names = String::from_utf8_lossy(&output.stdout);
            missing.extend(names.lines().map(str::to_owned));
        }
        Err(_) => missing.push("python3".to_owned()),
    }
    missing
}

#[test]
fn every_example_is_valid_and_without_warnings() {
    let folders = example_folders();
    assert!(folders.len() >= 6, "too few examples: {folders:?}");
    for folder in folders {
        let report = check(&folder, &Limits::default());
        assert!(report.findings.is_empty(), "{}:\n{}", folder.display(), report.to_text());
    }
}

#[test]
fn the_examples_in_the_readme_are_valid() {
    let readme = include_str!("../../../examples/skills/README.md");
    let blocks: Vec<&str> =
        readme.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(blocks.len(), 2);
    for block in blocks {
        let findings = match block.starts_with("cases:") {
            true => skills::cases::read("README.md", block).1,
            false => skills::policy::read("README.md", block).findings,
        };
        assert!(findings.is_empty(), "{findings:?}");
    }
}

#[test]
fn every_example_packs_into_a_valid_archive() {
    let dir = tempfile::tempdir().unwrap();
    for folder in example_folders() {
        let packed = pack(&folder, None).unwrap();
        let file = dir.path().join(format!("{}.skill", packed.name));
        std::fs::write(&file, &packed.bytes).unwrap();
        let report = check(&file, &Limits::default());
        assert!(report.findings.is_empty(), "{}:\n{}", file.display(), report.to_text());
    }
}

#[test]
fn every_example_has_cases_and_they_pass_natively() {
    let is_strict = std::env::var_os("REQUIRE_EXAMPLES").is_some();
    let only = std::env::var("EXAMPLE").ok();
    let mut results: Vec<CaseResult> = Vec::new();
    for folder in example_folders() {
        let skill = load(&folder, &Limits::default()).unwrap();
        if only.as_deref().is_some_and(|name| name != skill.name()) {
            continue;
        }
        let missing = missing(&skill);
        if !missing.is_empty() {
            assert!(!is_strict, "{} needs {missing:?}", skill.name());
            let reason = format!("it needs {}", missing.join(", "));
            test_skips::skip(&format!("example-{}", skill.name()), &reason);
            continue;
        }
        let files = read_all(&skill);
        let cases: Vec<_> = files.iter().flat_map(|(cases, _)| cases).collect();
        assert!(!cases.is_empty(), "{} has no cases", skill.name());
        results
            .extend(cases.into_iter().map(|case| run_case(&skill, case, &NativeRunner::default())));
    }
    let text = table(&results);
    println!("{text}");
    assert!(results.iter().all(CaseResult::is_passed), "{text}");
}
