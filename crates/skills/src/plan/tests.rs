//! Plans: which script, which command, what is mounted and set.

use super::*;
use crate::testing::{MANIFEST, Put, SkillBuilder, archive, saved};

fn planned(skill: &Skill, script: Option<&str>) -> Result<RunPlan, PlanError> {
    plan_run(skill, script, &["x y".to_owned()], &RunOptions::new(WorkFolder::Empty))
}

#[test]
fn the_only_script_needs_no_name() {
    let skill = SkillBuilder::new("a").file("scripts/go.py", "").file("lib/b.py", "").load();
    let plan = planned(&skill, None).unwrap();
    assert_eq!(plan.argv, ["python3", "/skill/scripts/go.py", "x y"]);
    assert_eq!(plan.alternatives, [["python", "/skill/scripts/go.py", "x y"]]);
    assert_eq!(plan.cwd, "/work");
}

#[test]
fn helpers_do_not_hide_the_only_script() {
    let skill = SkillBuilder::new("a")
        .file("scripts/go.py", "import helper\nhelper.go()\n")
        .file("scripts/helper.py", "def go():\n    print()\n")
        .load();
    assert_eq!(planned(&skill, None).unwrap().script, "scripts/go.py");
}

#[test]
fn several_scripts_are_listed() {
    let skill = SkillBuilder::new("a").file("scripts/a.py", "").file("scripts/b.sh", "").load();
    let Err(PlanError::NoScriptNamed(all)) = planned(&skill, None) else { panic!() };
    assert_eq!(all, ["scripts/a.py", "scripts/b.sh"]);
    let none = SkillBuilder::new("a").load();
    assert!(matches!(planned(&none, None), Err(PlanError::NoScripts)));
}

#[test]
fn a_script_is_found_by_path_name_or_stem() {
    let skill = SkillBuilder::new("a")
        .file("scripts/one.py", "")
        .file("scripts/two.sh", "")
        .file("lib/two.py", "")
        .file("notes.txt", "words")
        .load();
    for name in ["scripts/one.py", "one.py", "one", "./scripts/one.py"] {
        assert_eq!(planned(&skill, Some(name)).unwrap().script, "scripts/one.py", "{name}");
    }
    assert!(matches!(planned(&skill, Some("two")), Err(PlanError::Ambiguous { .. })));
    assert!(matches!(planned(&skill, Some("three")), Err(PlanError::NoSuchScript { .. })));
    assert!(matches!(planned(&skill, Some("notes.txt")), Err(PlanError::NotAScript(_))));
    assert!(matches!(planned(&skill, Some("../x")), Err(PlanError::NoSuchScript { .. })));
}

#[test]
fn a_program_that_nobody_may_execute_is_told_apart() {
    let made = SkillBuilder::new("a").file("scripts/go", "\u{7f}ELF...");
    let Err(PlanError::NotExecutable { host, .. }) = planned(&made.load(), None) else { panic!() };
    assert!(host.ends_with("scripts/go"));
    let skill = SkillBuilder::new("a").program("scripts/go", "\u{7f}ELF...").load();
    assert_eq!(planned(&skill, None).unwrap().argv, ["/skill/scripts/go", "x y"]);
}

#[test]
fn programs_of_packages_come_after_those_of_the_system() {
    let skill = SkillBuilder::new("a").file("scripts/go.ts", "").load();
    let mut options = RunOptions::new(WorkFolder::Empty);
    options.node_modules = Some("/host/node_modules".into());
    let plan = plan_run(&skill, None, &[], &options).unwrap();
    let last = format!("{HOME_FOLDER}/.local/bin");
    assert_eq!(plan.env["PATH"], format!("{GUEST_PATH}:/node_modules/.bin:{last}"));
}

#[test]
fn the_shebang_is_kept_with_a_way_out() {
    let skill = SkillBuilder::new("a").program("scripts/go", "#!/opt/odd/bin/bash -e\n").load();
    let plan = planned(&skill, None).unwrap();
    assert_eq!(plan.argv, ["/opt/odd/bin/bash", "-e", "/skill/scripts/go", "x y"]);
    assert_eq!(plan.alternatives, [["bash", "-e", "/skill/scripts/go", "x y"]]);
}

#[test]
fn a_program_is_its_own_command() {
    let skill = SkillBuilder::new("a").program("scripts/go", "\u{7f}ELF").load();
    assert_eq!(planned(&skill, None).unwrap().argv, ["/skill/scripts/go", "x y"]);
}

#[test]
fn the_skill_is_read_only_and_the_environment_is_clean() {
    let skill = SkillBuilder::new("a").file("scripts/go.py", "import os\n").load();
    let mut options = RunOptions::new(WorkFolder::CopyOnWrite("/somewhere".into()));
    options.host_env.insert("SECRET".to_owned(), "s".to_owned());
    let plan = plan_run(&skill, None, &[], &options).unwrap();
    assert_eq!(plan.mounts[0].kind, MountKind::ReadOnly);
    assert_eq!(plan.mounts[0].target, "/skill");
    assert_eq!(plan.mounts[1].kind, MountKind::CopyOnWrite);
    assert!(!plan.env.contains_key("SECRET"));
    assert!(!plan.env.contains_key("PYTHONPATH"));
    assert_eq!(plan.env["LANG"], "C.UTF-8");
    assert!(plan.network.allow.is_empty());
}

#[test]
fn a_package_at_the_top_is_found() {
    let skill = SkillBuilder::new("a")
        .file("scripts/go.py", "from scripts.utils import x\n")
        .file("scripts/utils.py", "")
        .load();
    assert_eq!(planned(&skill, Some("go")).unwrap().env["PYTHONPATH"], "/skill");
}

#[test]
fn environments_are_mounted_read_only() {
    let skill = SkillBuilder::new("a").file("scripts/go.py", "").load();
    let mut options = RunOptions::new(WorkFolder::Empty);
    options.venv = Some("/cache/v".into());
    options.node_modules = Some("/cache/n".into());
    let plan = plan_run(&skill, None, &[], &options).unwrap();
    assert!(plan.env["PATH"].starts_with("/cache/v/bin:"));
    let read_only: Vec<&str> = plan
        .mounts
        .iter()
        .filter(|mount| mount.kind == MountKind::ReadOnly)
        .map(|mount| mount.target.as_str())
        .collect();
    assert_eq!(read_only, ["/skill", "/cache/v", "/node_modules"]);
}

#[test]
fn what_was_made_is_mounted_as_a_whole() {
    let skill = SkillBuilder::new("a").file("scripts/go.py", "").load();
    let mut options = RunOptions::new(WorkFolder::Empty);
    // Nothing of it is there: a plan does not look into what packages have shaped.
    let folder = HostPlace::from("/cache/name/content");
    options.environment = Some(MadeEnvironment { folder, has_python: true, has_node: true });
    let plan = plan_run(&skill, None, &[], &options).unwrap();
    let made: Vec<_> = plan.mounts.iter().filter(|it| it.target != "/skill").collect();
    let made: Vec<_> = made.iter().filter_map(|it| it.source.as_ref()).collect();
    assert_eq!(made, [&HostPlace::from("/cache/name/content")]);
    let link = ("/node_modules".to_owned(), "/environment/node/node_modules".to_owned());
    assert!(plan.links.contains(&link));
    let (first, last) = ("/environment/python/bin:", ":/node_modules/.bin:/home/user/.local/bin");
    assert!(plan.env["PATH"].starts_with(first) && plan.env["PATH"].ends_with(last));
}

#[test]
fn a_virtual_environment_wins_over_an_absolute_shebang() {
    let skill = SkillBuilder::new("a").file("scripts/go", "#!/usr/bin/python3\n").load();
    let mut options = RunOptions::new(WorkFolder::Empty);
    let first =
        |options: &RunOptions| plan_run(&skill, None, &[], options).unwrap().argv[0].clone();
    assert_eq!(first(&options), "/usr/bin/python3");
    options.venv = Some("/cache/v".into());
    assert_eq!(first(&options), "python3");
}

#[test]
fn what_the_skill_asks_for_is_listed_and_not_granted() {
    let skill = SkillBuilder::new("a")
        .file("scripts/go.py", "")
        .file("belljar.yaml", "network: {allow: [a.org]}\nenv: {pass: [TOKEN]}\n")
        .load();
    let mut options = RunOptions::new(WorkFolder::Empty);
    options.host_env.insert("TOKEN".to_owned(), "t".to_owned());
    let plan = plan_run(&skill, None, &[], &options).unwrap();
    assert_eq!(plan.asks.len(), 2);
    assert!(plan.network.allow.is_empty());
    assert!(!plan.env.contains_key("TOKEN"));
    options.consent = Consent::Given;
    let plan = plan_run(&skill, None, &[], &options).unwrap();
    assert_eq!(plan.env["TOKEN"], "t");
    assert!(plan.network.allow.contains("a.org"));
}

#[test]
fn a_wrong_policy_stops_the_run() {
    let skill =
        SkillBuilder::new("a").file("scripts/go.py", "").file("belljar.yaml", "nope: 1\n").load();
    assert!(matches!(planned(&skill, None), Err(PlanError::BadPolicy(_))));
}

#[test]
fn an_archive_with_unsafe_entries_is_never_run() {
    let bytes = archive(&[
        Put::File("a/SKILL.md", MANIFEST),
        Put::File("a/scripts/go.py", b""),
        Put::File("../evil", b""),
    ]);
    let (_dir, path) = saved(&bytes);
    let skill = crate::load(&path, &crate::Limits::default()).unwrap();
    assert!(matches!(planned(&skill, None), Err(PlanError::UnsafeFiles(_))));
}

#[test]
fn a_plan_is_plain_data() {
    let skill = SkillBuilder::new("a").file("scripts/go.py", "").load();
    let json = serde_json::to_value(planned(&skill, None).unwrap()).unwrap();
    assert_eq!(json["mounts"][0]["kind"], "read-only");
}
