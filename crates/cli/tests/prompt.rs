//! Who is asked at the terminal sees what it is about, whatever a skill has done to the terminal, to
//! its own names, and to what was typed before.

mod place;
mod pty;
mod terminal_pair;

use std::fs;
use std::os::unix::fs::symlink;

use place::Place;
use pty::{Elsewhere, Pty};

const HOOK: &str = ".git/hooks/pre-commit";
/// Writes a hook, which git would run, and something harmless.
const WRITES_A_HOOK: &str = "mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit; \
                             chmod +x .git/hooks/pre-commit; echo fine > fine.txt";

fn run(place: &Place, elsewhere: Elsewhere) -> Pty {
    Pty::start(&place.skill(&["run", "../probe"]), elsewhere)
}

#[test]
fn a_skill_cannot_hide_what_is_asked_nor_have_it_answered_beforehand() {
    let tricks = [
        r"\033[8m",
        r"\033[30;40m",
        r"\033[2;2r\033[2;1H",
        r"\033[?1049h\033[2J",
        r"\033]0;no end",
        r"\033Pno end",
        r"\033[24;1H\033[1;1r",
        r"\033(0\033[?25l\033[?7l",
    ];
    for trick in tricks {
        // It asks for something else, and what is typed for that stays in the queue.
        let script = format!(
            "#!/bin/sh\n{WRITES_A_HOOK}\nprintf '1 created in /work:\\n  created  fine.txt\\n'\n\
             printf 'Write this? [y/N] '; while [ ! -e /go/on ]; do sleep 0.05; done\n\
             printf '{trick}'\n"
        );
        let place = Place::with_script(&script);
        place.file("go/empty", "");
        let mount = format!("{}:/go", place.path("go").display());
        let command = place.skill(&["run", "--mount", &mount, "../probe"]);
        let mut pty = Pty::start(&command, Elsewhere::Nothing);
        pty.wait_for("Write this?");
        pty.type_text("y\ry\ny\r\n");
        place.file("go/on", "");
        pty.wait_for("file by file");
        pty.wait_for("work? [y/N] ");
        let screen = pty.screen();
        assert!(screen.contains(&format!("! created  {HOOK}  5 bytes  <- a git hook")), "{screen}");
        assert!(screen.contains("created  fine.txt"), "{screen}");
        // The emulator does not know concealed text.
        let text = pty.text();
        assert!(text.rfind("\u{1b}[0m") > text.rfind("\u{1b}[8m"), "{trick}");
        pty.type_text("n\n");
        assert_eq!(pty.finish(), Some(0));
        assert!(pty.text().contains("kept aside"), "{trick}: {}", pty.text());
        assert!(!place.path("work/.git").exists(), "{trick}");
    }
}

#[test]
fn an_answer_is_for_one_question_only() {
    let place = Place::with_script(&format!("#!/bin/sh\n{WRITES_A_HOOK}\n"));
    place.file("probe/belljar.yaml", "env: {set: {MODE: fast}}\n");
    let mut pty = run(&place, Elsewhere::Nothing);
    pty.wait_for("Grant this? [y/N] ");
    pty.type_text("y\ny\ny\n");
    pty.wait_for("work? [y/N] ");
    pty.type_text("\n");
    assert_eq!(pty.finish(), Some(0));
    assert!(!place.path("work/.git").exists());
    assert!(pty.text().contains("kept aside"), "{}", pty.text());
}

#[test]
fn differences_are_shown_and_files_are_chosen_one_by_one() {
    let place = Place::with_script(&format!(
        "#!/bin/sh\n{WRITES_A_HOOK}\nprintf 'one\\nTWO\\n' > old.txt; mkdir new; echo x > new/x\n"
    ));
    place.file("work/old.txt", "one\ntwo\n");
    let mut pty = run(&place, Elsewhere::Nothing);
    pty.wait_for("work? [y/N] ");
    pty.type_text("d\n");
    pty.wait_for("  + evil");
    pty.wait_for_sent("work? [y/N] ", 2);
    assert!(pty.text().contains("    one\n  - two\n  + TWO\n"), "{}", pty.text());
    pty.type_text("f\n");
    // What deserves a close look is asked about first, then what is overwritten, then what is new.
    let answers = ["d", "n", "y", "y", "n"];
    for (n, answer) in answers.into_iter().enumerate() {
        pty.wait_for_sent("no more [y/N] ", n + 1);
        pty.type_text(&format!("{answer}\n"));
    }
    assert_eq!(pty.finish(), Some(0));
    let text = pty.text();
    assert!(text.contains("kept aside"), "{text}");
    assert!(!place.path("work/.git").exists());
    assert_eq!(place.work_file("fine.txt"), "fine\n");
    assert!(!place.path("work/new").exists());
    assert_eq!(place.work_file("old.txt"), "one\nTWO\n");
    let kept = place.kept();
    let listed = place.output(&["apply", "--dry-run", kept[0].to_str().unwrap()]);
    assert!(listed.out.contains(HOOK) && listed.out.contains("new/x"), "{listed:?}");
    assert!(!listed.out.contains("old.txt"), "{listed:?}");
    assert_eq!(place.output(&["apply", kept[0].to_str().unwrap()]).code, Some(0));
    assert!(place.path("work").join(HOOK).exists() && place.kept().is_empty());
}

#[test]
fn what_deserves_a_look_is_not_behind_others() {
    let place = Place::with_script(&format!(
        "#!/bin/sh\nfor n in $(seq 100 139); do echo x > $n.txt; done\n{WRITES_A_HOOK}\n\
         ln -s /etc/passwd accounts; echo '{{}}' > package.json; : > .note\n"
    ));
    let done = place.run(&[]);
    let marked = |text: &str, what: &str| {
        text.lines().any(|line| line.starts_with('!') && line.contains(what))
    };
    for what in [HOOK, "accounts -> /etc/passwd", "package.json", ".note"] {
        assert!(marked(&done.err, what), "{what}: {}", done.err);
    }
    assert!(done.err.contains("leads out of the folder"), "{}", done.err);
    let kept = place.kept();
    let listed = place.output(&["apply", "--dry-run", kept[0].to_str().unwrap()]).out;
    assert!(listed.lines().next().is_some_and(|line| line.contains(HOOK)), "{listed}");
    for n in 100..140 {
        assert!(listed.contains(&format!("created  {n}.txt")), "{listed}");
    }
    assert!(!listed.contains("more\n"), "{listed}");
    assert!(!place.path("work/accounts").exists());
}

#[test]
fn a_wish_is_not_pushed_out_of_sight() {
    let place = Place::with_script("#!/bin/sh\ntrue\n");
    let mut policy =
        String::from("mounts: [{source: /, target: /host, access: write}]\nenv:\n  set:\n");
    policy.push_str(&format!("    A: \"{}\"\n", "\\u00a0".repeat(3000)));
    for n in 0..150 {
        policy.push_str(&format!("    V{n}: x\n"));
    }
    place.file("probe/belljar.yaml", &policy);
    let mut pty = run(&place, Elsewhere::Nothing);
    pty.wait_for("Grant this? [y/N] ");
    let screen = pty.screen();
    assert!(screen.contains("mount: read and write / as /host"), "{screen}");
    assert!(pty.text().contains("151 env, 1 mount"), "{}", pty.text());
    assert!(!pty.text().contains('\u{a0}'));
    pty.type_text("\n");
    assert_eq!(pty.finish(), Some(0));
}

#[test]
fn names_are_shown_for_what_they_are() {
    let place = Place::with_script(
        "#!/bin/sh\nprintf x > \"$(printf 'a\\342\\200\\256gpj.sh')\"; \
         printf x > \"$(printf 'b\\033[8m')\"; printf x > \"$(printf 'c\\nd')\"\n",
    );
    let done = place.run(&[]);
    assert!(done.err.contains(r"a\u{202e}gpj.sh") && done.err.contains(r"b\u{1b}[8m"), "{done:?}");
    assert!(done.err.contains(r"c\nd"), "{done:?}");
    assert!(!done.err.contains('\u{202e}') && !done.err.contains('\u{1b}'), "{done:?}");
}

#[test]
fn the_question_is_at_the_terminal_and_nowhere_else() {
    let place = Place::with_script(&format!("#!/bin/sh\n{WRITES_A_HOOK}\n"));
    let mut pty = run(&place, Elsewhere::Errors);
    pty.wait_for("work? [y/N] ");
    assert!(pty.screen().contains(HOOK), "{}", pty.screen());
    pty.type_text("y\n");
    assert_eq!(pty.finish(), Some(0));
    assert!(place.path("work").join(HOOK).exists());
    assert!(!place.work_file("errors.txt").contains("[y/N]"));
    fs::remove_dir_all(place.path("work/.git")).unwrap();
    let mut pty = run(&place, Elsewhere::Input);
    assert_eq!(pty.finish(), Some(0));
    assert!(!pty.text().contains("[y/N]") && pty.text().contains("kept aside"), "{}", pty.text());
}

#[test]
fn the_end_of_any_program_is_told_on_a_terminal_that_shows_it() {
    let place = Place::new();
    symlink("/nonexistent", place.path("work/link")).unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_belljar"));
    let script = r"printf 'text\033[8m\033[?1049h\033[2J\033]0;x'; kill -SEGV $$";
    command.args(["run", "--", "sh", "-c", script]).current_dir(place.path("work"));
    let mut pty = Pty::start(&command, Elsewhere::Nothing);
    pty.wait_for("Segmentation fault");
    assert_eq!(pty.finish(), Some(128 + 11));
    // A program that ends well leaves the terminal as it wants it.
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_belljar"));
    command.args(["run", "--", "printf", r"\033[31mred"]).current_dir(place.path("work"));
    let mut pty = Pty::start(&command, Elsewhere::Nothing);
    assert_eq!(pty.finish(), Some(0));
    assert_eq!(pty.text(), "\u{1b}[31mred");
}
