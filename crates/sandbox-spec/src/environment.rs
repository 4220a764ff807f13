//! The guest's environment.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

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
    vec![
        pair("PATH", OsStr::new("/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")),
        pair("HOME", identity.home.as_os_str()),
        pair("USER", OsStr::new(&identity.name)),
        pair("LOGNAME", OsStr::new(&identity.name)),
        pair("SHELL", OsStr::new("/bin/sh")),
        pair("LANG", OsStr::new("C.UTF-8")),
    ]
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
