//! Installs the packages as users do, each into a fresh place, and runs a program with each.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::command::{describe, succeed};

/// Tries what lies in a folder.
pub fn run(packages: &Path) -> Result<()> {
    let place = tempfile::tempdir()?;
    let place = place.path();
    let file = |end: &str| {
        let names = fs::read_dir(packages)?.filter_map(|it| Some(it.ok()?.path()));
        let mut found = names.filter(|path| path.to_string_lossy().ends_with(end));
        found.next().with_context(|| format!("a file that ends with {end}"))
    };
    succeed(
        Command::new("sha256sum").args(["--check", "--quiet", "SHA256SUMS"]).current_dir(packages),
    )?;

    let archive = place.join("archive");
    fs::create_dir(&archive)?;
    let mut unpack = Command::new("tar");
    succeed(
        unpack
            .args(["--strip-components=1", "-C"])
            .arg(&archive)
            .arg("-xzf")
            .arg(file("linux.tar.gz")?),
    )?;
    check(&archive.join("bin/belljar"))?;
    is_static(&archive.join("bin/belljar"))?;
    check_completions(&archive)?;

    let debian = place.join("debian");
    succeed(Command::new("dpkg-deb").arg("--extract").arg(file(".deb")?).arg(&debian))?;
    check(&debian.join("usr/bin/belljar"))?;
    let name = said(Command::new("dpkg-deb").args(["--field"]).arg(file(".deb")?).arg("Package"))?;
    ensure!(name == "belljar\n", "the package is called {name}");

    let python = place.join("python");
    succeed(Command::new("/usr/bin/python3").args(["-m", "venv"]).arg(&python))?;
    let mut pip = Command::new(python.join("bin/pip"));
    succeed(
        pip.args(["install", "--quiet", "--no-index", "--disable-pip-version-check"])
            .arg(file(".whl")?),
    )?;
    check(&python.join("bin/belljar"))?;

    let node = place.join("node");
    fs::create_dir(&node)?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--silent", "--no-audit", "--no-fund", "--offline"]).arg(file(".tgz")?);
    succeed(npm.current_dir(&node))?;
    check(&node.join("node_modules/.bin/belljar"))?;
    let mut npx = Command::new("npx");
    let said = said(
        npx.args(["--offline", "belljar", "run", "--", "echo", "from npx"]).current_dir(&node),
    )?;
    ensure!(said == "from npx\n", "npx said {said:?}");
    Ok(())
}

/// Whether a program tells its version and runs another one.
fn check(program: &Path) -> Result<()> {
    let version = said(Command::new(program).arg("--version"))?;
    let expected = format!("belljar {}", env!("CARGO_PKG_VERSION"));
    ensure!(version.starts_with(&expected), "{}: the version is {version:?}", program.display());
    let hello =
        said(Command::new(program).args(["run", "--", "sh", "-c", "echo hello from $(hostname)"]))?;
    ensure!(hello.starts_with("hello from "), "{} said {hello:?}", program.display());
    Ok(())
}

/// Whether a program asks for no library of the host's.
fn is_static(program: &Path) -> Result<()> {
    let asked = Command::new("ldd").arg(program).output()?;
    let text = [asked.stdout, asked.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let is_static = text.contains("statically linked") || text.contains("not a dynamic executable");
    ensure!(is_static, "ldd says: {text}");
    Ok(())
}

/// Whether bash understands its completions, and man its page.
fn check_completions(archive: &Path) -> Result<()> {
    let script = archive.join("share/bash-completion/completions/belljar");
    let ask = "source \"$0\"; COMP_WORDS=(belljar do) COMP_CWORD=1; \
        _belljar belljar do belljar; printf '%s\\n' \"${COMPREPLY[@]}\"";
    let words = said(Command::new("bash").args(["-c", ask]).arg(&script))?;
    ensure!(words == "doctor\n", "`belljar do` is completed to {words:?}");
    let page: PathBuf = archive.join("share/man/man1/belljar-run.1.gz");
    let text = said(Command::new("zcat").arg(&page))?;
    ensure!(text.contains("memory"), "{} says nothing of --memory", page.display());
    Ok(())
}

fn said(command: &mut Command) -> Result<String> {
    let said = command.output().with_context(|| describe(command))?;
    let errors = String::from_utf8_lossy(&said.stderr);
    ensure!(said.status.success(), "{}: {}: {errors}", describe(command), said.status);
    Ok(String::from_utf8(said.stdout)?)
}
