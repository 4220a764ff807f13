//! Who the user is to git: the name and the e-mail address, and nothing else of the settings.
//!
//! The user's own settings are not shown to a sandbox, for they name helpers and addresses with
//! passwords. So the two values are read here, where git would look, and passed as variables.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use host_sys::beneath::read_named;
use sandbox_spec::{MAX_NAME_CHARS, printable_within};
use serde::Serialize;

use crate::options::home_folder;

/// How long a file of settings may be.
const MAX_SETTINGS_BYTES: u64 = 1 << 20;

/// A name and an e-mail address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GitIdentity {
    /// The name.
    pub name: Option<String>,
    /// The e-mail address.
    pub email: Option<String>,
}

impl GitIdentity {
    /// What git would say in this project: what the repository says goes before what the user says.
    pub fn find(project: &Path) -> Option<Self> {
        let named = |name: &str| std::env::var_os(name).map(PathBuf::from);
        let settings = named("XDG_CONFIG_HOME").or_else(|| Some(home_folder()?.join(".config")));
        let places = [
            Some(project.join(".git/config")),
            home_folder().map(|home| home.join(".gitconfig")),
            settings.map(|settings| settings.join("git/config")),
        ];
        let mut found = Self::default();
        for place in places.into_iter().flatten() {
            // What is not there, or is no file, says nothing.
            let Ok(bytes) = read_named(&place, MAX_SETTINGS_BYTES) else { continue };
            let said = read(&String::from_utf8_lossy(&bytes));
            found.name = found.name.or(said.name);
            found.email = found.email.or(said.email);
        }
        (found != Self::default()).then_some(found)
    }

    /// The variables that tell git.
    pub fn variables(&self) -> Vec<(OsString, OsString)> {
        let both = |what: &str, value: &Option<String>| -> Vec<(OsString, OsString)> {
            let value = value.iter();
            let names = ["AUTHOR", "COMMITTER"];
            value
                .flat_map(|value| {
                    names.map(|who| (format!("GIT_{who}_{what}").into(), value.clone().into()))
                })
                .collect()
        };
        [both("NAME", &self.name), both("EMAIL", &self.email)].concat()
    }

    /// In a line.
    pub fn words(&self) -> String {
        let shown = |value: &Option<String>| {
            value.as_deref().map_or("-".to_owned(), |it| printable_within(it, MAX_NAME_CHARS))
        };
        format!("{} <{}>", shown(&self.name), shown(&self.email))
    }
}

/// Reads the section `user`. The last value counts. What is included from elsewhere is not read.
fn read(text: &str) -> GitIdentity {
    let mut found = GitIdentity::default();
    let mut is_user = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            is_user = line.eq_ignore_ascii_case("[user]");
            continue;
        }
        let Some((name, value)) = line.split_once('=').filter(|_| is_user) else { continue };
        let value = Some(unquoted(value)).filter(|value| !value.is_empty());
        match name.trim().to_ascii_lowercase().as_str() {
            "name" => found.name = value,
            "email" => found.email = value,
            _ => {}
        }
    }
    found
}

/// A value without quotes, comments and what no name or address has.
fn unquoted(value: &str) -> String {
    let (mut text, mut is_quoted, mut characters) = (String::new(), false, value.trim().chars());
    while let Some(character) = characters.next() {
        match character {
            '"' => is_quoted = !is_quoted,
            '\\' => text.extend(characters.next()),
            '#' | ';' if !is_quoted => break,
            other if other.is_control() => {}
            other => text.push(other),
        }
    }
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_name_and_address_are_read() {
        let text = "[core]\n  name = wrong\n[User]\n\tname = \"Ann # \\\"A\\\"\" ; c\n email=a@b.org # x\n\
                    signingkey = K\n[credential]\n email = z\n helper = store\n";
        let found = read(text);
        assert_eq!(found.name.as_deref(), Some("Ann # \"A\""));
        assert_eq!(found.email.as_deref(), Some("a@b.org"));
        assert_eq!(found.variables().len(), 4);
        assert_eq!(read("name = x\n[user \"sub\"]\nname = y\n"), GitIdentity::default());
        assert_eq!(read("[user]\nname =\nemail"), GitIdentity::default());
    }
}
