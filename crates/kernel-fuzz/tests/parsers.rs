//! The corpora of the parsers, and a short run of mutations, always from the same seeds.

use kernel_fuzz::corpus::{corpus, folder, mutations};
use kernel_fuzz::parsers::TARGETS;

#[test]
fn corpora_and_mutations_of_them_are_parsed() {
    for target in &TARGETS {
        let files = corpus(target.name).unwrap();
        assert!(!files.is_empty(), "{} has no corpus", target.name);
        mutations(target, &files, 1, 300).unwrap();
    }
}

#[test]
fn every_target_has_a_corpus_and_a_fuzz_target_and_nothing_else_has() {
    let mut names: Vec<_> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    names.sort();
    let list = |folder: std::path::PathBuf| {
        let entries = std::fs::read_dir(folder).unwrap().flatten();
        let name =
            |path: std::path::PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
        let mut names: Vec<String> = entries.map(|entry| name(entry.path())).collect();
        names.sort();
        names
    };
    assert_eq!(list(folder()), names);
    assert_eq!(list(folder().join("../fuzz_targets")), names);
}
