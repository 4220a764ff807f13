//! Places that a program looks at to find keys, or a way out. What a guest looks for there in vain
//! tells as much as what it finds.
//!
//! All of them are on the list of [`crate::credentials`]. Here a home folder can be anywhere, for a
//! guest guesses.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

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
}
