//! Mounts by descriptor: `fsopen(2)`, `fsconfig(2)`, `fsmount(2)`, `open_tree(2)`, `move_mount(2)`.
//!
//! A mount that is at no place yet belongs to the descriptor that was made for it, and so does
//! what is mounted on it. It goes when the descriptor is closed, unless it was moved to a place.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use kernel_core::credentials::{Credentials, cap};
use kernel_core::memory::{CString, UserPtr};
use kernel_core::supervisor;
use kernel_files::mount::{attach, copy_tree, dissolve, move_tree};
use kernel_files::{FileOps, FileSystem, Location, Mount, OpenFile};
use kernel_tasks::Thread;
use linux_abi::files::{MountAttr, MountFlags, OpenFlags, at};
use linux_abi::{Errno, Fd, SysResult};

use super::super::caller::{Caller, check_flags, last_link, read_path};
use super::attributes::{AT_RECURSIVE, Change};
use super::{attributes_of, check_kinds, is_known_kind, new_mount, options, reconfigure};

const FSOPEN_CLOEXEC: u32 = 1;
const FSMOUNT_CLOEXEC: u32 = 1;
const OPEN_TREE_CLONE: u32 = 1;
const OPEN_TREE_CLOEXEC: u32 = 0x8_0000;
const AT_NO_AUTOMOUNT: u32 = 0x800;
const FSPICK_CLOEXEC: u32 = 1;
const FSPICK_SYMLINK_NOFOLLOW: u32 = 2;
const FSPICK_EMPTY_PATH: u32 = 8;
/// Those, and the one about automatic mounts, of which there are none.
const FSPICK_KNOWN: u32 = 0xf;
const MOVE_F_SYMLINKS: u32 = 0x01;
const MOVE_F_EMPTY_PATH: u32 = 0x04;
const MOVE_T_SYMLINKS: u32 = 0x10;
const MOVE_T_EMPTY_PATH: u32 = 0x40;
/// Those, and the two about automatic mounts, of which there are none.
const MOVE_KNOWN: u32 = 0x77;

/// The longest name or value of an option.
const MAX_OPTION: usize = 256;
/// How long all options together may be, as for `mount(2)`.
const MAX_OPTIONS: usize = 4096;

/// How far a file system is that `fsopen` began.
enum Stage {
    Described,
    Made(Rc<Mount>),
    /// Mounted, or found where it is mounted: can be changed.
    Mounted(Rc<dyn FileSystem>),
}

/// A file system in the making.
struct Draft {
    kind: Vec<u8>,
    source: RefCell<Option<Vec<u8>>>,
    options: RefCell<Vec<u8>>,
    /// Whether it is to be read-only, if that was said.
    is_read_only: Cell<Option<bool>>,
    stage: RefCell<Stage>,
    /// Whether it belongs to somebody with more rights.
    is_foreign: bool,
}

impl FileOps for Draft {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn describe(&self) -> String {
        String::from("anon_inode:[fscontext]")
    }
}

/// A mount at no place, as long as it is at none.
struct Detached {
    mount: Rc<Mount>,
    was_moved: Cell<bool>,
}

impl FileOps for Detached {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn release(&self, _file: &OpenFile) {
        if !self.was_moved.get() {
            dissolve(&self.mount);
        }
    }
}

pub(super) fn require_admin(thread: &Thread) -> SysResult<()> {
    let may = thread.fs().namespace().owner.grants(&thread.credentials(), cap::SYS_ADMIN);
    let confined =
        thread.credentials().landlock.as_ref().is_some_and(|domain| domain.concerns_files());
    if may && !supervisor::has_rules() && !confined { Ok(()) } else { Err(Errno::EPERM) }
}

/// Begins a file system.
pub(crate) fn fsopen(thread: &Rc<Thread>, kind: UserPtr<CString>, flags: u32) -> SysResult<Fd> {
    require_admin(thread)?;
    if flags & !FSOPEN_CLOEXEC != 0 {
        return Err(Errno::EINVAL);
    }
    let kind = kind.read_string(&thread.memory(), MAX_OPTION)?;
    if !is_known_kind(&kind) {
        return Err(Errno::ENODEV);
    }
    let draft = Draft {
        kind,
        source: RefCell::default(),
        options: RefCell::default(),
        is_read_only: Cell::default(),
        stage: RefCell::new(Stage::Described),
        is_foreign: false,
    };
    thread.add_file(OpenFile::new(Rc::new(draft), OpenFlags::RDWR), flags != 0)
}

/// Describes a file system, and makes it.
pub(crate) fn fsconfig(
    thread: &Rc<Thread>,
    fd: Fd,
    command: u32,
    key: UserPtr<CString>,
    value: UserPtr<CString>,
    extra: i32,
) -> SysResult<()> {
    const SET_FLAG: u32 = 0;
    const SET_STRING: u32 = 1;
    const CREATE: u32 = 6;
    const RECONFIGURE: u32 = 7;
    const CREATE_EXCLUSIVELY: u32 = 8;
    let has = (!key.is_null(), !value.is_null());
    let fits = match command {
        SET_FLAG => has == (true, false) && extra == 0,
        SET_STRING => has == (true, true) && extra == 0,
        CREATE | RECONFIGURE | CREATE_EXCLUSIVELY => has == (false, false) && extra == 0,
        // Values that are binary, paths or descriptors: no file system here takes any.
        2..=5 => return Err(Errno::EINVAL),
        _ => return Err(Errno::EOPNOTSUPP),
    };
    if !fits {
        return Err(Errno::EINVAL);
    }
    let file = thread.file(fd)?;
    let draft = file.ops_as::<Draft>().ok_or(Errno::EINVAL)?;
    let read = |text: UserPtr<CString>| text.read_string(&thread.memory(), MAX_OPTION);
    match command {
        SET_FLAG => draft.set(&thread.credentials(), &read(key)?, None),
        SET_STRING => draft.set(&thread.credentials(), &read(key)?, Some(&read(value)?)),
        RECONFIGURE => draft.change(&Caller::new(thread)),
        _ => draft.make(&Caller::new(thread)),
    }
}

impl Draft {
    fn set(&self, who: &Credentials, key: &[u8], value: Option<&[u8]>) -> SysResult<()> {
        if matches!(&*self.stage.borrow(), Stage::Made(_)) {
            return Err(Errno::EBUSY);
        }
        match (key, value) {
            (b"ro", None) => self.is_read_only.set(Some(true)),
            (b"rw", None) => self.is_read_only.set(Some(false)),
            (b"source", Some(value)) => {
                let mut source = self.source.borrow_mut();
                if source.is_some() {
                    return Err(Errno::EINVAL);
                }
                *source = Some(value.to_vec());
            }
            _ => self.add_option(who, key, value)?,
        }
        Ok(())
    }

    fn add_option(&self, who: &Credentials, key: &[u8], value: Option<&[u8]>) -> SysResult<()> {
        let option = match value {
            Some(value) => [key, b"=", value].concat(),
            None => key.to_vec(),
        };
        if matches!(&*self.kind, b"tmpfs" | b"ramfs") {
            options::Tmpfs::parse(&option, who)?;
        }
        let mut options = self.options.borrow_mut();
        if options.len() + option.len() >= MAX_OPTIONS {
            return Err(Errno::EINVAL);
        }
        options.extend_from_slice(&option);
        options.push(b',');
        Ok(())
    }

    /// Does to the mounted file system what was said since the last time.
    fn change(&self, caller: &Caller<'_>) -> SysResult<()> {
        let Stage::Mounted(file_system) = &*self.stage.borrow() else {
            return Err(Errno::EBUSY);
        };
        let (options, is_read_only) = (self.options.take(), self.is_read_only.take());
        reconfigure(caller, file_system, self.is_foreign, &options, is_read_only)
    }

    fn make(&self, caller: &Caller<'_>) -> SysResult<()> {
        if !matches!(&*self.stage.borrow(), Stage::Described) {
            return Err(Errno::EBUSY);
        }
        let source = self.source.borrow().clone().unwrap_or_else(|| b"none".to_vec());
        let options = self.options.take();
        let mount = new_mount(caller, &self.kind, &source, &options, MountFlags::empty())?;
        if self.is_read_only.take() == Some(true) {
            match mount.file_system.read_only_switch() {
                Some(switch) => switch.set(true),
                None => mount.set_flags(MountFlags::READ_ONLY),
            }
        }
        *self.stage.borrow_mut() = Stage::Made(mount);
        Ok(())
    }
}

/// Begins to change the file system that is mounted at a place.
pub(crate) fn fspick(
    thread: &Rc<Thread>,
    directory: Fd,
    path: UserPtr<CString>,
    flags: u32,
) -> SysResult<Fd> {
    require_admin(thread)?;
    check_flags(flags, FSPICK_KNOWN)?;
    let path = read_path(thread, path)?;
    let caller = Caller::new(thread);
    let empty = if flags & FSPICK_EMPTY_PATH != 0 { at::EMPTY_PATH } else { 0 };
    let keep = if flags & FSPICK_SYMLINK_NOFOLLOW != 0 { at::SYMLINK_NOFOLLOW } else { 0 };
    let place = caller.find(directory, &path, empty, last_link(keep))?;
    if !place.is_mount_root() {
        return Err(Errno::EINVAL);
    }
    let file_system = Rc::clone(&place.mount.file_system);
    let draft = Draft {
        kind: file_system.type_name().as_bytes().to_vec(),
        source: RefCell::default(),
        options: RefCell::default(),
        is_read_only: Cell::default(),
        stage: RefCell::new(Stage::Mounted(file_system)),
        is_foreign: place.mount.is_handed_down(),
    };
    let close_on_exec = flags & FSPICK_CLOEXEC != 0;
    thread.add_file(OpenFile::new(Rc::new(draft), OpenFlags::RDWR), close_on_exec)
}

/// Makes a mount of a file system. It is at no place as yet.
pub(crate) fn fsmount(thread: &Rc<Thread>, fd: Fd, flags: u32, attributes: u32) -> SysResult<Fd> {
    require_admin(thread)?;
    if flags & !FSMOUNT_CLOEXEC != 0 {
        return Err(Errno::EINVAL);
    }
    let attributes = attributes_of(attributes)?;
    let file = thread.file(fd)?;
    let draft = file.ops_as::<Draft>().ok_or(Errno::EINVAL)?;
    let mount = match &*draft.stage.borrow() {
        Stage::Described => return Err(Errno::EINVAL),
        Stage::Mounted(_) => return Err(Errno::EBUSY),
        Stage::Made(mount) => Rc::clone(mount),
    };
    mount.set_flags(mount.flags() | attributes);
    let fd = add_detached(thread, &mount, flags != 0)?;
    *draft.stage.borrow_mut() = Stage::Mounted(Rc::clone(&mount.file_system));
    Ok(fd)
}

fn add_detached(thread: &Rc<Thread>, mount: &Rc<Mount>, close_on_exec: bool) -> SysResult<Fd> {
    let detached = Detached { mount: Rc::clone(mount), was_moved: Cell::new(false) };
    thread.add_file(OpenFile::at(Rc::new(detached), OpenFlags::PATH, mount.top()), close_on_exec)
}

/// Opens a place, or a copy of the mount there that is at no place.
pub(crate) fn open_tree(
    thread: &Rc<Thread>,
    directory: Fd,
    path: UserPtr<CString>,
    flags: u32,
) -> SysResult<Fd> {
    let of_path = at::EMPTY_PATH | AT_NO_AUTOMOUNT | at::SYMLINK_NOFOLLOW;
    let known = of_path | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC;
    let clones = flags & OPEN_TREE_CLONE != 0;
    if flags & !known != 0 || flags & AT_RECURSIVE != 0 && !clones {
        return Err(Errno::EINVAL);
    }
    if clones {
        require_admin(thread)?;
    }
    let path = read_path(thread, path)?;
    let caller = Caller::new(thread);
    let place = caller.find(directory, &path, flags & at::EMPTY_PATH, last_link(flags))?;
    let close_on_exec = flags & OPEN_TREE_CLOEXEC != 0;
    if !clones {
        let file = OpenFile::at(Rc::new(kernel_files::open_file::PathOnly), OpenFlags::PATH, place);
        return thread.add_file(file, close_on_exec);
    }
    let namespace = caller.fs.namespace();
    if !namespace.has(&top_of(&place.mount)) && !is_detached(thread, directory, &place) {
        return Err(Errno::EINVAL);
    }
    let copy = copy_tree(&place, flags & AT_RECURSIVE != 0)?;
    add_detached(thread, &copy, close_on_exec).inspect_err(|_| dissolve(&copy))
}

/// Like [`open_tree`], and changes the attributes of what it opens.
pub(crate) fn open_tree_attr(
    thread: &Rc<Thread>,
    directory: Fd,
    path: UserPtr<CString>,
    flags: u32,
    attributes: UserPtr<MountAttr>,
    size: usize,
) -> SysResult<Fd> {
    if attributes.is_null() && size != 0 {
        return Err(Errno::EINVAL);
    }
    let fd = open_tree(thread, directory, path, flags)?;
    if attributes.is_null() {
        return Ok(fd);
    }
    let changed = Change::read(thread, attributes, size).and_then(|change| {
        let Some(change) = change else { return Ok(()) };
        let place = thread.file(fd)?.location().cloned().ok_or(Errno::EINVAL)?;
        change.apply(&Caller::new(thread), &place, flags)
    });
    if let Err(errno) = changed {
        thread.close_file(fd)?;
        return Err(errno);
    }
    Ok(fd)
}

/// The mount that everything up from `mount` is on in the end.
pub(super) fn top_of(mount: &Rc<Mount>) -> Rc<Mount> {
    let mut top = Rc::clone(mount);
    while let Some(place) = top.place() {
        top = place.mount;
    }
    top
}

/// Whether a place is beneath the mount of this descriptor, which is at no place as yet.
fn is_detached(thread: &Rc<Thread>, fd: Fd, place: &Location) -> bool {
    let Ok(file) = thread.file(fd) else { return false };
    file.ops_as::<Detached>().is_some_and(|detached| {
        !detached.was_moved.get() && Rc::ptr_eq(&detached.mount, &top_of(&place.mount))
    })
}

/// Moves a mount to a place.
pub(crate) fn move_mount(
    thread: &Rc<Thread>,
    from_directory: Fd,
    from_path: UserPtr<CString>,
    to_directory: Fd,
    to_path: UserPtr<CString>,
    flags: u32,
) -> SysResult<()> {
    require_admin(thread)?;
    if flags & !MOVE_KNOWN != 0 {
        return Err(Errno::EINVAL);
    }
    let (from_path, to_path) = (read_path(thread, from_path)?, read_path(thread, to_path)?);
    let caller = Caller::new(thread);
    let find = |directory, path: &[u8], empty, symlinks| {
        let empty = if flags & empty != 0 { at::EMPTY_PATH } else { 0 };
        let keep = if flags & symlinks != 0 { 0 } else { at::SYMLINK_NOFOLLOW };
        caller.find(directory, path, empty, last_link(keep))
    };
    let from = find(from_directory, &from_path, MOVE_F_EMPTY_PATH, MOVE_F_SYMLINKS)?;
    let to = find(to_directory, &to_path, MOVE_T_EMPTY_PATH, MOVE_T_SYMLINKS)?;
    let namespace = caller.fs.namespace();
    if !from.is_mount_root() {
        return Err(Errno::EINVAL);
    }
    check_kinds(from.inode()?.kind(), &to)?;
    if from.mount.place().is_some() {
        if !namespace.has(&top_of(&from.mount)) {
            return Err(Errno::EINVAL);
        }
        return move_tree(&from.mount, &to);
    }
    if !is_detached(thread, from_directory, &from) {
        return Err(Errno::EINVAL);
    }
    if namespace.is_beneath(&to, &from.mount) {
        return Err(Errno::ELOOP);
    }
    if !namespace.has(&to.mount) && !is_detached(thread, to_directory, &to) {
        return Err(Errno::EINVAL);
    }
    attach(&from.mount, &to)?;
    if let Some(detached) = thread.file(from_directory)?.ops_as::<Detached>() {
        detached.was_moved.set(true);
    }
    Ok(())
}
