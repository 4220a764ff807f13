//! The seal of an environment in the cache. It is made in `skills`, where the fuzzer reaches it; that it
//! holds on a real disk is tested here.

pub use skills::install::seal::{MAX_MANIFEST_BYTES, first_difference, seal, stamp, tidy};

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::path::Path;

    use host_sys::beneath::Folder;
    use host_sys::rustix::fs::{CWD, FileType, Mode, mknodat};
    use skills::install::seal::MAX_BYTES;

    use super::*;

    /// The packages' code made it: it takes nothing on the disk, and to read it would take an hour.
    #[test]
    fn what_would_take_for_ever_to_read_is_refused() {
        let (top, tree) = tree();
        let file = fs::File::create(top.path().join("huge")).unwrap();
        file.set_len(MAX_BYTES + 1).unwrap();
        let error = seal(&tree).map(|_| ()).unwrap_err().to_string();
        assert!(error.ends_with("bytes in all files"), "{error}");
        file.set_len(1).unwrap();
        assert!(seal(&tree).is_ok());
    }

    fn tree() -> (tempfile::TempDir, Folder) {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir(top.path().join("a folder")).unwrap();
        fs::write(top.path().join("a folder/file"), "text").unwrap();
        symlink("/etc/passwd", top.path().join("link")).unwrap();
        let folder = Folder::at(top.path()).unwrap();
        (top, folder)
    }

    #[test]
    fn a_manifest_has_everything_in_a_line() {
        let (_top, folder) = tree();
        tidy(&folder).unwrap();
        let sealed = seal(&folder).unwrap();
        let lines: Vec<&str> = sealed.manifest.lines().collect();
        let digest = "982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1";
        let file = format!("file 0644 {digest} a%20folder/file");
        assert_eq!(lines[1..], ["folder 0755 a%20folder", &file, "link /etc/passwd link"]);
        assert_eq!(stamp(&folder).unwrap(), sealed.stamp);
    }

    #[test]
    fn every_change_is_seen_by_both() {
        let changes: [fn(&Path); 5] = [
            |top| fs::write(top.join("a folder/file"), "TEXT").unwrap(),
            |top| fs::write(top.join("new"), "").unwrap(),
            |top| fs::remove_file(top.join("link")).unwrap(),
            |top| {
                fs::remove_file(top.join("link")).unwrap();
                symlink("/etc/shadow", top.join("link")).unwrap();
            },
            |top| {
                let mode = fs::Permissions::from_mode(0o700);
                fs::set_permissions(top.join("a folder/file"), mode).unwrap();
            },
        ];
        for change in changes {
            let (top, folder) = tree();
            let before = seal(&folder).unwrap();
            change(top.path());
            let after = seal(&folder).unwrap();
            assert_ne!(before.stamp, after.stamp);
            assert_ne!(before.manifest, after.manifest);
            assert_ne!(first_difference(&before.manifest, &after.manifest), "its end");
        }
    }

    #[test]
    fn an_old_date_does_not_hide_a_change() {
        let (top, folder) = tree();
        let file = top.path().join("a folder/file");
        let before = seal(&folder).unwrap();
        let date = fs::metadata(&file).unwrap().modified().unwrap();
        fs::write(&file, "TEXT").unwrap();
        fs::File::options().write(true).open(&file).unwrap().set_modified(date).unwrap();
        assert_ne!(stamp(&folder).unwrap(), before.stamp);
    }

    #[test]
    fn a_fifo_is_an_error_and_no_wait() {
        let (top, folder) = tree();
        let fifo = top.path().join("fifo");
        mknodat(CWD, &fifo, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        let error = seal(&folder).err().unwrap().to_string();
        assert!(error.contains("a FIFO"), "{error}");
    }

    #[test]
    fn identities_are_not_lent_and_locked_folders_are_opened() {
        let (top, folder) = tree();
        let set = |name: &str, mode| {
            fs::set_permissions(top.path().join(name), fs::Permissions::from_mode(mode)).unwrap();
        };
        set("a folder/file", 0o6777);
        set("a folder", 0o1555);
        tidy(&folder).unwrap();
        let mode =
            |name: &str| fs::metadata(top.path().join(name)).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode("a folder"), mode("a folder/file")), (0o755, 0o755));
    }
}
