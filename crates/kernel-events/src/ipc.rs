//! System V IPC and POSIX message queues.
//!
//! [`Ipc`] is what a sandbox has of them. Objects of each kind live in an [`table::IpcTable`], which
//! finds them by key and by id; [`permission`] says who may do what. Nothing here knows processes:
//! the kernel tells when one is copied or ends.

pub mod messages;
pub mod mqueue;
pub mod permission;
pub mod proc;
pub mod semaphores;
pub mod shared_memory;
pub mod table;

use linux_abi::Pid;

use messages::MessageQueues;
use mqueue::PosixQueues;
use semaphores::Semaphores;
use shared_memory::SharedMemory;

/// The IPC objects of a sandbox.
#[derive(Default)]
pub struct Ipc {
    /// System V semaphore sets.
    pub semaphores: Semaphores,
    /// System V message queues.
    pub messages: MessageQueues,
    /// System V shared memory.
    pub shared_memory: SharedMemory,
    /// POSIX message queues.
    pub posix_queues: PosixQueues,
}

impl Ipc {
    /// A process was copied: the copy has the same segments attached, but takes no semaphore
    /// operation back.
    pub fn process_forked(&self, parent: Pid, child: Pid) {
        self.shared_memory.copy_attachments(parent, child);
    }

    /// A process executes another program: nothing stays attached, but what it wants taken back
    /// stays so.
    pub fn process_executed(&self, pid: Pid) {
        self.shared_memory.detach_all(pid);
    }

    /// A process has ended.
    pub fn process_ended(&self, pid: Pid) {
        self.shared_memory.detach_all(pid);
        self.semaphores.undo(pid);
    }
}
