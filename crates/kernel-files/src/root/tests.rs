use super::*;
use crate::open::{OpenHow, open};
use kernel_core::io::VecSink;

fn access<'a>(fs: &'a FsContext, credentials: &'a Rc<Credentials>) -> Access<'a> {
    Access { fs, credentials, caller: &() }
}

fn read(fs: &FsContext, path: &str) -> SysResult<Vec<u8>> {
    let credentials = Rc::new(Credentials::of_user(1000, 1000));
    let access = access(fs, &credentials);
    let how = OpenHow::default();
    let file = open(&access, &fs.root(), path.as_bytes(), &how)?.into_file()?;
    let mut sink = VecSink::new(100_000);
    while file.read(&mut sink)? > 0 {}
    Ok(sink.bytes)
}

#[test]
fn the_default_root_has_the_hosts_programs_and_not_its_secrets() {
    let spec = SandboxSpec::new(["true"]);
    let fs = default_root(&spec, &SpecialFiles::new(), Hooks::default()).unwrap().context;
    assert!(read(&fs, "/bin/sh").unwrap().starts_with(b"\x7fELF"));
    assert!(read(&fs, "/etc/passwd").unwrap().starts_with(b"root:x:0:0"));
    for path in ["/etc/shadow", "/etc/ssh", "/root/.ssh", "/etc/ssl/private", "/proc/1/environ"] {
        assert!(read(&fs, path).is_err(), "{path}");
    }
    assert_eq!(read(&fs, "/dev/null").unwrap(), b"");
}

#[test]
fn a_mounted_folder_appears_where_it_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("note"), "text").unwrap();
    let mut spec = SandboxSpec::new(["true"]);
    let mount = format!("{}:/work/deep:rw", folder.path().display());
    spec.mounts.push(mount.parse().unwrap());
    let fs = default_root(&spec, &SpecialFiles::new(), Hooks::default()).unwrap().context;
    assert_eq!(read(&fs, "/work/deep/note").unwrap(), b"text");
    let credentials = Rc::new(Credentials::of_user(1000, 1000));
    let access = access(&fs, &credentials);
    let found = lookup(&access, &fs.root(), b"/work/deep/note", LastLink::Follow).unwrap();
    assert_eq!(found.path_from(&fs.root()), (b"/work/deep/note".to_vec(), true));
    operations::unlink(&access, &fs.root(), b"/work/deep/note").unwrap();
    assert!(!folder.path().join("note").exists());
}

#[test]
fn writes_go_to_memory_and_not_to_the_host() {
    let spec = SandboxSpec::new(["true"]);
    let fs = default_root(&spec, &SpecialFiles::new(), Hooks::default()).unwrap().context;
    let root = Rc::new(Credentials::of_user(0, 0));
    let access = access(&fs, &root);
    operations::unlink(&access, &fs.root(), b"/usr/bin/env").unwrap();
    assert_eq!(read(&fs, "/usr/bin/env"), Err(Errno::ENOENT));
    assert!(Path::new("/usr/bin/env").exists());
}
