//! What differs between two runs of a program.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::Result;

/// Where two outputs first differ, or nothing if they are equal.
pub fn texts(what: &str, native: &[u8], inside: &[u8]) -> Option<String> {
    if native == inside {
        return None;
    }
    let (native, inside) = (String::from_utf8_lossy(native), String::from_utf8_lossy(inside));
    let mut native = native.lines();
    let mut inside = inside.lines();
    let mut number = 1;
    loop {
        match (native.next(), inside.next()) {
            (None, None) => return Some(format!("{what} differs in its last line end")),
            (a, b) if a != b => {
                let line = |line: Option<&str>| match line {
                    Some(text) => format!("{text:.300}"),
                    None => "(nothing)".to_owned(),
                };
                let (a, b) = (line(a), line(b));
                return Some(format!("{what} differs in line {number}:\n- {a}\n+ {b}"));
            }
            _ => number += 1,
        }
    }
}

/// The files that only one side has, or that differ.
pub fn folders(native: &Path, inside: &Path, ignore: &[String]) -> Result<Option<String>> {
    let (native, inside) = (inventory(native, ignore)?, inventory(inside, ignore)?);
    for (path, entry) in &native {
        match inside.get(path) {
            None => return Ok(Some(format!("{path} was made natively, not inside"))),
            Some(other) if other != entry => {
                return Ok(Some(format!("{path} differs: {entry} natively, {other} inside")));
            }
            Some(_) => {}
        }
    }
    Ok(inside
        .keys()
        .find(|path| !native.contains_key(*path))
        .map(|path| format!("{path} was made inside, not natively")))
}

/// A description of every file beneath a folder that says what it is and what is in it.
fn inventory(folder: &Path, ignore: &[String]) -> Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(current) = pending.pop() {
        for entry in current.read_dir()? {
            let path = entry?.path();
            let name = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned();
            if ignore.iter().any(|part| name.contains(part)) {
                continue;
            }
            found.insert(name, describe(&path)?);
            if path.symlink_metadata()?.is_dir() {
                pending.push(path);
            }
        }
    }
    Ok(found)
}

fn describe(path: &Path) -> Result<String> {
    let metadata = path.symlink_metadata()?;
    let mode = metadata.permissions().mode() & 0o7777;
    Ok(if metadata.is_symlink() {
        format!("a link to {}", path.read_link()?.display())
    } else if metadata.is_dir() {
        format!("a folder with mode {mode:o}")
    } else if metadata.is_file() {
        let bytes = std::fs::read(path)?;
        format!("a file with mode {mode:o}, {} bytes, sum {:x}", bytes.len(), sum(&bytes))
    } else {
        format!("a special file with mode {mode:o}")
    })
}

/// A checksum against accidents (64-bit FNV-1a).
fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_first_line_that_differs() {
        let difference = texts("output", b"a\nb\n", b"a\nc\n").unwrap();
        assert_eq!(difference, "output differs in line 2:\n- b\n+ c");
        assert_eq!(texts("output", b"a\n", b"a\n"), None);
        assert!(texts("output", b"a\n", b"a").unwrap().contains("line end"));
    }
}
