//! Reads `tests/*.yaml`.

use regex::Regex;
use sandbox_spec::parse_duration;

use super::{Case, Expect, FileRule, Input, TextRule};
use crate::finding::{Finding, Place};
use crate::skill::Skill;
use crate::yaml::{Fields, Node, Source, Value};

/// The folder that holds the cases and their inputs.
const FOLDER: &str = "tests";

/// Reads every case file of a skill: its cases and what is wrong with the file.
pub fn read_all(skill: &Skill) -> Vec<(Vec<Case>, Vec<Finding>)> {
    let is_case_file = |path: &str| {
        path.strip_prefix("tests/").is_some_and(|name| {
            !name.contains('/') && (name.ends_with(".yaml") || name.ends_with(".yml"))
        })
    };
    let mut all = Vec::new();
    for entry in skill.regular_files().filter(|entry| is_case_file(&entry.path)) {
        let Some(text) = skill.read_text(entry) else {
            let finding =
                Finding::error("case", Place::start_of(&entry.path), "cannot be read as text")
                    .why("the cases in it are not run")
                    .mend("save it as UTF-8");
            all.push((Vec::new(), vec![finding]));
            continue;
        };
        let (cases, mut findings) = read(&entry.path, &text);
        findings.extend(cases.iter().flat_map(|case| missing_files(skill, case)));
        all.push((cases, findings));
    }
    all
}

/// Reads the cases in one file.
pub fn read(file: &str, text: &str) -> (Vec<Case>, Vec<Finding>) {
    let mut source = Source::new(file, "case");
    let mut cases = Vec::new();
    if let Some(root) = source.parse(text)
        && let Some(mut fields) = source.fields(&root, "the file")
    {
        match fields.take("cases") {
            Some(list) => {
                for item in source.items(list, "cases") {
                    cases.extend(read_case(&mut source, item));
                }
            }
            None => source.error(root.position, "`cases` is missing", "write `cases:` and a list"),
        }
        fields.refuse_others(&mut source);
    }
    (cases, source.findings)
}

/// Finds scripts and inputs that the skill does not have.
fn missing_files(skill: &Skill, case: &Case) -> Vec<Finding> {
    let place = || Place::new(&case.file, case.line, 1);
    let mut findings = Vec::new();
    if let Err(error) = crate::plan::choose_script(skill, case.script.as_deref()) {
        findings.push(
            Finding::error("case", place(), format!("case `{}`: {error}", case.name))
                .why("the case cannot be run")
                .mend("name a script of the skill"),
        );
    }
    for input in case.inputs.values() {
        if let Input::File(path) = input
            && skill.find_file(path).is_none()
        {
            findings.push(
                Finding::error(
                    "case",
                    place(),
                    format!("case `{}`: there is no `{path}`", case.name),
                )
                .why("the case cannot be run")
                .mend("add the file, or correct the path; it is relative to the folder `tests`"),
            );
        }
    }
    findings
}

fn read_case(source: &mut Source<'_>, node: &Node) -> Option<Case> {
    let mut fields = source.fields(node, "case")?;
    let mut case =
        Case { file: source.file.to_owned(), line: node.position.line, ..Case::default() };
    match fields.take("name").and_then(|node| source.text(node, "name")) {
        Some(name) => case.name = name,
        None => {
            source.error(node.position, "a case needs a `name`", "say in a few words what it shows")
        }
    }
    case.script = fields.take("script").and_then(|node| source.text(node, "script"));
    if let Some(node) = fields.take("args") {
        case.args = source.texts(node, "args").into_iter().map(|(_, text)| text).collect();
    }
    case.stdin = fields.take("stdin").and_then(|node| source.text(node, "stdin"));
    if let Some(node) = fields.take("env") {
        case.env = source.text_map(node, "env");
    }
    if let Some(node) = fields.take("timeout")
        && let Some(text) = source.text(node, "timeout")
    {
        match parse_duration(&text) {
            Ok(time) => case.timeout = Some(time),
            Err(error) => source.error(node.position, error.to_string(), "write for example `30s`"),
        }
    }
    if let Some(node) = fields.take("inputs") {
        read_inputs(source, node, &mut case);
    }
    if let Some(node) = fields.take("expect") {
        case.expect = read_expect(source, node);
    }
    fields.refuse_others(source);
    Some(case)
}

fn read_inputs(source: &mut Source<'_>, node: &Node, case: &mut Case) {
    let Some(fields) = source.fields(node, "inputs") else { return };
    for entry in fields.entries {
        if !is_inside(&entry.key) {
            source.error(
                entry.position,
                format!("`{}` leaves the work folder", entry.key),
                "write a relative path without `..`",
            );
            continue;
        }
        if let Some(input) = read_input(source, &entry.node) {
            case.inputs.insert(entry.key.clone(), input);
        }
    }
}

fn read_input(source: &mut Source<'_>, node: &Node) -> Option<Input> {
    let file = |source: &mut Source<'_>, path: String| {
        if is_inside(&path) {
            return Some(Input::File(format!("{FOLDER}/{path}")));
        }
        source.error(
            node.position,
            format!("`{path}` leaves the folder `tests`"),
            "write a relative path without `..`",
        );
        None
    };
    if matches!(node.value, Value::Scalar { .. }) {
        let path = source.text(node, "input")?;
        return file(source, path);
    }
    let mut fields = source.fields(node, "input")?;
    let path = fields.take("file").and_then(|node| source.text(node, "file"));
    let text = fields.take("text").and_then(|node| source.text(node, "text"));
    fields.refuse_others(source);
    match (path, text) {
        (Some(path), None) => file(source, path),
        (None, Some(text)) => Some(Input::Text(text)),
        _ => {
            source.error(node.position, "an input is a `file` or a `text`", "write one of the two");
            None
        }
    }
}

fn is_inside(path: &str) -> bool {
    !path.is_empty()
        && !path.starts_with('/')
        && !path.split('/').any(|part| matches!(part, ".." | "" | "."))
}

fn read_expect(source: &mut Source<'_>, node: &Node) -> Expect {
    let mut expect = Expect::default();
    let Some(mut fields) = source.fields(node, "expect") else { return expect };
    if let Some(node) = fields.take("exit") {
        expect.exit = source.number(node, "exit").unwrap_or_default();
    }
    if let Some(node) = fields.take("stdout") {
        expect.stdout = read_text_rule(source, node, "stdout");
    }
    if let Some(node) = fields.take("stderr") {
        expect.stderr = read_text_rule(source, node, "stderr");
    }
    if let Some(node) = fields.take("files")
        && let Some(files) = source.fields(node, "files")
    {
        for entry in files.entries {
            if is_inside(&entry.key) {
                let rule = read_file_rule(source, &entry.node);
                expect.files.insert(entry.key.clone(), rule);
            } else {
                source.error(
                    entry.position,
                    format!("`{}` leaves the work folder", entry.key),
                    "write a relative path without `..`",
                );
            }
        }
    }
    fields.refuse_others(source);
    expect
}

fn read_text_rule(source: &mut Source<'_>, node: &Node, name: &str) -> TextRule {
    match source.fields(node, name) {
        Some(mut fields) => {
            let rule = take_text_rule(source, &mut fields);
            fields.refuse_others(source);
            rule
        }
        None => TextRule::default(),
    }
}

fn take_text_rule(source: &mut Source<'_>, fields: &mut Fields<'_>) -> TextRule {
    let mut rule = TextRule::default();
    if let Some(node) = fields.take("equals") {
        rule.equals = match &node.value {
            Value::Scalar { text, .. } => Some(text.clone()),
            _ => source.text(node, "equals"),
        };
    }
    if let Some(node) = fields.take("contains") {
        rule.contains = source.one_or_more(node, "contains");
    }
    if let Some(node) = fields.take("excludes") {
        rule.excludes = source.one_or_more(node, "excludes");
    }
    if let Some(node) = fields.take("matches") {
        rule.matches = source.one_or_more(node, "matches");
        for pattern in &rule.matches {
            if let Err(error) = Regex::new(pattern) {
                let what =
                    format!("`{pattern}` is not a pattern: {}", last_line(&error.to_string()));
                source.error(node.position, what, "correct the pattern");
            }
        }
    }
    rule
}

fn last_line(text: &str) -> &str {
    text.lines().last().unwrap_or_default().trim()
}

fn read_file_rule(source: &mut Source<'_>, node: &Node) -> FileRule {
    let mut rule = FileRule::default();
    if node.is_null() {
        return rule;
    }
    let Some(mut fields) = source.fields(node, "file") else { return rule };
    if let Some(node) = fields.take("exists") {
        rule.exists = source.truth(node, "exists").unwrap_or(true);
    }
    rule.min_bytes = fields.take("min-bytes").and_then(|node| source.number(node, "min-bytes"));
    rule.max_bytes = fields.take("max-bytes").and_then(|node| source.number(node, "max-bytes"));
    if let Some(node) = fields.take("magic") {
        rule.magic = source.text(node, "magic");
        let is_hex = |text: &str| {
            text.len().is_multiple_of(2) && text.chars().all(|c| c.is_ascii_hexdigit())
        };
        if !rule.magic.as_deref().is_some_and(is_hex) {
            source.error(
                node.position,
                "`magic` is not hexadecimal",
                "write for example `89504e47`",
            );
        }
    }
    rule.text = take_text_rule(source, &mut fields);
    fields.refuse_others(source);
    rule
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::SkillBuilder;

    const GOOD: &str = r#"cases:
  - name: makes a picture
    script: draw.py
    args: [in.csv, "--size", "3"]
    stdin: "yes\n"
    env: {MODE: fast}
    timeout: 20s
    inputs:
      in.csv: data/in.csv
      note.txt: {text: "hello\n"}
    expect:
      exit: 2
      stdout: {contains: done, matches: ["^ok", "\\d+"]}
      files:
        out.png: {magic: 89504e47, min-bytes: 100}
        log.txt:
        gone.txt: {exists: false}
"#;

    #[test]
    fn reads_a_case() {
        let (cases, findings) = read("tests/a.yaml", GOOD);
        assert!(findings.is_empty(), "{findings:?}");
        let case = &cases[0];
        assert_eq!(case.inputs["in.csv"], Input::File("tests/data/in.csv".to_owned()));
        assert_eq!(case.expect.exit, 2);
        assert_eq!(case.expect.stdout.matches.len(), 2);
        assert!(case.expect.files["log.txt"].exists);
        assert!(!case.expect.files["gone.txt"].exists);
    }

    #[test]
    fn mistakes_are_found_at_their_place() {
        let lines = |text: &str| -> Vec<usize> {
            read("t", text).1.iter().map(|finding| finding.place.line).collect()
        };
        assert_eq!(lines("x: 1\n"), [1, 1]);
        assert_eq!(lines("cases:\n  - args: []\n"), [2]);
        assert_eq!(lines("cases:\n  - name: a\n    inputs:\n      ../x: y\n"), [4]);
        assert_eq!(lines("cases:\n  - name: a\n    inputs:\n      x: /etc/passwd\n"), [4]);
        assert_eq!(lines("cases:\n  - name: a\n    expect:\n      stdout: {matches: '('}\n"), [4]);
        assert_eq!(lines("cases:\n  - name: a\n    expect:\n      exit: no\n"), [4]);
        assert_eq!(lines("cases:\n  - name: a\n    expekt: {}\n"), [3]);
    }

    #[test]
    fn missing_scripts_and_inputs_are_found() {
        let skill = SkillBuilder::new("a").file("tests/a.yaml", GOOD).load();
        let (_, findings) = &read_all(&skill)[0];
        assert_eq!(findings.len(), 2, "{findings:?}");
    }
}
