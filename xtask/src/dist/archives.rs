//! The archive for those who unpack it themselves, beneath `/usr/local` or anywhere.

use anyhow::Result;

use super::read;
use super::tree::{Entry, Release, gzip, tar};

/// The packed archive.
pub fn pack(release: &Release) -> Result<Vec<u8>> {
    let top = format!("belljar-{}-x86_64-linux", release.version);
    let mut entries = vec![
        Entry::program(format!("{top}/bin/belljar"), release.program.clone()),
        Entry::file(format!("{top}/LICENSE"), read("LICENSE")?),
        Entry::file(format!("{top}/README.md"), read("README.md")?),
        Entry::file(format!("{top}/SECURITY.md"), read("SECURITY.md")?),
    ];
    for entry in &release.beside {
        entries.push(Entry::file(format!("{top}/{}", entry.path), entry.bytes.clone()));
    }
    gzip(&tar(&entries, release.time)?)
}
