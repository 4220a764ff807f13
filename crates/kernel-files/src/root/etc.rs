//! `/etc`: what is shown of the host's, and what is made up.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use linux_abi::{Errno, SysResult};
use sandbox_spec::{NetworkPolicy, SandboxSpec};

use super::shown;
use crate::inode::Inode;
use crate::metadata::{DeviceNumber, FileKind};
use crate::static_directory::StaticDirectory;

/// Whether a name of the host is meant by a name of the list.
fn is_meant(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == pattern,
    }
}

/// The first part of each path of a list, with the rest of those that go on.
fn beneath<'a>(paths: &[&'a str], name: &str) -> (bool, Vec<&'a str>) {
    let mut is_whole = false;
    let mut rests = Vec::new();
    for path in paths {
        match path.split_once('/') {
            Some((first, rest)) if is_meant(first, name) => rests.push(rest),
            None => is_whole |= is_meant(path, name),
            Some(_) => {}
        }
    }
    (is_whole, rests)
}

fn all_shown() -> Vec<&'static str> {
    shown::ETC.iter().flat_map(|(_, names)| names.iter().copied()).collect()
}

/// The names in `etc` that guests see, as paths relative to it.
pub fn shown_names(etc: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    add_names(etc, Path::new(""), &all_shown(), &mut found);
    found
}

fn add_names(folder: &Path, place: &Path, paths: &[&str], found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(text) = name.to_str() else { continue };
        let (is_whole, rests) = beneath(paths, text);
        if is_whole {
            found.push(place.join(text));
        } else if !rests.is_empty() {
            add_names(&entry.path(), &place.join(text), &rests, found);
        }
    }
}

/// The part of the host's `/etc` that guests see. Its folders get numbers from `number` on.
pub fn shown(
    host_etc: &Rc<dyn Inode>,
    device: DeviceNumber,
    number: u64,
) -> SysResult<Rc<dyn Inode>> {
    let mut next = number;
    Ok(Rc::new(chosen(host_etc, &all_shown(), device, &mut next)?))
}

/// A folder with those of its names that are in a list.
fn chosen(
    from: &Rc<dyn Inode>,
    paths: &[&str],
    device: DeviceNumber,
    next: &mut u64,
) -> SysResult<StaticDirectory> {
    let names = from.directory().ok_or(Errno::ENOTDIR)?;
    let mut found = Vec::new();
    names.list(0, &mut |entry| {
        found.push(entry.name.to_vec());
        true
    })?;
    let mut folder = StaticDirectory::new(device, *next, 0o755);
    *next += 1;
    for name in found {
        let Ok(text) = std::str::from_utf8(&name) else { continue };
        let (is_whole, rests) = beneath(paths, text);
        if !is_whole && rests.is_empty() {
            continue;
        }
        let Ok(inode) = names.lookup(&name) else { continue };
        if is_whole || inode.kind() == FileKind::Symlink {
            // A link is a name and nothing more: it leads only to what is shown.
            folder.add(&name, inode);
        } else if let Ok(part) = chosen(&inode, &rests, device, next) {
            folder.add(&name, Rc::new(part));
        }
    }
    Ok(folder)
}

/// Files that say who is in the sandbox, not who is on the host.
pub fn generated(spec: &SandboxSpec) -> Vec<(&'static str, String)> {
    let identity = &spec.identity;
    let home = identity.home.display();
    let mut passwd = String::from("root:x:0:0:root:/root:/bin/sh\n");
    let mut group = String::from("root:x:0:\ntty:x:5:\n");
    if identity.uid != 0 {
        let (name, uid, gid) = (&identity.name, identity.uid, identity.gid);
        // Writing to a string does not fail.
        let _ = writeln!(passwd, "{name}:x:{uid}:{gid}:{name}:{home}:/bin/sh");
        let _ = writeln!(group, "{name}:x:{gid}:");
    }
    passwd.push_str("nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n");
    group.push_str("nogroup:x:65534:\n");
    let hostname = &spec.hostname;
    vec![
        ("passwd", passwd),
        ("group", group),
        ("hostname", format!("{hostname}\n")),
        ("hosts", format!("127.0.0.1\tlocalhost {hostname}\n::1\tlocalhost ip6-localhost\n")),
        ("nsswitch.conf", NSSWITCH.to_owned()),
        ("resolv.conf", resolv_conf(&spec.network)),
    ]
}

/// The porter answers for names where something may leave. Elsewhere nobody does, at once.
fn resolv_conf(network: &NetworkPolicy) -> String {
    match network {
        NetworkPolicy::Allow(_) => String::from("nameserver 10.0.2.3\n"),
        NetworkPolicy::None | NetworkPolicy::Loopback => String::from("nameserver 127.0.0.1\n"),
    }
}

/// What a root of the user's own gets, if something may leave: the image knows nothing of it.
pub fn for_images(spec: &SandboxSpec) -> Vec<(&'static str, String)> {
    let leaves = matches!(spec.network, NetworkPolicy::Allow(_));
    let is_needed = |file: &(&str, String)| leaves && ["hosts", "resolv.conf"].contains(&file.0);
    generated(spec).into_iter().filter(is_needed).collect()
}

const NSSWITCH: &str = "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n\
    networks: files\nprotocols: files\nservices: files\nethers: files\nrpc: files\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_whole_folders_and_parts_of_them() {
        let paths = ["ssl/certs", "ssl/openssl.cnf", "maven*/m2.conf", "fonts", "java*"];
        assert_eq!(beneath(&paths, "ssl"), (false, vec!["certs", "openssl.cnf"]));
        assert_eq!(beneath(&paths, "maven-3"), (false, vec!["m2.conf"]));
        assert_eq!(beneath(&paths, "java-17"), (true, vec![]));
        assert_eq!(beneath(&paths, "shadow"), (false, vec![]));
    }

    #[test]
    fn every_name_has_a_reason_and_is_there_once() {
        let mut names = all_shown();
        let n_names = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), n_names);
        assert!(shown::ETC.iter().all(|(reason, _)| !reason.is_empty()));
    }
}
