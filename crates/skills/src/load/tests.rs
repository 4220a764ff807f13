//! Loading of good, odd and hostile skills.

use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::testing::{MANIFEST, Put, SkillBuilder, archive, saved};

fn load_bytes(bytes: &[u8]) -> Result<Skill, LoadError> {
    let (_dir, path) = saved(bytes);
    load(&path, &Limits::default())
}

fn rules(skill: &Skill) -> Vec<&str> {
    skill.findings.iter().map(|finding| finding.rule).collect()
}

/// Replaces every occurrence of one byte string by another of the same length.
fn patched(mut bytes: Vec<u8>, from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let places: Vec<usize> =
        (0..bytes.len() - from.len()).filter(|at| bytes[*at..].starts_with(from)).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
    bytes
}

#[test]
fn loads_a_folder() {
    let skill = SkillBuilder::new("a").program("scripts/x.sh", "echo").file("data/y", "12").load();
    assert_eq!(skill.name(), "a");
    assert_eq!(skill.body, "# Steps\n");
    assert!(skill.find_file("scripts/x.sh").unwrap().is_executable);
    assert_eq!(skill.find_file("data/y").unwrap().size, 2);
    assert!(skill.findings.is_empty());
}

#[test]
fn a_program_in_an_archive_can_be_run_though_it_lost_its_bit() {
    let files = [Put::File("a/SKILL.md", MANIFEST), Put::File("a/scripts/go", b"\x7fELF...")];
    let skill = load_bytes(&archive(&files)).unwrap();
    assert!(skill.find_file("scripts/go").unwrap().is_executable);
    assert!(!skill.find_file("SKILL.md").unwrap().is_executable);
}

#[test]
fn loads_the_folder_of_a_manifest() {
    let made = SkillBuilder::new("a");
    assert_eq!(load(&made.path().join("SKILL.md"), &Limits::default()).unwrap().name(), "a");
}

#[test]
fn loads_an_archive_with_and_without_a_top_folder() {
    let skill =
        load_bytes(&archive(&[Put::File("a/SKILL.md", MANIFEST), Put::File("a/x", b"1")])).unwrap();
    assert_eq!((skill.folder_name.as_str(), skill.origin), ("a", Origin::Archive));
    assert_eq!(skill.read_text(skill.find_file("x").unwrap()).unwrap(), "1");
    assert!(skill.findings.is_empty());

    let skill = load_bytes(&archive(&[Put::File("SKILL.md", MANIFEST)])).unwrap();
    assert_eq!(skill.folder_name, "a");
    assert_eq!(rules(&skill), ["archive-top"]);
}

#[test]
fn the_unpacked_folder_goes_with_the_skill() {
    let skill = load_bytes(&archive(&[Put::File("a/SKILL.md", MANIFEST)])).unwrap();
    let root = skill.root.clone();
    assert!(root.exists());
    drop(skill);
    assert!(!root.exists());
}

#[test]
fn paths_that_leave_are_reported_and_not_written() {
    for bad in ["../evil", "/tmp/evil", "a/../../evil", "a\\evil", "C:/evil"] {
        let skill =
            load_bytes(&archive(&[Put::File("a/SKILL.md", MANIFEST), Put::File(bad, b"x")]))
                .unwrap();
        assert!(rules(&skill).contains(&"file-path"), "{bad}: {:?}", skill.findings);
        assert!(skill.has_unsafe_files());
        assert!(!skill.files.iter().any(|entry| entry.path.contains("evil")));
        assert!(!skill.root.parent().unwrap().join("evil").exists());
    }
}

#[test]
fn links_that_leave_are_reported_and_not_made() {
    for target in ["/etc/passwd", "../../x", "..", "x/../../.."] {
        let entries = [Put::File("a/SKILL.md", MANIFEST), Put::Link("a/l", target)];
        let skill = load_bytes(&archive(&entries)).unwrap();
        assert_eq!(rules(&skill), ["file-link"], "{target}");
        assert!(skill.find_file("l").is_none());
    }
}

#[test]
fn links_that_stay_are_made() {
    let entries = [Put::File("a/SKILL.md", MANIFEST), Put::Link("a/d/l", "../SKILL.md")];
    let skill = load_bytes(&archive(&entries)).unwrap();
    assert!(skill.findings.is_empty(), "{:?}", skill.findings);
    assert!(matches!(skill.find_file("d/l").unwrap().kind, crate::skill::FileKind::Link { .. }));
}

#[test]
fn nothing_is_written_through_a_link() {
    let entries = [
        Put::File("a/SKILL.md", MANIFEST),
        Put::File("a/d/z", b"1"),
        Put::Link("a/l", "d"),
        Put::File("a/l/x", b"through"),
        Put::File("a/f", b"1"),
        Put::File("a/f/y", b"beneath a file"),
    ];
    let skill = load_bytes(&archive(&entries)).unwrap();
    assert_eq!(rules(&skill), ["file-through", "file-through"]);
}

#[test]
fn two_entries_with_one_name_are_found() {
    let bytes = archive(&[
        Put::File("a/SKILL.md", MANIFEST),
        Put::File("a/one.sh", b"good"),
        Put::File("a/two.sh", b"evil"),
    ]);
    let skill = load_bytes(&patched(bytes, b"a/two.sh", b"a/one.sh")).unwrap();
    assert!(rules(&skill).contains(&"file-duplicate"), "{:?}", skill.findings);
}

#[test]
fn two_spellings_of_one_path_are_found() {
    let entries =
        [Put::File("a/SKILL.md", MANIFEST), Put::File("a/x", b"good"), Put::File("a/./x", b"evil")];
    let skill = load_bytes(&archive(&entries)).unwrap();
    assert_eq!(rules(&skill), ["file-duplicate"]);
}

#[test]
fn entries_that_share_bytes_are_refused() {
    use std::io::Write as _;
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    writer.start_file("a/SKILL.md", options).unwrap();
    writer.write_all(MANIFEST).unwrap();
    writer.shallow_copy_file("a/SKILL.md", "a/copy").unwrap();
    let bytes = writer.finish().unwrap().into_inner();
    assert!(matches!(load_bytes(&bytes), Err(LoadError::Overlap)));
}

#[test]
fn an_entry_with_two_names_is_found() {
    let bytes = archive(&[Put::File("a/SKILL.md", MANIFEST), Put::File("a/good", b"1")]);
    // The first is where the data are, the second in the central directory.
    let at = bytes.windows(6).position(|it| it == b"a/good").unwrap();
    let mut other = bytes.clone();
    other[at..at + 6].copy_from_slice(b"a/evil");
    assert_eq!(rules(&load_bytes(&other).unwrap()), ["file-two-names"]);
    let skill = load_bytes(&[b"#!/bin/sh\n".as_slice(), &bytes].concat()).unwrap();
    assert_eq!(rules(&skill), ["archive-start"]);
    assert!(!skill.has_unsafe_files());
}

#[test]
fn archives_that_cannot_be_unpacked_are_errors() {
    let bytes = archive(&[Put::File("a/SKILL.md", MANIFEST)]);
    // The flag for encryption, in both headers of the entry.
    let mut locked = bytes.clone();
    let central = bytes.windows(4).position(|it| it == b"PK\x01\x02").unwrap();
    for at in [6, central + 8] {
        locked[at] |= 1;
    }
    assert!(matches!(load_bytes(&locked), Err(LoadError::Archive { .. })));
    // A byte of the content that the checksum does not fit.
    let stored =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    writer.start_file("a/SKILL.md", stored).unwrap();
    std::io::Write::write_all(&mut writer, MANIFEST).unwrap();
    let wrong = patched(writer.finish().unwrap().into_inner(), b"Does", b"Doez");
    assert!(matches!(load_bytes(&wrong), Err(LoadError::Read { .. })));
    // Large sizes are no sign of anything by themselves.
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    writer.start_file("a/SKILL.md", stored.large_file(true)).unwrap();
    std::io::Write::write_all(&mut writer, MANIFEST).unwrap();
    let large = writer.finish().unwrap().into_inner();
    assert!(load_bytes(&large).unwrap().findings.is_empty());
}

#[test]
fn names_that_differ_in_case_are_found() {
    let entries =
        [Put::File("a/SKILL.md", MANIFEST), Put::File("a/X", b"1"), Put::File("a/x", b"2")];
    assert_eq!(rules(&load_bytes(&archive(&entries)).unwrap()), ["file-case-clash"]);
}

#[test]
fn a_bomb_is_not_unpacked() {
    let zeros = vec![0; 8 * 1024 * 1024];
    let bytes = archive(&[Put::File("a/SKILL.md", MANIFEST), Put::File("a/z", &zeros)]);
    assert!(matches!(load_bytes(&bytes), Err(LoadError::Bomb { .. })));
}

#[test]
fn a_size_that_lies_does_not_help_a_bomb() {
    let zeros = vec![0; 8 * 1024 * 1024];
    let bytes = archive(&[Put::File("a/SKILL.md", MANIFEST), Put::File("a/z", &zeros)]);
    let lie = patched(bytes, &(8_u32 * 1024 * 1024).to_le_bytes(), &100_u32.to_le_bytes());
    assert!(load_bytes(&lie).is_err());
}

#[test]
fn counts_and_sizes_are_limited() {
    let entries =
        [Put::File("a/SKILL.md", MANIFEST), Put::File("a/x", b"12345"), Put::File("a/y", b"12345")];
    let (_dir, path) = saved(&archive(&entries));
    let with = |limits| load(&path, &limits).unwrap_err();
    let base = Limits::default();
    assert!(matches!(with(Limits { entries: 2, ..base }), LoadError::TooManyEntries(2)));
    assert!(matches!(with(Limits { file_bytes: 4, ..base }), LoadError::FileTooLarge { .. }));
    assert!(matches!(with(Limits { total_bytes: 60, ..base }), LoadError::TooLarge(60)));
}

#[test]
fn cut_and_scrambled_archives_are_errors() {
    let bytes = archive(&[Put::File("a/SKILL.md", MANIFEST), Put::File("a/x", &[7; 500])]);
    for cut in 0..bytes.len() {
        assert!(load_bytes(&bytes[..cut]).is_err());
    }
    for at in 0..bytes.len() {
        let mut scrambled = bytes.clone();
        scrambled[at] ^= 0xff;
        // Any answer will do, as long as there is one.
        let _ = load_bytes(&scrambled);
    }
}

#[test]
fn says_what_is_not_a_skill() {
    let dir = tempfile::tempdir().unwrap();
    let is = |path: &Path| load(path, &Limits::default()).unwrap_err();
    assert!(matches!(is(&dir.path().join("none")), LoadError::NotFound(_)));
    assert!(matches!(is(dir.path()), LoadError::NoManifest(_)));
    let text = dir.path().join("x.txt");
    std::fs::write(&text, "hello").unwrap();
    assert!(matches!(is(&text), LoadError::NotASkill(_)));
    assert!(matches!(load_bytes(b"PK nonsense"), Err(LoadError::Archive { .. })));
    assert!(matches!(
        load_bytes(&archive(&[Put::File("a/x", b"")])),
        Err(LoadError::NoManifest(_))
    ));
}

#[test]
fn a_folder_may_not_link_outside() {
    let made = SkillBuilder::new("a")
        .link("out", "/etc/passwd")
        .link("up", "../..")
        .link("in", "SKILL.md");
    let skill = made.load();
    assert_eq!(rules(&skill), ["file-link", "file-link"]);
    assert!(skill.find_file("in").is_some());
}

#[test]
fn a_manifest_that_is_not_text_is_an_error() {
    let bytes = archive(&[Put::File("a/SKILL.md", b"---\nname: \xff\n---\n")]);
    assert!(matches!(load_bytes(&bytes), Err(LoadError::NotText { line: 2, column: 7 })));
}

#[test]
fn a_skill_without_description_is_not_loaded() {
    let made = SkillBuilder::new("a").file("SKILL.md", "---\nname: a\n---\n");
    assert!(matches!(load(&made.path(), &Limits::default()), Err(LoadError::NoDescription)));
}

#[test]
fn special_files_and_odd_modes_in_archives_are_found() {
    let entry = |name: &str, mode: u32| {
        let mut bytes = archive(&[Put::File("a/SKILL.md", MANIFEST), Put::File(name, b"")]);
        // The high half of the external attributes of the last entry in the central directory.
        let at = bytes.windows(4).rposition(|part| part == b"PK\x01\x02").unwrap();
        bytes[at + 5] = 3;
        bytes[at + 40..at + 42].copy_from_slice(&u16::try_from(mode).unwrap().to_le_bytes());
        load_bytes(&bytes).unwrap()
    };
    for kind in [0o010_644, 0o020_644, 0o060_644, 0o140_644] {
        let skill = entry("a/p", kind);
        assert_eq!(rules(&skill), ["file-kind"], "{kind:o}");
        assert!(skill.has_unsafe_files());
        assert!(skill.find_file("p").is_none());
    }
    // Rights of the owner are not taken over.
    let skill = entry("a/p", 0o104_755);
    let mode = std::fs::metadata(skill.host_path("p")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o755);
}

#[test]
fn a_folder_is_held_to_what_an_archive_may_hold() {
    let skill = SkillBuilder::new("a")
        .file("tab\there", "")
        .file("back\\slash", "")
        .file("aux.txt", "")
        .link("round", "round")
        .link("nowhere", "gone")
        .load();
    let mut found = rules(&skill);
    found.sort_unstable();
    assert_eq!(found, ["file-path", "file-path", "link-target", "link-target", "name-portable"]);
    let limits = Limits { file_bytes: 3, ..Limits::default() };
    let built = SkillBuilder::new("a");
    let skill = load(&built.path(), &limits).unwrap();
    assert_eq!(rules(&skill), ["size-limit"]);
    assert!(!skill.has_unsafe_files());
}
