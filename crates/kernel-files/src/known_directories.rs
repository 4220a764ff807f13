//! Directories that absolute paths led to lately.
//!
//! Programs open many files of one directory by absolute paths. Where such a path leads up to its last
//! component is remembered until anything changes that somebody could notice (`facts`), for who
//! walked there.

use std::cell::RefCell;
use std::hash::{BuildHasher, Hasher};
use std::rc::{Rc, Weak};

use foldhash::fast::FixedState;
use kernel_core::credentials::Credentials;
use kernel_core::facts;

use crate::dentry::Dentry;
use crate::mount::{Location, Mount};

/// How many are remembered.
const N_KNOWN: usize = 8;

/// A longer path to a directory is not remembered.
const MAX_PREFIX: usize = 256;

/// The directories that a process has found lately. They are not held: what goes, goes.
#[derive(Default)]
pub(crate) struct KnownDirectories(RefCell<[Known; N_KNOWN]>);

#[derive(Default)]
struct Known {
    /// An absolute path with a slash at its end; empty if nothing is known here.
    prefix: Vec<u8>,
    mount: Weak<Mount>,
    dentry: Weak<Dentry>,
    /// Who found it: others may not be allowed to.
    credentials: Weak<Credentials>,
    /// How many symbolic links are on the way.
    n_links: u32,
    /// The count of changes at that time.
    names: u64,
}

impl KnownDirectories {
    /// Where `prefix` leads, and through how many links, if that is known and still true for
    /// `credentials`.
    pub(crate) fn find(
        &self,
        prefix: &[u8],
        credentials: &Rc<Credentials>,
    ) -> Option<(Location, u32)> {
        let all = self.0.borrow();
        let known = all.get(place(prefix))?;
        if known.names != facts::now().names
            || !std::ptr::eq(known.credentials.as_ptr(), Rc::as_ptr(credentials))
            || known.prefix != prefix
        {
            return None;
        }
        let location = Location { mount: known.mount.upgrade()?, dentry: known.dentry.upgrade()? };
        Some((location, known.n_links))
    }

    /// Remembers that `prefix` leads to `location`, through so many links.
    pub(crate) fn add(
        &self,
        prefix: &[u8],
        (location, n_links): (&Location, u32),
        credentials: &Rc<Credentials>,
    ) {
        if prefix.len() > MAX_PREFIX {
            return;
        }
        if let Some(known) = self.0.borrow_mut().get_mut(place(prefix)) {
            known.prefix.clear();
            known.prefix.extend_from_slice(prefix);
            known.mount = Rc::downgrade(&location.mount);
            known.dentry = Rc::downgrade(&location.dentry);
            known.credentials = Rc::downgrade(credentials);
            known.n_links = n_links;
            known.names = facts::now().names;
        }
    }

    /// Forgets all.
    pub(crate) fn clear(&self) {
        *self.0.borrow_mut() = Default::default();
    }
}

fn place(prefix: &[u8]) -> usize {
    let mut hasher = FixedState::default().build_hasher();
    hasher.write(prefix);
    usize::try_from(hasher.finish() % N_KNOWN as u64).unwrap_or(0)
}
