//! From a path to an open file.

use std::rc::Rc;

use kernel_core::supervisor::{FileEvent, Right};
use kernel_core::timers::Instant;
use linux_abi::files::{MountFlags, OpenFlags, ResolveFlags};
use linux_abi::{Errno, SysResult};

use crate::directory_file::DirectoryFile;
use crate::fs_context::Access;
use crate::inode::{Inode, NewKind, OpenGuard, OpenRequest};
use crate::landlock;
use crate::locks::{FileLocks, break_leases};
use crate::metadata::FileKind;
use crate::mount::Location;
use crate::observed;
use crate::open_file::{FileOps, OpenFile, PathOnly};
use crate::operations::{Linkable, create_in, new_inode};
use crate::overlay::Draft;
use crate::permission::{self, Want, is_owner};
use crate::regular_file::RegularFile;
use crate::text_busy::InUse;
use crate::walk::{Found, Last, LastLink, resolve, tell_missing};

/// How a file shall be opened. The flags were checked to make sense.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenHow {
    /// Access mode, creation and status flags.
    pub flags: OpenFlags,
    /// The permissions of a file that is made, before `umask`.
    pub mode: u32,
    /// What the path may lead through.
    pub resolve: ResolveFlags,
}

/// What opening a path led to.
pub enum Opened {
    /// An open file.
    File(Rc<OpenFile>),
    /// A FIFO, which may have to wait for its other end. The caller, who knows pipes, finds the
    /// pipe with the inode's attachments and makes the open file.
    Fifo(Location),
    /// A file with a lease that is now being broken. The caller waits for that, until this moment
    /// at most, and tries again.
    Leased(Rc<FileLocks>, Instant),
    /// A file that is changed for the first time, and is large: the caller sees to it that the copy
    /// gets complete, and tries again.
    Copying(Rc<Draft>),
}

impl Opened {
    /// The open file, for those who do not wait; `ENXIO` for a FIFO, `EAGAIN` for others.
    pub fn into_file(self) -> SysResult<Rc<OpenFile>> {
        match self {
            Self::File(file) => Ok(file),
            Self::Fifo(_) => Err(Errno::ENXIO),
            Self::Leased(..) | Self::Copying(_) => Err(Errno::EAGAIN),
        }
    }
}

/// Opens the file that `path` names, from `start` if it is relative, and makes it if that is
/// asked for.
pub fn open(
    access: &Access<'_>,
    start: &Location,
    path: &[u8],
    how: &OpenHow,
) -> SysResult<Opened> {
    let flags = how.flags;
    let last_link = if flags.contains(OpenFlags::CREAT | OpenFlags::EXCL) {
        LastLink::New
    } else if flags.contains(OpenFlags::NOFOLLOW) {
        LastLink::Keep
    } else {
        LastLink::Follow
    };
    let found = resolve(access, start, path, last_link, how.resolve)?;
    if flags.contains(OpenFlags::TMPFILE) {
        return open_unnamed(access, &found.existing()?, how);
    }
    if flags.contains(OpenFlags::CREAT) {
        return open_or_create(access, found, how);
    }
    if found.target.is_none() && observed::is_there() {
        tell_missing(access, start, path, how.resolve);
    }
    let location = found.existing()?;
    open_at(access, &location, flags, Fresh::No, By::Guest)
}

fn open_or_create(access: &Access<'_>, found: Found, how: &OpenHow) -> SysResult<Opened> {
    let flags = how.flags;
    // A path that can only be a directory cannot be made by `open`.
    if found.has_trailing_slash {
        return Err(Errno::EISDIR);
    }
    found.check_can_be_made()?;
    if let Some(target) = found.target {
        if flags.contains(OpenFlags::EXCL) {
            return Err(Errno::EEXIST);
        }
        if target.inode()?.kind() == FileKind::Directory {
            return Err(Errno::EISDIR);
        }
        return open_at(access, &target, flags, Fresh::No, By::Guest);
    }
    let Last::Name(name) = &found.last else { return Err(Errno::EISDIR) };
    let location = create_in(access, &found.parent, name, NewKind::Regular, how.mode)
        .map_err(|errno| found.why_not_made(errno))?;
    open_at(access, &location, flags, Fresh::Yes, By::Guest)
}

/// Makes a file without a name in `directory` (`O_TMPFILE`).
fn open_unnamed(access: &Access<'_>, directory: &Location, how: &OpenHow) -> SysResult<Opened> {
    let parent = directory.inode()?;
    let names = parent.directory().ok_or(Errno::ENOTDIR)?;
    directory.check_writable()?;
    permission::check(&**parent, access.credentials, Want::WRITE | Want::EXECUTE)?;
    observed::check(directory, Right::Write)?;
    let (new, acls) = new_inode(access, &**parent, NewKind::Regular, how.mode)?;
    let inode = names.create_unnamed(&new)?;
    acls.give(&*inode)?;
    if !how.flags.contains(OpenFlags::EXCL) {
        inode.attachments().set(Rc::new(Linkable));
    }
    let name = format!("#{}", inode.metadata()?.inode);
    let dentry = crate::dentry::Dentry::unnamed(name.as_bytes(), &directory.dentry, inode);
    let location = Location { mount: Rc::clone(&directory.mount), dentry };
    open_at(access, &location, how.flags, Fresh::Yes, By::Kernel)
}

/// Whether the file was made by the very call that opens it. Such a file is opened for writing
/// even if its permissions would not allow that later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fresh {
    /// It was there before.
    No,
    /// It has just been made.
    Yes,
}

/// On whose behalf a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// The guest's: an supervisor may say no.
    Guest,
    /// The kernel's own, which has asked before.
    Kernel,
}

/// Opens the file at a known place for the kernel's own use, such as to run it.
pub fn open_location(
    access: &Access<'_>,
    location: &Location,
    flags: OpenFlags,
    fresh: Fresh,
) -> SysResult<Opened> {
    open_at(access, location, flags, fresh, By::Kernel)
}

fn open_at(
    access: &Access<'_>,
    location: &Location,
    flags: OpenFlags,
    fresh: Fresh,
    by: By,
) -> SysResult<Opened> {
    let inode = location.inode()?;
    let kind = inode.kind();
    if flags.contains(OpenFlags::DIRECTORY)
        && !flags.contains(OpenFlags::TMPFILE)
        && kind != FileKind::Directory
    {
        return Err(Errno::ENOTDIR);
    }
    if flags.contains(OpenFlags::PATH) {
        let shown = flags & (OpenFlags::PATH | OpenFlags::DIRECTORY | OpenFlags::NOFOLLOW);
        return Ok(Opened::File(OpenFile::at(Rc::new(PathOnly), shown, location.clone())));
    }
    check_open(access, location, flags, fresh)?;
    landlock::check_open(access.credentials, location, flags)?;
    let writes_file = flags.can_write() || flags.contains(OpenFlags::TRUNC);
    if by == By::Guest && fresh == Fresh::No && observed::is_stored(kind) {
        observed::check(location, if writes_file { Right::Write } else { Right::Read })?;
    }
    if kind == FileKind::Fifo {
        return Ok(Opened::Fifo(location.clone()));
    }
    let request =
        OpenRequest { flags, credentials: access.credentials, caller: access.caller, location };
    let mut guard = None;
    let mut writes = None;
    if let Some(content) = inode.content() {
        if flags.can_write() {
            writes = Some(InUse::for_writing(inode)?);
        }
        if by == By::Guest
            && fresh == Fresh::No
            && let Some((locks, until)) = break_leases(&**inode, flags.can_write())
        {
            return Ok(Opened::Leased(locks, until));
        }
        if by == By::Guest
            && flags.can_write()
            && !flags.contains(OpenFlags::TRUNC)
            && let Some(draft) = content.draft()?
        {
            return Ok(Opened::Copying(draft));
        }
        guard = content.prepare_open(flags)?;
        if flags.contains(OpenFlags::TRUNC) && fresh == Fresh::No {
            // Watchers are told by who opens, after they were told of that.
            content.truncate(0)?;
            observed::tell(location, FileEvent::Changed);
        }
    } else if let Some(directory) = inode.directory() {
        guard = directory.prepare_open()?;
    }
    let ops = make_ops(access, inode, &request, guard, writes)?;
    ops.check_flags(flags)?;
    if kind == FileKind::Directory && flags.contains(OpenFlags::DIRECT) {
        return Err(Errno::EINVAL);
    }
    if by == By::Guest {
        observed::tell_open(location, flags.can_read(), writes_file);
    }
    let file = OpenFile::at(ops, flags.as_shown(), location.clone());
    if fresh == Fresh::Yes && flags.contains(OpenFlags::CREAT) {
        file.set_created();
    }
    let withheld = landlock::withheld(access.credentials, location);
    if withheld != 0 {
        file.attachments().set(Rc::new(landlock::Withheld(withheld)));
    }
    Ok(Opened::File(file))
}

fn check_open(
    access: &Access<'_>,
    location: &Location,
    flags: OpenFlags,
    fresh: Fresh,
) -> SysResult<()> {
    let inode = location.inode()?;
    let kind = inode.kind();
    let truncates = flags.contains(OpenFlags::TRUNC);
    match kind {
        FileKind::Symlink => return Err(Errno::ELOOP),
        FileKind::Directory if flags.can_write() || truncates => return Err(Errno::EISDIR),
        FileKind::CharacterDevice | FileKind::BlockDevice
            if location.mount.flags().contains(MountFlags::NO_DEV) =>
        {
            return Err(Errno::EACCES);
        }
        _ => {}
    }
    if fresh == Fresh::Yes {
        return Ok(());
    }
    let mut want = Want::empty();
    // The fourth mode of access needs both rights, and gives neither.
    let is_odd = flags.bits() & OpenFlags::ACCESS_MODE == OpenFlags::ACCESS_MODE;
    want.set(Want::READ, flags.can_read() || is_odd);
    want.set(Want::WRITE, flags.can_write() || truncates || is_odd);
    let changes_the_file_system = !matches!(
        kind,
        FileKind::CharacterDevice | FileKind::BlockDevice | FileKind::Fifo | FileKind::Socket
    );
    if want.contains(Want::WRITE) && changes_the_file_system {
        location.check_writable()?;
    }
    permission::check(&**inode, access.credentials, want)?;
    access.fs.special().check_use(access.caller, &**inode, want)?;
    if flags.contains(OpenFlags::NOATIME) && !is_owner(inode.ownership()?, access.credentials) {
        return Err(Errno::EPERM);
    }
    Ok(())
}

fn make_ops(
    access: &Access<'_>,
    inode: &Rc<dyn Inode>,
    request: &OpenRequest<'_>,
    guard: OpenGuard,
    writes: Option<InUse>,
) -> SysResult<Rc<dyn FileOps>> {
    if let Some(ops) = inode.open(request) {
        return ops;
    }
    match inode.kind() {
        FileKind::Regular if inode.content().is_some() => {
            Ok(Rc::new(RegularFile::new(Rc::clone(inode), guard, writes)))
        }
        FileKind::Directory => Ok(Rc::new(DirectoryFile::new(Rc::clone(inode), guard))),
        FileKind::CharacterDevice | FileKind::BlockDevice => {
            access.fs.special().open(inode, request)
        }
        _ => Err(Errno::ENXIO),
    }
}
