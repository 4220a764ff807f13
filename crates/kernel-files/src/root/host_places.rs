//! The places of the host that a tree needs: these, and nothing else, are what a host may be told to
//! hold the kernel process to. A place need not be there; if it is a link, the place is where that
//! leads.

use std::path::{Path, PathBuf};

use sandbox_spec::{HostPlace, MountAccess, RootFs, RootWrites, SandboxSpec};

use super::{etc, layers};

/// Every place that the tree of `spec` only reads.
pub fn read_places(spec: &SandboxSpec) -> Vec<HostPlace> {
    let places: Vec<PathBuf> = match &spec.root {
        RootFs::Host => {
            let folders = layers::SYSTEM_FOLDERS.iter().map(|name| Path::new("/").join(name));
            let names = etc::shown_names(Path::new("/etc")).into_iter();
            let shown = names.map(|name| Path::new("/etc").join(name));
            folders.chain(shown).chain(["/var/cache/fontconfig".into()]).collect()
        }
        RootFs::Directory(path) | RootFs::Tar(path) => vec![path.clone()],
    };
    let read = spec.mounts.iter().filter(|mount| mount.access != MountAccess::ReadWrite);
    places.into_iter().map(HostPlace::Path).chain(read.map(|it| it.source.clone())).collect()
}

/// Every place beneath which the tree of `spec`, or what is copied out of it, may change something.
/// Some are made with the tree.
pub fn written_places(spec: &SandboxSpec) -> Vec<HostPlace> {
    let mut places = Vec::new();
    if let RootWrites::Directory(path) = &spec.root_writes {
        places.push(path.into());
    }
    for mount in &spec.mounts {
        if mount.access == MountAccess::ReadWrite {
            places.push(mount.source.clone());
        }
        places.extend(mount.upper.clone());
    }
    places.extend(spec.outputs.iter().map(|output| HostPlace::from(&output.folder)));
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_and_keys_are_not_among_them() {
        let spec = SandboxSpec::new(["x"]);
        let places = read_places(&spec);
        assert!(places.iter().any(|place| place.path() == Path::new("/usr")));
        assert!(written_places(&spec).is_empty());
        for hidden in ["/", "/etc", "/etc/ssl", "/etc/shadow", "/home", "/root", "/var"] {
            assert!(places.iter().all(|place| place.path() != Path::new(hidden)), "{hidden}");
        }
    }

    #[test]
    fn a_mount_is_written_only_if_it_says_so() {
        let mut spec = SandboxSpec::new(["x"]);
        spec.mounts.push("/tmp:/a:rw".parse().unwrap());
        spec.mounts.push("/usr/bin:/b".parse().unwrap());
        assert_eq!(written_places(&spec), [HostPlace::from("/tmp")]);
        let read = read_places(&spec);
        assert!(read.contains(&"/usr/bin".into()) && !read.contains(&"/tmp".into()));
    }
}
