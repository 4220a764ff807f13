//! What a release consists of, before it is packed in one way or another.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use flate2::{Compression, GzBuilder};

use crate::command::{project, succeed};

/// The shells that completions are made for, and where each looks for them.
const SHELLS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/belljar"),
    ("zsh", "share/zsh/vendor-completions/_belljar"),
    ("fish", "share/fish/vendor_completions.d/belljar.fish"),
];

/// A file in a package.
pub struct Entry {
    /// Where it is, relative to the package's top.
    pub path: String,
    /// Permissions.
    pub mode: u32,
    /// What is in it.
    pub bytes: Vec<u8>,
}

impl Entry {
    /// A file that everybody may read.
    pub fn file(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), mode: 0o644, bytes: bytes.into() }
    }

    /// A file that everybody may execute.
    pub fn program(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { mode: 0o755, ..Self::file(path, bytes) }
    }
}

/// A release.
pub struct Release {
    /// The version.
    pub version: String,
    /// When the commit was made, in seconds since 1970.
    pub time: u64,
    /// The program.
    pub program: Vec<u8>,
    /// Completions and manual pages, as they lie beneath `/usr`.
    pub beside: Vec<Entry>,
}

impl Release {
    /// Has the program make what belongs to it.
    pub fn gather(program: &Path) -> Result<Self> {
        let mut beside = Vec::new();
        for (shell, path) in SHELLS {
            let said = output(Command::new(program).args(["completions", shell]))?;
            beside.push(Entry::file(path, said));
        }
        let pages = tempfile::tempdir()?;
        succeed(Command::new(program).arg("manual").arg(pages.path()))?;
        for page in fs::read_dir(pages.path())? {
            let page = page?;
            let name = page.file_name().to_string_lossy().into_owned();
            let packed = gzip(&fs::read(page.path())?)?;
            beside.push(Entry::file(format!("share/man/man1/{name}.gz"), packed));
        }
        beside.sort_by(|one, other| one.path.cmp(&other.path));
        let time = commit_time();
        let program = fs::read(program)?;
        Ok(Self { version: env!("CARGO_PKG_VERSION").to_owned(), time, program, beside })
    }
}

/// When the commit was made. Sources without a history have the same time everywhere, too.
fn commit_time() -> u64 {
    let mut git = Command::new("git");
    let said = output(git.current_dir(project()).args(["log", "-1", "--format=%ct"]));
    let text = said.ok().and_then(|said| String::from_utf8(said).ok());
    text.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// What a command says.
fn output(command: &mut Command) -> Result<Vec<u8>> {
    let said = command.output().with_context(|| crate::command::describe(command))?;
    if !said.status.success() {
        bail!("{}: {}", crate::command::describe(command), said.status);
    }
    Ok(said.stdout)
}

/// Packs bytes. No name and no time: they would differ from build to build.
pub fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut packer = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    packer.write_all(bytes)?;
    Ok(packer.finish()?)
}

/// An archive of files, and of the folders that they are in, that belongs to root.
pub fn tar(entries: &[Entry], time: u64) -> Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    let mut folders: Vec<&str> = Vec::new();
    for entry in entries {
        for (end, _) in entry.path.match_indices('/') {
            let folder = entry.path.get(..=end).unwrap_or_default();
            if folder != "./" && !folders.contains(&folder) {
                folders.push(folder);
                append(&mut archive, folder, 0o755, &[], time)?;
            }
        }
        append(&mut archive, &entry.path, entry.mode, &entry.bytes, time)?;
    }
    Ok(archive.into_inner()?)
}

fn append(
    archive: &mut tar::Builder<Vec<u8>>,
    path: &str,
    mode: u32,
    bytes: &[u8],
    time: u64,
) -> Result<()> {
    let mut header = tar::Header::new_gnu();
    let is_folder = path.ends_with('/');
    header.set_entry_type(if is_folder {
        tar::EntryType::Directory
    } else {
        tar::EntryType::Regular
    });
    header.set_mode(mode);
    header.set_mtime(time);
    header.set_size(bytes.len().try_into()?);
    Ok(archive.append_data(&mut header, path, bytes)?)
}
