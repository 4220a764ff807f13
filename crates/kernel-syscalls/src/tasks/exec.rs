//! `execve(2)`, `execveat(2)`.

use std::rc::Rc;

use kernel_core::memory::{CString, UserPtr};
use kernel_files::walk::LastLink;
use kernel_tasks::Thread;
use kernel_tasks::exec::{ExecRequest, Executable, argument_limit, prepare};
use kernel_tasks::thread::NewProgram;
use linux_abi::{Errno, Fd, SysResult, WaitResult};

/// The longest argument or environment string, with its zero.
const MAX_STRING: usize = 128 << 10;
/// How many pointers are read at a time.
const POINTERS_AT_ONCE: usize = 64;

const AT_FDCWD: i32 = -100;
const AT_SYMLINK_NOFOLLOW: u32 = 0x100;
const AT_EMPTY_PATH: u32 = 0x1000;

/// Runs another program.
pub(crate) async fn execve(
    thread: Rc<Thread>,
    path: UserPtr<CString>,
    argv: UserPtr<u64>,
    envp: UserPtr<u64>,
) -> WaitResult<()> {
    execveat(thread, Fd(AT_FDCWD), path, argv, envp, 0).await
}

/// Runs another program, named relative to a directory or by a descriptor.
pub(crate) async fn execveat(
    thread: Rc<Thread>,
    directory: Fd,
    path: UserPtr<CString>,
    argv: UserPtr<u64>,
    envp: UserPtr<u64>,
    flags: u32,
) -> WaitResult<()> {
    let program = find(&thread, directory, path, argv, envp, flags)?;
    thread.end_others_with_report().await;
    Ok(thread.exec(program)?)
}

fn find(
    thread: &Rc<Thread>,
    directory: Fd,
    path: UserPtr<CString>,
    argv: UserPtr<u64>,
    envp: UserPtr<u64>,
    flags: u32,
) -> SysResult<NewProgram> {
    let path = path.read_path(&thread.memory())?;
    if flags & !(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) != 0 {
        return Err(Errno::EINVAL);
    }
    if path.is_empty() && flags & AT_EMPTY_PATH == 0 {
        return Err(Errno::ENOENT);
    }
    let from_cwd = directory.0 == AT_FDCWD || path.first() == Some(&b'/');
    let start = if from_cwd {
        thread.fs().cwd()
    } else {
        let errno = if path.is_empty() { Errno::EACCES } else { Errno::ENOTDIR };
        thread.file(directory)?.location().cloned().ok_or(errno)?
    };
    let executable = if path.is_empty() {
        Executable::File(&start)
    } else {
        let keep = flags & AT_SYMLINK_NOFOLLOW != 0;
        let last_link = if keep { LastLink::Keep } else { LastLink::Follow };
        Executable::Path { start: &start, path: &path, last_link }
    };
    let (name, is_closed_on_exec) = if from_cwd {
        (path.clone(), false)
    } else {
        let mut name = format!("/dev/fd/{}", directory.0).into_bytes();
        if !path.is_empty() {
            name.push(b'/');
            name.extend_from_slice(&path);
        }
        (name, thread.files().borrow().is_close_on_exec(directory)?)
    };
    let mut room = argument_limit(thread);
    let argv = read_strings(thread, argv, &mut room)?;
    let envp = read_strings(thread, envp, &mut room)?;
    prepare(thread, ExecRequest { executable, name: &name, is_closed_on_exec, argv, envp })
}

/// Copies an array of strings that ends with a null pointer. Each takes its bytes and its pointer
/// from `room`, so that what a guest can make us hold is bounded.
fn read_strings(
    thread: &Rc<Thread>,
    array: UserPtr<u64>,
    room: &mut u64,
) -> SysResult<Vec<Vec<u8>>> {
    let memory = thread.memory();
    let mut strings = Vec::new();
    if array.is_null() {
        return Ok(strings);
    }
    loop {
        let next = array.offset(strings.len());
        for pointer in read_pointers(thread, next)? {
            if pointer == 0 {
                return Ok(strings);
            }
            let string = UserPtr::<CString>::new(pointer).read_string(&memory, MAX_STRING);
            let string = string.map_err(|errno| match errno {
                Errno::ENAMETOOLONG => Errno::E2BIG,
                other => other,
            })?;
            let taken = (string.len() + 1 + size_of::<u64>()) as u64;
            *room = room.checked_sub(taken).ok_or(Errno::E2BIG)?;
            strings.push(string);
        }
    }
}

/// Some pointers from here on: several at once, or one if the array ends before an unmapped page.
fn read_pointers(thread: &Rc<Thread>, place: UserPtr<u64>) -> SysResult<Vec<u64>> {
    let memory = thread.memory();
    place.read_many(&memory, POINTERS_AT_ONCE).or_else(|_| place.read_many(&memory, 1))
}
