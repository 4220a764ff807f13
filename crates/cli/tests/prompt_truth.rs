//! Who is asked sees what goes, what is risky and what weighs most, and what was declined stays so.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that fails here shall say so")]

mod place;
mod pty;
mod terminal_pair;

use std::fs;
use std::os::unix::fs::symlink;

use place::Place;
use pty::{Elsewhere, Pty};

fn run(place: &Place) -> Pty {
    Pty::start(&place.skill(&["run", "../probe"]), Elsewhere::Nothing)
}

/// The line that names something.
#[track_caller]
fn line<'t>(text: &'t str, what: &str) -> &'t str {
    let found = text.lines().find(|line| line.contains(what));
    found.unwrap_or_else(|| panic!("no `{what}` in:\n{text}"))
}

#[test]
fn what_goes_is_shown_before_what_is_new_and_counted() {
    let place = Place::with_script(
        "#!/bin/sh\nfor n in $(seq 100 160); do echo x > $n.txt; done\nrm -r src; rm zz.txt\n\
         echo other > thesis.txt; rm -r data; echo file > data\n",
    );
    for file in ["src/a", "src/b", "src/deep/c", "data/d", "zz.txt", "thesis.txt"] {
        place.file(&format!("work/{file}"), "mine\n");
    }
    let mut pty = run(&place);
    pty.wait_for("work? [y/N] ");
    let text = pty.text();
    let shown = text.split_once(" in ").unwrap().1;
    let at = |what: &str| {
        shown.lines().position(|line| line.contains(what)).unwrap_or_else(|| panic!("{text}"))
    };
    let first_new = at("created  100.txt");
    for (what, mark) in [
        ("removed  src/  a folder with 3 files in it", '!'),
        ("changed  data  5 bytes; it was a folder with 1 file in it", '!'),
        ("removed  zz.txt", ' '),
        ("changed  thesis.txt", ' '),
    ] {
        assert!(at(what) < first_new, "{text}");
        assert!(line(shown, what).starts_with(mark), "{text}");
    }
    // What has left the screen is said again at its end.
    let screen = pty.screen();
    assert!(screen.contains("removed  src/  a folder with 3 files in it"), "{screen}");
    assert!(screen.contains("! 2 folders and 5 files removed"), "{screen}");
    assert!(text.contains("more that are new"), "{text}");
    pty.type_text("n\n");
    assert_eq!(pty.finish(), Some(0));
    assert_eq!(place.work_file("src/deep/c"), "mine\n");
    let kept = place.kept();
    let listed = place.output(&["apply", kept[0].to_str().unwrap()]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    assert!(!place.path("work/src").exists() && place.work_file("data") == "file\n");
}

#[test]
fn links_in_the_place_of_folders_examples_and_other_repositories_are_marked() {
    let place = Place::with_script(
        "#!/bin/sh\nmkdir -p .git/hooks own lib/hooks/objects lib/hooks/refs\n\
         ln -s own .vscode; ln -s own .github; ln -s ../../own .git/hooks/pre-push.sample\n\
         echo x > .git/hooks/pre-rebase.sample\n\
         echo 'ref: refs/heads/main' > lib/hooks/HEAD; echo '[core]' > lib/hooks/config\n\
         mkdir tools; echo x > tools/post-checkout\n\
         ln -s . here; ln -s here/../.ssh keys; ln -s own/x inside\n",
    );
    let done = place.run(&[]);
    for (what, why) in [
        (".vscode -> own", "an editor runs it"),
        (".github -> own", "runs on the servers"),
        (".git/hooks/pre-push.sample ->", "a git hook: git runs it"),
        ("lib/hooks/HEAD", "settings of git"),
        ("lib/hooks/config", "settings of git"),
        ("tools/post-checkout", "the name of a git hook"),
        ("keys -> here/../.ssh", "leads out of the folder"),
        ("inside -> own/x", "a link: whoever opens it"),
    ] {
        let line = line(&done.err, what);
        assert!(line.starts_with('!') && line.contains(why), "{what}: {}", done.err);
    }
    let sample = line(&done.err, "pre-rebase.sample");
    assert!(!sample.starts_with('!'), "git does not run it: {sample}");
    assert!(!line(&done.err, "inside -> own/x").contains("leads out"), "{}", done.err);
}

#[test]
fn a_link_through_a_link_of_the_users_leads_out() {
    let place = Place::with_script("#!/bin/sh\nln -s data/secret x; ln -s own/x y; mkdir own\n");
    symlink(place.path("home"), place.path("work/data")).unwrap();
    let done = place.run(&[]);
    assert!(line(&done.err, "x -> data/secret").contains("leads out"), "{}", done.err);
    assert!(!line(&done.err, "y -> own/x").contains("leads out"), "{}", done.err);
}

#[test]
fn a_folder_that_was_declined_does_not_come_back_with_a_file_in_it() {
    let place = Place::with_script("#!/bin/sh\nrm thesis; mkdir thesis; echo x > thesis/x\n");
    place.file("work/thesis", "years of work\n");
    let mut pty = run(&place);
    pty.wait_for("work? [y/N] ");
    pty.type_text("f\n");
    for (n, answer) in ["n", "y"].into_iter().enumerate() {
        pty.wait_for_sent("no more [y/N] ", n + 1);
        pty.type_text(&format!("{answer}\n"));
    }
    assert_eq!(pty.finish(), Some(0), "{}", pty.text());
    assert_eq!(place.work_file("thesis"), "years of work\n");
    assert!(pty.text().contains("the folder above is declined"), "{}", pty.text());
    assert_eq!(place.kept().len(), 1, "what was not written is kept");
}

#[test]
fn the_weightiest_wish_of_a_kind_is_seen() {
    let place = Place::with_script("#!/bin/sh\ntrue\n");
    let mut policy = String::from("mounts:\n");
    for n in 0..100 {
        let source = place.path(&format!("data/{n}"));
        fs::create_dir_all(&source).unwrap();
        let source = source.display();
        policy.push_str(&format!("  - {{source: {source}, target: /d{n}, access: write}}\n"));
    }
    policy.push_str("  - {source: /, target: /host, access: write}\nenv:\n  pass:\n");
    for n in 10..40 {
        policy.push_str(&format!("    - A_SETTING_{n}\n"));
    }
    policy.push_str("    - GITHUB_TOKEN\n    - ZZ_API_KEY\n");
    policy.push_str("network: {allow: [a.example.org, b.example.org, '*']}\n");
    place.file("probe/belljar.yaml", &policy);
    let mut pty = run(&place);
    pty.wait_for("Grant this? [y/N] ");
    let (text, screen) = (pty.text(), pty.screen());
    let first = text.lines().find(|line| line.contains("mount: ")).unwrap();
    assert!(first.contains("read and write / as /host"), "{text}");
    for what in ["GITHUB_TOKEN, a secret by its name", "ZZ_API_KEY, a secret by its name"] {
        assert!(text.contains(what), "{what}: {text}");
    }
    for what in ["read and write / as /host", "contact *", "GITHUB_TOKEN"] {
        assert!(screen.contains(what), "{what}: {screen}");
    }
    pty.type_text("\n");
    assert_eq!(pty.finish(), Some(0));
}

#[test]
fn images_titles_fonts_and_sizes_of_a_guest_are_gone() {
    let script = "#!/bin/sh\necho x > fine.txt\nprintf ready\n\
         while [ ! -e /go/on ]; do sleep 0.05; done\n\
         printf '\\033_Ga=T,f=24,s=1,v=1,z=9;AAAA\\033\\\\\\033[22;0t\\033]50;huge\\033\\\\'\n\
         printf '\\033[8;1;1t\\033]4;7;#000000\\033\\\\\\033[5i\\033[1$}\\033[2h'\n";
    let place = Place::with_script(script);
    place.file("go/empty", "");
    let mount = format!("{}:/go", place.path("go").display());
    let command = place.skill(&["run", "--mount", &mount, "../probe"]);
    let mut pty = Pty::start(&command, Elsewhere::Nothing);
    pty.wait_for("ready");
    // The emulator does not do as it is told; a terminal would.
    pty.set_size(1, 1);
    place.file("go/on", "");
    pty.wait_for_sent("work? [y/N] ", 1);
    let text = pty.text();
    let after = text.rsplit_once("\u{1b}[2h").unwrap().1;
    for sequence in [
        "\u{1b}_Ga=d,d=A,q=2\u{1b}\\",
        "\u{1b}[23;0t",
        "\u{1b}]50;#0\u{1b}\\",
        "\u{1b}]104\u{1b}\\",
        "\u{1b}[4i",
        "\u{1b}[0$}",
        "\u{1b}[2l",
        "\u{1b}[8;24;80t",
    ] {
        let at = after.find(sequence);
        assert!(at.is_some() && at < after.find("created  fine.txt"), "{sequence:?}: {after:?}");
    }
    pty.type_text("n\n");
    assert_eq!(pty.finish(), Some(0));
}
