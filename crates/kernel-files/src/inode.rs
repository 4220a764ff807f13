//! Inodes: files as file systems know them, without names.
//!
//! A file system implements [`FileSystem`] and [`Inode`], and beside it [`Directory`] for what has
//! names in it and [`Content`] for what has bytes. None of them checks permissions, follows links
//! or knows mounts: that is done once, above, by [`crate::walk`] and [`crate::operations`].
//!
//! There is one `Rc` of an inode per file for as long as anybody holds it, so that pointers can be
//! compared and [`Attachments`] are found again.

mod new;

use std::any::Any;
use std::cell::Cell;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use kernel_core::credentials::Credentials;
use kernel_core::io::{Sink, Source};
use linux_abi::files::OpenFlags;
use linux_abi::{Errno, SysResult};

use crate::acl::{Acl, AclKind};
use crate::attachments::Attachments;
use crate::listings::Version;
use crate::metadata::{
    AttributeChange, DeviceNumber, FileKind, FileSystemUsage, Metadata, Ownership,
};
use crate::mount::Location;
use crate::open_file::{FileOps, MapRequest, MappedFile};
use crate::overlay::Draft;
pub use new::{NewInode, NewKind};

/// A mounted, or mountable, file system.
pub trait FileSystem: Any {
    /// This file system as its own type.
    fn as_any(&self) -> &dyn Any;

    /// The type, as `/proc/mounts` shows it.
    fn type_name(&self) -> &'static str;

    /// The device number of its files.
    fn device(&self) -> DeviceNumber;

    /// The directory that everything in it is beneath.
    fn root(&self) -> Rc<dyn Inode>;

    /// How full it is.
    fn usage(&self) -> SysResult<FileSystemUsage>;

    /// Whether nothing can ever be written to it, whatever the mount says.
    fn is_read_only(&self) -> bool {
        false
    }

    /// Says whether it is read-only as a whole, of those that can be changed in that (a remount).
    fn read_only_switch(&self) -> Option<&Cell<bool>> {
        None
    }

    /// Its own options, as `/proc/mounts` shows them after the mount's: `size=1024k`.
    fn options(&self) -> String {
        String::new()
    }

    /// Brings everything to where it lasts.
    fn sync(&self) -> SysResult<()> {
        Ok(())
    }

    /// Whether a guest ever wanted more space than its limit leaves.
    fn has_refused_space(&self) -> bool {
        false
    }
}

/// Who opens a file, and how.
pub struct OpenRequest<'a> {
    /// The flags of `open`.
    pub flags: OpenFlags,
    /// Who asks.
    pub credentials: &'a Credentials,
    /// The caller (a `kernel_tasks::Thread`), for the few files that depend on who opens them,
    /// such as `/dev/tty`. Lower layers do not know its type.
    pub caller: &'a dyn Any,
    /// Where the file was found.
    pub location: &'a Location,
}

/// A file.
pub trait Inode: Any {
    /// This inode as its own type.
    fn as_any(&self) -> &dyn Any;

    /// What kind of file it is. Never changes.
    fn kind(&self) -> FileKind;

    /// Everything `stat` wants to know.
    fn metadata(&self) -> SysResult<Metadata>;

    /// Who may do what; needed at every step of a path, so it should be cheap.
    fn ownership(&self) -> SysResult<Ownership> {
        Ok(self.metadata()?.ownership())
    }

    /// The number that `stat` and listings show it with. Never changes.
    fn number(&self) -> SysResult<u64> {
        Ok(self.metadata()?.inode)
    }

    /// The device that `stat` shows it on. Never changes.
    fn device(&self) -> SysResult<DeviceNumber> {
        Ok(self.metadata()?.device)
    }

    /// Changes metadata. The caller may do so; that was checked.
    fn set_attributes(&self, change: &AttributeChange) -> SysResult<()>;

    /// What other parts of the kernel hang on this inode.
    fn attachments(&self) -> &Attachments;

    /// The names in it, if it is a directory.
    fn directory(&self) -> Option<&dyn Directory> {
        None
    }

    /// The bytes in it, if it is a regular file.
    fn content(&self) -> Option<&dyn Content> {
        None
    }

    /// The extended attributes, if it can have any.
    fn xattrs(&self) -> Option<&dyn Xattrs> {
        None
    }

    /// One of the access control lists; `EOPNOTSUPP` if it can have none.
    fn acl(&self, kind: AclKind) -> SysResult<Option<Acl>> {
        let _ = kind;
        Err(Errno::EOPNOTSUPP)
    }

    /// Sets an access control list, or takes it off. The mode is changed by the caller.
    fn set_acl(&self, kind: AclKind, acl: Option<&Acl>) -> SysResult<()> {
        let _ = (kind, acl);
        Err(Errno::EOPNOTSUPP)
    }

    /// The host file that has to be synced for this one to last; `None` if there is nothing that
    /// could last, or nothing was changed.
    fn on_disk(&self) -> SysResult<Option<Rc<OwnedFd>>> {
        Ok(None)
    }

    /// The path that a symbolic link holds.
    fn read_link(&self) -> SysResult<Vec<u8>> {
        Err(Errno::EINVAL)
    }

    /// Like [`read_link`](Self::read_link), for links that depend on who reads them, such as
    /// `/proc/self`. The caller is a `kernel_tasks::Thread`.
    fn read_link_for(&self, caller: Option<&dyn Any>) -> SysResult<Vec<u8>> {
        let _ = caller;
        self.read_link()
    }

    /// Where a magic link leads, as those of `/proc/self/fd` do: to a place, not to a path.
    fn magic_target(&self) -> Option<SysResult<Location>> {
        None
    }

    /// Makes the object behind a new open file, for files that are not opened as their kind
    /// usually is. `None` leaves that to [`crate::open`].
    fn open(&self, request: &OpenRequest<'_>) -> Option<SysResult<Rc<dyn FileOps>>> {
        let _ = request;
        None
    }

    /// Whether writes take the set-id bits off this file without our doing.
    fn sheds_privileges(&self) -> bool {
        false
    }

    /// Whether names and attributes of this file change only together with
    /// [`facts::changed`](kernel_core::facts::changed), so that guests may remember them.
    fn is_steady(&self) -> bool {
        false
    }

    /// Whether attributes of this file change only together with
    /// [`facts::changed`](kernel_core::facts::changed), or from outside of the sandbox: not by writes
    /// to memory that a guest has mapped.
    fn is_written_by_calls(&self) -> bool {
        self.is_steady()
    }

    /// Whether neither content nor attributes of this file ever change, unless
    /// [everything is taken back](crate::lending::take_all_back) first.
    fn is_frozen(&self) -> bool {
        false
    }

    /// The access time shall be brought up to date, if this file system keeps it.
    fn touch_accessed(&self) {}
}

/// Whether the kernel may remember what a directory said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caching {
    /// Names change only through the kernel.
    Stable,
    /// Names may come and go by themselves: every use asks again.
    Volatile,
    /// The same, but a directory is believed to be where it was for so many nanoseconds.
    Brief(u64),
}

/// One name of a directory.
#[derive(Clone, Copy, Debug)]
pub struct DirEntry<'a> {
    /// The name.
    pub name: &'a [u8],
    /// The number of the file.
    pub inode: u64,
    /// What kind of file it is.
    pub kind: FileKind,
    /// Listing goes on after this entry from here. At least 3 for entries of a file system: 1 and
    /// 2 come after `.` and `..`.
    pub next: u64,
}

/// How `rename` treats a file that has the new name already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenameMode {
    /// It is replaced.
    Replace,
    /// The two files change places.
    Exchange,
    /// It is replaced, and the old name becomes a whiteout.
    Whiteout,
}

/// The names in a directory.
///
/// The caller has checked permissions, that names are valid and that `create` and `link` do not
/// meet an existing name, and that `rename` and the removals fit the kinds of the files.
pub trait Directory {
    /// The file of this name; `ENOENT` if there is none. Never asked for `.` and `..`.
    fn lookup(&self, name: &[u8]) -> SysResult<Rc<dyn Inode>>;

    /// Shows the entries from position `from` on, without `.` and `..`, until `visit` says that it
    /// has no room (`false`). Positions stay valid while entries come and go.
    fn list(&self, from: u64, visit: &mut dyn FnMut(&DirEntry<'_>) -> bool) -> SysResult<()>;

    /// What the names are as of, for those who remember a listing: it is another one as soon as a
    /// name in it has changed, by whomever. `None` if that cannot be told.
    fn version(&self) -> Option<Version> {
        None
    }

    /// Roughly how many bytes its names take where they are stored, if listing it whole may be
    /// worth it before anybody asks, and if that is known without asking.
    fn stored_size(&self) -> Option<u64> {
        None
    }

    /// Finds out the names before anybody asks, if it keeps them itself.
    fn learn_names(&self) {}

    /// The regular file that is listed after `name`, if that is known without asking anybody.
    fn file_after(&self, name: &[u8]) -> Option<Rc<[u8]>> {
        let _ = name;
        None
    }

    /// Whether `create` and `link` fail with `EEXIST` if they meet an existing name after all, so that
    /// nobody has to look for one first. Only where looking is not free.
    fn notices_existing_names(&self) -> bool {
        false
    }

    /// Whether names may be remembered.
    fn caching(&self) -> Caching {
        Caching::Stable
    }

    /// Whether an absent name is an error even to somebody who would make it, as in `/proc`:
    /// such a directory does not get as far as asking who may write to it.
    fn knows_all_names(&self) -> bool {
        false
    }

    /// The directory is about to be opened. The result is kept until the open file is gone.
    fn prepare_open(&self) -> SysResult<OpenGuard> {
        Ok(None)
    }

    /// Makes a new file of this name.
    fn create(&self, name: &[u8], new: &NewInode<'_>) -> SysResult<Rc<dyn Inode>> {
        let _ = (name, new);
        Err(Errno::EPERM)
    }

    /// Makes a regular file without a name (`O_TMPFILE`).
    fn create_unnamed(&self, new: &NewInode<'_>) -> SysResult<Rc<dyn Inode>> {
        let _ = new;
        Err(Errno::EOPNOTSUPP)
    }

    /// Gives a file of the same file system one more name.
    fn link(&self, name: &[u8], target: &Rc<dyn Inode>) -> SysResult<()> {
        let _ = (name, target);
        Err(Errno::EPERM)
    }

    /// Removes the name of something that is no directory.
    fn unlink(&self, name: &[u8]) -> SysResult<()> {
        let _ = name;
        Err(Errno::EPERM)
    }

    /// Removes an empty directory; `ENOTEMPTY` if it is not.
    fn rmdir(&self, name: &[u8]) -> SysResult<()> {
        let _ = name;
        Err(Errno::EPERM)
    }

    /// Moves `name` to `new_name` in `new_directory`, which is of the same file system and may be
    /// this one.
    fn rename(
        &self,
        name: &[u8],
        new_directory: &Rc<dyn Inode>,
        new_name: &[u8],
        mode: RenameMode,
    ) -> SysResult<()> {
        let _ = (name, new_directory, new_name, mode);
        Err(Errno::EPERM)
    }
}

/// Where a write goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteAt {
    /// To this position.
    Offset(u64),
    /// To the end of the file, wherever that is now.
    End,
}

/// What `fallocate` shall do with a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocate {
    /// Reserve storage; `keep_size` leaves the length of the file alone.
    Reserve {
        /// Leave the length of the file alone.
        keep_size: bool,
    },
    /// Give the storage back; the range reads as zeroes.
    PunchHole,
    /// Make the range read as zeroes, with its storage reserved.
    Zero {
        /// Leave the length of the file alone.
        keep_size: bool,
    },
    /// Take the range out and move what follows it down.
    Collapse,
    /// Move everything from the range on up by its length.
    Insert,
}

/// What `SEEK_DATA` and `SEEK_HOLE` look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Bytes that were written.
    Data,
    /// A gap, such as the one after the end.
    Hole,
}

/// What an open file keeps for its file system.
pub type OpenGuard = Option<Rc<dyn Any>>;

/// The bytes of a regular file.
pub trait Content {
    /// Its length.
    fn size(&self) -> SysResult<u64>;

    /// Moves data to `sink` from `offset` on. Returns how much; 0 at the end.
    fn read(&self, sink: &mut dyn Sink, offset: u64) -> SysResult<usize>;

    /// Whether a read here would have to wait for a disk of the host. If so, the host is fetching
    /// the data from now on, and can be asked again a little later.
    fn is_cold(&self, offset: u64, length: usize) -> bool {
        let _ = (offset, length);
        false
    }

    /// What has to be complete before the file is opened for writing, if that takes long. It stays
    /// with who asks until the file is open.
    fn draft(&self) -> SysResult<Option<Rc<Draft>>> {
        Ok(None)
    }

    /// Whether those who opened it have mapped it: whoever opens it will hardly read it.
    fn was_mapped(&self) -> bool {
        false
    }

    /// Fills `buffer` from the start of the file, if the host has that much in its memory. Returns
    /// whether it has; if not, the host may be fetching it from now on.
    fn read_if_warm(&self, buffer: &mut [u8]) -> bool {
        let _ = buffer;
        false
    }

    /// Moves data from `source`. Returns how much, and the position after it.
    fn write(&self, source: &mut dyn Source, at: WriteAt) -> SysResult<(usize, u64)>;

    /// Makes the file shorter, or longer with zeroes.
    fn truncate(&self, size: u64) -> SysResult<()>;

    /// The host descriptor behind a mapping.
    fn map(&self, request: MapRequest) -> SysResult<MappedFile>;

    /// A host descriptor of its own, open for reading, if the content is as the host has it and the
    /// guest may read it without asking.
    fn lend(&self) -> Option<OwnedFd> {
        None
    }

    /// Changes what is allocated.
    fn allocate(&self, what: Allocate, offset: u64, length: u64) -> SysResult<()> {
        let _ = (what, offset, length);
        Err(Errno::EOPNOTSUPP)
    }

    /// The next position from `offset` on where there is data or a hole; `ENXIO` if none comes.
    /// Files without holes are data up to their end.
    fn seek_extent(&self, extent: Extent, offset: u64) -> SysResult<u64> {
        let size = self.size()?;
        if offset >= size {
            return Err(Errno::ENXIO);
        }
        Ok(match extent {
            Extent::Data => offset,
            Extent::Hole => size,
        })
    }

    /// The file is about to be opened with these flags. The result is kept until the open file is
    /// gone: a host descriptor, for instance.
    fn prepare_open(&self, flags: OpenFlags) -> SysResult<OpenGuard> {
        let _ = flags;
        Ok(None)
    }
}

/// Whether `setxattr` may create or replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XattrMode {
    /// Either.
    CreateOrReplace,
    /// Only create: `EEXIST` if it is there.
    Create,
    /// Only replace: `ENODATA` if it is not there.
    Replace,
}

/// The extended attributes of a file. Permissions were checked.
pub trait Xattrs {
    /// The value; `ENODATA` if there is none.
    fn get(&self, name: &[u8]) -> SysResult<Vec<u8>>;

    /// Sets a value.
    fn set(&self, name: &[u8], value: &[u8], mode: XattrMode) -> SysResult<()>;

    /// Takes an attribute off; `ENODATA` if there is none.
    fn remove(&self, name: &[u8]) -> SysResult<()>;

    /// The names of all attributes.
    fn list(&self) -> SysResult<Vec<Vec<u8>>>;
}
