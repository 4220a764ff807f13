//! `--overlay DIR`: what one run wrote, the next one finds, whatever happened in between.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// How often a run is killed. `BELLJAR_KILLS` asks for more.
const KILLS: u32 = 30;

fn belljar(folder: &Path, script: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_belljar"));
    let root = folder.join("root");
    command
        .args(["run", "--user", "root", "--overlay"])
        .arg(folder.join("kept"))
        .args(["--mount", &format!("{}:/base:overlay", root.display()), "--", "sh", "-c", script])
        .stdin(Stdio::null());
    command
}

fn run(folder: &Path, script: &str) -> Output {
    belljar(folder, script).output().unwrap()
}

#[track_caller]
fn says(folder: &Path, script: &str, expected: &str) {
    let output = run(folder, script);
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!((out.as_ref(), err.as_ref()), (expected, ""), "{script}");
}

fn place() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("root")).unwrap();
    place
}

#[test]
fn a_large_file_is_changed_by_several_at_once() {
    const SIZE: usize = 24 << 20;
    let place = place();
    let mut bytes: Vec<u8> = (0..SIZE).map(|at| u8::try_from(at % 253).unwrap()).collect();
    fs::write(place.path().join("root/large"), &bytes).unwrap();
    // One of those who have it copied is killed; the others go on with what is there.
    let script = "cd /base; (exec 3<>large; sleep 60) & sleep 0.005; kill -9 $!; \
        for at in 1 2 3; do (printf \"  $at\" | dd of=large bs=1 seek=$((at * 7000000)) conv=notrunc \
        2>/dev/null) & done; wait; stat -c '%s %h' large; ls; cat large";
    let output = run(place.path(), script);
    for at in 1..=3 {
        bytes[at * 7_000_000..][..3].copy_from_slice(format!("  {at}").as_bytes());
    }
    let expected = [format!("{SIZE} 1\nlarge\n").as_bytes(), &bytes].concat();
    assert!(output.stdout == expected, "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(fs::read(place.path().join("root/large")).unwrap().len(), SIZE);
}

#[test]
fn a_second_run_finds_everything_as_the_first_left_it() {
    let place = place();
    let at = place.path();
    let first = "cd /root && mkdir -p d/e && echo x > d/f && ln d/f d/g && ln -s f d/l && \
        mkfifo d/p && chown 12:34 d/f d/e && chmod 4751 d/f && chmod 0 d/e && \
        touch -d @1000000000 d/f && rm /usr/bin/env && mv $(ls -d /usr/share/doc/*/ | head -1) /etc/moved && \
        rm -r /usr/share/doc && \
        mkdir /usr/share/doc && echo more >> /etc/hosts && \
        mv /usr/bin/sort /usr/bin/kind";
    says(at, first, "");
    assert!(!at.join("kept/.belljar-work").exists());
    let stat = "cd /root/d && stat -c '%n %a %u %g %h %F %Y' f | cut -d' ' -f1-9; \
        stat -c '%n %a %u %g' e; readlink l; cat g; stat -c %F p";
    let expected = "f 4751 12 34 2 regular file 1000000000\ne 0 12 34\nf\nx\nfifo\n";
    says(at, stat, expected);
    let gone = "ls /usr/bin/env /usr/bin/sort 2>/dev/null; ls /usr/share/doc; \
        test -s /usr/bin/kind && test -d /etc/moved && tail -1 /etc/hosts";
    says(at, gone, "more\n");
}

/// A root with a folder of many files in `base`.
fn place_with_many_files() -> tempfile::TempDir {
    let place = place();
    for folder in 0..20 {
        let folder = place.path().join(format!("base/many/{folder}"));
        fs::create_dir_all(&folder).unwrap();
        for file in 0..100 {
            fs::write(folder.join(format!("f{file}")), "content").unwrap();
        }
    }
    place
}

fn n_files(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries
        .map(
            |entry| {
                if entry.file_type().unwrap().is_dir() { 1 + n_files(&entry.path()) } else { 1 }
            },
        )
        .sum()
}

#[test]
fn a_moved_folder_of_the_root_is_not_copied() {
    let place = place_with_many_files();
    let at = place.path();
    let inside = |script: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_belljar"))
            .args(["run", "--user", "root", "--overlay"])
            .arg(at.join("kept"))
            .arg("--root")
            .arg(at.join("base"))
            .args(["--mount", "/usr:/usr", "--mount", "/lib:/lib", "--mount", "/lib64:/lib64"])
            .args(["--mount", "/bin:/bin", "--cwd", "/", "--", "sh", "-c", script])
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!((text(&output.stderr), output.status.code()), (String::new(), Some(0)));
        text(&output.stdout)
    };
    inside(
        "mkdir -p a && mv many a/moved && mv a/moved/3 three && echo new > a/moved/4/f1 && rm a/moved/5/f2",
    );
    assert!(n_files(&at.join("kept")) < 30, "{}", n_files(&at.join("kept")));
    // Once more in the next run: what is found by a record can be moved again.
    let look = "find many a three 2>/dev/null | wc -l; cat a/*/4/f1 three/f7; ls a/*/5 | wc -l";
    let expected = "2021\nnew\ncontent99\n";
    assert_eq!(inside(look), expected);
    inside("mv a b && mv b a && mv a/moved a/again && mv three a/again/3 && mv a/again/3 three");
    assert_eq!(inside(look), expected);
    assert!(n_files(&at.join("kept")) < 40, "{}", n_files(&at.join("kept")));
    inside("mv a/again many && mv three many/3 && rmdir a");
    assert_eq!(inside("find many | wc -l; cat many/4/f1 many/3/f7"), "2020\nnew\ncontent");
    inside("rm -r many && mkdir many && test -z \"$(ls many)\"");
    assert_eq!(inside("ls many; ls -d three a 2>/dev/null; true"), "");
}

#[test]
fn one_folder_serves_one_sandbox_at_a_time() {
    let place = place();
    let mut first = belljar(place.path(), "echo up > /root/up; exec sleep 60").spawn().unwrap();
    while !place.path().join("kept/root/up").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let second = run(place.path(), "true");
    assert_eq!(second.status.code(), Some(125));
    first.kill().unwrap();
    first.wait().unwrap();
    // The kernel process notices that its starter is gone.
    let is_free = |_| {
        std::thread::sleep(Duration::from_millis(10));
        run(place.path(), "true").status.success()
    };
    assert!((0..200).any(is_free), "the folder stays locked");
}

/// A guest counts: it replaces files of the root, whiteouts and all, and notes how far it came,
/// each time after an fsync, in a file of the host's.
const COUNT: &str = "import os\n\
i = int(open('/root/done').read()) if os.path.exists('/root/done') else 0\n\
names = sorted(os.listdir('/usr/share/doc'))[:40]\n\
while True:\n\
    i += 1\n\
    fd = os.open('/root/next', os.O_WRONLY | os.O_CREAT | os.O_TRUNC)\n\
    os.write(fd, str(i).encode()); os.fsync(fd); os.close(fd)\n\
    os.rename('/root/next', '/root/done')\n\
    os.write(1, b'%d\\n' % i)\n\
    with open('/etc/hosts', 'a') as f: f.write('#\\n')\n\
    name = '/usr/share/doc/' + names[i % len(names)]\n\
    if os.path.isdir(name) and not os.path.islink(name):\n\
        os.rename(name, '/root/moved'); os.rename('/root/moved', name)\n\
    for k in range(3):\n\
        d = '/usr/share/doc/%d' % k\n\
        os.makedirs(d, exist_ok=True); open(d + '/f', 'w').close()\n\
        os.unlink(d + '/f'); os.rmdir(d)\n\
    os.unlink('/etc/hosts') if i % 5 == 0 else None\n";

#[test]
fn a_run_that_is_killed_at_any_moment_leaves_a_folder_to_go_on_from() {
    let place = place();
    let at = place.path();
    let kills = std::env::var("BELLJAR_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(KILLS);
    // Not random, so that a failure can be had again, but no two alike.
    let mut delay = 7_u64;
    for round in 0..kills {
        let log = at.join("log");
        let mut child = Command::new(env!("CARGO_BIN_EXE_belljar"))
            .args(["run", "--user", "root", "--overlay"])
            .arg(at.join("kept"))
            .args(["--", "python3", "-c", COUNT])
            .stdin(Stdio::null())
            .stdout(fs::File::create(&log).unwrap())
            .stderr(fs::File::create(at.join("errors")).unwrap())
            .spawn()
            .unwrap();
        delay = delay * 6_364_136_223 % 1_000_003;
        std::thread::sleep(Duration::from_millis(120 + delay % 200));
        kill_kernel_process(child.id());
        let _ = child.kill();
        child.wait().unwrap();
        let errors = fs::read_to_string(at.join("errors")).unwrap();
        assert!(!errors.contains("Traceback"), "round {round}: {errors}");
        let told = fs::read_to_string(&log).unwrap();
        let told: u64 = told
            .lines()
            .rev()
            .nth(usize::from(!told.ends_with('\n')))
            .map_or(0, |line| line.parse().unwrap());
        let output = run_when_free(
            at,
            "cat /root/done 2>/dev/null || echo 0; ls /root/moved /root/next >/dev/null 2>&1; \
            find /root /etc /usr/share/doc >/dev/null",
        );
        let found: u64 = String::from_utf8_lossy(&output.stdout).trim().parse().unwrap();
        assert!(found >= told, "round {round}: {told} was told, {found} was found");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "round {round}");
        let repair = "test ! -e /root/moved || rm -rf /root/moved; rm -rf /usr/share/doc/[012]";
        assert_eq!(String::from_utf8_lossy(&run_when_free(at, repair).stderr), "");
    }
}

/// The kernel process is the child of `belljar`; it dies at once, in the middle of what it does.
fn kill_kernel_process(belljar: u32) {
    let children = format!("/proc/{belljar}/task/{belljar}/children");
    for pid in fs::read_to_string(children).unwrap_or_default().split_whitespace() {
        let pid = rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap();
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

fn run_when_free(at: &Path, script: &str) -> Output {
    for _ in 0..500 {
        let output = run(at, script);
        if output.status.code() != Some(125) {
            return output;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    run(at, script)
}
