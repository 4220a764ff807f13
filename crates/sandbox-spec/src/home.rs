//! `~` at the start of a path, which is a shell's notation and not Linux's.

use std::path::{Path, PathBuf};

/// What a path with `~` at its start means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tilde<'p> {
    /// The rest, from the user's home folder.
    Home(&'p Path),
    /// Somebody else's home, by name: not looked up.
    Other,
    /// There is none.
    None,
}

impl<'p> Tilde<'p> {
    /// Looks at the first name of a path.
    pub fn of(path: &'p Path) -> Self {
        if let Ok(rest) = path.strip_prefix("~") {
            return Self::Home(rest);
        }
        if path.as_os_str().as_encoded_bytes().starts_with(b"~") {
            return Self::Other;
        }
        Self::None
    }
}

/// The path with the home folder in the place of a leading `~`. `None` if that is not known.
pub fn expand_home(path: &Path, home: Option<&Path>) -> Option<PathBuf> {
    match Tilde::of(path) {
        Tilde::Home(rest) => home.map(|home| home.join(rest)),
        Tilde::Other => None,
        Tilde::None => Some(path.to_path_buf()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_leading_tilde_is_the_home() {
        let expand = |path: &str| expand_home(Path::new(path), Some(Path::new("/home/ann")));
        assert_eq!(expand("~/.ssh"), Some("/home/ann/.ssh".into()));
        assert_eq!(expand("~"), Some("/home/ann".into()));
        assert_eq!(expand("a/~/b"), Some("a/~/b".into()));
        assert_eq!(expand("./~/b"), Some("./~/b".into()));
        assert_eq!(expand("~bob/b"), None);
        assert_eq!(expand_home(Path::new("~/b"), None), None);
    }
}
