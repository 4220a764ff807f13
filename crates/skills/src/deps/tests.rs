//! Needs of small skills.

use super::*;
use crate::testing::SkillBuilder;

fn names(needs: &[Need]) -> Vec<&str> {
    needs.iter().map(|need| need.name.as_str()).collect()
}

fn python(text: &str) -> Vec<Need> {
    find_needs(&SkillBuilder::new("a").file("scripts/x.py", text).load()).python
}

#[test]
fn imports_in_all_their_forms() {
    let found = python(
        "import os, numpy as np, yaml\nfrom PIL import Image\nfrom docx.shared import Pt\n\
         from . import helper\nfrom .more import x\nimport xml.etree.ElementTree as ET\n\
         if True:\n    import cv2\nfrom bs4 import (\n    BeautifulSoup,\n)\n",
    );
    assert_eq!(
        names(&found),
        ["beautifulsoup4", "numpy", "opencv-python-headless", "Pillow", "python-docx", "PyYAML"]
    );
    let pillow = found.iter().find(|need| need.name == "Pillow").unwrap();
    assert_eq!((pillow.imports.clone(), pillow.seen[0].line), (vec!["PIL".to_owned()], 2));
    assert!(found.iter().all(|need| !need.is_optional));
}

#[test]
fn strings_and_types_are_not_imports() {
    let text = "\"\"\"\nimport a\n\"\"\"\nfrom typing import TYPE_CHECKING\n\
                if TYPE_CHECKING:\n    import pandas\nx = 'from b import c'\nimport_me = 1\n";
    assert!(python(text).is_empty());
}

#[test]
fn caught_imports_are_optional() {
    let found = python(
        "try:\n    import lxml\nexcept ImportError:\n    import html5lib\n\
         try:\n    import must\nexcept ValueError:\n    pass\n",
    );
    let optional: Vec<(&str, bool)> =
        found.iter().map(|need| (need.name.as_str(), need.is_optional)).collect();
    assert_eq!(optional, [("html5lib", true), ("lxml", true), ("must", false)]);
}

#[test]
fn the_skills_own_modules_are_not_needs() {
    let skill = SkillBuilder::new("a")
        .file(
            "scripts/x.py",
            "import helper\nfrom core.draw import y\nfrom scripts.util import z\n",
        )
        .file("scripts/helper.py", "")
        .file("core/draw.py", "")
        .file("scripts/util.py", "")
        .load();
    assert!(find_needs(&skill).python.is_empty());
}

#[test]
fn declarations_come_with_their_versions() {
    let skill = SkillBuilder::new("a")
        .file("requirements.txt", "# tools\npypdf>=4  # reader\n-r other.txt\nPillow==10.1 ; python_version>'3'\n")
        .file("pyproject.toml", "[project]\nrequires-python = \">=3.10\"\ndependencies = [\n  \"rich[all]~=13.0\",\n]\n[project.optional-dependencies]\ndev = [\"ruff\"]\n")
        .file("package.json", "{\n \"dependencies\": {\"sharp\": \"^0.33\"},\n \"devDependencies\": {\"x\": \"1\"}\n}\n")
        .file("scripts/x.py", "# /// script\n# dependencies = [\n#   \"httpx<1\",\n# ]\n# ///\nfrom PIL import Image\nimport httpx\n")
        .load();
    let needs = find_needs(&skill);
    assert_eq!(names(&needs.python), ["httpx", "Pillow", "pypdf", "rich", "ruff"]);
    let of = |name: &str| needs.python.iter().find(|need| need.name == name).unwrap();
    assert_eq!(of("pypdf").requirement.as_deref(), Some("pypdf>=4"));
    assert_eq!(of("Pillow").imports, ["PIL"]);
    assert_eq!(of("rich").seen[0].line, 4);
    assert_eq!(
        of("httpx").seen[0],
        Seen { file: "scripts/x.py".into(), line: 3, evidence: Evidence::Declared }
    );
    assert!(of("ruff").is_optional);
    assert_eq!(names(&needs.node), ["sharp"]);
    assert_eq!(needs.python_version.as_deref(), Some(">=3.10"));
    assert!(needs.requirement_set().contains(&"node sharp@^0.33".to_owned()));
}

#[test]
fn programs_from_scripts_and_prose() {
    let skill = SkillBuilder::new("a")
        .file("SKILL.md", "---\nname: a\ndescription: d\n---\nUse `qpdf --help`, not `foo`.\n```bash\npandoc a.md -o b\npip install \"markitdown[pptx]\" rich\nnpm install -g docx@9\n```\n```python\nffmpeg\n```\n")
        .file("scripts/x.py", "import subprocess\nsubprocess.run(['soffice', '--headless'])\n")
        .file("scripts/y.sh", "git init && ls | grep x\n")
        .load();
    let needs = find_needs(&skill);
    assert_eq!(names(&needs.programs), ["git", "pandoc", "python3", "qpdf", "soffice"]);
    assert_eq!(names(&needs.python), ["markitdown", "rich"]);
    assert_eq!(names(&needs.node), ["docx"]);
    assert!(needs.python.iter().all(|need| need.is_optional));
    let of = |name: &str| needs.programs.iter().find(|need| need.name == name).unwrap();
    assert!(of("pandoc").is_optional && !of("git").is_optional);
}

#[test]
fn node_scripts() {
    let skill = SkillBuilder::new("a")
        .file(
            "scripts/x.js",
            "const a = require('sharp');\nrequire('child_process').execSync('git log');\n",
        )
        .load();
    let needs = find_needs(&skill);
    assert_eq!(names(&needs.node), ["sharp"]);
    assert_eq!(names(&needs.programs), ["git", "node"]);
}

#[test]
fn says_what_is_there_and_how_to_get_the_rest() {
    let skill = SkillBuilder::new("a")
        .file("scripts/y.sh", "soffice x\nzz-not-there\n")
        .file("scripts/x.py", "import yaml\n")
        .load();
    let needs = find_needs(&skill);
    let all = assess(&needs, &PathInventory { path: "/nowhere".into() });
    assert_eq!(all.len(), 4);
    assert_eq!(all[0].presence, Presence::Unknown);
    assert!(all[2].advice.contains("libreoffice"));
    assert_eq!(all[3].presence, Presence::Missing);
    // The import, and that no version is asked for.
    assert_eq!(python_probe(&needs)[3..], ["yaml", ""]);
}

#[test]
fn needs_render_as_text() {
    let skill = SkillBuilder::new("a").file("scripts/x.py", "import yaml\n").load();
    assert_eq!(
        find_needs(&skill).to_text(),
        "python:\n  PyYAML  from scripts/x.py:1\nprograms:\n  python3  from scripts/x.py:1\n"
    );
}

#[test]
fn the_compatibility_field_declares_programs() {
    let text = "---\nname: a\ndescription: d\ncompatibility: Needs Chromium, git (any) and go make it work\n---\nx\n";
    let needs = find_needs(&SkillBuilder::new("a").file("SKILL.md", text).load());
    assert_eq!(names(&needs.programs), ["chromium", "git"]);
    assert_eq!(needs.programs[0].seen[0].line, 4);
    assert!(!needs.programs[0].is_optional);
}
