//! Gives a guest process what it will most likely ask for next about a file that it has opened.

use kernel_files::locks::FileLocks;
use kernel_files::{OpenFile, notify};
use kernel_tasks::Thread;
use linux_abi::files::OpenFlags;
use zerocopy::IntoBytes;

use super::stat::stat_of_open;

/// A file that has just been opened for reading is closed without a call of its own, and a small one
/// that does not change comes with the reply.
pub(super) fn hand_over(thread: &Thread, file: &OpenFile) {
    let flags = file.flags();
    if flags.can_write()
        || flags.intersects(OpenFlags::PATH | OpenFlags::DIRECT)
        || notify::is_watched()
        || thread.process().n_threads() != 1
        || !thread.is_alone_with_files()
    {
        return;
    }
    let Some(inode) = file.inode() else { return };
    if inode.content().is_none() && inode.directory().is_none()
        || inode.attachments().get::<FileLocks>().is_some()
    {
        return;
    }
    let machine = thread.machine();
    if !machine.allow_later_close() {
        return;
    }
    let Some(content) = inode.content().filter(|_| inode.is_frozen()) else { return };
    let size =
        content.size().map_or(usize::MAX, |size| usize::try_from(size).unwrap_or(usize::MAX));
    if size > machine.most_handed() || content.is_cold(0, size) {
        return;
    }
    let Ok(stat) = stat_of_open(thread, file) else { return };
    machine.hand(stat.as_bytes(), size, &mut |sink| {
        file.ops().read(file, sink, 0).is_ok_and(|n| n == size)
    });
}
