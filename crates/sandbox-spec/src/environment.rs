//! The guest's environment.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use crate::Identity;

/// What one `--env` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnvironmentItem {
    /// `NAME=VALUE`.
    Value(OsString, OsString),
    /// `NAME`: the host's value, if it has one.
    FromHost(OsString),
}

/// An environment item that cannot be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnvironmentError {
    /// There is no name before the `=`.
    #[error(
        "an environment variable needs a name: write NAME=VALUE, or NAME to pass the host's value on"
    )]
    NoName,
}

impl EnvironmentItem {
    /// Reads `NAME=VALUE` or `NAME`.
    pub fn parse(text: &OsStr) -> Result<Self, EnvironmentError> {
        let mut parts = text.as_bytes().splitn(2, |byte| *byte == b'=');
        let name = parts.next().unwrap_or_default().to_vec();
        if name.is_empty() {
            return Err(EnvironmentError::NoName);
        }
        let name = OsString::from_vec(name);
        Ok(match parts.next() {
            Some(value) => Self::Value(name, OsString::from_vec(value.to_vec())),
            None => Self::FromHost(name),
        })
    }
}

/// What a program finds in its environment when nobody says otherwise. Programs expect a `PATH`, a
/// home and a locale that can print every character; of the host's environment nothing is passed.
pub fn default_environment(identity: &Identity) -> Vec<(OsString, OsString)> {
    let pair = |name: &str, value: &OsStr| (name.into(), value.to_owned());
    let mut path = OsString::from("/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    let installed = user_packages(identity);
    if let Some(installed) = &installed {
        // Last, so that no package can put itself before a program of the system.
        path.push(":");
        path.push(&installed.programs);
    }
    let mut environment = vec![
        pair("PATH", &path),
        pair("HOME", identity.home.as_os_str()),
        pair("USER", OsStr::new(&identity.name)),
        pair("LOGNAME", OsStr::new(&identity.name)),
        pair("SHELL", OsStr::new("/bin/sh")),
        pair("LANG", OsStr::new("C.UTF-8")),
    ];
    let variables = installed.into_iter().flat_map(|installed| installed.variables);
    environment.extend(variables.map(|(name, value)| (name.into(), value.into_os_string())));
    environment
}

/// Where tools put what a user installs for all projects.
pub struct UserPackages {
    /// The folder of programs, for the end of `PATH`.
    pub programs: PathBuf,
    /// What tools are told.
    pub variables: Vec<(&'static str, PathBuf)>,
}

/// Where tools put what this user installs for all projects: into the home folder, which goes with
/// the sandbox. Nothing for root, who may write where they put it anyway.
pub fn user_packages(identity: &Identity) -> Option<UserPackages> {
    if identity.uid == 0 {
        return None;
    }
    let local = identity.home.join(".local");
    // Without one, pnpm keeps its store in the user's project, which is another file system.
    let store = local.join("share/pnpm/store");
    Some(UserPackages {
        programs: local.join("bin"),
        variables: vec![
            ("NPM_CONFIG_PREFIX", local),
            ("NPM_CONFIG_STORE_DIR", store.clone()),
            ("PNPM_CONFIG_STORE_DIR", store),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<EnvironmentItem, EnvironmentError> {
        EnvironmentItem::parse(OsStr::new(text))
    }

    #[test]
    fn splits_at_the_first_equals_sign() {
        assert_eq!(parse("A=b=c"), Ok(EnvironmentItem::Value("A".into(), "b=c".into())));
        assert_eq!(parse("A="), Ok(EnvironmentItem::Value("A".into(), "".into())));
    }

    #[test]
    fn a_bare_name_asks_for_the_hosts_value() {
        assert_eq!(parse("A"), Ok(EnvironmentItem::FromHost("A".into())));
    }

    #[test]
    fn refuses_a_value_without_a_name() {
        assert_eq!(parse("=x"), Err(EnvironmentError::NoName));
        assert_eq!(parse(""), Err(EnvironmentError::NoName));
    }
}
