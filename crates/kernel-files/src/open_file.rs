//! Open files: what a descriptor names.

mod path_only;

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::os::fd::OwnedFd;
use std::rc::{Rc, Weak};

use kernel_core::io::{Sink, Source};
use kernel_core::ledger::{ALLOCATION, Charge, Kind};
use kernel_core::memory::UserMemory;
use kernel_core::wait::{PollEvents, WaitQueue};
use linux_abi::files::{MountFlags, OpenFlags};
use linux_abi::{Errno, SysResult, WaitResult};

use crate::attachments::Attachments;
use crate::inode::{Extent, Inode};
use crate::lending::{Loan, Use};
use crate::locks;
use crate::metadata::{AttributeChange, FileKind, Metadata};
use crate::mount::Location;
use crate::notify::{self, Event};

pub use path_only::PathOnly;

/// An `ioctl` on its way to a file.
pub struct Ioctl<'a> {
    /// The request number.
    pub command: u32,
    /// The third argument, most often an address.
    pub argument: u64,
    /// The caller's memory.
    pub memory: &'a dyn UserMemory,
    /// The caller (a `kernel_tasks::Thread`), for those few requests that depend on who asks, such
    /// as job control. Lower layers do not know its type.
    pub caller: &'a dyn Any,
}

/// What a caller is about to do with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// Read from it.
    Read,
    /// Write to it.
    Write,
    /// Send it this `ioctl` request.
    Control(u32),
}

/// Where `lseek` shall go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeekTo {
    /// To this position.
    Start(i128),
    /// So far from the present position.
    Current(i64),
    /// So far from the end.
    End(i64),
    /// To the next data or hole from here on.
    Extent(Extent, i64),
}

/// What `mmap` wants of a file.
#[derive(Clone, Copy, Debug)]
pub struct MapRequest {
    /// The mapping is shared (`MAP_SHARED`), not private.
    pub shared: bool,
    /// The mapping may be, or may become, writable.
    pub writable: bool,
    /// Where in the file the mapping starts.
    pub offset: u64,
    /// How long it is.
    pub length: u64,
}

/// The host's side of a mapped file. The shim of the guest process maps this descriptor and
/// closes it; so it is a regular file or a memfd, open for no more than the mapping needs.
#[derive(Clone)]
pub struct MappedFile {
    /// The host descriptor.
    pub host: Rc<OwnedFd>,
    /// Names the file behind the descriptor. Equal ids are the same file with the same access, so
    /// that a guest process that has the descriptor already need not be sent it again.
    pub id: u64,
    /// A guest process closes the descriptor when it has mapped the file. Else it may keep it to map the file again, and
    /// what is in memory that all others have let go of would be held for as long.
    pub is_for_once: bool,
}

/// Two numbers that no other mapped file has.
pub fn allocate_map_ids() -> u64 {
    thread_local!(static NEXT: Cell<u64> = const { Cell::new(2) });
    let id = NEXT.get();
    NEXT.set(id + 2);
    id
}

/// What an open file can do. The defaults are what Linux says of a file that cannot.
///
/// Nothing here waits. What would have to wait is `EAGAIN`, and [`queue`](Self::queue) is what
/// the caller then waits on, unless the file is non-blocking.
pub trait FileOps: Any {
    /// This object as its own type, for those who know it.
    fn as_any(&self) -> &dyn Any;

    /// Whether the caller (a `kernel_tasks::Thread`) may do this now. Asked once for each call,
    /// before its first attempt. Terminals answer a background job with a signal to its group
    /// and [`Interrupted::Signal`](linux_abi::Interrupted::Signal).
    fn admit(&self, file: &OpenFile, caller: &dyn Any, intent: Intent) -> WaitResult {
        let _ = (file, caller, intent);
        Ok(())
    }

    /// The inode that the file was opened on, if it is one that has a name or could have one.
    fn inode(&self) -> Option<&Rc<dyn Inode>> {
        None
    }

    /// What `fstat` says of a file without an inode.
    fn metadata(&self) -> Metadata {
        Metadata::anonymous(FileKind::Anonymous, 0)
    }

    /// Changes what [`metadata`](Self::metadata) says, as `fchown` does on pipes and sockets.
    fn set_attributes(&self, change: &AttributeChange) -> SysResult<()> {
        let _ = change;
        Err(Errno::EPERM)
    }

    /// What hangs on the object behind a file without an inode, if several open files share it.
    fn attachments(&self) -> Option<&Attachments> {
        None
    }

    /// Opens the same thing once more, as by opening `/proc/self/fd/N` of a file without a path.
    fn reopen(&self, flags: OpenFlags) -> SysResult<Rc<dyn FileOps>> {
        let _ = flags;
        Err(Errno::ENXIO)
    }

    /// Moves data to `sink`, from `offset` if the file is [seekable](Self::is_seekable).
    fn read(&self, file: &OpenFile, sink: &mut dyn Sink, offset: u64) -> SysResult<usize> {
        let _ = (file, sink, offset);
        Err(Errno::EINVAL)
    }

    /// Moves data from `source`, to `offset` if the file is [seekable](Self::is_seekable). A
    /// caller that waits after `EAGAIN` tries again with the data from the start, unless the file
    /// [is a stream](Self::is_stream): a stream takes nothing before it says `EAGAIN`.
    fn write(&self, file: &OpenFile, source: &mut dyn Source, offset: u64) -> SysResult<usize> {
        let _ = (file, source, offset);
        Err(Errno::EINVAL)
    }

    /// Reads at the position of `file` and moves it. Only files that keep the position elsewhere,
    /// such as the host's, have a way of their own.
    fn read_next(&self, file: &OpenFile, sink: &mut dyn Sink) -> SysResult<usize> {
        let offset = file.offset();
        let n = self.read(file, sink, offset)?;
        if self.is_seekable() {
            file.set_offset(offset.saturating_add(n as u64));
        }
        Ok(n)
    }

    /// Writes at the position of `file` and moves it.
    fn write_next(&self, file: &OpenFile, source: &mut dyn Source) -> SysResult<usize> {
        let offset = file.offset();
        let n = self.write(file, source, offset)?;
        if self.is_seekable() && !file.flags().contains(OpenFlags::APPEND) {
            file.set_offset(offset.saturating_add(n as u64));
        }
        Ok(n)
    }

    /// Moves the position of `file` (`lseek`). Returns the new one.
    fn seek(&self, file: &OpenFile, to: SeekTo) -> SysResult<u64> {
        if !self.is_seekable() {
            return Err(Errno::ESPIPE);
        }
        let inode = file.inode().or_else(|| self.inode());
        let content = inode.and_then(|inode| inode.content());
        let position = match to {
            SeekTo::Start(offset) => offset,
            SeekTo::Current(change) => i128::from(file.offset()) + i128::from(change),
            SeekTo::End(change) => {
                let size = self.end_to_seek_from(file)?;
                i128::from(size) + i128::from(change)
            }
            SeekTo::Extent(extent, offset) => {
                let content = content.ok_or(Errno::EINVAL)?;
                let offset = u64::try_from(offset).map_err(|_| Errno::ENXIO)?;
                i128::from(content.seek_extent(extent, offset)?)
            }
        };
        // Negative positions, and those beyond what an `off_t` holds, do not exist.
        let position = i64::try_from(position).map_err(|_| Errno::EINVAL)?;
        let position = u64::try_from(position).map_err(|_| Errno::EINVAL)?;
        file.set_offset(position);
        Ok(position)
    }

    /// The end that `SEEK_END` counts from. Texts that are made when they are read have none.
    fn end_to_seek_from(&self, file: &OpenFile) -> SysResult<u64> {
        let inode = file.inode().or_else(|| self.inode());
        let content = inode.and_then(|inode| inode.content());
        content.map_or(Ok(0), |content| content.size())
    }

    /// Whether a blocking write goes on until all of its data is taken, as that of pipes and stream
    /// sockets does. The writer then waits for more room after a short write instead of returning.
    fn is_stream(&self) -> bool {
        false
    }

    /// Whether `EPIPE` of a write comes with `SIGPIPE`. That of datagram sockets does not.
    fn raises_sigpipe(&self) -> bool {
        true
    }

    /// Whether the file has a position and `pread`, `pwrite` and `lseek` work on it.
    fn is_seekable(&self) -> bool {
        false
    }

    /// What is ready now.
    fn poll(&self, file: &OpenFile) -> PollEvents {
        let _ = file;
        PollEvents::READABLE | PollEvents::WRITABLE
    }

    /// What to wait on for readiness; `None` for files that are always ready (which `epoll`
    /// refuses with `EPERM`).
    fn queue(&self) -> Option<WaitQueue> {
        None
    }

    /// Whether [`poll`](Self::poll) changes by system calls alone, and not when a time comes or the
    /// host has news. What an epoll of such files has answered may be kept by its caller.
    fn is_moved_by_calls(&self) -> bool {
        false
    }

    /// For how many nanoseconds a call waits at most (`SO_RCVTIMEO`, `SO_SNDTIMEO`).
    fn patience(&self, intent: Intent) -> Option<u64> {
        let _ = intent;
        None
    }

    /// Answers an `ioctl` of this kind of file.
    fn ioctl(&self, file: &OpenFile, ioctl: &Ioctl<'_>) -> SysResult<u64> {
        let _ = (file, ioctl);
        Err(Errno::ENOTTY)
    }

    /// The host descriptor behind a mapping of this file.
    fn map(&self, file: &OpenFile, request: MapRequest) -> SysResult<MappedFile> {
        let _ = (file, request);
        Err(Errno::ENODEV)
    }

    /// What the guest process may use of this file without asking.
    fn lend(&self) -> Option<Loan> {
        None
    }

    /// The status flags are about to change from `F_SETFL`. Files that cannot have a flag refuse.
    fn check_flags(&self, flags: OpenFlags) -> SysResult<()> {
        let _ = flags;
        Ok(())
    }

    /// A descriptor of this open file is being closed (there may be others), as `flush` in Linux.
    fn flush(&self, file: &OpenFile) -> SysResult<()> {
        let _ = file;
        Ok(())
    }

    /// The last descriptor is gone. Called once.
    fn release(&self, file: &OpenFile) {
        let _ = file;
    }

    /// How `/proc/self/fd` shows a file that has no path: `pipe:[17]`, `anon_inode:[eventpoll]`.
    fn describe(&self) -> String {
        String::from("anon_inode:[unknown]")
    }

    /// Lines for `/proc/self/fdinfo` beyond position and flags.
    fn fdinfo(&self) -> String {
        String::new()
    }
}

/// Somebody who must know when an open file is gone (an epoll item).
pub trait ReleaseObserver {
    /// The last descriptor of the file is gone. What the file can do is still there.
    fn released(&self);
}

/// An open file description: what `open(2)` makes and `dup(2)` shares.
pub struct OpenFile {
    ops: Rc<dyn FileOps>,
    flags: Cell<OpenFlags>,
    usage: Use,
    id: u64,
    /// The file was made by opening it.
    is_created: Cell<bool>,
    release_observers: RefCell<Vec<Weak<dyn ReleaseObserver>>>,
    location: Option<Location>,
    attachments: Attachments,
    _charge: Charge,
}

/// What an open file takes, with what is behind it.
const OPEN_FILE_BYTES: u64 = size_of::<OpenFile>() as u64 + 4 * ALLOCATION;

impl OpenFile {
    /// A new open file. `flags` are those that `F_GETFL` shows.
    pub fn new(ops: Rc<dyn FileOps>, flags: OpenFlags) -> Rc<Self> {
        Self::make(ops, flags, None)
    }

    /// A new open file that was found at `location`.
    pub fn at(ops: Rc<dyn FileOps>, flags: OpenFlags, location: Location) -> Rc<Self> {
        Self::make(ops, flags, Some(location))
    }

    fn make(ops: Rc<dyn FileOps>, flags: OpenFlags, location: Option<Location>) -> Rc<Self> {
        thread_local!(static NEXT: Cell<u64> = const { Cell::new(1) });
        let id = NEXT.get();
        NEXT.set(id + 1);
        // Whoever gives it a number finds out whether that is too much.
        let charge = Charge::forced(Kind::OpenFiles, OPEN_FILE_BYTES);
        Rc::new(Self {
            ops,
            flags: Cell::new(flags),
            usage: Use::default(),
            id,
            is_created: Cell::new(false),
            location,
            attachments: Attachments::default(),
            release_observers: RefCell::default(),
            _charge: charge,
        })
    }

    /// What other parts of the kernel hang on this open file.
    pub fn attachments(&self) -> &Attachments {
        &self.attachments
    }

    /// What other parts of the kernel hang on what was opened: the inode, or what a file without
    /// one has in its place.
    pub fn object_attachments(&self) -> &Attachments {
        match self.inode() {
            Some(inode) => inode.attachments(),
            None => self.ops.attachments().unwrap_or(&self.attachments),
        }
    }

    /// Where the file was found; `None` for files without a name.
    pub fn location(&self) -> Option<&Location> {
        self.location.as_ref()
    }

    /// The inode, if the file has one.
    pub fn inode(&self) -> Option<&Rc<dyn Inode>> {
        match &self.location {
            Some(location) => location.dentry.inode_if_any(),
            None => self.ops.inode(),
        }
    }

    /// What `fstat` says.
    pub fn metadata(&self) -> SysResult<Metadata> {
        match self.inode() {
            Some(inode) => inode.metadata(),
            None => Ok(self.ops.metadata()),
        }
    }

    /// The file has been read: brings its access time up to date unless flags or mount forbid it.
    pub fn touch_accessed(&self, inode: &dyn Inode) {
        if self.flags.get().contains(OpenFlags::NOATIME) {
            return;
        }
        if let Some(location) = &self.location {
            let flags = location.mount.flags();
            let is_directory = inode.kind() == FileKind::Directory;
            if flags.intersects(MountFlags::NO_ATIME | MountFlags::READ_ONLY)
                || (is_directory && flags.contains(MountFlags::NO_DIR_ATIME))
            {
                return;
            }
        }
        inode.touch_accessed();
    }

    /// The object behind the file, to share it with another open file.
    pub fn shared_ops(&self) -> Rc<dyn FileOps> {
        Rc::clone(&self.ops)
    }

    /// What the file can do.
    pub fn ops(&self) -> &dyn FileOps {
        &*self.ops
    }

    /// What the file can do, as its own type, if it is a `T`.
    pub fn ops_as<T: FileOps>(&self) -> Option<&T> {
        self.ops.as_any().downcast_ref()
    }

    /// Access mode and status flags.
    pub fn flags(&self) -> OpenFlags {
        self.flags.get()
    }

    /// Changes the status flags (`F_SETFL`, `FIONBIO`).
    pub fn set_flags(&self, flags: OpenFlags) {
        self.flags.set(flags);
    }

    /// Whether a call on this file must not wait.
    pub fn is_nonblocking(&self) -> bool {
        self.flags.get().contains(OpenFlags::NONBLOCK)
    }

    /// The position.
    pub fn offset(&self) -> u64 {
        self.usage.offset()
    }

    /// Changes the position.
    pub fn set_offset(&self, offset: u64) {
        self.usage.set_offset(offset);
    }

    /// How it is being used, for those who lend it.
    pub(crate) fn usage(&self) -> &Use {
        &self.usage
    }

    /// A number that no other open file of the sandbox has, for lock owners and `kcmp`.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Whether the file was made by the call that opened it (`F_CREATED_QUERY`).
    pub fn is_created(&self) -> bool {
        self.is_created.get()
    }

    /// The file was made by the call that opened it.
    pub(crate) fn set_created(&self) {
        self.is_created.set(true);
    }

    /// Has `observer` told when the last descriptor of this file is gone.
    pub fn observe_release(&self, observer: Weak<dyn ReleaseObserver>) {
        self.release_observers.borrow_mut().push(observer);
    }

    /// Forgets an observer, and those that are gone.
    pub fn forget_release(&self, observer: &Weak<dyn ReleaseObserver>) {
        self.release_observers
            .borrow_mut()
            .retain(|other| !other.ptr_eq(observer) && other.strong_count() > 0);
    }

    /// Reads at the position and moves it, once, without waiting.
    pub fn read(&self, sink: &mut dyn Sink) -> SysResult<usize> {
        self.ops.read_next(self, sink)
    }

    /// Writes at the position and moves it, once, without waiting. With `O_APPEND` the file itself
    /// writes at its end and sets the position.
    pub fn write(&self, source: &mut dyn Source) -> SysResult<usize> {
        self.ops.write_next(self, source)
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        for observer in self.release_observers.take() {
            if let Some(observer) = observer.upgrade() {
                observer.released();
            }
        }
        self.ops.release(self);
        locks::file_released(self);
        if !self.flags.get().contains(OpenFlags::PATH) {
            let writes = self.flags.get().can_write();
            notify::of_file(self, if writes { Event::CloseWrite } else { Event::CloseNoWrite });
        }
    }
}
