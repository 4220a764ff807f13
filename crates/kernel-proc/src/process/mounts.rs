//! `mounts`, `mountinfo` and `mountstats`.

use std::rc::Rc;

use kernel_core::wait::WaitQueue;
use kernel_files::inode::OpenRequest;
use kernel_files::pseudo::TextFile;
use kernel_files::{Location, Mount, MountNamespace};
use kernel_tasks::Thread;
use kernel_tasks::cgroup::Cgroup;
use linux_abi::files::MountFlags;
use linux_abi::{Errno, SysResult};

use super::Context;

/// The mount that the root of all is on, as it seems: Linux has one that nobody sees.
const ABOVE_ALL: u64 = 1;

/// Whose mounts are shown.
pub(super) struct View {
    namespace: Rc<MountNamespace>,
    root: Location,
    /// Where control groups begin for the reader.
    cgroup_root: Option<Rc<Cgroup>>,
}

/// Makes one of the texts.
pub(super) type Show = fn(&View) -> SysResult<Vec<u8>>;

/// One of the files.
pub(super) struct MountsFile {
    pub(super) context: Context,
    pub(super) show: Show,
}

impl MountsFile {
    fn view(&self) -> SysResult<View> {
        let fs = self.context.subject.thread().map_err(|_| Errno::EINVAL)?.fs();
        Ok(View { namespace: fs.namespace(), root: fs.root(), cgroup_root: None })
    }
}

impl TextFile for MountsFile {
    fn read(&self) -> SysResult<Vec<u8>> {
        (self.show)(&self.view()?)
    }

    /// Whoever has it open goes on seeing the mounts of that time's namespace.
    fn bind(&self, request: &OpenRequest<'_>) -> SysResult<Option<Rc<dyn TextFile>>> {
        let reader = Thread::of_caller(request.caller).ok();
        let cgroup_root = reader.map(|thread| Rc::clone(&thread.namespaces().cgroup.root));
        let view = View { cgroup_root, ..self.view()? };
        Ok(Some(Rc::new(OpenMounts { view, show: self.show })))
    }
}

struct OpenMounts {
    view: View,
    show: Show,
}

impl TextFile for OpenMounts {
    fn read(&self) -> SysResult<Vec<u8>> {
        (self.show)(&self.view)
    }

    fn changes(&self) -> Option<(u64, WaitQueue)> {
        let namespace = &self.view.namespace;
        Some((namespace.n_changes(), namespace.changed().clone()))
    }
}

/// The mounts that can be seen, each with the path of its place.
fn visible(view: &View) -> Vec<(Rc<Mount>, Vec<u8>)> {
    let root = &view.root;
    let show = |mount: Rc<Mount>| {
        let (path, is_beneath) = mount.top().path_from(root);
        let is_root = Rc::ptr_eq(&mount, &root.mount);
        (is_beneath || is_root).then_some((mount, path))
    };
    view.namespace.all().into_iter().filter_map(show).collect()
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

fn flags(mount: &Mount, is_read_only: bool) -> String {
    let mut shown = String::from(if is_read_only { "ro" } else { "rw" });
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

pub(super) fn mounts(view: &View) -> SysResult<Vec<u8>> {
    let mut text = String::new();
    for (mount, path) in visible(view) {
        text.push_str(&format!(
            "{} {} {} {} 0 0\n",
            escape(&mount.source),
            escape(&path),
            mount.file_system.type_name(),
            with_options(&flags(&mount, mount.is_read_only()), &mount.file_system.options()),
        ));
    }
    Ok(to_bytes(&text))
}

pub(super) fn mountinfo(view: &View) -> SysResult<Vec<u8>> {
    let mut text = String::new();
    for (mount, path) in visible(view) {
        let device = mount.file_system.device();
        let parent = mount.place().map_or(ABOVE_ALL, |place| place.mount.id);
        let read_only = mount.is_file_system_read_only();
        text.push_str(&format!(
            "{} {parent} {}:{} {} {} {}{} - {} {} {}\n",
            mount.id,
            device.major,
            device.minor,
            escape(&shown_root(&mount, view)),
            escape(&path),
            flags(&mount, mount.is_shown_read_only()),
            propagation(&mount, &view.root),
            mount.file_system.type_name(),
            escape(&mount.source),
            with_options(if read_only { "ro" } else { "rw" }, &mount.file_system.options()),
        ));
    }
    Ok(to_bytes(&text))
}

/// The optional fields: groups that the mount is a member or slave of.
fn propagation(mount: &Mount, root: &Location) -> String {
    let mut shown = String::new();
    if mount.is_shared() {
        shown.push_str(&format!(" shared:{}", mount.group()));
    }
    if mount.master() != 0 {
        shown.push_str(&format!(" master:{}", mount.master()));
        match mount.visible_master(root) {
            Some(group) if group != mount.master() => {
                shown.push_str(&format!(" propagate_from:{group}"));
            }
            _ => {}
        }
    }
    if mount.is_unbindable() {
        shown.push_str(" unbindable");
    }
    shown
}

/// Which directory of the file system is mounted, as the reader counts: control groups begin where
/// its namespace says.
fn shown_root(mount: &Rc<Mount>, view: &View) -> Vec<u8> {
    let group = mount.root.inode().ok().and_then(|inode| inode.attachments().get::<Cgroup>());
    match (group, &view.cgroup_root) {
        (Some(group), Some(root)) => group.path_from(root),
        _ => mount.path_in_file_system(),
    }
}

pub(super) fn mountstats(view: &View) -> SysResult<Vec<u8>> {
    let mut text = String::new();
    for (mount, path) in visible(view) {
        let kind = mount.file_system.type_name();
        let (source, path) = (escape(&mount.source), escape(&path));
        text.push_str(&format!("device {source} mounted on {path} with fstype {kind}\n"));
    }
    Ok(to_bytes(&text))
}
