//! Programs: ELF files and scripts.

use std::rc::Rc;

use kernel_files::OpenFile;
use kernel_loader::LoadRequest;
use kernel_tasks::exec::parse_script;
use linux_abi::Fd;

use super::scratch::{self, Scratch};

/// More than any header says; the rest of a program is not looked at.
const MAX_INPUT: usize = 128 << 10;

/// Loads an ELF program, which may be its own interpreter.
pub fn program(bytes: &[u8]) {
    let bytes = bytes.get(..MAX_INPUT).unwrap_or(bytes);
    scratch::with(|scratch| {
        load(scratch, bytes);
        scratch.close_all();
    });
}

/// Copies the code of an interpreter, with what is replaced in it.
pub fn interpreter(bytes: &[u8]) {
    let bytes = bytes.get(..MAX_INPUT).unwrap_or(bytes);
    scratch::with(|scratch| {
        if let Some(file) = file_of(scratch, bytes) {
            let _ = kernel_loader::prepared::rehearse(&file);
        }
        scratch.close_all();
    });
}

fn file_of(scratch: &mut Scratch, bytes: &[u8]) -> Option<Rc<OpenFile>> {
    let name = scratch.put(0, b"input\0");
    let fd = scratch.call("memfd_create", &[name, 0]).cast_unsigned();
    let length = bytes.len() as u64;
    let address = scratch.put(4096, bytes);
    scratch.call("write", &[fd, address, length]);
    scratch.thread()?.file(Fd(i32::try_from(fd).ok()?)).ok()
}

fn load(scratch: &mut Scratch, bytes: &[u8]) -> Option<()> {
    let file = file_of(scratch, bytes)?;
    let (argv, envp) = (vec![b"program".to_vec()], vec![b"A=b".to_vec()]);
    let open = |_: &[u8]| Ok(Rc::clone(&file));
    let loaded = kernel_loader::load(&LoadRequest {
        program: &file,
        name: b"/program",
        argv: &argv,
        envp: &envp,
        open: &open,
        ids: [0; 4],
        secure: false,
        stack_limit: 8 << 20,
        interpreters: None,
    });
    if let Ok(loaded) = loaded {
        // What the shim is told to map lies where guests may have memory.
        const USER_END: u64 = 1 << 47;
        for segment in &loaded.image.segments {
            let end = segment.address.checked_add(segment.length);
            assert!(end.is_some_and(|end| end <= USER_END), "a segment beyond user memory");
        }
    }
    let _ = kernel_loader::interpreter_of(&file);
    Some(())
}

/// Reads the first line of a script.
pub fn script(bytes: &[u8]) {
    if let Ok(Some(script)) = parse_script(bytes) {
        assert!(!script.interpreter.contains(&b'\n'), "a line is one line");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mutations of a file with nothing to replace would not try much.
    #[test]
    fn the_corpus_has_an_interpreter_with_something_to_replace() {
        let corpus = crate::corpus::corpus("interpreter").unwrap();
        let is_prepared = |bytes: &[u8]| {
            scratch::with(|scratch| {
                let file = file_of(scratch, bytes).unwrap();
                let is_prepared = kernel_loader::prepared::rehearse(&file) == Ok(true);
                scratch.close_all();
                is_prepared
            })
        };
        assert!(corpus.iter().any(|bytes| is_prepared(bytes).unwrap()));
    }
}
