//! Building the static program.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::command::{cargo, project, succeed};

/// What is built for. Named, so that what runs during the build is not linked statically.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Builds the program in a folder, without a path of this machine in it. Returns where it is.
pub fn build(folder: &Path) -> Result<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    let home = home.context("where cargo keeps its crates")?;
    let flags = [
        "-Ctarget-feature=+crt-static".to_owned(),
        "-Cstrip=symbols".to_owned(),
        "-Clink-arg=-Wl,--icf=safe,-z,pack-relative-relocs".to_owned(),
        format!("--remap-path-prefix={}=/belljar", project().display()),
        format!("--remap-path-prefix={}=/crates", home.join("registry/src").display()),
        format!("--remap-path-prefix={}=/target", folder.display()),
    ];
    let mut build =
        cargo(&["build", "--quiet", "--locked", "--profile", "dist", "--package", "cli"]);
    build.args(["--target", TARGET]).arg("--target-dir").arg(folder);
    // What was built before must not shape what is built now.
    build.env("CARGO_INCREMENTAL", "0");
    // Paths may have spaces in them, flags have none of these.
    build.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
    succeed(&mut build)?;
    Ok(folder.join(TARGET).join("dist/belljar"))
}
