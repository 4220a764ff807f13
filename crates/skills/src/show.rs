//! A summary of a skill for people and for `--json`.

use serde::Serialize;

use crate::deps::{self, Needs};
use crate::front_matter::FrontMatter;
use crate::policy::{self, Policy};
use crate::script::{self, Script};
use crate::skill::{Origin, Skill};
use sandbox_spec::printable;

/// What there is to know about a skill.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// The skill's name.
    pub name: String,
    /// What the front matter says.
    pub front_matter: FrontMatter,
    /// Folder or archive.
    pub origin: Origin,
    /// The scripts with what runs them.
    pub scripts: Vec<Script>,
    /// What the scripts need.
    pub needs: Needs,
    /// What the skill asks for in its `belljar.yaml`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asks: Option<Policy>,
    /// How many test cases it brings.
    pub n_cases: usize,
    /// How many files it has.
    pub n_files: usize,
    /// The size of all files in bytes.
    pub size_bytes: u64,
    /// Lines of instructions.
    pub n_lines: usize,
}

/// Summarises a skill.
pub fn show(skill: &Skill) -> Summary {
    Summary {
        name: skill.name().to_owned(),
        front_matter: skill.front_matter.clone(),
        origin: skill.origin,
        scripts: script::find_scripts(skill),
        needs: deps::find_needs(skill),
        asks: policy::of_skill(skill).ok().flatten().map(|read| read.policy),
        n_cases: crate::cases::read_all(skill).iter().map(|(cases, _)| cases.len()).sum(),
        n_files: skill.regular_files().count(),
        size_bytes: skill.size(),
        n_lines: skill.body.lines().count(),
    }
}

impl Summary {
    /// Renders the summary for people.
    pub fn to_text(&self) -> String {
        let description = self.front_matter.description.as_deref().unwrap_or_default();
        let mut text = format!("{}\n  {}\n", printable(&self.name), printable(description));
        if let Some(license) = &self.front_matter.license {
            text.push_str(&format!("  license: {}\n", printable(license)));
        }
        let size = human_size(self.size_bytes);
        text.push_str(&format!(
            "\n{} files, {size}, {} lines of instructions, {} test cases\n",
            self.n_files, self.n_lines, self.n_cases
        ));
        if !self.scripts.is_empty() {
            text.push_str("\nscripts:\n");
        }
        let width =
            self.scripts.iter().map(|script| script.path.chars().count()).max().unwrap_or(0);
        for script in &self.scripts {
            let path = printable(&script.path);
            let word = printable(script.interpreter.word());
            let note = if script.is_entry { "" } else { ", to be imported" };
            text.push_str(&format!("  {path:width$}  {word}{note}\n"));
        }
        if !self.needs.is_empty() {
            text.push_str(&format!("\nneeds\n{}", self.needs.to_text()));
        }
        if let Some(asks) = &self.asks {
            text.push_str("\nasks for (belljar.yaml):\n");
            for line in asks.to_yaml().lines().skip(1) {
                text.push_str(&format!("  {line}\n"));
            }
        }
        text
    }
}

/// A size with one digit behind the point.
fn human_size(bytes: u64) -> String {
    let tenths = |unit: u64| {
        let whole = bytes / unit;
        let tenth = bytes % unit * 10 / unit;
        format!("{whole}.{tenth}")
    };
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{} KiB", tenths(1024)),
        _ => format!("{} MiB", tenths(1_048_576)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::SkillBuilder;

    #[test]
    fn shows_scripts_needs_and_size() {
        let skill = SkillBuilder::new("a")
            .program("scripts/go.py", "import numpy\n")
            .file("belljar.yaml", "network: {allow: [a.org]}\n")
            .load();
        let summary = show(&skill);
        let text = summary.to_text();
        assert!(text.contains("scripts/go.py  python3"), "{text}");
        assert!(text.contains("numpy  from scripts/go.py:1"), "{text}");
        assert!(text.contains("a.org"), "{text}");
        let json = serde_json::to_value(&summary).unwrap();
        assert_eq!(json["scripts"][0]["interpreter"], "python3");
        assert_eq!(json["n_files"], 3);
    }

    #[test]
    fn sizes_read_well() {
        assert_eq!(human_size(12), "12 bytes");
        assert_eq!(human_size(1536), "1.5 KiB");
        assert_eq!(human_size(5 << 20), "5.0 MiB");
    }
}
