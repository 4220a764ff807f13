//! Keys on a real terminal, in front of a real shell: Ctrl-C, Ctrl-\ and Ctrl-Z do what they do to
//! any other program, whether or not the guest reads, whoever runs it, on whatever host.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]
#![expect(clippy::indexing_slicing, clippy::string_slice, reason = "a test that fails panics")]

mod processes;
mod terminal_pair;
#[path = "terminal/typist.rs"]
mod typist;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use processes::{assert_gone, descendants};
use tempfile::TempDir;
use typist::Typist;

const INTERRUPT: &str = "\x03";
const QUIT: &str = "\x1c";
const STOP: &str = "\x1a";
const END: &str = "\x04";

/// A place where everybody may read `belljar`, and the program that takes namespaces away.
struct Place {
    folder: TempDir,
    /// What stands before `belljar run`: nothing, another user, no namespaces, both.
    ways: Vec<String>,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(folder.path(), open).unwrap();
        std::fs::copy(env!("CARGO_BIN_EXE_belljar"), folder.path().join("belljar")).unwrap();
        let forbid = folder.path().join("forbid");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hosts/forbid.c");
        let built = Command::new("cc").args(["-O1", "-o"]).arg(&forbid).arg(source).status();
        let forbid = format!("{} namespaces -- ", forbid.display());
        let forbid = built.is_ok_and(|status| status.success()).then_some(forbid);
        let user = "setpriv --reuid=64321 --regid=64321 --clear-groups ".to_owned();
        let user = rustix::process::geteuid().is_root().then_some(user);
        let mut ways = vec![String::new()];
        ways.extend(user.clone());
        ways.extend(forbid.clone());
        ways.extend(forbid.zip(user).map(|(forbid, user)| user + &forbid));
        println!("ways: {ways:?}");
        Self { folder, ways }
    }

    fn belljar(&self) -> String {
        self.folder.path().join("belljar").to_str().unwrap().to_owned()
    }
}

/// Starts a guest that says that it runs, and lets it come to rest.
fn start(typist: &mut Typist, command: &str) {
    typist.type_line(command);
    typist.wait_for("begun\r\n");
    std::thread::sleep(Duration::from_millis(300));
}

/// Has the job that was stopped go on in the foreground, and lets it come to rest.
fn to_foreground(typist: &mut Typist) {
    typist.type_line("fg");
    typist.wait_for("belljar run");
    std::thread::sleep(Duration::from_millis(300));
}

#[test]
fn a_guest_that_never_reads_is_interrupted() {
    let place = Place::new();
    for way in &place.ways {
        let mut typist = Typist::new();
        let run = format!("{way}{} run --no-cwd --", place.belljar());
        let rests = [
            "sh -c 'echo begun; exec sleep 1000'",
            "sh -c 'echo begun; sleep 1000; echo not here'",
            "sh -c 'echo begun; while :; do :; done'",
        ];
        for rest in rests {
            for (key, code) in [(INTERRUPT, "code 130"), (QUIT, "code 131")] {
                start(&mut typist, &format!("{run} {rest}"));
                typist.type_text(key);
                assert_eq!(typist.wait_for_code(), code, "{way}{rest}");
            }
        }
        // A job in the background of the guest does not keep it.
        start(&mut typist, &format!("{run} bash -c 'set -m; sleep 1000 & echo begun; wait'"));
        typist.type_text(INTERRUPT);
        assert_eq!(typist.wait_for_code(), "code 130", "{way}");
        typist.assert_usual_modes();
    }
}

#[test]
fn a_guest_that_never_reads_is_stopped_and_goes_on() {
    let place = Place::new();
    for way in &place.ways {
        let mut typist = Typist::new();
        let run = format!("{way}{} run --no-cwd --", place.belljar());
        start(&mut typist, &format!("{run} sh -c 'echo begun; sleep 1000; echo not here'"));
        typist.type_text(STOP);
        typist.wait_for("Stopped");
        assert_eq!(typist.wait_for_code(), "code 148", "{way}");
        typist.assert_usual_modes();
        assert!(typist.ask("jobs").contains("Stopped"), "{way}");
        // In the background, and back to the foreground.
        typist.ask("bg");
        assert!(typist.ask("jobs").contains("Running"), "{way}");
        to_foreground(&mut typist);
        typist.type_text(STOP);
        typist.wait_for("Stopped");
        typist.wait_for("ready> ");
        to_foreground(&mut typist);
        typist.type_text(INTERRUPT);
        assert_eq!(typist.wait_for_code(), "code 130", "{way}");
    }
}

#[test]
fn a_stopped_guest_does_not_run() {
    let place = Place::new();
    let mut typist = Typist::new();
    let count = "i=0; while :; do i=$((i+1)); echo $i > /count/n; sleep 0.02; done";
    let folder = place.folder.path();
    let mount = format!("--mount {0}:/count:rw", folder.display());
    start(&mut typist, &format!("{} run {mount} -- sh -c 'echo begun; {count}'", place.belljar()));
    typist.type_text(STOP);
    typist.wait_for("Stopped");
    typist.wait_for("ready> ");
    let count = || std::fs::read_to_string(folder.join("n")).unwrap();
    let before = count();
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(count(), before);
    typist.type_line("fg");
    typist.wait_for("run");
    std::thread::sleep(Duration::from_secs(1));
    assert_ne!(count(), before);
    typist.type_text(INTERRUPT);
    assert_eq!(typist.wait_for_code(), "code 130");
}

#[test]
fn a_guest_that_reads_is_stopped_and_reads_on() {
    let place = Place::new();
    for way in &place.ways {
        let mut typist = Typist::new();
        start(
            &mut typist,
            &format!("{way}{} run --no-cwd -- sh -c 'echo begun; cat'", place.belljar()),
        );
        typist.type_text("first\n");
        typist.wait_for("first\r\nfirst\r\n");
        typist.type_text(STOP);
        typist.wait_for("Stopped");
        typist.wait_for("ready> ");
        typist.assert_usual_modes();
        to_foreground(&mut typist);
        typist.type_text("second\n");
        typist.wait_for("second\r\nsecond\r\n");
        typist.type_text(END);
        assert_eq!(typist.wait_for_code(), "code 0", "{way}");
        typist.assert_usual_modes();
    }
}

#[test]
fn a_pipe_leads_to_a_guest_on_a_terminal() {
    let place = Place::new();
    for way in &place.ways {
        let mut typist = Typist::new();
        let run = format!("echo | {way}{} run --no-cwd --", place.belljar());
        for (key, code) in [(INTERRUPT, "code 130"), (QUIT, "code 131")] {
            start(&mut typist, &format!("{run} sh -c 'echo begun; exec sleep 1000'"));
            typist.type_text(key);
            assert_eq!(typist.wait_for_code(), code, "{way}");
        }
        start(&mut typist, &format!("{run} sh -c 'echo begun; exec sleep 1000'"));
        typist.type_text(STOP);
        typist.wait_for("Stopped");
        typist.wait_for("ready> ");
        to_foreground(&mut typist);
        typist.type_text(INTERRUPT);
        assert_eq!(typist.wait_for_code(), "code 130", "{way}");
        // It opens the terminal for itself, and has every key without the enter key.
        let read = "stty raw -echo < /dev/tty; echo begun >&2; head -c 1 < /dev/tty | od -An -c";
        typist.type_line(&format!("{run} sh -c '{read}'"));
        typist.wait_for("begun");
        typist.type_text("q");
        typist.wait_for("q");
        assert_eq!(typist.wait_for_code(), "code 0", "{way}");
        typist.assert_usual_modes();
    }
}

#[test]
fn keys_are_bytes_to_a_guest_that_wants_them_so() {
    let place = Place::new();
    let mut typist = Typist::new();
    let script = "stty raw -echo; printf \"begun\\r\\n\"; head -c 3 | od -An -tx1; stty sane";
    start(&mut typist, &format!("{} run --no-cwd -- sh -c '{script}'", place.belljar()));
    typist.type_text(&[INTERRUPT, STOP, QUIT].concat());
    typist.wait_for("03 1a 1c");
    assert_eq!(typist.wait_for_code(), "code 0");
    // No signal, even if nobody reads them.
    let script = "stty -isig; echo begun; sleep 2; echo done";
    start(&mut typist, &format!("{} run --no-cwd -- sh -c '{script}'", place.belljar()));
    typist.type_text(INTERRUPT);
    typist.wait_for("done\r\n");
    assert_eq!(typist.wait_for_code(), "code 0");
}

#[test]
fn three_times_the_quit_key_ends_every_guest() {
    let place = Place::new();
    let mut typist = Typist::new();
    let deaf = "trap \"\" INT QUIT TERM HUP TSTP; echo begun; while :; do sleep 1; done";
    let raw = "stty raw -echo; printf \"begun\\r\\n\"; while :; do head -c 1; done > /dev/null";
    for script in [deaf, raw] {
        start(&mut typist, &format!("{} run --no-cwd -- sh -c '{script}'", place.belljar()));
        typist.type_text(&[INTERRUPT, STOP, QUIT].concat());
        std::thread::sleep(Duration::from_secs(2));
        assert!(!typist.screen().contains("ready> "), "once is not enough");
        // On a busy host two presses may come as one signal, or the third too late.
        for _ in 0..30 {
            if typist.screen().contains("ready> ") {
                break;
            }
            typist.type_text(QUIT);
            std::thread::sleep(Duration::from_millis(150));
        }
        assert_eq!(typist.wait_for_code(), "code 137");
        typist.assert_usual_modes();
    }
}

#[test]
fn a_guest_in_the_background_stops_when_it_reads() {
    let place = Place::new();
    for way in &place.ways {
        let mut typist = Typist::new();
        typist.ask(&format!("{way}{} run --no-cwd -- cat & sleep 3", place.belljar()));
        assert!(typist.ask("jobs").contains("Stopped"), "{way}");
        typist.type_line("fg");
        typist.wait_for("run --no-cwd -- cat");
        std::thread::sleep(Duration::from_millis(300));
        typist.type_text("hello\n");
        typist.wait_for("hello\r\nhello\r\n");
        typist.type_text(END);
        assert_eq!(typist.wait_for_code(), "code 0", "{way}");
        // One that writes only is not stopped, and the shell has its terminal.
        let writes =
            format!("{way}{} run --no-cwd -- sh -c 'sleep 1; echo written'", place.belljar());
        typist.ask(&format!("{writes} & sleep 3"));
        typist.assert_usual_modes();
        typist.ask("wait");
    }
}

#[test]
fn what_is_typed_ahead_is_for_whoever_reads_first() {
    let place = Place::new();
    let mut typist = Typist::new();
    start(&mut typist, &format!("{} run --no-cwd -- sh -c 'echo begun; sleep 2'", place.belljar()));
    typist.type_text("echo for the shell\n");
    typist.wait_for("echo for the shell\r\n");
    typist.wait_for("ready> ");
    typist.wait_for("for the shell\r\n");
    typist.wait_for("ready> ");
    // The guest's, and it is shown once as it is typed and once by the guest.
    start(
        &mut typist,
        &format!("{} run --no-cwd -- sh -c 'echo begun; sleep 2; cat'", place.belljar()),
    );
    typist.type_text("for the guest\n");
    std::thread::sleep(Duration::from_secs(3));
    typist.type_text(END);
    let shown = typist.wait_for("ready> ");
    assert_eq!(shown.matches("for the guest").count(), 2, "{shown:?}");
}

#[test]
fn others_in_a_pipeline_write_lines() {
    let place = Place::new();
    let mut typist = Typist::new();
    typist.type_line(&format!("{} run --no-cwd -- cat | sed -u 's/^/seen /'", place.belljar()));
    std::thread::sleep(Duration::from_secs(1));
    typist.type_text("one\n");
    typist.wait_for("seen one\r\n");
    typist.type_text(STOP);
    typist.wait_for("Stopped");
    typist.wait_for("ready> ");
    typist.type_line("fg");
    typist.wait_for("sed");
    std::thread::sleep(Duration::from_millis(500));
    typist.type_text("two\n");
    typist.wait_for("seen two\r\n");
    typist.type_text(INTERRUPT);
    typist.wait_for("ready> ");
    typist.assert_usual_modes();
}

#[test]
fn the_terminal_is_as_before_however_it_ends() {
    let place = Place::new();
    for signal in ["TERM", "HUP", "INT", "QUIT"] {
        let mut typist = Typist::new();
        let raw = "stty raw -echo; printf \"begun\\r\\n\"; exec cat";
        start(&mut typist, &format!("{} run --no-cwd -- sh -c '{raw}'", place.belljar()));
        let inside = descendants(typist.root());
        println!("SIG{signal}");
        kill(&typist, &place.belljar(), signal);
        typist.wait_for("ready> ");
        typist.assert_usual_modes();
        let shell = descendants(typist.root());
        assert_gone(&inside.difference(&shell).copied().collect());
    }
    // Nobody can put it back who was killed, but everything ends.
    let mut typist = Typist::new();
    let shell = descendants(typist.root());
    start(
        &mut typist,
        &format!("{} run --no-cwd -- sh -c 'echo begun; sleep 1000'", place.belljar()),
    );
    let inside = descendants(typist.root());
    kill(&typist, &place.belljar(), "KILL");
    typist.wait_for("ready> ");
    assert_gone(&inside.difference(&shell).copied().collect());
}

/// Sends a signal to the process that started the sandbox with this program, and to it alone. That is
/// the one whose parent is the shell: which one is the oldest cannot be told when both are of one tick.
fn kill(typist: &Typist, belljar: &str, signal: &str) {
    let parent = format!("--parent={}", typist.root());
    let found = Command::new("pgrep").args([&parent, "--full", belljar]).output().unwrap();
    let id = String::from_utf8(found.stdout).unwrap();
    let killed = Command::new("kill").arg(format!("-{signal}")).arg(id.trim()).status().unwrap();
    assert!(killed.success());
}

#[test]
fn the_window_changes_its_size_for_a_guest_that_never_reads() {
    let place = Place::new();
    for way in &place.ways {
        let mut typist = Typist::new();
        let script = "trap \"stty size; exit 3\" WINCH; echo begun; while :; do sleep 0.1; done";
        start(&mut typist, &format!("{way}{} run --no-cwd -- bash -c '{script}'", place.belljar()));
        typist.resize(91, 37);
        typist.wait_for("37 91");
        assert_eq!(typist.wait_for_code(), "code 3", "{way}");
    }
}

#[test]
fn a_skill_is_interrupted_and_stopped() {
    let place = Place::new();
    let skill = place.folder.path().join("sleeper");
    std::fs::create_dir(&skill).unwrap();
    let manifest = "---\nname: sleeper\ndescription: Sleeps.\n---\n";
    std::fs::write(skill.join("SKILL.md"), manifest).unwrap();
    std::fs::write(skill.join("sleep.sh"), "#!/bin/sh\necho begun\nexec sleep 1000\n").unwrap();
    let work = place.folder.path().join("work");
    std::fs::create_dir(&work).unwrap();
    let mut typist = Typist::new();
    typist.ask(&format!("cd {}", work.display()));
    let run = format!("{} skill run {}", place.belljar(), skill.display());
    start(&mut typist, &run);
    typist.type_text(INTERRUPT);
    assert_eq!(typist.wait_for_code(), "code 130");
    start(&mut typist, &run);
    typist.type_text(STOP);
    typist.wait_for("Stopped");
    typist.wait_for("ready> ");
    typist.type_line("fg");
    typist.wait_for("skill run");
    std::thread::sleep(Duration::from_millis(300));
    typist.type_text(INTERRUPT);
    assert_eq!(typist.wait_for_code(), "code 130");
    typist.assert_usual_modes();
    // What is said at the end is in lines.
    connects_in_vain(&skill);
    typist.type_line(&run);
    let said = typist.wait_for("ready> ");
    assert!(said.contains("192.0.2.1") && !said.replace("\r\n", "").contains('\n'), "{said:?}");
}

/// Makes the skill read from the terminal and connect to somewhere, about which something is said.
fn connects_in_vain(skill: &Path) {
    let script = "#!/bin/bash\nstty -echo\nstty echo\n: < /dev/tcp/192.0.2.1/80\nexit 0\n";
    std::fs::write(skill.join("sleep.sh"), script).unwrap();
}
