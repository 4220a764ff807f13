//! `mounts`, `mountinfo` and `mountstats`.

use std::rc::Rc;

use kernel_files::Mount;
use linux_abi::files::MountFlags;
use linux_abi::{Errno, SysResult};

use super::Context;

/// The mounts that a process can see, each with the path of its place.
fn visible(context: &Context) -> SysResult<Vec<(Rc<Mount>, Vec<u8>)>> {
    let fs = context.subject.thread().map_err(|_| Errno::EINVAL)?.fs();
    let root = fs.root();
    let mounts = fs.namespace().all();
    Ok(mounts
        .into_iter()
        .filter_map(|mount| {
            let (path, is_beneath) = mount.top().path_from(&root);
            let is_root = Rc::ptr_eq(&mount, &root.mount);
            (is_beneath || is_root).then_some((mount, path))
        })
        .collect())
}

/// Spaces and the like would end a word: they are shown as octal numbers.
fn escape(text: &[u8]) -> String {
    let mut shown = String::new();
    for &byte in text {
        match byte {
            b' ' | b'\t' | b'\n' | b'\\' | b'#' => shown.push_str(&format!("\\{byte:03o}")),
            _ => shown.push(char::from(byte)),
        }
    }
    // Bytes above 127 went in as Latin-1; they must come out as they were.
    shown
}

fn flags(mount: &Mount) -> String {
    let mut shown = String::from(if mount.is_read_only() { "ro" } else { "rw" });
    for (flag, name) in [
        (MountFlags::NO_SUID, ",nosuid"),
        (MountFlags::NO_DEV, ",nodev"),
        (MountFlags::NO_EXEC, ",noexec"),
        (MountFlags::NO_ATIME, ",noatime"),
        (MountFlags::NO_DIR_ATIME, ",nodiratime"),
        (MountFlags::RELATIVE_ATIME, ",relatime"),
        (MountFlags::NO_SYMLINK_FOLLOW, ",nosymfollow"),
    ] {
        if mount.flags().contains(flag) {
            shown.push_str(name);
        }
    }
    shown
}

fn with_options(first: &str, options: &str) -> String {
    if options.is_empty() { first.to_owned() } else { format!("{first},{options}") }
}

/// The bytes of a text that was made of Latin-1.
fn to_bytes(text: &str) -> Vec<u8> {
    text.chars().map(|character| u8::try_from(u32::from(character)).unwrap_or(b'?')).collect()
}

pub(super) fn mounts(context: &Context) -> SysResult<Vec<u8>> {
    let mut text = String::new();
    for (mount, path) in visible(context)? {
        text.push_str(&format!(
            "{} {} {} {} 0 0\n",
            escape(&mount.source),
            escape(&path),
            mount.file_system.type_name(),
            with_options(&flags(&mount), &mount.file_system.options()),
        ));
    }
    Ok(to_bytes(&text))
}

pub(super) fn mountinfo(context: &Context) -> SysResult<Vec<u8>> {
    let mut text = String::new();
    for (mount, path) in visible(context)? {
        let device = mount.file_system.device();
        let parent = mount.place().map_or(mount.id, |place| place.mount.id);
        let read_only = mount.file_system.is_read_only();
        text.push_str(&format!(
            "{} {parent} {}:{} {} {} {} - {} {} {}\n",
            mount.id,
            device.major,
            device.minor,
            escape(&root_in_file_system(&mount)),
            escape(&path),
            flags(&mount),
            mount.file_system.type_name(),
            escape(&mount.source),
            with_options(if read_only { "ro" } else { "rw" }, &mount.file_system.options()),
        ));
    }
    Ok(to_bytes(&text))
}

/// Which directory of the file system is mounted: `/`, or another one for a bind mount.
fn root_in_file_system(mount: &Rc<Mount>) -> Vec<u8> {
    let mut names = Vec::new();
    let mut at = Rc::clone(&mount.root);
    while let Some(parent) = at.parent() {
        names.push(at.name());
        at = parent;
    }
    let mut path: Vec<u8> = names.iter().rev().flat_map(|name| [b"/", &**name].concat()).collect();
    if path.is_empty() {
        path.push(b'/');
    }
    path
}

pub(super) fn mountstats(context: &Context) -> SysResult<Vec<u8>> {
    let mut text = String::new();
    for (mount, path) in visible(context)? {
        let kind = mount.file_system.type_name();
        let (source, path) = (escape(&mount.source), escape(&path));
        text.push_str(&format!("device {source} mounted on {path} with fstype {kind}\n"));
    }
    Ok(to_bytes(&text))
}
