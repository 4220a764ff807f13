//! What failing cases printed, kept in a folder for each program.
//!
//! Programs name their cases, and may have been given the folder: names are made harmless, and every
//! file is put in its place beneath a held folder, whatever link is there.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io;
use std::path::Path;

use host_sys::beneath::Folder;

/// How long a name may become, which leaves room for its ending.
const MAX_NAME_BYTES: usize = 200;
/// For cases without a name.
const NAMELESS: &str = "output";

/// Writes what the cases of a program printed.
pub fn write(folder: &Path, program: &str, outputs: &HashMap<String, Vec<u8>>) -> io::Result<()> {
    if outputs.is_empty() {
        return Ok(());
    }
    let folder = Folder::make_at(folder)?.ensure_folder(harmless(program), 0o777)?;
    for (case, output) in outputs {
        folder.replace(format!("{}.txt", harmless(case)), 0o644, output.as_slice())?;
    }
    Ok(())
}

/// A name of one's own choice as one that means nothing to a file system or a terminal.
fn harmless(name: &str) -> String {
    let mut text = String::new();
    for (at, byte) in name.bytes().enumerate() {
        if text.len() >= MAX_NAME_BYTES {
            break;
        }
        match byte {
            b'.' if at == 0 => text.push_str("%2e"),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' => {
                text.push(char::from(byte));
            }
            // A string takes whatever is written to it.
            _ => drop(write!(text, "%{byte:02x}")),
        }
    }
    if text.is_empty() { NAMELESS.to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn names_of_cases_lead_nowhere_else() {
        assert_eq!(harmless("pipe-reads_2.x"), "pipe-reads_2.x");
        assert_eq!(harmless("../../key"), "%2e.%2f..%2fkey");
        assert_eq!(harmless(".."), "%2e.");
        assert_eq!(harmless(""), "output");
        assert_eq!(harmless("a b\n\u{202e}"), "a%20b%0a%e2%80%ae");
        assert!(harmless(&"\n".repeat(5000)).len() <= MAX_NAME_BYTES + 2);
    }

    #[test]
    fn links_that_a_program_left_are_not_followed() {
        let top = tempfile::tempdir().unwrap();
        let (logs, key) = (top.path().join("logs"), top.path().join("key"));
        fs::create_dir_all(logs.join("one")).unwrap();
        fs::write(&key, "mine").unwrap();
        symlink(&key, logs.join("one/case.txt")).unwrap();
        symlink(top.path(), logs.join("two")).unwrap();
        let outputs = HashMap::from([("case".to_owned(), b"words".to_vec())]);
        write(&logs, "one", &outputs).unwrap();
        assert_eq!(fs::read(logs.join("one/case.txt")).unwrap(), b"words");
        assert!(write(&logs, "two", &outputs).is_err());
        assert_eq!(fs::read(&key).unwrap(), b"mine");
        assert!(!top.path().join("case.txt").exists());
    }
}
