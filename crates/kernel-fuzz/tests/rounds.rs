//! A short run of the fuzzer, always from the same seeds.
use kernel_fuzz::round::{fill_root, round};
use kernel_fuzz::tally::Tally;

#[test]
fn nothing_panics_and_calls_get_somewhere() {
    let folder = tempfile::tempdir().unwrap();
    fill_root(folder.path()).unwrap();
    let mut tally = Tally::default();
    for seed in 1..=20 {
        round(folder.path(), seed, 2000, &mut tally, &mut |_, _| {}).unwrap();
    }
    // If the generator no longer fits the table, most calls fail at their first check.
    assert!(tally.n_different() > 700, "{} different answers", tally.n_different());
}

#[test]
fn a_seed_gives_the_same_calls() {
    let folder = tempfile::tempdir().unwrap();
    fill_root(folder.path()).unwrap();
    let run = || {
        let mut tally = Tally::default();
        round(folder.path(), 7, 300, &mut tally, &mut |_, _| {}).unwrap();
        tally.by_call.into_iter().map(|(name, answers)| (name, answers.good)).collect::<Vec<_>>()
    };
    assert_eq!(run(), run());
}
