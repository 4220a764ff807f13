//! What a skill wrote is kept, whatever ends the run, and is no more than the limit.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod place;
mod processes;

use std::fs;
use std::io::{Read, Write};
use std::process::{Child, Stdio};

use place::{Finished, Place, names};
use processes::start_until_ready;
use rustix::process::{Pid, Signal, kill_process};

#[test]
fn the_limit_of_the_disk_is_told_inside_and_outside() {
    let place = Place::with_script(
        "#!/bin/sh\nhead -c 3M /dev/zero > a || exit 1\nhead -c 6M /dev/zero > b && exit 2\n\
         rm a b\nhead -c 6M /dev/zero > c || exit 3\nls -l c | cut -d ' ' -f 5\n",
    );
    for work in [&["--disk", "8M"][..], &["--disk", "8M", "--work", "none"]] {
        let done = place.run(work);
        assert_eq!((done.code, done.out.as_str()), (Some(0), "6291456\n"), "{done:?}");
        assert!(done.err.contains("No space left on device"), "{done:?}");
        assert!(done.err.contains("the limit of 8M") && done.err.contains("hint: --disk"));
    }
    let done = place.run(&[]);
    assert_eq!(done.code, Some(2), "{done:?}");
    assert!(!done.err.contains("warning"), "{done:?}");
    place.file("p.yaml", "limits: {disk: 8M}\n");
    assert_eq!(place.run(&["--policy", "../p.yaml"]).code, Some(0));
}

/// Starts the skill and waits until it has written its file.
fn start(place: &Place) -> Child {
    start_until_ready(&mut place.skill(&["run", "../probe"]))
}

fn pid(number: u32) -> Pid {
    Pid::from_raw(i32::try_from(number).unwrap()).unwrap()
}

const WRITES_AND_WAITS: &str = "#!/bin/sh\necho made > made.txt\necho more >> old.txt\n\
                                [ $# = 0 ] || exit 0\necho ready\nsleep 1000\n";

#[test]
fn what_a_killed_run_wrote_is_found_by_the_next() {
    let place = Place::with_script(WRITES_AND_WAITS);
    place.file("work/old.txt", "old\n");
    let mut child = start(&place);
    let used = place.kept()[0].clone();
    let used = used.to_str().unwrap();
    let done = place.output_beside(&["apply", used]);
    done.is_failure(1, "is in use", "the end of the run");
    kill_process(pid(child.id()), Signal::KILL).unwrap();
    // The pipe closes when the last process of the sandbox has gone.
    child.stdout.take().unwrap().read_to_end(&mut Vec::new()).unwrap();
    child.wait().unwrap();
    assert_eq!(place.work_file("old.txt"), "old\n");
    let done = place.output_beside(&["run", "../probe", "--work", "../home", "--", "x"]);
    assert!(done.err.contains("an earlier run was cut off: probe wrote to"), "{done:?}");
    assert!(done.err.contains("1 created, 1 changed"), "{done:?}");
    assert!(done.err.contains(&format!("apply {used}")), "{done:?}");
    let again = place.output_beside(&["run", "../probe", "--work", "../home", "--", "x"]);
    assert!(!again.err.contains("cut off"), "{again:?}");
    let listed = place.output_beside(&["apply"]);
    assert!(listed.out.contains(used) && listed.out.contains("probe wrote to"), "{listed:?}");
    assert_eq!(place.output_beside(&["apply", used]).code, Some(0));
    assert_eq!(place.work_file("old.txt"), "old\nmore\n");
    assert_eq!(place.work_file("made.txt"), "made\n");
    assert!(place.kept().is_empty());
    assert_eq!(place.output_beside(&["apply"]).out, "nothing is kept\n");
}

#[test]
fn what_a_run_wrote_outlives_its_kernel() {
    let place = Place::with_script(WRITES_AND_WAITS);
    let mut child = start(&place);
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    let kernel = fs::read_to_string(children).unwrap();
    let kernel: u32 = kernel.split_whitespace().next().unwrap().parse().unwrap();
    kill_process(pid(kernel), Signal::KILL).unwrap();
    let mut words = String::new();
    child.stderr.take().unwrap().read_to_string(&mut words).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(125), "{words}");
    assert!(words.contains("error: ") && words.contains("created  made.txt"), "{words}");
    let kept = place.kept();
    assert!(words.contains(&format!("apply {}", kept[0].display())), "{words}");
    assert_eq!(fs::read(kept[0].join("files/made.txt")).unwrap(), b"made\n");
    assert!(names(&place.path("tmp")).is_empty());
}

#[test]
fn what_the_user_changed_meanwhile_is_not_replaced() {
    let place = Place::with_script("#!/bin/sh\necho theirs > old.txt\necho 1 > new.txt\n");
    place.file("work/old.txt", "old\n");
    assert_eq!(place.run(&[]).code, Some(0));
    let kept = place.kept()[0].clone();
    let kept = kept.to_str().unwrap();
    place.file("work/old.txt", "mine\n");
    let done = place.output(&["apply", kept]);
    done.is_failure(1, "old.txt was changed since the run began", "--overwrite");
    assert_eq!(place.work_file("old.txt"), "mine\n");
    assert_eq!(names(&place.path("work")), ["old.txt"], "half of it was written");
    assert_eq!(place.output(&["apply", "--overwrite", kept]).code, Some(0));
    assert_eq!(place.work_file("old.txt"), "theirs\n");
    assert_eq!(place.work_file("new.txt"), "1\n");
    assert!(place.kept().is_empty());
}

#[test]
fn what_changes_while_the_skill_runs_is_not_replaced() {
    let place = Place::with_script(
        "#!/bin/sh\nread old < old.txt\necho theirs > old.txt\necho ready\nread go\n",
    );
    place.file("work/old.txt", "old\n");
    let mut command = place.skill(&["run", "--apply", "../probe"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0; "ready\n".len()]).unwrap();
    place.file("work/old.txt", "mine\n");
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    let done = Finished::of(&child.wait_with_output().unwrap());
    done.is_failure(1, "old.txt was changed since the run began", "--overwrite");
    assert_eq!(place.work_file("old.txt"), "mine\n");
    assert_eq!(place.kept().len(), 1);
}

#[test]
fn a_large_file_is_copied_once_and_applied_whole() {
    const SIZE: usize = 12 << 20;
    let place = Place::with_script(
        "#!/bin/sh\nfor at in 0 5000000; do printf new | dd of=large bs=1 seek=$at conv=notrunc \
         2>/dev/null & done; wait; stat -c '%s %h' large\n",
    );
    let mut text = "old ".repeat(SIZE / 4);
    place.file("work/large", &text);
    let done = place.run(&["--apply"]);
    assert_eq!((done.code, done.out.as_str()), (Some(0), "12582912 1\n"), "{done:?}");
    for at in [0, 5_000_000] {
        text.replace_range(at..at + 3, "new");
    }
    assert!(place.work_file("large") == text);
}
