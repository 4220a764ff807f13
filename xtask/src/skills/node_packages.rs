//! `--install` for Node with a real package, through the registry that npm is configured for.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::command::find_in_path;

/// A package of one small file.
const PACKAGE: &str = "ms";
/// Uses the package, and tries to change it.
const SCRIPT: &str = "console.log(require('ms')('2 days'));\n\
                      try { require('fs').writeFileSync(require.resolve('ms'), ''); }\n\
                      catch (error) { console.log(error.code); }\n";
/// What that prints.
const PRINTED: &str = "172800000\nEROFS\n";
const MANIFEST: &str =
    "---\nname: node-packages\ndescription: Counts milliseconds.\n---\nRun it.\n";

/// Installs the package inside, uses it, and uses it again from the cache.
pub fn run(belljar: &Path) -> Result<()> {
    if let Some(reason) = why_not() {
        test_skips::skip("packages-of-node", &reason);
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let skill = folder.path().join("node-packages");
    fs::create_dir_all(skill.join("scripts"))?;
    fs::create_dir(folder.path().join("work"))?;
    fs::write(skill.join("SKILL.md"), MANIFEST)?;
    fs::write(skill.join("scripts/go.cjs"), SCRIPT)?;
    for options in [&["--install"][..], &[]] {
        let output = Command::new(belljar)
            .args(["skill", "run"])
            .args(options)
            .arg(&skill)
            .current_dir(folder.path().join("work"))
            .env("XDG_CACHE_HOME", folder.path().join("cache"))
            .stdin(Stdio::null())
            .output()
            .context("cannot run belljar")?;
        let printed = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() || printed != PRINTED {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("packages of Node, with {options:?}: {}\n{printed}{said}", output.status);
        }
    }
    println!("packages of Node: `{PACKAGE}` installed inside, and used from the cache");
    Ok(())
}

/// Why no package can be had here.
fn why_not() -> Option<String> {
    if find_in_path("npm").is_none() {
        return Some("there is no npm here".to_owned());
    }
    let asked = Command::new("npm")
        .args(["view", PACKAGE, "version", "--fetch-retries=1", "--fetch-timeout=20000"])
        .stdin(Stdio::null())
        .output();
    match asked {
        Ok(output) if output.status.success() => None,
        Ok(_) => Some("npm has no registry that answers here".to_owned()),
        Err(error) => Some(format!("npm cannot be run: {error}")),
    }
}
