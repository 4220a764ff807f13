//! Whether anybody has files open for writing, which keeps a mount from becoming read-only.
//!
//! Looked up when it is asked, which is seldom, and not counted at every open.

use std::rc::Rc;

use kernel_files::{FileSystem, Mount, OpenFile};
use kernel_tasks::Thread;

/// Whether a file is open for writing that was opened through this mount.
pub(super) fn is_written_through(thread: &Thread, mount: &Rc<Mount>) -> bool {
    has_writer(thread, |place| Rc::ptr_eq(place, mount))
}

/// Whether a file of this file system is open for writing.
pub(super) fn is_written(thread: &Thread, file_system: &Rc<dyn FileSystem>) -> bool {
    has_writer(thread, |place| Rc::ptr_eq(&place.file_system, file_system))
}

fn has_writer(thread: &Thread, concerns: impl Fn(&Rc<Mount>) -> bool) -> bool {
    // Files that were closed without asking are still in the tables.
    thread.kernel().settle();
    let writes = |file: &OpenFile| {
        file.flags().can_write() && file.location().is_some_and(|place| concerns(&place.mount))
    };
    thread.kernel().ids.processes().iter().flat_map(|process| process.threads()).any(|thread| {
        let files = thread.files();
        let files = files.borrow();
        files.numbers().any(|fd| files.get(fd).is_ok_and(|file| writes(file)))
    })
}
