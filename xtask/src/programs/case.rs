//! What a case can say, and how it is read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::interpreters::{self, Interpreter};
use crate::command::project;

/// One file of cases.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseFile {
    /// Run every case once per interpreter of this language that is found; `{interpreter}` in
    /// `run` stands for it.
    #[serde(default)]
    interpreters: Option<String>,
    /// The cases.
    case: Vec<Case>,
}

/// One program with its input.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Short and unique in its file.
    pub name: String,
    /// The program and its arguments, run in an empty folder.
    pub run: Vec<String>,
    /// Files of `tests/programs/files` that are copied into the folder before.
    #[serde(default)]
    pub files: Vec<String>,
    /// A command that is run natively in the folder before, on behalf of both sides.
    #[serde(default)]
    pub prepare: Vec<String>,
    /// Programs that must be there, or the case is skipped.
    #[serde(default)]
    pub needs: Vec<String>,
    /// Standard input.
    #[serde(default)]
    pub stdin: String,
    /// Further environment variables.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Further options of `belljar run`.
    #[serde(default)]
    pub options: Vec<String>,
    /// The exit code that both sides must have.
    #[serde(default)]
    pub code: i32,
    /// Compare standard error too.
    #[serde(default)]
    pub stderr: bool,
    /// What must be in the sandbox's standard error.
    #[serde(default)]
    pub stderr_contains: Option<String>,
    /// What the sandbox's standard output must be, for cases without a native counterpart.
    #[serde(default)]
    pub stdout: Option<String>,
    /// There is no native counterpart: only the code, `stdout` and `stderr_contains` are checked.
    #[serde(default)]
    pub inside_only: bool,
    /// Left-over files whose path contains one of these are not compared.
    #[serde(default)]
    pub ignore: Vec<String>,
    /// Seconds until it counts as hanging.
    #[serde(default = "default_seconds")]
    pub seconds: u64,
    /// The file that it is from.
    #[serde(skip)]
    pub group: String,
    /// What `{interpreter}` stands for.
    #[serde(skip)]
    pub interpreter: Option<Interpreter>,
}

fn default_seconds() -> u64 {
    60
}

impl Case {
    /// The name with that of its group and interpreter.
    pub fn full_name(&self) -> String {
        match &self.interpreter {
            Some(interpreter) => format!("{}/{} [{}]", self.group, self.name, interpreter.name),
            None => format!("{}/{}", self.group, self.name),
        }
    }

    /// The program and its arguments, with the interpreter filled in.
    pub fn command(&self) -> Vec<String> {
        let fill = |word: &String| match &self.interpreter {
            Some(interpreter) => {
                word.replace("{interpreter}", &interpreter.program.to_string_lossy())
            }
            None => word.clone(),
        };
        self.run.iter().map(fill).collect()
    }

    /// When it counts as hanging.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }
}

/// The folder of the files that cases name.
pub fn files_folder() -> PathBuf {
    project().join("tests/programs/files")
}

/// Reads every case, in the order of the files' names.
pub fn load() -> Result<Vec<Case>> {
    let folder = project().join("tests/programs");
    let mut files = Vec::new();
    for entry in folder.read_dir().with_context(|| format!("{}", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path);
        }
    }
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        cases.extend(load_file(&file).with_context(|| format!("in {}", file.display()))?);
    }
    Ok(cases)
}

fn load_file(path: &Path) -> Result<Vec<Case>> {
    let file: CaseFile = toml::from_str(&std::fs::read_to_string(path)?)?;
    let group = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let interpreters: Vec<_> = match &file.interpreters {
        Some(language) => interpreters::find(language)?.into_iter().map(Some).collect(),
        None => vec![None],
    };
    let mut cases = Vec::new();
    for interpreter in interpreters {
        for case in &file.case {
            let (group, interpreter) = (group.clone(), interpreter.clone());
            cases.push(Case { group, interpreter, ..case.clone() });
        }
    }
    Ok(cases)
}
