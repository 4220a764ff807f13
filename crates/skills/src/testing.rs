//! Makes small skills and archives for tests.

use std::io::{Cursor, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use tempfile::TempDir;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::load::{Limits, load};
use crate::skill::Skill;

/// A skill's folder that is being made. The folder goes when this goes.
pub(crate) struct SkillBuilder {
    pub dir: TempDir,
    name: String,
}

impl SkillBuilder {
    /// Starts a valid skill.
    pub fn new(name: &str) -> Self {
        let manifest = format!("---\nname: {name}\ndescription: Does a thing.\n---\n# Steps\n");
        Self { dir: tempfile::tempdir().unwrap(), name: name.to_owned() }
            .file("SKILL.md", &manifest)
    }

    /// The skill's folder.
    pub fn path(&self) -> PathBuf {
        self.dir.path().join(&self.name)
    }

    /// Adds a file, or replaces it.
    pub fn file(self, path: &str, content: &str) -> Self {
        let target = self.path().join(path);
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::write(target, content).unwrap();
        self
    }

    /// Adds an executable file.
    pub fn program(self, path: &str, content: &str) -> Self {
        let made = self.file(path, content);
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(made.path().join(path), mode).unwrap();
        made
    }

    /// Adds a link.
    pub fn link(self, path: &str, target: &str) -> Self {
        std::os::unix::fs::symlink(target, self.path().join(path)).unwrap();
        self
    }

    /// Loads it. The folder stays as long as the skill.
    pub fn load(self) -> Skill {
        let mut skill = load(&self.path(), &Limits::default()).unwrap();
        skill.staging = Some(std::sync::Arc::new(self.dir));
        skill
    }
}

/// What an archive entry is.
pub(crate) enum Put<'a> {
    File(&'a str, &'a [u8]),
    Link(&'a str, &'a str),
}

/// Makes an archive in memory.
pub(crate) fn archive(entries: &[Put<'_>]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default();
    for entry in entries {
        match entry {
            Put::File(name, content) => {
                writer.start_file(*name, options).unwrap();
                writer.write_all(content).unwrap();
            }
            Put::Link(name, target) => writer.add_symlink(*name, *target, options).unwrap(),
        }
    }
    writer.finish().unwrap().into_inner()
}

/// Writes bytes to a file `a.skill` in a new folder.
pub(crate) fn saved(bytes: &[u8]) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.skill");
    std::fs::write(&path, bytes).unwrap();
    (dir, path)
}

/// A valid SKILL.md for a skill named `a`.
pub(crate) const MANIFEST: &[u8] = b"---\nname: a\ndescription: Does a thing.\n---\n# Steps\n";
