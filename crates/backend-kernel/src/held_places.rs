//! Opens what a sandbox is shown of the host, once and before anything else.
//!
//! A path is looked up here for the last time. The kernel process mounts what was opened, and what
//! holds it to its files (Landlock) is told of the same: a name that leads elsewhere by then changes
//! nothing of either.

use std::borrow::Cow;
use std::io;
use std::path::PathBuf;

use kernel_files::hostfs::hold_place;
use sandbox::StartError;
use sandbox_spec::{HostPlace, SandboxSpec};

/// The specification with every source of a mount held.
pub fn hold(spec: &SandboxSpec) -> Result<Cow<'_, SandboxSpec>, StartError> {
    let is_path = |place: &HostPlace| place.as_held().is_none();
    if !spec.mounts.iter().any(|mount| is_path(&mount.source)) {
        return Ok(Cow::Borrowed(spec));
    }
    let mut spec = spec.clone();
    for mount in &mut spec.mounts {
        if let HostPlace::Path(path) = &mount.source {
            let held = hold_place(&mount.source).map_err(|errno| StartError::Path {
                purpose: "mount",
                path: path.clone(),
                cause: io::Error::from_raw_os_error(errno.code().into()),
            })?;
            mount.source = HostPlace::held(PathBuf::clone(path), held);
        }
    }
    Ok(Cow::Owned(spec))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_path_is_opened_once() {
        let top = tempfile::tempdir().unwrap();
        let (shown, other) = (top.path().join("shown"), top.path().join("other"));
        fs::create_dir(&shown).unwrap();
        fs::create_dir(&other).unwrap();
        fs::write(shown.join("file"), "mine").unwrap();
        let mut spec = SandboxSpec::new(["x"]);
        spec.mounts.push(format!("{}:/a", shown.display()).parse().unwrap());
        let held = hold(&spec).unwrap();
        fs::rename(&shown, top.path().join("moved")).unwrap();
        symlink(&other, &shown).unwrap();
        let again = hold(&held).unwrap();
        assert!(matches!(again, Cow::Borrowed(_)), "what is held is not opened again");
        let place = hold_place(&again.mounts[0].source).unwrap();
        let folder = host_sys::beneath::Folder::of(place).unwrap();
        assert_eq!(folder.read("file", 9).unwrap(), b"mine");
        assert_eq!(again.mounts[0].source.path(), shown);
    }

    #[test]
    fn what_is_not_there_is_named() {
        let mut spec = SandboxSpec::new(["x"]);
        spec.mounts.push("/no/such/place:/a".parse().unwrap());
        let error = hold(&spec).unwrap_err();
        assert!(matches!(error, StartError::Path { purpose: "mount", .. }), "{error}");
    }
}
