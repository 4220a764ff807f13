//! Places that a program looks at to find keys, or a way out. What a guest looks for there in vain
//! tells as much as what it finds.
//!
//! All of them are on the list of [`crate::credentials`]. Here a home folder can be anywhere, for a
//! guest guesses.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::credentials::{IN_HOME, LOOKED_FOR, NAMES, ON_SYSTEM};

/// What is kept at an absolute, clean path, if it is one of these places.
pub fn sensitive_place(path: &[u8]) -> Option<&'static str> {
    let last = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let told = NAMES.iter().filter(|name| name.is_told);
    let named = told.into_iter().find(|name| last.starts_with(name.name.as_bytes()));
    if let Some(named) = named {
        return Some(named.holds);
    }
    let text = Path::new(std::ffi::OsStr::from_bytes(path));
    if let Some(place) = LOOKED_FOR.iter().find(|place| text.starts_with(place.path)) {
        return Some(place.holds);
    }
    let in_home = IN_HOME.iter().find(|place| has_names(path, place.path.as_bytes()));
    let on_system = || {
        let narrow = ON_SYSTEM.iter().filter(|place| !place.is_wide);
        narrow.into_iter().find(|place| text.starts_with(place.path))
    };
    in_home.or_else(on_system).map(|place| place.holds)
}

/// Files in the folders of the list that are looked for first.
const FIRST_TRIED: [&str; 12] = [
    "id_rsa",
    "id_ed25519",
    "id_ecdsa",
    "id_dsa",
    "authorized_keys",
    "known_hosts",
    "config",
    "credentials",
    "hosts.yml",
    "credentials.db",
    "access_tokens.db",
    "application_default_credentials.json",
];

/// Sockets by which a guest could become somebody else.
const SOCKETS: [&str; 8] = [
    "/var/run/docker.sock",
    "/run/docker.sock",
    "/run/podman/podman.sock",
    "/var/run/podman/podman.sock",
    "/run/containerd/containerd.sock",
    "/var/run/containerd/containerd.sock",
    "/run/crio/crio.sock",
    "/var/run/crio/crio.sock",
];

/// Whether an absolute, clean path is one of the places that are tried first: a place of the lists
/// itself, in one of these home folders if it belongs in one, or a file of a known name in it. There
/// are only so many of them, which nobody can make more by making up names.
pub fn is_well_known_place(path: &[u8], homes: &[PathBuf]) -> bool {
    let path = Path::new(std::ffi::OsStr::from_bytes(path));
    let folder = path.parent().unwrap_or(path);
    let is_first_tried =
        path.file_name().is_some_and(|name| FIRST_TRIED.iter().any(|first| name == *first));
    let is_place = |place: &Path| path == place || (is_first_tried && folder == place);
    let in_home = |home: &PathBuf| {
        let rest = path.strip_prefix(home).ok();
        rest.is_some() && IN_HOME.iter().any(|place| is_place(&home.join(place.path)))
    };
    homes.iter().any(in_home)
        || ON_SYSTEM.iter().any(|place| is_place(Path::new(place.path)))
        || LOOKED_FOR.iter().any(|place| is_place(Path::new(place.path)))
        || SOCKETS.iter().any(|place| path == Path::new(place))
}

/// Whether these names follow one another somewhere in a path.
fn has_names(path: &[u8], names: &[u8]) -> bool {
    let ends = |rest: &[u8]| matches!(rest.first(), None | Some(b'/'));
    // Only what follows a slash is a whole name.
    let after = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    after
        .filter_map(|(at, _)| path.get(at + 1..))
        .any(|rest| rest.strip_prefix(names).is_some_and(ends))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_wherever_a_home_is() {
        for path in [
            "/home/user/.ssh/id_rsa",
            "/root/.ssh",
            "/home/user/id_rsa",
            "/etc/shadow",
            "/etc/ssh/ssh_host_ed25519_key",
            "/var/run/docker.sock",
            "/run/docker.sock",
            "/home/u/.aws/credentials",
            "/home/u/.config/gh/hosts.yml",
            "/var/run/secrets/kubernetes.io/serviceaccount/token",
            "/work/.env",
        ] {
            assert!(sensitive_place(path.as_bytes()).is_some(), "{path}");
        }
        for path in [
            "/usr/lib/python3/ssh.py",
            "/etc/shadows",
            "/work/x.ssh/a",
            "/work/aws",
            "/var/run/nscd/socket",
            "/proc/self/attr/current",
            "/dev/tty9",
            "/root/x",
            "/",
        ] {
            assert_eq!(sensitive_place(path.as_bytes()), None, "{path}");
        }
    }

    #[test]
    fn what_is_tried_first_is_well_known_and_what_is_made_up_is_not() {
        let homes = [PathBuf::from("/home/user"), PathBuf::from("/root")];
        for path in [
            "/home/user/.ssh",
            "/home/user/.ssh/id_rsa",
            "/root/.aws/credentials",
            "/home/user/.netrc",
            "/etc/shadow",
            "/run/secrets",
            "/var/run/docker.sock",
        ] {
            assert!(is_well_known_place(path.as_bytes(), &homes), "{path}");
            assert!(sensitive_place(path.as_bytes()).is_some(), "{path}");
        }
        for path in ["/home/user/.ssh/x7", "/home/x7/.ssh/id_rsa", "/x/id_rsa", "/etc/shadow/a"] {
            assert!(!is_well_known_place(path.as_bytes(), &homes), "{path}");
        }
    }
}
