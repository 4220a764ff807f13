//! Links the part of the C compiler's library that unwinds stacks into the program.
//!
//! As a shared library it would be looked for, mapped and set up at every start, which takes a
//! tenth of a millisecond: more than the options of `belljar run` do.

use std::env;
use std::path::Path;
use std::process::Command;

const ARCHIVE: &str = "libgcc_eh.a";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
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
