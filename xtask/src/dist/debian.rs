//! The package for Debian and its relatives.

use std::fmt::Write as _;

use anyhow::Result;
use md5::{Digest, Md5};

use super::tree::{Entry, Release, gzip, tar};
use super::{hex, read};

/// The package: an `ar` archive of three members, in this order.
pub fn pack(release: &Release) -> Result<Vec<u8>> {
    let mut entries = vec![
        Entry::program("./usr/bin/belljar", release.program.clone()),
        Entry::file("./usr/share/doc/belljar/copyright", read("LICENSE")?),
        Entry::file(
            "./usr/share/doc/belljar/changelog.gz",
            gzip(read("CHANGELOG.md")?.as_bytes())?,
        ),
    ];
    for entry in &release.beside {
        entries.push(Entry::file(format!("./usr/{}", entry.path), entry.bytes.clone()));
    }
    let bytes: usize = entries.iter().map(|entry| entry.bytes.len()).sum();
    let mut sums = String::new();
    for entry in &entries {
        let path = entry.path.trim_start_matches("./");
        writeln!(sums, "{}  {path}", hex(&Md5::digest(&entry.bytes)))?;
    }
    let control = [
        Entry::file("./control", control(&release.version, bytes.div_ceil(1024))),
        Entry::file("./md5sums", sums),
    ];
    let members = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", gzip(&tar(&control, release.time)?)?),
        ("data.tar.gz", gzip(&tar(&entries, release.time)?)?),
    ];
    let mut package = ar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let mut header = ar::Header::new(name.into(), bytes.len().try_into()?);
        header.set_mode(0o100_644);
        header.set_mtime(release.time);
        package.append(&header, bytes.as_slice())?;
    }
    Ok(package.into_inner()?)
}

/// What the package manager knows of it. The program is static and needs nothing.
fn control(version: &str, kilobytes: usize) -> String {
    format!(
        "Package: belljar\n\
         Version: {version}\n\
         Architecture: amd64\n\
         Maintainer: The Belljar project <belljar@localhost>\n\
         Installed-Size: {kilobytes}\n\
         Section: utils\n\
         Priority: optional\n\
         Description: runs agent skills, and any Linux program, in a sandbox with its own kernel\n \
         The program's system calls are answered by a kernel in user space: no root, no\n \
         container engine, no virtual machine. Nothing leaves that was not allowed to.\n"
    )
}
