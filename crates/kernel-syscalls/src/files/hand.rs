//! Gives a guest process what it will most likely ask for next about a file that it has opened.

use std::rc::Rc;

use kernel_files::inode::{Content, Inode};
use kernel_files::locks::FileLocks;
use kernel_files::{OpenFile, ahead, notify};
use kernel_tasks::Thread;
use kernel_tasks::machine::{Question, SharedFile};
use linux_abi::files::OpenFlags;
use zerocopy::IntoBytes;

use super::stat::{stat_of_open, statx_of_open};

/// A file that has just been opened for reading is closed without a call of its own, a small one
/// that does not change comes with the reply, and of others what `fstat` says.
pub(super) fn hand_over(thread: &Thread, file: &OpenFile, is_close_on_exec: bool) {
    let mut flags = file.flags();
    let Some(inode) = file.inode() else { return };
    if flags.intersects(OpenFlags::PATH | OpenFlags::DIRECT)
        || inode.content().is_none() && inode.directory().is_none()
    {
        return;
    }
    flags.set(OpenFlags::CLOEXEC, is_close_on_exec);
    let is_alone = thread.process().n_threads() == 1 && thread.is_alone_with_files();
    if flags.can_write()
        || !is_alone
        || notify::is_watched()
        || inode.attachments().get::<FileLocks>().is_some()
    {
        return tell_if_asked(thread, file, flags, is_alone);
    }
    if !thread.machine().allow_later_close(flags) {
        return;
    }
    if let Some(content) = inode.content().filter(|_| inode.is_frozen()) {
        let is_handed = hand_content(thread, file, inode, content);
        if let Some(location) = file.location() {
            ahead::opened(location);
        }
        if is_handed {
            return;
        }
    }
    if inode.is_written_by_calls()
        && let Ok(stat) = stat_of_open(thread, file)
    {
        thread.machine().tell_stat(stat.as_bytes());
    }
}

/// Tells those who would ask what `fstat` or `statx` says.
fn tell_if_asked(thread: &Thread, file: &OpenFile, flags: OpenFlags, is_alone: bool) {
    let Some(question) = thread.process().asks_about_opened.get() else { return };
    if !file.inode().is_some_and(|inode| inode.is_written_by_calls()) {
        return;
    }
    let about = SharedFile { flags, is_alone, question };
    let machine = thread.machine();
    // An error is for whoever asks.
    match question {
        Question::Stat => {
            let Ok(answer) = stat_of_open(thread, file) else { return };
            machine.tell_shared(answer.as_bytes(), about);
        }
        Question::Statx => {
            let Ok(answer) = statx_of_open(thread, file) else { return };
            machine.tell_shared(answer.as_bytes(), about);
        }
    }
}

/// Hands over a file that does not change, if it is small and will be read. Returns whether it is.
fn hand_content(
    thread: &Thread,
    file: &OpenFile,
    inode: &Rc<dyn Inode>,
    content: &dyn Content,
) -> bool {
    let machine = thread.machine();
    let size =
        content.size().map_or(usize::MAX, |size| usize::try_from(size).unwrap_or(usize::MAX));
    if size > machine.most_handed() || content.was_mapped() || content.is_cold(0, size) {
        return false;
    }
    let Ok(stat) = stat_of_open(thread, file) else { return false };
    machine.hand(stat.as_bytes(), size, &mut |sink| {
        let moved = ahead::with_content(inode, |bytes| sink.put(bytes));
        moved.unwrap_or_else(|| file.ops().read(file, sink, 0)).is_ok_and(|n| n == size)
    });
    true
}
