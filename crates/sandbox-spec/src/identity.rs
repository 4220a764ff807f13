//! Who the guest is.

use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::os_text;

/// The user that the guest's first program runs as.
///
/// An ordinary user by default: programs that find themselves to be root try to change owners,
/// to drop privileges or to write into system folders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
    /// Further groups.
    pub groups: Vec<u32>,
    /// The name that `/etc/passwd` and `/etc/group` give to them.
    pub name: String,
    /// The home folder, which exists and is writable.
    #[serde(with = "os_text::path")]
    pub home: PathBuf,
}

impl Default for Identity {
    fn default() -> Self {
        Self {
            uid: 1000,
            gid: 1000,
            groups: Vec::new(),
            name: "user".to_owned(),
            home: "/home/user".into(),
        }
    }
}

impl Identity {
    /// The superuser of the sandbox. It has no more rights on the host than anybody else inside.
    pub fn root() -> Self {
        Self { uid: 0, gid: 0, groups: Vec::new(), name: "root".to_owned(), home: "/root".into() }
    }
}

/// A user that cannot be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    /// Not a number.
    #[error("a user is given as UID or UID:GID, in numbers, or as root")]
    NotANumber,
    /// The value that Linux uses for "leave as it is".
    #[error("4294967295 is no user or group id")]
    Reserved,
}

impl FromStr for Identity {
    type Err = IdentityError;

    /// Reads `UID`, `UID:GID` or `root`. Without a group it has the number of the user.
    fn from_str(text: &str) -> Result<Self, IdentityError> {
        if text == "root" {
            return Ok(Self::root());
        }
        let (uid, gid) = text.split_once(':').unwrap_or((text, text));
        let (uid, gid) = (id(uid)?, id(gid)?);
        let known = if uid == 0 { Self::root() } else { Self::default() };
        Ok(Self { uid, gid, ..known })
    }
}

fn id(text: &str) -> Result<u32, IdentityError> {
    match text.parse() {
        Ok(u32::MAX) => Err(IdentityError::Reserved),
        Ok(id) => Ok(id),
        Err(_) => Err(IdentityError::NotANumber),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_may_be_left_out() {
        let identity: Identity = "7".parse().unwrap();
        assert_eq!((identity.uid, identity.gid, identity.name.as_str()), (7, 7, "user"));
        assert_eq!("0:5".parse::<Identity>().unwrap().home, PathBuf::from("/root"));
    }

    #[test]
    fn refuses_what_is_no_number() {
        assert_eq!("me".parse::<Identity>(), Err(IdentityError::NotANumber));
        assert_eq!("4294967295".parse::<Identity>(), Err(IdentityError::Reserved));
    }
}
