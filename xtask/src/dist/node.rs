//! The package that `npx belljar` runs: the program itself is its command, no Node is started.

use anyhow::Result;
use serde_json::json;

use super::read;
use super::tree::{Entry, Release, gzip, tar};

/// The packed package, with its files in `package/` as npm has them.
pub fn pack(release: &Release) -> Result<Vec<u8>> {
    let about = json!({
        "name": "belljar",
        "version": release.version,
        "description": "Runs agent skills, and any Linux program, in a sandbox with its own kernel",
        "license": "Apache-2.0",
        "bin": { "belljar": "bin/belljar" },
        "files": ["bin/belljar"],
        "os": ["linux"],
        "cpu": ["x64"],
    });
    let entries = [
        Entry::file("package/package.json", serde_json::to_vec_pretty(&about)?),
        Entry::file("package/LICENSE", read("LICENSE")?),
        Entry::file("package/README.md", read("README.md")?),
        Entry::program("package/bin/belljar", release.program.clone()),
    ];
    gzip(&tar(&entries, release.time)?)
}
