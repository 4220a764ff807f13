//! The first line of a script.

use linux_abi::{Errno, SysResult};

/// How much of a file is looked at (Linux: `BINPRM_BUF_SIZE`).
pub(super) const HEAD_SIZE: usize = 256;

/// What `#!` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// The program that runs the script.
    pub interpreter: Vec<u8>,
    /// Its argument: everything after the interpreter, as one.
    pub argument: Option<Vec<u8>>,
}

/// Reads the first line of a file, of which `head` is the beginning. `None` if it is no script;
/// `ENOEXEC` if it is one without an interpreter, or with one whose path is cut off.
pub fn parse_script(head: &[u8]) -> SysResult<Option<Script>> {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let head = head.get(..HEAD_SIZE).unwrap_or(head);
    let Some(rest) = head.strip_prefix(b"#!") else { return Ok(None) };
    let end = rest.iter().position(|&byte| byte == b'\n');
    let is_whole = end.is_some() || head.len() < HEAD_SIZE;
    let line = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
    let line = line.split(|&byte| byte == 0).next().unwrap_or_default();
    let start = line.iter().position(|byte| !is_blank(byte)).ok_or(Errno::ENOEXEC)?;
    let line = line.get(start..).unwrap_or_default();
    let name_end = line.iter().position(is_blank);
    if name_end.is_none() && !is_whole {
        return Err(Errno::ENOEXEC);
    }
    let (name, argument) = line.split_at(name_end.unwrap_or(line.len()));
    let first = argument.iter().position(|byte| !is_blank(byte));
    let last = argument.iter().rposition(|byte| !is_blank(byte));
    let argument = match (first, last) {
        (Some(first), Some(last)) => argument.get(first..=last).map(<[u8]>::to_vec),
        _ => None,
    };
    Ok(Some(Script { interpreter: name.to_vec(), argument }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(head: &[u8]) -> Option<(String, Option<String>)> {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let script = parse_script(head).unwrap()?;
        Some((text(script.interpreter), script.argument.map(text)))
    }

    #[test]
    fn the_rest_of_the_line_is_one_argument() {
        let script = parsed(b"#! /usr/bin/env  -S python3 -u \t\nprint()").unwrap();
        assert_eq!(script, ("/usr/bin/env".into(), Some("-S python3 -u".into())));
        assert_eq!(parsed(b"#!/bin/sh\n").unwrap(), ("/bin/sh".into(), None));
        assert_eq!(parsed(b"#!/bin/sh").unwrap(), ("/bin/sh".into(), None));
        assert_eq!(parsed(b"\x7fELF"), None);
    }

    #[test]
    fn a_script_without_an_interpreter_is_refused() {
        assert_eq!(parse_script(b"#!\n/bin/sh"), Err(Errno::ENOEXEC));
        assert_eq!(parse_script(b"#!  \t\n"), Err(Errno::ENOEXEC));
    }

    #[test]
    fn a_path_that_is_cut_off_is_refused() {
        let mut head = b"#!/".to_vec();
        head.resize(HEAD_SIZE, b'a');
        assert_eq!(parse_script(&head), Err(Errno::ENOEXEC));
        head.truncate(HEAD_SIZE - 1);
        assert!(parse_script(&head).unwrap().is_some());
    }
}
