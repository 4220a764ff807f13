//! The project that somebody stands in: its folder, found by what lies in it.

use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use host_sys::rustix::process::geteuid;
use sandbox_spec::belongs_to_the_sandbox;

use crate::failure::Failure;
use crate::options::{current_folder, home_folder};

/// What the top of a git repository has.
const GIT: &str = ".git";

/// Files that lie at the top of a project, and nowhere else by habit.
const PROJECT_FILES: &[&str] = &[
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "requirements.txt",
    "Pipfile",
    "environment.yml",
    "package.json",
    "deno.json",
    "Cargo.toml",
    "go.mod",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "build.sbt",
    "Gemfile",
    "composer.json",
    "mix.exs",
    "stack.yaml",
    "cabal.project",
    "CMakeLists.txt",
    "meson.build",
    "Makefile",
    "Justfile",
    ".hg",
    ".jj",
];

/// Folders whose contents every sandbox shows as they are.
const SHOWN_ANYWAY: &[&str] = &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/// Folders that are put together for a sandbox from what of the host's may be seen.
const MADE_INSIDE: &[&str] = &["/etc"];

/// How far up a project is looked for.
const MAX_LEVELS: usize = 32;
/// The right of everybody to write.
const OTHERS_WRITE: u32 = 0o002;

/// How a project was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundBy {
    /// It is the top of a git repository.
    Git,
    /// It is the nearest folder with this file.
    File(&'static str),
    /// There is no sign of a project: it is the current folder.
    Here,
}

/// Whether the folder can be shown at its own path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Showing {
    /// It can.
    AtItsPath,
    /// Every sandbox has the same folder anyway.
    Already,
    /// Every sandbox has something else there.
    TakenInside,
}

/// The project that somebody stands in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// The current folder.
    pub here: PathBuf,
    /// The folder of the project: the current one, or one above it.
    pub folder: PathBuf,
    /// How it was found.
    pub found_by: FoundBy,
}

impl Project {
    /// The project of the current folder.
    pub fn find() -> Result<Self, Failure> {
        let home = home_folder().map(|home| home.canonicalize().unwrap_or(home));
        Ok(Self::of(current_folder()?, home.as_deref()))
    }

    /// The project of a folder. Names are looked up and nothing is listed: this is on the way of
    /// every start.
    fn of(here: PathBuf, home: Option<&Path>) -> Self {
        let owner = here.metadata().ok().map(|it| it.uid());
        let candidates: Vec<&Path> = here
            .ancestors()
            .take(MAX_LEVELS)
            .take_while(|folder| is_candidate(folder, &here, home, owner))
            .collect();
        let has = |folder: &Path, name: &str| folder.join(name).symlink_metadata().is_ok();
        let by_git = candidates.iter().find(|folder| has(folder, GIT));
        let by_file = || {
            candidates.iter().find_map(|folder| {
                let name = PROJECT_FILES.iter().find(|name| has(folder, name))?;
                Some((folder.to_path_buf(), FoundBy::File(name)))
            })
        };
        let found = by_git.map(|folder| (folder.to_path_buf(), FoundBy::Git)).or_else(by_file);
        let (folder, found_by) = found.unwrap_or_else(|| (here.clone(), FoundBy::Here));
        Self { here, folder, found_by }
    }

    /// Whether it can be shown at its own path.
    pub fn showing(&self) -> Showing {
        let is_in = |tops: &[&str]| tops.iter().any(|top| self.folder.starts_with(top));
        if self.folder.parent().is_none() {
            return Showing::Already;
        }
        if belongs_to_the_sandbox(&self.folder) {
            return Showing::TakenInside;
        }
        let is_made_inside = MADE_INSIDE.iter().any(|top| self.folder == Path::new(top));
        match self.found_by == FoundBy::Here && (is_in(SHOWN_ANYWAY) || is_made_inside) {
            true => Showing::Already,
            false => Showing::AtItsPath,
        }
    }
}

/// Whether a folder may be the project's. A file somebody else has left above the current folder
/// must not have more shown, and a home folder with settings in git is no project.
fn is_candidate(folder: &Path, here: &Path, home: Option<&Path>, owner: Option<u32>) -> bool {
    if home.is_some_and(|home| home.starts_with(folder)) || folder.parent().is_none() {
        return false;
    }
    if folder == here {
        return true;
    }
    folder.metadata().is_ok_and(|it| {
        let is_ours = it.uid() == geteuid().as_raw() || Some(it.uid()) == owner;
        is_ours && it.mode() & OTHERS_WRITE == 0
    })
}

/// The name of a program, for the folder that keeps what it writes.
pub fn name_of(program: &OsStr) -> String {
    let name = Path::new(program).file_name().unwrap_or(program);
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn place(files: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().canonicalize().unwrap();
        fs::create_dir_all(path.join("a/b/c")).unwrap();
        for file in files {
            fs::write(path.join(file), "").unwrap();
        }
        (top, path)
    }

    fn found(top: &Path, home: Option<&Path>) -> (PathBuf, FoundBy) {
        let project = Project::of(top.join("a/b/c"), home);
        (project.folder.strip_prefix(top).unwrap().to_path_buf(), project.found_by)
    }

    #[test]
    fn the_top_of_a_repository_is_the_project() {
        let (_top, path) = place(&["a/.git", "a/b/package.json"]);
        assert_eq!(found(&path, None), ("a".into(), FoundBy::Git));
    }

    #[test]
    fn else_the_nearest_folder_with_a_project_file_is() {
        let (_top, path) = place(&["a/Cargo.toml", "a/b/package.json"]);
        assert_eq!(found(&path, None), ("a/b".into(), FoundBy::File("package.json")));
        let (_top, path) = place(&[]);
        assert_eq!(found(&path, None), ("a/b/c".into(), FoundBy::Here));
    }

    #[test]
    fn a_home_folder_is_no_project_nor_is_what_is_above_it() {
        let (_top, path) = place(&["a/.git", ".git"]);
        assert_eq!(found(&path, Some(&path.join("a"))), ("a/b/c".into(), FoundBy::Here));
        assert_eq!(found(&path, Some(&path.join("a/b/c"))), ("a/b/c".into(), FoundBy::Here));
    }

    #[test]
    fn a_folder_that_everybody_writes_to_is_no_project() {
        let (_top, path) = place(&["a/.git"]);
        fs::set_permissions(path.join("a"), fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(found(&path, None), ("a/b/c".into(), FoundBy::Here));
    }

    #[test]
    fn what_every_sandbox_has_is_not_shown_again() {
        let showing = |path: &str| {
            let (here, folder) = (PathBuf::from(path), PathBuf::from(path));
            Project { here, folder, found_by: FoundBy::Here }.showing()
        };
        for path in ["/", "/usr/share", "/etc", "/lib"] {
            assert_eq!(showing(path), Showing::Already, "{path}");
        }
        assert_eq!(showing("/dev/shm/x"), Showing::TakenInside);
        for path in ["/srv/x", "/home/x", "/opt/x", "/tmp", "/etc/x", "/library"] {
            assert_eq!(showing(path), Showing::AtItsPath, "{path}");
        }
    }
}
