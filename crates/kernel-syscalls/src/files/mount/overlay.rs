//! Overlays of folders that the guest names.

use std::rc::Rc;

use kernel_files::overlay::{Moves, Overlay, Upper, UpperKind};
use kernel_files::subtree::Subtree;
use kernel_files::tmpfs::Tmpfs;
use kernel_files::walk::LastLink;
use kernel_files::{FileKind, FileSystem, Inode, Location};
use linux_abi::{Errno, SysResult};

use super::super::caller::{Caller, HERE};

/// How many lower layers an overlay may have, as on Linux.
const MAX_LOWERS: usize = 500;

/// `lowerdir=A:B,upperdir=C,workdir=D`. The upper layer must be in memory, where what it has to
/// remember lives as long as its files.
pub(super) fn make(caller: &Caller<'_>, data: &[u8]) -> SysResult<Rc<dyn FileSystem>> {
    let (mut lowers, mut upper, mut has_work) = (Vec::new(), None, false);
    for option in data.split(|&byte| byte == b',').filter(|option| !option.is_empty()) {
        let mut parts = option.splitn(2, |&byte| byte == b'=');
        let (name, value) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        match name {
            b"lowerdir" => {
                for path in value.split(|&byte| byte == b':') {
                    lowers.push(Rc::clone(folder(caller, path)?.inode()?));
                }
            }
            b"upperdir" => upper = Some(folder(caller, value)?),
            b"workdir" => has_work = folder(caller, value).is_ok(),
            b"redirect_dir" | b"index" | b"xino" | b"metacopy" | b"volatile" | b"userxattr" => {}
            _ => return Err(Errno::EINVAL),
        }
    }
    if lowers.is_empty() || lowers.len() > MAX_LOWERS || upper.is_some() != has_work {
        return Err(Errno::EINVAL);
    }
    let upper = upper.map(|place| upper_layer(&place)).transpose()?;
    Ok(Overlay::new(lowers, upper)?)
}

fn folder(caller: &Caller<'_>, path: &[u8]) -> SysResult<Location> {
    let place = caller.find(HERE, path, 0, LastLink::Follow)?;
    if place.inode()?.kind() == FileKind::Directory { Ok(place) } else { Err(Errno::ENOTDIR) }
}

fn upper_layer(place: &Location) -> SysResult<Upper> {
    let file_system = Rc::clone(&place.mount.file_system);
    if file_system.as_any().downcast_ref::<Tmpfs>().is_none() {
        return Err(Errno::EINVAL);
    }
    place.check_writable()?;
    let root: Rc<dyn Inode> = Rc::clone(place.inode()?);
    let file_system = Rc::new(Subtree { file_system, root });
    Ok(Upper { file_system, kind: UpperKind::Memory, moves: Moves::AsRecords, lock: None })
}
