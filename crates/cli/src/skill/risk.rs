//! Changes that deserve a close look before somebody agrees to them, each with the reason.
//!
//! Most of what a skill writes lies there until somebody opens it. What is in this table is run, or
//! believed, by another program without anybody asking, or leads out of the folder.

mod kinds;

use std::path::{Component, Path};

use sandbox_spec::{Change, Now, printable_path};

/// How much a kind weighs. What weighs more is shown first, and named again at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// It is not seen by everybody.
    Hidden,
    /// It runs when somebody starts it, or builds or tests the project.
    Run,
    /// It runs, or is believed, without anybody starting it; or it leads out of the folder.
    ByItself,
}

/// A reason to look closely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Risk {
    /// How much it weighs.
    pub weight: Weight,
    /// What it is and why that matters.
    pub reason: &'static str,
}

use Weight::{ByItself, Run};
use kinds::Where::{self, Ending, In, Named};
use kinds::{HOOKS, KINDS};

/// Settings of git can name any folder as that of the hooks.
const NAMED_HOOK: Risk = Risk {
    weight: ByItself,
    reason: "has the name of a git hook, which settings of git can make it in any folder",
};
/// A repository of git need not be called `.git`: a folder with these is one, and git believes the
/// settings in it.
const BARE: Risk = Risk {
    weight: ByItself,
    reason: "with HEAD, objects and refs beside it settings of git, which can name programs",
};
const BARE_NAMES: [&str; 4] = ["head", "config", "config.worktree", "commondir"];

const FOLDER_GONE: Risk = Risk { weight: Run, reason: "a folder goes, with everything in it" };
const LEADS_OUT: Risk = Risk { weight: ByItself, reason: "a link that leads out of the folder" };
const LINK: Risk = Risk { weight: Run, reason: "a link: whoever opens it opens something else" };
const SET_ID: Risk = Risk {
    weight: ByItself,
    reason: "runs with the rights of its owner; that mark is not written",
};
const EXECUTABLE: Risk = Risk { weight: Run, reason: "a program" };
const ODD_NAME: Risk =
    Risk { weight: ByItself, reason: "its name has characters that are not seen" };
const HIDDEN: Risk =
    Risk { weight: Weight::Hidden, reason: "hidden: a name in its path begins with a dot" };

/// Any of the bits by which a file may be run.
const EXECUTE_BITS: u32 = 0o111;
/// The bits by which it runs as somebody else.
const SET_ID_BITS: u32 = 0o6000;

/// Why a change deserves a close look, the weightiest reason first. Nothing for most changes.
pub fn risks(change: &Change) -> Vec<Risk> {
    let mut found = Vec::new();
    let path = Names::of(&change.path);
    let is_sample = path.is_sample_hook() && is_harmless_sample(&change.now);
    let reach = match &change.now {
        // A folder of such a name is told by what is in it.
        Now::Folder => None,
        // A link stands for everything that is beneath what it leads to, and with a folder that is
        // gone everything in it is.
        Now::Link { .. } | Now::Nothing => Some(Reach::Above),
        Now::File { .. } | Now::Special => Some(Reach::Itself),
    };
    // What is gone does not run, but that a hook or a rule is gone can matter as much.
    if let Some(reach) = reach.filter(|_| !is_sample) {
        for (weight, reason, place) in KINDS {
            if path.is_at(place, reach) && !found.iter().any(|risk: &Risk| risk.reason == *reason) {
                found.push(Risk { weight: *weight, reason });
            }
        }
        if found.is_empty() && path.is_named(&HOOKS) {
            found.push(NAMED_HOOK);
        }
        if path.is_of_a_bare_repository() {
            found.push(BARE);
        }
    }
    match &change.now {
        Now::Link { .. } if change.leads_out => found.push(LEADS_OUT),
        Now::Link { .. } => found.push(LINK),
        Now::File { mode, .. } => {
            if mode & SET_ID_BITS != 0 {
                found.push(SET_ID);
            }
            if mode & EXECUTE_BITS != 0 && !is_sample {
                found.push(EXECUTABLE);
            }
        }
        Now::Folder | Now::Nothing | Now::Special => {}
    }
    if change.gone.is_some() {
        found.push(FOLDER_GONE);
    }
    if change.path.to_str() != Some(&printable_path(&change.path)) {
        found.push(ODD_NAME);
    }
    if found.is_empty() && path.is_hidden() && !is_sample {
        found.push(HIDDEN);
    }
    found.sort_by_key(|risk| std::cmp::Reverse(risk.weight));
    found
}

/// Whether an example of a hook is what it says: a file, or gone. A link or a program with somebody
/// else's rights is no example of anything.
fn is_harmless_sample(now: &Now) -> bool {
    match now {
        Now::File { mode, .. } => mode & SET_ID_BITS == 0,
        Now::Nothing => true,
        Now::Folder | Now::Link { .. } | Now::Special => false,
    }
}

/// What a change reaches.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// What has its path.
    Itself,
    /// Also what is beneath it.
    Above,
}

/// The names of a path, in small letters.
struct Names(Vec<String>);

impl Names {
    fn of(path: &Path) -> Self {
        let names = path.components().filter(|part| matches!(part, Component::Normal(_)));
        Self(names.map(|it| it.as_os_str().to_string_lossy().to_ascii_lowercase()).collect())
    }

    /// `git init` makes a dozen examples of hooks, which git does not run. Who sees them marked each
    /// time does not look any more.
    fn is_sample_hook(&self) -> bool {
        let is_sample = |name: &String| name.ends_with(".sample");
        self.0.last().is_some_and(is_sample) && self.is_beneath(&[".git", "hooks"])
    }

    /// Whether a name begins with a dot. What git keeps has names that say nothing.
    fn is_hidden(&self) -> bool {
        let is_kept = |folder: &str| self.is_beneath(&[".git", folder]);
        let is_data = ["objects", "refs", "logs"].into_iter().any(is_kept);
        self.0.iter().any(|name| name.starts_with('.')) && !is_data
    }

    /// Whether a repository of git that is not called `.git` could have this beside its `HEAD`.
    fn is_of_a_bare_repository(&self) -> bool {
        self.is_named(&BARE_NAMES) && !self.0.iter().any(|name| name == ".git")
    }

    fn is_named(&self, names: &[&str]) -> bool {
        self.0.last().is_some_and(|name| names.contains(&name.as_str()))
    }

    fn is_at(&self, place: &Where, reach: Reach) -> bool {
        let parts = |text: &'static str| text.split('/').collect::<Vec<&str>>();
        let is_above = |parts: &[&str]| {
            let mut starts = (1..=parts.len()).filter_map(|n| parts.get(..n));
            reach == Reach::Above && starts.any(|start| self.ends_with(start))
        };
        match place {
            Named(all) => all.iter().any(|text| {
                let parts = parts(text);
                self.ends_with(&parts) || is_above(&parts)
            }),
            In(all) => all.iter().any(|text| {
                let parts = parts(text);
                self.is_beneath(&parts) || is_above(&parts)
            }),
            Ending(all) => {
                let name = self.0.last().map_or("", String::as_str);
                all.iter().any(|end| name.len() > end.len() && name.ends_with(end))
            }
        }
    }

    fn ends_with(&self, parts: &[&str]) -> bool {
        let from = self.0.len().checked_sub(parts.len());
        from.and_then(|from| self.0.get(from..)).is_some_and(|names| names == parts)
    }

    fn is_beneath(&self, parts: &[&str]) -> bool {
        let above = self.0.split_last().map_or(&[][..], |(_, above)| above);
        above.windows(parts.len()).any(|names| names == parts)
    }
}

#[cfg(test)]
mod tests {
    use sandbox_spec::Happened;

    use super::*;

    fn file(path: &str, mode: u32) -> Change {
        let now = Now::File { size: 1, mode };
        Change::new(path, Happened::Created, now)
    }

    fn link(path: &str, leads_out: bool) -> Change {
        let now = Now::Link { target: "somewhere".into() };
        Change { leads_out, ..Change::new(path, Happened::Created, now) }
    }

    fn reasons(change: &Change) -> Vec<&'static str> {
        risks(change).into_iter().map(|risk| risk.reason).collect()
    }

    #[test]
    fn what_runs_by_itself_is_found_wherever_it_is() {
        for path in [
            ".git/hooks/pre-commit",
            "sub/.GIT/Hooks/post-checkout",
            ".git/config",
            ".github/workflows/x.yml",
            ".bashrc",
            "home/.profile",
            ".envrc",
            ".npmrc",
            ".vscode/tasks.json",
            ".idea/workspace.xml",
            ".claude/settings.json",
            "CLAUDE.md",
            "a/conftest.py",
            "x.pth",
            "a.desktop",
            ".ssh/authorized_keys",
        ] {
            let found = risks(&file(path, 0o644));
            assert!(found.first().is_some_and(|risk| risk.weight == ByItself), "{path}: {found:?}");
        }
    }

    #[test]
    fn programs_and_build_files_are_found() {
        for path in ["package.json", "a/Makefile", "setup.py", "vite.config.ts"] {
            assert_eq!(
                risks(&file(path, 0o644)).first().map(|risk| risk.weight),
                Some(Run),
                "{path}"
            );
        }
        assert_eq!(reasons(&file("tool", 0o755)), [EXECUTABLE.reason]);
        assert_eq!(reasons(&file("tool", 0o4755)), [SET_ID.reason, EXECUTABLE.reason]);
    }

    #[test]
    fn links_are_told_apart_by_where_they_lead() {
        assert_eq!(reasons(&link("a", true)), [LEADS_OUT.reason]);
        assert_eq!(reasons(&link("a", false)), [LINK.reason]);
    }

    #[test]
    fn a_link_in_the_place_of_a_folder_is_what_would_be_in_it() {
        for path in [
            ".vscode",
            "sub/.idea",
            ".github",
            ".github/workflows",
            ".husky",
            ".claude",
            ".git/hooks",
            ".ssh",
            ".cargo",
            ".config",
            "node_modules",
        ] {
            let found = reasons(&link(path, false));
            assert!(found.len() > 1, "{path}: {found:?}");
            assert!(found.contains(&LINK.reason), "{path}: {found:?}");
            let gone = Change::new(path, Happened::Removed, Now::Nothing);
            assert!(!risks(&gone).is_empty(), "{path}");
        }
        assert_eq!(reasons(&link("vscode", false)), [LINK.reason]);
    }

    #[test]
    fn an_example_of_a_hook_is_a_plain_file() {
        let sample = ".git/hooks/pre-push.sample";
        assert_eq!(reasons(&file(sample, 0o755)), [""; 0]);
        assert!(reasons(&file(sample, 0o4755)).contains(&SET_ID.reason));
        assert!(reasons(&link(sample, false)).contains(&"a git hook: git runs it"));
        assert!(reasons(&link(sample, true)).contains(&LEADS_OUT.reason));
        let odd = file(".git/hooks/\u{202e}x.sample", 0o755);
        assert_eq!(reasons(&odd), [ODD_NAME.reason]);
    }

    #[test]
    fn a_repository_by_another_name_is_one() {
        for path in ["x/config", "repo.git/HEAD", "a/b/config.worktree", "HEAD", "tools/pre-commit"]
        {
            let found = risks(&file(path, 0o644));
            assert!(found.first().is_some_and(|risk| risk.weight == ByItself), "{path}: {found:?}");
        }
        assert_eq!(reasons(&file(".git/HEAD", 0o644)), [HIDDEN.reason]);
        assert_eq!(reasons(&file("config.yaml", 0o644)), [""; 0]);
        let folder = Change::new("config", Happened::Created, Now::Folder);
        assert_eq!(reasons(&folder), [""; 0]);
    }

    #[test]
    fn a_folder_that_goes_is_marked() {
        let gone = Some(sandbox_spec::Gone { files: 7, is_at_least: false });
        let change = Change { gone, ..Change::new("src", Happened::Removed, Now::Nothing) };
        assert_eq!(reasons(&change), [FOLDER_GONE.reason]);
    }

    #[test]
    fn ordinary_files_and_hidden_ones() {
        for path in ["README.md", "src/main.c", "hooks/x", "a.config", "package.json.txt"] {
            assert_eq!(reasons(&file(path, 0o644)), [""; 0], "{path}");
        }
        assert_eq!(reasons(&file(".note", 0o644)), [HIDDEN.reason]);
        assert_eq!(reasons(&file(".git/objects/1f/aa", 0o444)), [""; 0]);
        assert_eq!(reasons(&file("a\u{202e}b", 0o644)), [ODD_NAME.reason]);
    }
}
