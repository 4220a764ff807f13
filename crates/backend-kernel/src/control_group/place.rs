//! Where a control group can be made.

use std::fs;
use std::path::{Path, PathBuf};

use host_sys::rustix::fs::{Access, access};

/// What the group must be able to limit.
const CONTROLLERS: [&str; 2] = ["memory", "pids"];

/// A folder in which this process may make a group that limits memory and processes, and put its
/// children there. If there is none, why.
pub fn find() -> Result<PathBuf, String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let (top, own) = own_folder(&mounts, &groups).ok_or("the host shows no cgroup v2")?;
    // A group that has processes cannot limit others beneath it, unless it is the first of all: so
    // it is the one above that counts most often.
    let above = own.parent().filter(|above| above.starts_with(&top)).map(Path::to_owned);
    let mut why = String::new();
    for folder in [Some(own), above].into_iter().flatten() {
        match check(&folder) {
            Ok(()) => return Ok(folder),
            Err(reason) => why = reason,
        }
    }
    Err(why)
}

/// The mount of cgroup v2, and the folder of this process's own group in it.
fn own_folder(mounts: &str, groups: &str) -> Option<(PathBuf, PathBuf)> {
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.lines().find_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        if !kind.starts_with("cgroup2 ") {
            return None;
        }
        let mut fields = mount.split(' ').skip(3);
        let (root, top) = (fields.next()?, PathBuf::from(fields.next()?));
        // What is mounted may be a part of the hierarchy.
        let beneath = Path::new(path).strip_prefix(root).ok()?;
        let own = top.join(beneath);
        Some((top, own))
    })
}

fn check(folder: &Path) -> Result<(), String> {
    let shown = folder.display();
    let given = fs::read_to_string(folder.join("cgroup.subtree_control")).unwrap_or_default();
    let has = |wanted: &&str| given.split_whitespace().any(|one| one == *wanted);
    if let Some(missing) = CONTROLLERS.iter().find(|controller| !has(controller)) {
        return Err(format!("the controller {missing} is not delegated in {shown}"));
    }
    for path in [folder.to_owned(), folder.join("cgroup.procs")] {
        if access(&path, Access::WRITE_OK).is_err() {
            return Err(format!("{} belongs to others", path.display()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "30 23 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                          35 23 0:27 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n";

    #[test]
    fn the_own_group_is_found_in_the_mount() {
        let found = own_folder(MOUNTS, "4:memory:/x\n0::/user.slice/a.scope\n").unwrap();
        assert_eq!(found.0, Path::new("/sys/fs/cgroup"));
        assert_eq!(found.1, Path::new("/sys/fs/cgroup/user.slice/a.scope"));
        let part = MOUNTS.replace("0:27 / ", "0:27 /user.slice ");
        let found = own_folder(&part, "0::/user.slice/a.scope\n").unwrap();
        assert_eq!(found.1, Path::new("/sys/fs/cgroup/a.scope"));
        assert_eq!(own_folder(&part, "0::/elsewhere\n"), None);
        assert_eq!(own_folder("", "0::/\n"), None);
    }
}
