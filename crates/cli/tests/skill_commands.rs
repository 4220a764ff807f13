//! `belljar skill check`, `show`, `pack` and `deps`, on the examples and on broken skills.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod place;

use std::path::PathBuf;

use place::Place;
use serde_json::Value;

fn example(name: &str) -> String {
    let top = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/skills");
    top.join(name).canonicalize().unwrap().into_os_string().into_string().unwrap()
}

#[test]
fn an_example_is_valid() {
    let done = Place::new().output(&["check", &example("csv-report")]);
    assert_eq!((done.code, done.out.as_str()), (Some(0), "valid\n"));
}

#[test]
fn a_broken_skill_is_told_with_its_line() {
    let place = Place::new();
    place.file("probe/SKILL.md", "---\nname: Probe\ndescription: d\ncolour: red\n---\n");
    let done = place.output(&["check", "../probe"]);
    assert_eq!(done.code, Some(1));
    assert!(done.out.contains("SKILL.md:2:7: error:"), "{done:?}");
    assert!(done.out.contains("SKILL.md:4:1: error:"), "{done:?}");
    assert!(done.out.contains("mend:"), "{done:?}");
    let json: Value =
        serde_json::from_str(&place.output(&["check", "../probe", "--json"]).out).unwrap();
    assert_eq!(json["findings"][0]["line"], 2);
}

#[test]
fn what_is_no_skill_is_told() {
    let place = Place::new();
    let done = place.output(&["check", "../home"]);
    assert_eq!(done.code, Some(1));
    assert!(done.out.contains("there is no SKILL.md"), "{done:?}");
    place.output(&["show", "../home"]).is_failure(1, "there is no SKILL.md", "the folder");
    place.output(&["show", "../nowhere"]).is_failure(1, "no such file", "the path of a folder");
    place.file("broken.skill", "PK\u{3}\u{4}nothing more");
    place.output(&["show", "../broken.skill"]).is_failure(1, "broken.skill", "again");
}

#[test]
fn show_tells_scripts_and_needs() {
    let place = Place::new();
    let done = place.output(&["show", &example("pdf-tool")]);
    assert_eq!(done.code, Some(0));
    assert!(done.out.contains("scripts/pdf.py  python3"), "{done:?}");
    let json: Value =
        serde_json::from_str(&place.output(&["show", &example("pdf-tool"), "--json"]).out).unwrap();
    assert_eq!(json["name"], "pdf-tool");
    assert!(json["needs"]["python"].as_array().unwrap().iter().any(|it| it["name"] == "pypdf"));
}

#[test]
fn the_same_folder_gives_the_same_archive() {
    let place = Place::with_script("#!/bin/sh\necho packed\n");
    let done = place.output(&["pack", "../probe"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.out.starts_with("probe.skill: 2 files"), "{done:?}");
    assert_eq!(place.output(&["pack", "../probe", "-o", "second.skill"]).code, Some(0));
    let read = |name: &str| std::fs::read(place.path("work").join(name)).unwrap();
    assert_eq!(read("probe.skill"), read("second.skill"));
    assert_eq!(place.output(&["check", "probe.skill"]).out, "valid\n");
}

#[test]
fn an_invalid_skill_is_not_packed() {
    let place = Place::new();
    place.file("probe/SKILL.md", "---\nname: other\ndescription: d\n---\n");
    place.output(&["pack", "../probe"]).is_failure(1, "not valid", "skill check");
    assert!(!place.path("work/probe.skill").exists());
}

#[test]
fn what_is_missing_is_named() {
    let place = Place::new();
    place.file("probe/scripts/go.py", "import no_such_module_at_all, json\nprint(1)\n");
    let done = place.output(&["deps", "../probe"]);
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(done.out.contains("MISSING  python   no_such_module_at_all"), "{done:?}");
    let json: Value =
        serde_json::from_str(&place.output(&["deps", "../probe", "--json"]).out).unwrap();
    assert_eq!(json["is_complete"], false);
    let plain = Place::with_script("#!/bin/sh\n:\n").output(&["deps", "../probe"]);
    assert_eq!(plain.code, Some(0), "{plain:?}");
}

#[test]
fn cases_are_run_inside_and_natively() {
    let place = Place::with_script("#!/bin/sh\necho $1\n");
    place.file(
        "probe/tests/t.yaml",
        "cases:\n  - {name: good, args: [a], expect: {stdout: {equals: a}}}\n  \
         - {name: bad, args: [a], expect: {stdout: {equals: b}}}\n",
    );
    let done = place.output(&["test", "../probe", "--native"]);
    assert_eq!(done.code, Some(1), "{done:?}");
    for words in [
        "pass  probe  good  kernel",
        "pass  probe  good  native",
        "FAIL  probe  bad   kernel",
        "FAIL  probe  bad   native",
        "bad (tests/t.yaml:3, native):",
        "2 of 4 passed",
    ] {
        assert!(done.out.contains(words), "{words}: {done:?}");
    }
}
