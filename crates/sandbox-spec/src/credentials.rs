//! Where credentials usually are on a host. [`list`] is the one list, and says why each is on it.
//!
//! A folder that is shown to a guest without being named as such (the current folder, a project)
//! is shown without these places. Whoever names one of them, as the source of a mount, gets it.
//! The list is of places, not of contents: a key that lies in a project is not found by it.

mod list;

use std::path::{Path, PathBuf};

pub use list::{
    CredentialPlace, HIDDEN_NAMES, IN_HOME, LOOKED_FOR, NAMES, NAMES_IN_FOLDERS, ON_SYSTEM,
    SecretName,
};

/// The places of [`IN_HOME`] in this home folder, and those of [`ON_SYSTEM`], with what they hold.
pub fn credential_places(home: Option<&Path>) -> Vec<(PathBuf, &'static str)> {
    let in_home = home
        .into_iter()
        .flat_map(|home| IN_HOME.iter().map(move |place| (home.join(place.path), place.holds)));
    in_home.chain(ON_SYSTEM.iter().map(|place| (place.path.into(), place.holds))).collect()
}

/// What an absolute path holds by the list, if it is one of its places or lies in one.
pub fn credentials_at(path: &Path, home: Option<&Path>) -> Option<&'static str> {
    let in_home = home.and_then(|home| path.strip_prefix(home).ok()).and_then(|rest| {
        IN_HOME.iter().find(|place| rest.starts_with(place.path)).map(|place| place.holds)
    });
    in_home.or_else(|| {
        let is_in = |place: &&CredentialPlace| {
            path.starts_with(place.path) && home.is_none_or(|home| !home.starts_with(place.path))
        };
        ON_SYSTEM.iter().find(is_in).map(|place| place.holds)
    })
}

/// What a folder that is shown as a whole holds by the list: as [`credentials_at`], or, if places
/// of the list are in it, that they are.
pub fn credentials_in(path: &Path, home: Option<&Path>) -> Option<&'static str> {
    credentials_at(path, home).or_else(|| {
        let is_around = credential_places(home).iter().any(|(place, _)| place.starts_with(path));
        is_around.then_some("the places where keys and passwords are")
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_place_is_written_once_and_cleanly() {
        let mut seen = BTreeSet::new();
        for place in IN_HOME.iter().chain(ON_SYSTEM).chain(LOOKED_FOR) {
            assert!(seen.insert(place.path), "{} is there twice", place.path);
            let names = place.path.trim_start_matches('/').split('/');
            assert!(names.into_iter().all(|it| !matches!(it, "" | "." | "..")), "{}", place.path);
            assert!(!place.holds.is_empty(), "{} has no reason", place.path);
        }
        assert!(IN_HOME.iter().all(|place| !place.path.starts_with('/')));
        assert!(ON_SYSTEM.iter().all(|place| place.path.starts_with('/')));
    }

    #[test]
    fn every_name_is_written_once_and_is_one_name() {
        let mut seen = BTreeSet::new();
        for name in HIDDEN_NAMES.iter().copied().chain(NAMES.iter().map(|it| it.name)) {
            assert!(!name.is_empty() && !name.contains('/'), "{name}");
            seen.insert(name);
        }
        assert_eq!(HIDDEN_NAMES.iter().collect::<BTreeSet<_>>().len(), HIDDEN_NAMES.len());
        assert_eq!(NAMES.iter().map(|it| it.name).collect::<BTreeSet<_>>().len(), NAMES.len());
        for name in [".ssh", ".netrc", "id_rsa", "npmrc", ".env"] {
            assert!(seen.contains(name) && HIDDEN_NAMES.contains(&name), "{name}");
        }
        assert!(!HIDDEN_NAMES.contains(&"docker.sock") && !HIDDEN_NAMES.contains(&".claude"));
    }

    #[test]
    fn a_place_is_itself_and_what_is_in_it() {
        let at = |path: &str| credentials_at(Path::new(path), Some(Path::new("/home/ann")));
        assert_eq!(at("/home/ann/.ssh"), Some("SSH keys"));
        assert_eq!(at("/home/ann/.ssh/id_ed25519"), Some("SSH keys"));
        assert_eq!(at("/home/ann/.sshrc"), None);
        assert_eq!(at("/home/ann"), None);
        assert_eq!(at("/home/bob/.ssh"), None);
        assert_eq!(at("/etc/shadow"), Some("hashes of passwords"));
        assert_eq!(at("/etc/passwd"), None);
    }

    #[test]
    fn a_home_in_a_place_of_the_system_is_a_home() {
        let at = |path: &str| credentials_at(Path::new(path), Some(Path::new("/root")));
        assert_eq!(at("/root/project"), None);
        assert_eq!(at("/root/.aws/credentials"), Some("AWS keys"));
        assert_eq!(
            credentials_at(Path::new("/root/project"), None),
            Some("the home folder of root")
        );
    }

    #[test]
    fn a_folder_around_places_holds_them() {
        let within = |path: &str| credentials_in(Path::new(path), Some(Path::new("/home/ann")));
        assert_eq!(within("/home/ann/.ssh"), Some("SSH keys"));
        for around in ["/", "/home", "/home/ann", "/home/ann/.config"] {
            assert_eq!(within(around), Some("the places where keys and passwords are"));
        }
        assert_eq!(within("/home/ann/project"), None);
    }

    #[test]
    fn all_places_have_their_paths_on_this_host() {
        let places = credential_places(Some(Path::new("/home/ann")));
        assert!(places.contains(&("/home/ann/.netrc".into(), "passwords of hosts")));
        assert!(places.contains(&("/etc/shadow".into(), "hashes of passwords")));
        assert_eq!(credential_places(None).len(), ON_SYSTEM.len());
    }
}
