//! What installers print, and how they are configured.

use std::collections::BTreeMap;

use skills::install::{
    Source, build_requirements, explain, failed_script, missing_requirement, npm_source,
    packages_with_scripts, pip_source, source_archive,
};

/// Reads text as everything that an installer may print.
///
/// # Panics
///
/// If something is let through that names anything but a package of the registry, or a key is told.
pub fn answers(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let wanted = build_requirements(&text).unwrap_or_default();
    for requirement in wanted.iter().chain(&missing_requirement(&text)) {
        let is_package = requirement.starts_with(|c: char| c.is_ascii_alphanumeric());
        assert!(is_package && !requirement.contains(['/', '@', '\\', '\n']), "{requirement:?}");
    }
    if let Some(archive) = source_archive(&text) {
        assert!(!archive.contains('/') && !archive.starts_with(['.', '-']), "{archive:?}");
    }
    let _ = packages_with_scripts(&text);
    let _ = failed_script(&text);
    let _ = explain(skills::install::Installer::Pip, &text, "");
    let none = BTreeMap::new();
    for source in [pip_source(&text, &text), npm_source(&text, &text, &none)] {
        assert!(source.hosts.iter().all(|host| !host.contains('@')), "{:?}", source.hosts);
        let _ = source.without_keys();
        let _ = source.redacted(&text);
    }
    const KEY: &str = "key-of-the-registry";
    let mut source = Source::default();
    source.env.insert("PIP_INDEX_URL".to_owned(), format!("https://me:{KEY}@r.example/"));
    assert!(!source.redacted(&format!("{text}{KEY}{text}")).contains(KEY));
}
