//! Tells the program its version, and links the part of the C compiler's library that unwinds stacks
//! into it.
//!
//! As a shared library it would be looked for, mapped and set up at every start, which takes a
//! tenth of a millisecond: more than the options of `belljar run` do.

use std::env;
use std::path::Path;
use std::process::Command;

const ARCHIVE: &str = "libgcc_eh.a";
/// How much of a commit's name is shown.
const COMMIT_CHARS: usize = 12;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    link_unwinder();
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let shown = match commit() {
        Some((commit, date)) => format!("{version} ({commit} {date})"),
        None => version,
    };
    println!("cargo:rustc-env=BELLJAR_VERSION={shown}");
}

fn link_unwinder() {
    println!("cargo:rerun-if-env-changed=CC");
    let compiler = env::var_os("CC").unwrap_or_else(|| "cc".into());
    let asked = Command::new(compiler).arg(format!("-print-file-name={ARCHIVE}")).output();
    // A compiler that has none says only the name. Then the shared library does.
    let path = asked.map(|said| String::from_utf8_lossy(&said.stdout).trim().to_owned());
    let path = path.unwrap_or_default();
    if let Some(folder) = Path::new(&path).parent().filter(|folder| folder.is_absolute()) {
        println!("cargo:rustc-link-search=native={}", folder.display());
        println!("cargo:rustc-link-lib=static=gcc_eh");
    }
}

/// The commit that this is built from, and its day. The day of the build would make two builds of
/// one commit differ.
fn commit() -> Option<(String, String)> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?.parent()?;
    // These sources may lie in somebody else's repository.
    let top = git(project, &["rev-parse", "--show-toplevel"])?;
    if Path::new(&top).canonicalize().ok()? != project.canonicalize().ok()? {
        return None;
    }
    let log = project.join(git(project, &["rev-parse", "--git-path", "logs/HEAD"])?);
    if log.exists() {
        println!("cargo:rerun-if-changed={}", log.display());
    }
    let said = git(project, &["log", "-1", "--format=%H %cs"])?;
    let (commit, date) = said.split_once(' ')?;
    Some((commit.get(..COMMIT_CHARS)?.to_owned(), date.to_owned()))
}

fn git(folder: &Path, words: &[&str]) -> Option<String> {
    let said = Command::new("git").current_dir(folder).args(words).output().ok()?;
    let text = String::from_utf8(said.stdout).ok().filter(|_| said.status.success())?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}
