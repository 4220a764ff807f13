//! What a layer remembers beside its files: whiteouts, opaque and moved directories, where a file
//! came from.

use std::rc::Rc;

use linux_abi::{Errno, SysResult};

use super::UpperKind;
use crate::hostfs::is_kept_mark;
use crate::inode::{Directory, Inode, NewInode, NewKind, XattrMode};
use crate::metadata::{DeviceNumber, FileKind};

/// The lower directories that a renamed directory still shows. Carried by its directory in the
/// upper layer.
pub(super) struct Lowers(pub Vec<Rc<dyn Inode>>);

/// The number that a copied file had before.
struct Origin(u64);

fn prefix(kind: UpperKind) -> &'static str {
    match kind {
        UpperKind::Memory => "trusted.overlay.",
        // Ordinary users may not set trusted attributes; Linux reads these with `userxattr`.
        UpperKind::Folder => "user.overlay.",
    }
}

/// Whether an attribute is a mark, and none of the guest's business.
pub(super) fn is_mark(name: &[u8]) -> bool {
    name.starts_with(b"trusted.overlay.")
        || name.starts_with(b"user.overlay.")
        || is_kept_mark(name)
}

/// Whether this is a whiteout.
pub(super) fn is_whiteout(inode: &dyn Inode) -> bool {
    inode.kind() == FileKind::CharacterDevice
        && inode.metadata().is_ok_and(|metadata| metadata.special == DeviceNumber::default())
}

/// Hides `name` of the lower layers.
pub(super) fn add_whiteout(directory: &dyn Directory, name: &[u8]) -> SysResult<()> {
    let kind = NewKind::CharacterDevice(DeviceNumber::default());
    directory.create(name, &NewInode { kind, mode: 0, uid: 0, gid: 0 })?;
    Ok(())
}

/// Whether a directory hides those below it.
pub(super) fn is_opaque(directory: &dyn Inode) -> bool {
    let Some(xattrs) = directory.xattrs() else { return false };
    [UpperKind::Memory, UpperKind::Folder].iter().any(|kind| {
        let name = [prefix(*kind), "opaque"].concat();
        xattrs.get(name.as_bytes()).is_ok_and(|value| value == b"y")
    })
}

/// Makes a directory hide those below it.
pub(super) fn set_opaque(directory: &dyn Inode, kind: UpperKind) -> SysResult<()> {
    let Some(xattrs) = directory.xattrs() else { return Ok(()) };
    let name = [prefix(kind), "opaque"].concat();
    xattrs.set(name.as_bytes(), b"y", XattrMode::CreateOrReplace)
}

/// Where in the lower layers a directory of a folder is, if it was moved.
pub(super) fn redirect(directory: &dyn Inode) -> Option<Vec<u8>> {
    let name = [prefix(UpperKind::Folder), "redirect"].concat();
    directory.xattrs()?.get(name.as_bytes()).ok()
}

/// Remembers where in the lower layers a directory of a folder is. `EXDEV` if the host cannot, so
/// that whoever moves it copies it.
pub(super) fn set_redirect(directory: &dyn Inode, path: &[u8]) -> SysResult<()> {
    let name = [prefix(UpperKind::Folder), "redirect"].concat();
    let xattrs = directory.xattrs().ok_or(Errno::EXDEV)?;
    xattrs.set(name.as_bytes(), path, XattrMode::CreateOrReplace).map_err(|_| Errno::EXDEV)
}

/// The number that a file had before it was copied.
pub(super) fn origin(inode: &dyn Inode) -> Option<u64> {
    if let Some(origin) = inode.attachments().get::<Origin>() {
        return Some(origin.0);
    }
    let name = [prefix(UpperKind::Folder), "origin"].concat();
    let value = inode.xattrs()?.get(name.as_bytes()).ok()?;
    Some(u64::from_le_bytes(value.try_into().ok()?))
}

/// Remembers the number that a file had before it was copied.
pub(super) fn set_origin(inode: &dyn Inode, kind: UpperKind, number: u64) {
    match (kind, inode.xattrs()) {
        (UpperKind::Folder, Some(xattrs)) => {
            let name = [prefix(kind), "origin"].concat();
            // A host without such attributes shows another number after a restart, no more.
            let _ = xattrs.set(name.as_bytes(), &number.to_le_bytes(), XattrMode::CreateOrReplace);
        }
        _ => inode.attachments().set(Rc::new(Origin(number))),
    }
}
