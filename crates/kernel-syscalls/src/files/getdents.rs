//! `getdents(2)`, `getdents64(2)`.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_files::directory_file::DirectoryFile;
use kernel_files::inode::DirEntry;
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
    list(thread, fd, buffer, count, |batch, entry| {
        let length = (18 + entry.name.len() + 2).next_multiple_of(8);
        let start = batch.len();
        put_header(batch, entry, length);
        batch.extend_from_slice(entry.name);
        batch.resize(start + length - 1, 0);
        batch.push(entry.kind.directory_entry_type());
    })
}

/// Lists a directory.
pub(crate) fn getdents64(
    thread: &Rc<Thread>,
    fd: Fd,
    buffer: UserPtr<u8>,
    count: u32,
) -> SysResult<usize> {
    list(thread, fd, buffer, count, |batch, entry| {
        let length = (19 + entry.name.len() + 1).next_multiple_of(8);
        let start = batch.len();
        put_header(batch, entry, length);
        batch.push(entry.kind.directory_entry_type());
        batch.extend_from_slice(entry.name);
        batch.resize(start + length, 0);
    })
}

/// Number, position and length, which both formats start with.
fn put_header(batch: &mut Vec<u8>, entry: &DirEntry<'_>, length: usize) {
    batch.extend_from_slice(&entry.inode.to_le_bytes());
    batch.extend_from_slice(&entry.next.to_le_bytes());
    // Names are at most 255 bytes long.
    batch.extend_from_slice(&u16::try_from(length).unwrap_or(u16::MAX).to_le_bytes());
}

fn list(
    thread: &Rc<Thread>,
    fd: Fd,
    buffer: UserPtr<u8>,
    count: u32,
    encode: impl Fn(&mut Vec<u8>, &DirEntry<'_>),
) -> SysResult<usize> {
    let file = real_file(thread, fd)?;
    let directory = file.ops_as::<DirectoryFile>().ok_or(Errno::ENOTDIR)?;
    // Linux takes the size for a signed number, which is too small then.
    let count = if count > i32::MAX as u32 { 0 } else { count };
    let room = (count as usize).min(MAX_BATCH);
    let start = file.offset();
    let mut batch = Vec::new();
    let mut is_full = false;
    directory.list(&file, &mut |entry| {
        let before = batch.len();
        encode(&mut batch, entry);
        is_full = batch.len() > room;
        if is_full {
            batch.truncate(before);
        }
        !is_full
    })?;
    if batch.is_empty() && is_full {
        return Err(Errno::EINVAL);
    }
    notify::of_file(&file, Event::Access);
    thread_write(thread, buffer, &batch).inspect_err(|_| file.set_offset(start))?;
    Ok(batch.len())
}

fn thread_write(thread: &Thread, buffer: UserPtr<u8>, bytes: &[u8]) -> SysResult<()> {
    if bytes.is_empty() { Ok(()) } else { buffer.write_many(&thread.memory(), bytes) }
}
