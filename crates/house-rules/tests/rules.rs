//! The rules of this workspace. A failure says what to do.

use house_rules::{attacks, guest_trees, layers, output, pages, project, skips, sources};

fn none(violations: &[String]) {
    assert!(violations.is_empty(), "\n{}\n", violations.join("\n"));
}

#[test]
fn crates_depend_only_downwards() {
    none(&layers::violations(&layers::crates(&project()).unwrap()));
}

#[test]
fn unsafe_stays_within_its_border() {
    none(&sources::unsafe_outside_the_border(&sources::all(&project()).unwrap()));
}

#[test]
fn files_are_short() {
    none(&sources::too_long(&sources::all(&project()).unwrap()));
}

#[test]
fn files_open_with_what_they_are() {
    none(&sources::without_introduction(&sources::all(&project()).unwrap()));
}

#[test]
fn trees_of_guests_are_not_reached_by_path() {
    let sources = sources::all(&project()).unwrap();
    none(&guest_trees::by_path(&sources));
}

#[test]
fn pages_are_up_to_date() {
    let stale = |page: &pages::Page| {
        let text = std::fs::read_to_string(project().join(page.path)).unwrap_or_default();
        (text != page.text).then(|| format!("{} is stale: run `cargo xtask docs`", page.path))
    };
    none(&pages::all().iter().filter_map(stale).collect::<Vec<_>>());
}

#[test]
fn the_tour_names_every_crate() {
    let tour = std::fs::read_to_string(project().join("ARCHITECTURE.md")).unwrap();
    let crates = layers::crates(&project()).unwrap();
    let missing = crates.iter().filter(|one| !tour.contains(&format!("`{}`", one.name)));
    none(
        &missing
            .map(|one| format!("ARCHITECTURE.md does not name `{}`", one.name))
            .collect::<Vec<_>>(),
    );
}

#[test]
fn every_attack_has_a_test() {
    let text = std::fs::read_to_string(project().join("SECURITY.md")).unwrap();
    none(&attacks::violations(&text, &project()).unwrap());
}

#[test]
fn what_strangers_wrote_is_shown_by_one_function() {
    none(&output::around_the_one_function(&sources::all(&project()).unwrap()));
}

#[test]
fn no_test_is_ignored() {
    let word = concat!("#[ign", "ore");
    let all = sources::all(&project()).unwrap();
    let ignored = all.iter().filter(|source| source.text.contains(word));
    none(&ignored.map(|source| format!("{} ignores a test", source.path)).collect::<Vec<_>>());
}

#[test]
fn a_test_that_is_skipped_says_so_in_one_way() {
    let all = sources::all(&project()).unwrap();
    none(&skips::said_otherwise(&all));
    none(&skips::silent_returns(&all));
}

/// The lists of what does not work, and how long each is: lower a number when its list has become
/// shorter. It is never raised.
const LISTS: [(&str, &str, usize); 3] = [
    ("guest-tests/exceptions.txt", "", 2),
    ("tests/cpython/exceptions.toml", "[[exception]]", 1),
    ("conformance/known-failures.txt", "", 91),
];

#[test]
fn known_failures_only_become_fewer() {
    let mut wrong = Vec::new();
    for (path, start, number) in LISTS {
        let text = std::fs::read_to_string(project().join(path)).unwrap();
        let is_entry =
            |line: &&str| !line.is_empty() && !line.starts_with('#') && line.starts_with(start);
        let count = text.lines().filter(is_entry).count();
        if count != number {
            wrong.push(format!("{path} has {count} entries, and its number here is {number}"));
        }
    }
    none(&wrong);
}
