//! `getdents(2)`, `getdents64(2)`.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_files::OpenFile;
use kernel_files::directory_file::DirectoryFile;
use kernel_files::notify::{self, Event};
use kernel_tasks::Thread;
use linux_abi::{Errno, Fd, SysResult};

use super::caller::real_file;

/// How much is collected at a time, whatever room the caller has.
const MAX_BATCH: usize = 256 << 10;

/// Lists a directory in the older format: the type is the last byte of each record.
pub(crate) fn getdents(
    thread: &Rc<Thread>,
    fd: Fd,
    buffer: UserPtr<u8>,
    count: u32,
) -> SysResult<usize> {
    list(thread, fd, buffer, count, list_old)
}

/// Lists a directory.
pub(crate) fn getdents64(
    thread: &Rc<Thread>,
    fd: Fd,
    buffer: UserPtr<u8>,
    count: u32,
) -> SysResult<usize> {
    list(thread, fd, buffer, count, DirectoryFile::list_packed)
}

fn list_old(directory: &DirectoryFile, file: &OpenFile, room: usize) -> SysResult<Vec<u8>> {
    let mut batch = Vec::new();
    let mut is_full = false;
    directory.list(file, &mut |entry| {
        let length = (18 + entry.name.len() + 2).next_multiple_of(8);
        let start = batch.len();
        is_full = start + length > room;
        if is_full {
            return false;
        }
        batch.extend_from_slice(&entry.inode.to_le_bytes());
        batch.extend_from_slice(&entry.next.to_le_bytes());
        // Names are at most 255 bytes long.
        batch.extend_from_slice(&u16::try_from(length).unwrap_or(u16::MAX).to_le_bytes());
        batch.extend_from_slice(entry.name);
        batch.resize(start + length - 1, 0);
        batch.push(entry.kind.directory_entry_type());
        true
    })?;
    if batch.is_empty() && is_full { Err(Errno::EINVAL) } else { Ok(batch) }
}

fn list(
    thread: &Rc<Thread>,
    fd: Fd,
    buffer: UserPtr<u8>,
    count: u32,
    collect: impl FnOnce(&DirectoryFile, &OpenFile, usize) -> SysResult<Vec<u8>>,
) -> SysResult<usize> {
    let file = real_file(thread, fd)?;
    let directory = file.ops_as::<DirectoryFile>().ok_or(Errno::ENOTDIR)?;
    // Linux takes the size for a signed number, which is too small then.
    let count = if count > i32::MAX as u32 { 0 } else { count };
    let room = (count as usize).min(MAX_BATCH);
    let start = file.offset();
    let batch = collect(directory, &file, room)?;
    notify::of_file(&file, Event::Access);
    thread_write(thread, buffer, &batch).inspect_err(|_| file.set_offset(start))?;
    Ok(batch.len())
}

fn thread_write(thread: &Thread, buffer: UserPtr<u8>, bytes: &[u8]) -> SysResult<()> {
    if bytes.is_empty() { Ok(()) } else { buffer.write_many(&thread.memory(), bytes) }
}
