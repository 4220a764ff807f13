//! Interpreters of one language that a machine may have several of.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

/// An interpreter.
#[derive(Clone, Debug)]
pub struct Interpreter {
    /// How it is called in the names of cases.
    pub name: String,
    /// The program.
    pub program: PathBuf,
    /// A folder outside of the system's that has to be visible inside.
    pub prefix: Option<PathBuf>,
}

/// The interpreters of a language: the distribution's, and one that somebody built into a prefix
/// of their own, where there is one.
pub fn find(language: &str) -> Result<Vec<Interpreter>> {
    match language {
        "python" => Ok(pythons()),
        other => bail!("no interpreters are known for {other}"),
    }
}

fn pythons() -> Vec<Interpreter> {
    let system =
        Interpreter { name: "system".to_owned(), program: "/usr/bin/python3".into(), prefix: None };
    let mut found = vec![system];
    if let Some(prefix) = newest_pyenv_version() {
        found.push(Interpreter {
            name: "pyenv".to_owned(),
            program: prefix.join("bin/python3"),
            prefix: Some(prefix),
        });
    }
    found
}

/// The highest 3.x that pyenv has built.
fn newest_pyenv_version() -> Option<PathBuf> {
    let root = match std::env::var_os("PYENV_ROOT") {
        Some(root) => PathBuf::from(root),
        None => Path::new(&std::env::var_os("HOME")?).join(".pyenv"),
    };
    let version = |path: &PathBuf| -> Option<Vec<u32>> {
        path.file_name()?.to_str()?.split('.').map(|part| part.parse().ok()).collect()
    };
    let folders = root.join("versions").read_dir().ok()?;
    folders
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.join("bin/python3").exists() && version(path).is_some())
        .max_by_key(version)
}
