//! Each rule, at its place.

use super::*;
use crate::finding::Severity;
use crate::testing::{Put, SkillBuilder, archive, saved};

/// Rule, severity, line and column of every finding for a front matter.
fn found(front: &str) -> Vec<(&'static str, Severity, usize, usize)> {
    let text = format!("---\n{front}---\n# Steps\n");
    let made = SkillBuilder::new("a").file("SKILL.md", &text);
    report(&made)
        .findings
        .into_iter()
        .map(|f| (f.rule, f.severity, f.place.line, f.place.column))
        .collect()
}

fn report(made: &SkillBuilder) -> Report {
    check(&made.path(), &Limits::default())
}

fn errors(front: &str) -> Vec<(usize, usize)> {
    found(front).into_iter().filter(|f| f.1 == Severity::Error).map(|f| (f.2, f.3)).collect()
}

#[test]
fn a_good_skill_has_no_findings() {
    assert_eq!(report(&SkillBuilder::new("a")).to_text(), "valid\n");
    let full = "name: a\ndescription: x --- y\nlicense: MIT\ncompatibility: Needs git\n\
                metadata:\n  version: \"1.0\"\nallowed-tools: Bash(git:*) Read\n";
    assert!(found(full).is_empty(), "{:?}", found(full));
}

#[test]
fn required_fields() {
    assert_eq!(errors("description: b\n"), [(2, 1)]);
    assert_eq!(errors("name: a\n"), [(2, 1)]);
    assert_eq!(errors("name: a\ndescription: \"  \"\n"), [(3, 14)]);
    assert_eq!(errors("name: a\ndescription:\n"), [(3, 12)]);
}

#[test]
fn names() {
    let long = "a".repeat(65);
    for bad in ["A", "-a", "a-", "a--b", "a_b", "a b", "b", long.as_str(), "\"a/b\""] {
        let front = format!("name: {bad}\ndescription: d\n");
        assert!(errors(&front).contains(&(2, 7)), "{bad}: {:?}", found(&front));
    }
    for good in ["abc", "a-1", "1"] {
        let text = format!("---\nname: {good}\ndescription: d\n---\nx\n");
        let made = SkillBuilder::new(good).file("SKILL.md", &text);
        assert!(report(&made).is_valid(), "{good}");
    }
}

#[test]
fn letters_beyond_ascii_are_a_warning() {
    let text = "---\nname: 技能\ndescription: d\n---\nx\n";
    let report = report(&SkillBuilder::new("技能").file("SKILL.md", text));
    assert_eq!((report.errors, report.warnings), (0, 1));
}

#[test]
fn lengths_are_counted_in_characters() {
    let fits = format!("name: a\ndescription: {}\n", "ü".repeat(1024));
    assert!(errors(&fits).is_empty());
    let long = format!("name: a\ndescription: {}\n", "ü".repeat(1025));
    assert_eq!(errors(&long), [(3, 14)]);
    let long = format!("name: a\ndescription: d\ncompatibility: {}\n", "x".repeat(501));
    assert_eq!(errors(&long), [(4, 16)]);
}

#[test]
fn unknown_and_double_keys() {
    assert_eq!(errors("name: a\ndescription: d\nversion: 1\n"), [(4, 1)]);
    assert_eq!(errors("name: a\ndescription: d\nname: a\n"), [(4, 1)]);
}

#[test]
fn wrong_types() {
    assert_eq!(errors("name: a\ndescription: [x]\n"), [(3, 14)]);
    assert_eq!(errors("name: a\ndescription: d\nallowed-tools:\n  - Read\n"), [(5, 3)]);
    assert_eq!(errors("name: a\ndescription: d\nmetadata: x\n"), [(4, 11)]);
    assert_eq!(errors("name: a\ndescription: d\nmetadata:\n  k: [1]\n"), [(5, 6)]);
    assert_eq!(errors("name: a\ndescription: d\nmetadata: {k: v}\n"), [(4, 11)]);
    assert_eq!(errors("- name\n"), [(2, 1)]);
}

#[test]
fn numbers_want_quotes() {
    let all = found("name: a\ndescription: d\nmetadata:\n  version: 1.0\n");
    assert_eq!(all, [("quotes", Severity::Warning, 5, 12)]);
}

#[test]
fn yaml_that_cannot_be_read() {
    assert_eq!(errors("name: a\ndescription: b: c\n").len(), 1);
    assert_eq!(errors("name: &x a\ndescription: *x\n").len(), 1);
    assert_eq!(errors("name: a\n\tdescription: x\n").len(), 1);
}

#[test]
fn fences() {
    for (text, line) in [("# hi\n", 1), ("---\nname: a\n", 1), ("\u{feff}---\n---\n", 1)] {
        let report = report(&SkillBuilder::new("a").file("SKILL.md", text));
        assert_eq!(report.findings[0].place.line, line);
        assert_eq!(report.findings[0].rule, "front-matter");
    }
}

#[test]
fn body_and_links() {
    let text = "---\nname: a\ndescription: d\n---\nsee [x](references/x.md) and [y](data/y.md#top)\n\
                ```\n[z](z/z.md)\n```\n[w](web:thing) [s](#steps)\n";
    let made = SkillBuilder::new("a").file("SKILL.md", text).file("references/x.md", "");
    let report = report(&made);
    assert_eq!(report.findings.len(), 1, "{}", report.to_text());
    assert_eq!((report.findings[0].place.line, report.findings[0].rule), (5, "broken-link"));
}

#[test]
fn a_long_body_is_a_warning() {
    let text = format!("---\nname: a\ndescription: d\n---\n{}", "line\n".repeat(501));
    assert_eq!(report(&SkillBuilder::new("a").file("SKILL.md", &text)).warnings, 1);
}

#[test]
fn scripts() {
    let made = SkillBuilder::new("a")
        .program("scripts/no-shebang.py", "print()")
        .program("scripts/good.py", "#!/usr/bin/env python3\n")
        .program("scripts/dos.sh", "#!/bin/sh\r\n")
        .program("scripts/by-mode", "echo")
        .program("scripts/what.dat", "words");
    let report = report(&made);
    let rules: Vec<&str> = report.findings.iter().map(|f| f.rule).collect();
    assert_eq!(rules, ["script-shebang", "script-line-ends", "script-shebang", "script-unknown"]);
    assert!(report.is_valid());
}

#[test]
fn archives_are_checked_like_folders() {
    let bytes =
        archive(&[Put::File("a/SKILL.md", b"---\nname: b\n---\nx\n"), Put::File("../evil", b"")]);
    let (_dir, path) = saved(&bytes);
    let rules: Vec<&str> =
        check(&path, &Limits::default()).findings.iter().map(|f| f.rule).collect();
    assert_eq!(rules, ["file-path", "front-matter", "name-folder"]);
}

#[test]
fn what_cannot_be_loaded_is_a_finding() {
    let report = check(Path::new("/nowhere/at/all"), &Limits::default());
    assert_eq!(report.errors, 1);
}

#[test]
fn a_manifest_in_lower_case_is_a_warning() {
    let made = SkillBuilder::new("a");
    std::fs::rename(made.path().join("SKILL.md"), made.path().join("skill.md")).unwrap();
    assert_eq!(report(&made).summary(), "valid, 1 warning");
}

/// What a file shows, the file, the place of its first error, and whether it loads.
type FromElsewhere<'a> = (&'a str, Vec<u8>, Option<(usize, usize)>, bool);

/// Files as they come from elsewhere: what `check` says of each, and whether it loads.
#[test]
fn files_from_elsewhere() {
    const GOOD: &str = "---\nname: a\ndescription: d\n---\n# Steps\n";
    let with = |line: &str| GOOD.replace("description: d\n", &format!("description: d\n{line}\n"));
    let nested = format!("metadata: {}", "[".repeat(20_000));
    let alias_bomb = "metadata:\n  a: &a [x, x]\n  b: [*a, *a]";
    let compatibility = |n| format!("compatibility: {}", "x".repeat(n));
    #[rustfmt::skip]
    let table: Vec<FromElsewhere<'_>> = vec![
        ("plain", GOOD.into(), None, true),
        ("ends of lines as in Windows", GOOD.replace('\n', "\r\n").into(), None, true),
        ("dashes in a value", GOOD.replace("description: d", "description: a --- b").into(), None, true),
        ("a folded text", GOOD.replace("description: d", "description: >\n  a\n  b").into(), None, true),
        ("all optional fields", with("license: L\ncompatibility: c\nmetadata:\n  k: v\nallowed-tools: Bash(git:*) Read").into(), None, true),
        ("the longest compatibility", with(&compatibility(500)).into(), None, true),
        ("one character more", with(&compatibility(501)).into(), Some((4, 16)), true),
        ("an empty compatibility", with("compatibility: \"\"").into(), Some((4, 16)), true),
        ("a byte order mark", format!("\u{feff}{GOOD}").into(), Some((1, 1)), true),
        ("an empty first line", format!("\n{GOOD}").into(), Some((1, 1)), false),
        ("no closing line", "---\nname: a\ndescription: d\n".into(), Some((1, 1)), false),
        ("nothing", Vec::new(), Some((1, 1)), false),
        ("a tab", GOOD.replace("name: a", "name:\ta").into(), Some((2, 7)), false),
        ("a key twice", with("description: e").into(), Some((4, 1)), true),
        ("an unknown key", with("version: \"1\"").into(), Some((4, 1)), true),
        ("a list for a map", with("metadata: [a]").into(), Some((4, 11)), true),
        ("a map for a text", with("metadata:\n  k:\n    l: m").into(), Some((6, 5)), true),
        ("a list for a text", with("allowed-tools:\n  - Bash").into(), Some((5, 3)), true),
        ("an alias", with("license: &l x").into(), Some((4, 10)), true),
        ("an alias bomb", with(alias_bomb).into(), Some((5, 6)), false),
        ("a tag", GOOD.replace("name: a", "name: !x a").into(), Some((2, 7)), true),
        ("nested without end", with(&nested).into(), Some((4, 266)), false),
        ("not UTF-8", b"---\nname: a\ndescription: caf\xe9\n---\n".to_vec(), Some((3, 17)), false),
        ("a zero byte", GOOD.replace("name: a", "name: a\0").into(), Some((2, 8)), false),
        ("another name than the folder's", GOOD.replace("name: a", "name: b").into(), Some((2, 7)), true),
        ("a text with a colon", GOOD.replace("description: d", "description: use: it").into(), Some((3, 17)), true),
    ];
    for (about, bytes, expected, loads) in table {
        let made = SkillBuilder::new("a");
        std::fs::write(made.path().join("SKILL.md"), bytes).unwrap();
        let report = report(&made);
        let first = report.findings.iter().find(|finding| finding.severity == Severity::Error);
        let place = first.map(|finding| (finding.place.line, finding.place.column));
        assert_eq!(place, expected, "{about}: {}", report.to_text());
        let loaded = load::load(&made.path(), &Limits::default());
        assert_eq!(loaded.is_ok(), loads, "{about}");
    }
}
