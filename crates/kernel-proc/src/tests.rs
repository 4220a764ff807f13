//! Paths of `/proc` and `/sys`, read as a guest would.

use std::rc::Rc;

use kernel_core::io::{SliceSource, VecSink};
use kernel_files::directory_file::DirectoryFile;
use kernel_files::open::{OpenHow, open};
use kernel_files::walk::{LastLink, lookup};
use kernel_files::{Access, FileSystem, FsContext, Mount, OpenFile};
use kernel_tasks::kernel::RELEASE;
use kernel_tasks::process::Program;
use kernel_tasks::testing::{first_thread_of, fork, spawn_thread};
use kernel_tasks::{Kernel, Thread};
use linux_abi::files::{MountFlags, OpenFlags};
use linux_abi::{Errno, Fd, SysResult};

use super::*;

fn sources(kernel: &Rc<Kernel>) -> Sources {
    let facts = SystemFacts::new(Some(1 << 30));
    Sources { kernel: Rc::clone(kernel), facts: Rc::new(facts) }
}

/// A thread whose whole tree is `fs`.
fn guest_in<F: FileSystem>(make: fn(&Sources) -> Rc<F>) -> Rc<Thread> {
    let thread = first_thread_of(0);
    let mount = Mount::of(make(&sources(thread.kernel())), b"none", MountFlags::empty());
    let fs: Rc<FsContext> = thread.fs();
    fs.set_root(mount.top());
    fs.set_cwd(mount.top());
    thread.set_name(b"tester");
    thread
}

fn open_as(thread: &Rc<Thread>, path: &str, flags: OpenFlags) -> SysResult<Rc<OpenFile>> {
    let (fs, credentials) = (thread.fs(), thread.credentials());
    let access = Access { fs: &fs, credentials: &credentials, caller: &**thread };
    let how = OpenHow { flags, ..Default::default() };
    open(&access, &fs.cwd(), path.as_bytes(), &how)?.into_file()
}

fn read(thread: &Rc<Thread>, path: &str) -> SysResult<String> {
    let file = open_as(thread, path, OpenFlags::empty())?;
    let mut sink = VecSink::new(1 << 20);
    while file.read(&mut sink)? > 0 {}
    Ok(String::from_utf8(sink.bytes).unwrap())
}

fn write(thread: &Rc<Thread>, path: &str, text: &str) -> SysResult<usize> {
    open_as(thread, path, OpenFlags::WRONLY)?.write(&mut SliceSource::new(text.as_bytes()))
}

fn read_link(thread: &Rc<Thread>, path: &str) -> SysResult<String> {
    let (fs, credentials) = (thread.fs(), thread.credentials());
    let access = Access { fs: &fs, credentials: &credentials, caller: &**thread };
    let place = lookup(&access, &fs.cwd(), path.as_bytes(), LastLink::Keep)?;
    let target = place.inode()?.read_link_for(Some(&**thread))?;
    Ok(String::from_utf8(target).unwrap())
}

fn list(thread: &Rc<Thread>, path: &str) -> Vec<String> {
    let file = open_as(thread, path, OpenFlags::DIRECTORY).unwrap();
    let directory: &DirectoryFile = file.ops_as().unwrap();
    let mut names = Vec::new();
    // One at a time, so that positions are tried too.
    loop {
        let before = names.len();
        directory
            .list(&file, &mut |entry| {
                if names.len() > before {
                    return false;
                }
                names.push(String::from_utf8(entry.name.to_vec()).unwrap());
                true
            })
            .unwrap();
        if names.len() == before {
            return names;
        }
    }
}

/// Opens and reads everything that is in a tree, and counts the files.
fn read_all(thread: &Rc<Thread>, path: &str, failed: &mut Vec<String>) -> usize {
    let mut n_files = 0;
    for name in list(thread, path) {
        let inside = format!("{path}/{name}");
        if name == "." || name == ".." || read_link(thread, &inside).is_ok() {
            continue;
        }
        if open_as(thread, &inside, OpenFlags::DIRECTORY).is_ok() {
            n_files += read_all(thread, &inside, failed);
        } else {
            n_files += 1;
            if let Err(errno) = read(thread, &inside) {
                failed.push(format!("{inside}: {errno:?}"));
            }
        }
    }
    n_files
}

#[test]
fn self_depends_on_who_asks() {
    let parent = guest_in(proc_fs);
    let child = fork(&parent);
    assert_eq!(read_link(&parent, "/self"), Ok(parent.process().pid.0.to_string()));
    assert_eq!(read_link(&child, "/self"), Ok(child.process().pid.0.to_string()));
    assert_eq!(read(&child, "/self/comm"), Ok("tester\n".into()));
}

#[test]
fn every_file_can_be_read_but_those_that_cannot() {
    let thread = guest_in(proc_fs);
    let mut failed = Vec::new();
    assert!(read_all(&thread, "/.", &mut failed) > 200);
    failed.retain(|line| !line.contains("/attr/") && !line.contains("pagemap"));
    // The guest of this test runs no program.
    failed.retain(|line| !line.contains("/mem:") && !line.contains("/exe:"));
    // Process 1 is the kernel's own: it has no thread and no tree.
    failed.retain(|line| !line.starts_with("/./1/"));
    assert_eq!(failed, Vec::<String>::new());
}

#[test]
fn every_file_of_sys_can_be_read() {
    let thread = guest_in(sys_fs);
    let mut failed = Vec::new();
    assert!(read_all(&thread, "/.", &mut failed) > 30);
    assert_eq!(failed, Vec::<String>::new());
    assert!(read(&thread, "/class/net/lo/mtu").is_ok());
    let thread = guest_in(cgroup_fs);
    assert_eq!(read(&thread, "/memory.max"), Ok(format!("{}\n", 1 << 30)));
}

#[test]
fn the_root_lists_processes_in_order() {
    let thread = guest_in(proc_fs);
    let child = fork(&thread);
    let names = list(&thread, "/");
    for name in ["self", "stat", "sys", "meminfo"] {
        assert!(names.iter().any(|listed| listed == name), "{name}");
    }
    let pids: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
    assert!(pids.is_sorted());
    assert!(pids.contains(&child.process().pid.0));
}

#[test]
fn a_process_that_is_gone_is_not_found() {
    let thread = guest_in(proc_fs);
    assert_eq!(read(&thread, "/9999/stat"), Err(Errno::ENOENT));
    assert_eq!(read(&thread, "/007/stat"), Err(Errno::ENOENT));
}

#[test]
fn stat_has_52_words() {
    let thread = guest_in(proc_fs);
    thread.set_name(b"a) b");
    let text = read(&thread, "/self/stat").unwrap();
    let (head, rest) = text.rsplit_once(") ").unwrap();
    assert_eq!(head, format!("{} (a) b", thread.process().pid.0));
    assert_eq!(rest.split_whitespace().count(), 50);
    assert!(rest.starts_with("R "));
}

#[test]
fn status_tells_who_the_process_is() {
    let thread = guest_in(proc_fs);
    let text = read(&thread, "/self/status").unwrap();
    for line in ["Name:\ttester", "Uid:\t0\t0\t0\t0", "Threads:\t1", "CapEff:\t000001ffffffffff"] {
        assert!(text.lines().any(|shown| shown == line), "{line} in {text}");
    }
}

#[test]
fn threads_have_directories_of_their_own() {
    let thread = guest_in(proc_fs);
    let other = spawn_thread(&thread);
    other.set_name(b"other");
    let tid = other.tid().0;
    assert_eq!(read(&thread, &format!("/self/task/{tid}/comm")), Ok("other\n".into()));
    assert_eq!(read(&thread, "/self/comm"), Ok("tester\n".into()));
    assert_eq!(list(&thread, "/self/task").len(), 4);
    // A thread is found at the top, but not listed there.
    assert_eq!(read(&thread, &format!("/{tid}/comm")), Ok("other\n".into()));
    assert!(!list(&thread, "/").contains(&tid.to_string()));
    let own = format!("{}/task/{tid}", thread.process().pid.0);
    assert_eq!(read_link(&other, "/thread-self"), Ok(own));
}

#[test]
fn the_name_can_be_written() {
    let thread = guest_in(proc_fs);
    assert_eq!(write(&thread, "/self/comm", "a-name-longer-than-15\n"), Ok(22));
    assert_eq!(read(&thread, "/self/comm"), Ok("a-name-longer-t\n".into()));
}

#[test]
fn oom_score_adj_is_kept_inherited_and_checked() {
    let thread = guest_in(proc_fs);
    assert_eq!(write(&thread, "/self/oom_score_adj", "300\n"), Ok(4));
    assert_eq!(read(&fork(&thread), "/self/oom_score_adj"), Ok("300\n".into()));
    assert_eq!(write(&thread, "/self/oom_score_adj", "1001"), Err(Errno::EINVAL));
    assert_eq!(write(&thread, "/self/stat", "x"), Err(Errno::EACCES));
}

#[test]
fn a_descriptor_leads_to_its_file() {
    let thread = guest_in(proc_fs);
    let file = open_as(&thread, "/version", OpenFlags::empty()).unwrap();
    let fd = thread.add_file(file, true).unwrap();
    assert_eq!(read_link(&thread, &format!("/self/fd/{}", fd.0)), Ok("/version".into()));
    let text = read(&thread, &format!("/self/fd/{}", fd.0)).unwrap();
    assert!(text.starts_with(&format!("Linux version {RELEASE} ")));
    assert_eq!(list(&thread, "/self/fd"), [".", "..", "0"]);
    let info = read(&thread, &format!("/self/fdinfo/{}", fd.0)).unwrap();
    assert!(info.starts_with("pos:\t0\nflags:\t02"), "{info}");
    thread.files().borrow_mut().remove(Fd(fd.0)).unwrap();
    assert_eq!(read_link(&thread, "/self/fd/0"), Err(Errno::ENOENT));
}

#[test]
fn the_program_is_told() {
    let thread = guest_in(proc_fs);
    thread.process().set_program(Rc::new(Program {
        executable: b"/bin/x".to_vec(),
        command_line: b"x\0-v\0".to_vec(),
        environment: b"A=1\0".to_vec(),
        ..Program::default()
    }));
    assert_eq!(read(&thread, "/self/cmdline"), Ok("x\0-v\0".into()));
    assert_eq!(read(&thread, "/self/environ"), Ok("A=1\0".into()));
    assert_eq!(read_link(&thread, "/self/exe"), Ok("/bin/x".into()));
    assert_eq!(read_link(&thread, "/self/cwd"), Ok("/".into()));
}

#[test]
fn meminfo_shows_the_limit() {
    let thread = guest_in(proc_fs);
    let text = read(&thread, "/meminfo").unwrap();
    let total = text.lines().next().unwrap();
    assert_eq!(total, "MemTotal:        1048576 kB");
}

#[test]
fn values_of_sys_are_kept() {
    let thread = guest_in(proc_fs);
    assert_eq!(write(&thread, "/sys/kernel/hostname", "jar\n"), Ok(4));
    assert_eq!(thread.namespaces().uts.hostname(), b"jar");
    assert_eq!(write(&thread, "/sys/vm/swappiness", "10"), Ok(2));
    assert_eq!(read(&thread, "/sys/vm/swappiness"), Ok("10\n".into()));
    assert_eq!(read(&thread, "/sys/kernel/osrelease"), Ok(format!("{RELEASE}\n")));
    assert_eq!(read(&thread, "/sys/kernel/random/uuid").unwrap().len(), 37);
}

#[test]
fn mounts_show_the_tree() {
    let thread = guest_in(proc_fs);
    let fs = thread.fs();
    let namespace = fs.namespace();
    fs.set_root(namespace.root().unwrap());
    let mount = Mount::of(proc_fs(&sources(thread.kernel())), b"pr oc", MountFlags::NO_EXEC);
    namespace.mount(&mount, &namespace.root().unwrap()).unwrap();
    fs.set_root(mount.top());
    fs.set_cwd(mount.top());
    let text = read(&thread, "/mounts").unwrap();
    assert!(text.contains("pr\\040oc / proc rw,noexec 0 0"), "{text}");
    let info = read(&thread, "/self/mountinfo").unwrap();
    assert!(info.contains(" / / rw,noexec - proc pr\\040oc rw\n"), "{info}");
}
