//! A place of its own for a test: a skill, a work folder, and nothing left behind.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
#![allow(dead_code, reason = "no test uses everything")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Folders of one test.
pub struct Place {
    top: tempfile::TempDir,
}

impl Place {
    /// A place with an empty skill called `probe`.
    pub fn new() -> Self {
        let place = Self { top: tempfile::tempdir().unwrap() };
        for folder in ["state", "tmp", "work", "home", "probe"] {
            fs::create_dir(place.path(folder)).unwrap();
        }
        place.file("probe/SKILL.md", "---\nname: probe\ndescription: Probes.\n---\nRead me.\n");
        place
    }

    /// A place whose skill has one script.
    pub fn with_script(text: &str) -> Self {
        let place = Self::new();
        place.script("probe/scripts/go.sh", text);
        place
    }

    /// A path in it.
    pub fn path(&self, path: &str) -> PathBuf {
        self.top.path().join(path)
    }

    /// Writes a file.
    pub fn file(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes an executable file.
    pub fn script(&self, path: &str, text: &str) {
        self.file(path, text);
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Reads a file of the work folder.
    pub fn work_file(&self, path: &str) -> String {
        fs::read_to_string(self.path("work").join(path)).unwrap()
    }

    /// `belljar skill ...` in the work folder.
    pub fn skill(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_belljar"));
        command
            .arg("skill")
            .args(arguments)
            .current_dir(self.path("work"))
            .env("XDG_STATE_HOME", self.path("state"))
            .env("TMPDIR", self.path("tmp"))
            .env("HOME", self.path("home"))
            .env("SECRET_OF_THE_HOST", "hush")
            .stdin(Stdio::null());
        command
    }

    /// Runs `belljar skill ...` to its end. Nothing temporary may be left.
    pub fn output(&self, arguments: &[&str]) -> Finished {
        let output = self.skill(arguments).output().unwrap();
        assert_eq!(names(&self.path("tmp")), Vec::<String>::new(), "something was left behind");
        Finished::of(&output)
    }

    /// Runs `belljar skill ...` to its end, while there may be something temporary of others.
    pub fn output_beside(&self, arguments: &[&str]) -> Finished {
        Finished::of(&self.skill(arguments).output().unwrap())
    }

    /// Runs the skill.
    pub fn run(&self, arguments: &[&str]) -> Finished {
        self.output(&[&["run", "../probe"], arguments].concat())
    }

    /// The folders in which changes are kept.
    pub fn kept(&self) -> Vec<PathBuf> {
        let top = self.path("state/belljar/aside");
        names(&top).into_iter().map(|name| top.join(name)).collect()
    }
}

/// The names in a folder, or none if it is not there.
pub fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// How a command ended.
#[derive(Debug)]
pub struct Finished {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Finished {
    /// Reads it from what the standard library gives.
    pub fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }

    /// A failure of ours: exit code, words, and a hint.
    #[track_caller]
    pub fn is_failure(&self, code: i32, error: &str, hint: &str) {
        assert_eq!(self.code, Some(code), "{self:?}");
        let has = |start: &str, words: &str| {
            self.err.split(start).skip(1).any(|rest| rest.contains(words))
        };
        assert!(has("error: ", error) && has("hint: ", hint), "{self:?}");
    }
}
