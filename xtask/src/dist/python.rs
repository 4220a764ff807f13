//! The wheel that `pip install belljar` installs: the program, put where scripts go.

use std::fmt::Write as _;
use std::io::{Cursor, Write as _};

use anyhow::Result;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::read;
use super::tree::{Entry, Release};

/// A static program runs with every C library.
const PLATFORM: &str = "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64";

/// The name says what it fits.
pub fn file_name(release: &Release) -> String {
    format!("belljar-{}-py3-none-{PLATFORM}.whl", release.version)
}

/// The wheel.
pub fn pack(release: &Release) -> Result<Vec<u8>> {
    let version = &release.version;
    let about = format!("belljar-{version}.dist-info");
    let tags: String = PLATFORM.split('.').map(|it| format!("Tag: py3-none-{it}\n")).collect();
    let mut entries = vec![
        Entry::program(format!("belljar-{version}.data/scripts/belljar"), release.program.clone()),
        Entry::file(format!("{about}/METADATA"), metadata(version)?),
        Entry::file(
            format!("{about}/WHEEL"),
            format!("Wheel-Version: 1.0\nGenerator: belljar\nRoot-Is-Purelib: false\n{tags}"),
        ),
        Entry::file(format!("{about}/licenses/LICENSE"), read("LICENSE")?),
    ];
    let mut record = String::new();
    for entry in &entries {
        let digest = URL_SAFE_NO_PAD.encode(Sha256::digest(&entry.bytes));
        writeln!(record, "{},sha256={digest},{}", entry.path, entry.bytes.len())?;
    }
    writeln!(record, "{about}/RECORD,,")?;
    entries.push(Entry::file(format!("{about}/RECORD"), record));
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for entry in &entries {
        // The first time that the format can tell, the same for every build.
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .last_modified_time(zip::DateTime::default())
            .unix_permissions(entry.mode);
        archive.start_file(&entry.path, options)?;
        archive.write_all(&entry.bytes)?;
    }
    Ok(archive.finish()?.into_inner())
}

fn metadata(version: &str) -> Result<String> {
    let readme = read("README.md")?;
    Ok(format!(
        "Metadata-Version: 2.4\n\
         Name: belljar\n\
         Version: {version}\n\
         Summary: Runs agent skills, and any Linux program, in a sandbox with its own kernel\n\
         License-Expression: Apache-2.0\n\
         License-File: LICENSE\n\
         Requires-Python: >=3.8\n\
         Description-Content-Type: text/markdown\n\n{readme}"
    ))
}
