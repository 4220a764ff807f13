//! What a guest does by itself, and the kernel learns later.
//!
//! A guest process that is alone with its descriptors may close a file, or read one that was handed
//! over to it, and tell that with its next call. Before anybody else looks at its descriptors the
//! kernel asks.

use std::rc::Rc;

use kernel_core::facts;
use kernel_files::descriptors;
use kernel_files::regular_file::RegularFile;
use linux_abi::{Fd, SysResult};

use super::Thread;
use crate::Kernel;
use crate::process::Process;

impl Thread {
    /// Takes in what the guest has done by itself. `is_request`: it has just sent a request.
    pub fn hear(&self, is_request: bool) {
        let told = self.machine().take_told(is_request);
        if let Some((fd, position)) = told.moved
            && let Ok(file) = self.file(fd)
            && file.ops_as::<RegularFile>().is_some()
            && i64::try_from(position).is_ok()
        {
            file.set_offset(position);
        }
        if let Some(fd) = told.closed {
            facts::descriptors_changed();
            // As the guest has been told: it is closed.
            let _ = self.close_file(fd);
        }
    }

    /// Whether no other thread or process has this thread's descriptors.
    pub fn is_alone_with_files(&self) -> bool {
        Rc::strong_count(&self.files.borrow()) == 1
    }

    /// Frees a descriptor. Whatever the result, it is free afterwards.
    pub fn close_file(&self, fd: Fd) -> SysResult<()> {
        let table = self.files();
        // The table must not be borrowed when the file is dropped: that may wake others.
        let file = table.borrow_mut().remove(fd)?;
        let id = table.borrow().id();
        descriptors::close(&file, id)
    }
}

impl Process {
    /// Somebody is about to look at the descriptors of this process.
    pub fn settle(&self) {
        for thread in self.threads() {
            thread.hear(false);
        }
    }
}

impl Kernel {
    /// Somebody is about to find out which files are open.
    pub fn settle(&self) {
        for process in self.ids.processes() {
            process.settle();
        }
    }
}
