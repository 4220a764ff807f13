//! A folder or file of the host that a sandbox is shown: by its path, or held by a descriptor.
//!
//! Between a look at a path and its mount, whoever may write there can put something else in its
//! place. What a descriptor holds stays what it was, whatever has its name by then. So whoever looks
//! at a place first hands on the descriptor that was looked at.
//!
//! A specification is data, and descriptors are not. A place that goes to another process as text
//! says that it is held; its descriptor goes beside the text, by inheritance or in a message of a
//! socket, and [`SandboxSpec::attach`](crate::SandboxSpec::attach) joins them again.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::os_text;

/// A folder or file of the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostPlace {
    /// What this path leads to when the sandbox starts. It is opened once.
    Path(#[serde(with = "os_text::path")] PathBuf),
    /// What a descriptor holds.
    Held(HeldPlace),
}

/// What a descriptor holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeldPlace {
    /// Where it was found. For words, and never opened again.
    #[serde(with = "os_text::path")]
    path: PathBuf,
    /// Missing in what was read from text, until it is attached.
    #[serde(skip)]
    descriptor: Option<Arc<OwnedFd>>,
}

impl HeldPlace {
    /// The descriptor, unless it has not been attached yet.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.descriptor.as_deref().map(AsFd::as_fd)
    }

    pub(crate) fn attach(&mut self, descriptor: OwnedFd) {
        self.descriptor = Some(Arc::new(descriptor));
    }
}

impl PartialEq for HeldPlace {
    /// Whether both hold the same by the same descriptor.
    fn eq(&self, other: &Self) -> bool {
        let descriptors = (&self.descriptor, &other.descriptor);
        let is_same = match descriptors {
            (Some(one), Some(another)) => Arc::ptr_eq(one, another),
            (None, None) => true,
            _ => false,
        };
        is_same && self.path == other.path
    }
}

impl Eq for HeldPlace {}

impl HostPlace {
    /// What a descriptor holds that was found at a path.
    pub fn held(path: impl Into<PathBuf>, descriptor: impl Into<OwnedFd>) -> Self {
        let descriptor = Some(Arc::new(descriptor.into()));
        Self::Held(HeldPlace { path: path.into(), descriptor })
    }

    /// Where it is, or was found. For words: what is held may have another name by now.
    pub fn path(&self) -> &Path {
        match self {
            Self::Path(path) => path,
            Self::Held(held) => &held.path,
        }
    }

    /// What holds it, if it is held.
    pub fn as_held(&self) -> Option<&HeldPlace> {
        match self {
            Self::Path(_) => None,
            Self::Held(held) => Some(held),
        }
    }

    pub(crate) fn as_held_mut(&mut self) -> Option<&mut HeldPlace> {
        match self {
            Self::Path(_) => None,
            Self::Held(held) => Some(held),
        }
    }
}

impl<P: Into<PathBuf>> From<P> for HostPlace {
    fn from(path: P) -> Self {
        Self::Path(path.into())
    }
}

/// Descriptors that do not belong to a specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the specification holds {expected} places, and {given} descriptors came with it")]
pub struct AttachError {
    /// How many places are held.
    pub expected: usize,
    /// How many descriptors there are.
    pub given: usize,
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsRawFd;

    use super::*;
    use crate::{Mount, SandboxSpec};

    fn null() -> OwnedFd {
        File::open("/dev/null").unwrap().into()
    }

    #[test]
    fn descriptors_go_beside_the_text_and_are_joined_again_in_order() {
        let mut spec = SandboxSpec::new(["x"]);
        let mount: Mount = "/a:/a:overlay".parse().unwrap();
        spec.mounts.push(Mount { source: HostPlace::held("/b", null()), ..mount.clone() });
        let upper = Some(HostPlace::held("/upper", null()));
        spec.mounts.push(Mount { upper, ..mount.clone() });
        spec.mounts.push(Mount { source: HostPlace::held("/c", null()), ..mount });
        let paths: Vec<_> = spec.held_places().map(|held| held.path.clone()).collect();
        assert_eq!(paths, [Path::new("/b"), Path::new("/upper"), Path::new("/c")]);

        let text = serde_json::to_string(&spec).unwrap();
        let mut read: SandboxSpec = serde_json::from_str(&text).unwrap();
        assert!(read.held_places().all(|held| held.descriptor().is_none()));
        assert_ne!(read, spec, "what has no descriptor is not the same");
        let too_few = read.attach(vec![null()]);
        assert_eq!(too_few, Err(AttachError { expected: 3, given: 1 }));
        assert!(read.held_places().all(|held| held.descriptor().is_none()));
        let sent = [null(), null(), null()];
        let numbers: Vec<_> = sent.iter().map(AsRawFd::as_raw_fd).collect();
        read.attach(sent.into()).unwrap();
        let joined = read.held_places().map(|it| it.descriptor().unwrap().as_raw_fd());
        assert_eq!(joined.collect::<Vec<_>>(), numbers);
    }
}
