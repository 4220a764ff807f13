//! The places of the host that a tree needs.

use std::path::{Path, PathBuf};

use sandbox_spec::{MountAccess, RootFs, RootWrites, SandboxSpec};

use super::{etc, layers};

/// A place of the host that the tree shows or writes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPlace {
    /// Where it is. It need not be there; if it is a link, the place is where that leads.
    pub path: PathBuf,
    /// Whether something beneath it may change.
    pub is_written: bool,
}

/// Every place of the host that the tree of `spec` reaches, and nothing else: what a host may be
/// told to hold the kernel process to.
pub fn host_places(spec: &SandboxSpec) -> Vec<HostPlace> {
    let mut places = Vec::new();
    let mut add = |path: &Path, is_written| {
        places.push(HostPlace { path: path.to_owned(), is_written });
    };
    match &spec.root {
        RootFs::Host => {
            for name in layers::SYSTEM_FOLDERS {
                add(&Path::new("/").join(name), false);
            }
            for name in etc::shown_names(Path::new("/etc")) {
                add(&Path::new("/etc").join(name), false);
            }
            add(Path::new("/var/cache/fontconfig"), false);
        }
        RootFs::Directory(path) => add(path, false),
        RootFs::Tar(path) => add(path, false),
    }
    if let RootWrites::Directory(path) = &spec.root_writes {
        add(path, true);
    }
    for mount in &spec.mounts {
        add(&mount.source, mount.access == MountAccess::ReadWrite);
        if let Some(upper) = &mount.upper {
            add(upper, true);
        }
    }
    for output in &spec.outputs {
        add(&output.folder, true);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_and_keys_are_not_among_them() {
        let spec = SandboxSpec::new(["x"]);
        let places = host_places(&spec);
        assert!(places.iter().any(|place| place.path == Path::new("/usr")));
        assert!(places.iter().all(|place| !place.is_written));
        for hidden in ["/", "/etc", "/etc/ssl", "/etc/shadow", "/home", "/root", "/var"] {
            assert!(places.iter().all(|place| place.path != Path::new(hidden)), "{hidden}");
        }
    }

    #[test]
    fn a_mount_is_written_only_if_it_says_so() {
        let mut spec = SandboxSpec::new(["x"]);
        spec.mounts.push("/tmp:/a:rw".parse().unwrap());
        spec.mounts.push("/usr/bin:/b".parse().unwrap());
        let places = host_places(&spec);
        let written: Vec<_> = places.iter().filter(|place| place.is_written).collect();
        assert_eq!(written.len(), 1);
        assert_eq!(written[0].path, Path::new("/tmp"));
    }
}
