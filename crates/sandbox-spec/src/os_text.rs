//! How names that need not be Unicode are written: as a string where they are, as a list of
//! bytes where they are not. For use with `#[serde(with = "...")]`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Name {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<&OsStr> for Name {
    fn from(name: &OsStr) -> Self {
        match name.to_str() {
            Some(text) => Self::Text(text.to_owned()),
            None => Self::Bytes(name.as_bytes().to_vec()),
        }
    }
}

impl From<Name> for OsString {
    fn from(name: Name) -> Self {
        match name {
            Name::Text(text) => text.into(),
            Name::Bytes(bytes) => Self::from_vec(bytes),
        }
    }
}

/// A path.
pub mod path {
    use super::Name;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::ffi::OsString;
    use std::path::{Path, PathBuf};

    /// Writes a path.
    pub fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        Name::from(path.as_os_str()).serialize(to)
    }

    /// Reads a path.
    pub fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<PathBuf, D::Error> {
        Ok(OsString::from(Name::deserialize(from)?).into())
    }
}

/// Paths.
pub mod paths {
    use super::Name;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::ffi::OsString;
    use std::path::PathBuf;

    /// Writes paths.
    pub fn serialize<S: Serializer>(paths: &[PathBuf], to: S) -> Result<S::Ok, S::Error> {
        let names: Vec<Name> = paths.iter().map(|path| Name::from(path.as_os_str())).collect();
        names.serialize(to)
    }

    /// Reads paths.
    pub fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Vec<PathBuf>, D::Error> {
        let names = Vec::<Name>::deserialize(from)?;
        Ok(names.into_iter().map(|name| PathBuf::from(OsString::from(name))).collect())
    }
}

/// A path that need not be there.
pub mod optional_path {
    use super::Name;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::ffi::OsString;
    use std::path::PathBuf;

    /// Writes a path.
    pub fn serialize<S: Serializer>(path: &Option<PathBuf>, to: S) -> Result<S::Ok, S::Error> {
        path.as_ref().map(|path| Name::from(path.as_os_str())).serialize(to)
    }

    /// Reads a path.
    pub fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Option<PathBuf>, D::Error> {
        let name = Option::<Name>::deserialize(from)?;
        Ok(name.map(|name| PathBuf::from(OsString::from(name))))
    }
}

/// A list of names, such as a program's arguments.
pub mod list {
    use super::Name;
    use serde::{Deserialize, Deserializer, Serializer};
    use std::ffi::OsString;

    /// Writes a list.
    pub fn serialize<S: Serializer>(names: &[OsString], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(names.iter().map(|name| Name::from(name.as_os_str())))
    }

    /// Reads a list.
    pub fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Vec<OsString>, D::Error> {
        Ok(Vec::<Name>::deserialize(from)?.into_iter().map(Into::into).collect())
    }
}

/// A list of names with values, such as an environment.
pub mod pairs {
    use super::Name;
    use serde::{Deserialize, Deserializer, Serializer};
    use std::ffi::OsString;

    /// Writes a list of pairs.
    pub fn serialize<S: Serializer>(
        pairs: &[(OsString, OsString)],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(
            pairs
                .iter()
                .map(|(name, value)| (Name::from(name.as_os_str()), Name::from(value.as_os_str()))),
        )
    }

    /// Reads a list of pairs.
    pub fn deserialize<'a, D: Deserializer<'a>>(
        from: D,
    ) -> Result<Vec<(OsString, OsString)>, D::Error> {
        let pairs = Vec::<(Name, Name)>::deserialize(from)?;
        Ok(pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}
