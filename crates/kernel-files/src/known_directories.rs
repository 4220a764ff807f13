//! Directories that paths led to lately.
//!
//! Programs use many files of one directory, or of its neighbours. Where such a path leads up to its
//! last component is remembered for who walked there, until anything changes that could lead elsewhere
//! ([`facts::ways`]): files that come and go do not.

use std::cell::RefCell;
use std::hash::{BuildHasher, Hasher};
use std::rc::{Rc, Weak};

use foldhash::fast::FixedState;
use kernel_core::credentials::Credentials;
use kernel_core::facts;

use crate::dentry::Dentry;
use crate::mount::{Location, Mount};

/// How many are remembered.
const N_KNOWN: usize = 16;

/// A longer path to a directory is not remembered.
const MAX_PREFIX: usize = 256;

/// The directories that a process has found lately. They are not held: what goes, goes.
#[derive(Default)]
pub(crate) struct KnownDirectories(RefCell<Vec<Known>>);

#[derive(Default)]
struct Known {
    /// A path with a slash at its end; empty if nothing is known here.
    prefix: Vec<u8>,
    /// Where the path starts.
    start: Spot,
    /// Where it leads.
    end: Spot,
    /// Who found it: others may not be allowed to.
    credentials: Weak<Credentials>,
    /// How many symbolic links are on the way.
    n_links: u32,
    /// The count of changes at that time.
    ways: u64,
}

/// A [`Location`] that is not held.
#[derive(Default)]
struct Spot {
    mount: Weak<Mount>,
    dentry: Weak<Dentry>,
}

impl Spot {
    fn of(location: &Location) -> Self {
        Self { mount: Rc::downgrade(&location.mount), dentry: Rc::downgrade(&location.dentry) }
    }

    /// A weak reference keeps its address from being used again, so equal addresses are one thing.
    fn is(&self, location: &Location) -> bool {
        std::ptr::eq(self.dentry.as_ptr(), Rc::as_ptr(&location.dentry))
            && std::ptr::eq(self.mount.as_ptr(), Rc::as_ptr(&location.mount))
    }

    fn location(&self) -> Option<Location> {
        Some(Location { mount: self.mount.upgrade()?, dentry: self.dentry.upgrade()? })
    }
}

impl KnownDirectories {
    /// Where `prefix` leads from `start`, and through how many links, if that is known and still
    /// true for `credentials`.
    pub(crate) fn find(
        &self,
        start: &Location,
        prefix: &[u8],
        credentials: &Rc<Credentials>,
    ) -> Option<(Location, u32)> {
        let all = self.0.borrow();
        let known = all.get(place(prefix))?;
        if known.ways != facts::ways()
            || known.prefix != prefix
            || !known.start.is(start)
            || !std::ptr::eq(known.credentials.as_ptr(), Rc::as_ptr(credentials))
        {
            return None;
        }
        Some((known.end.location()?, known.n_links))
    }

    /// Remembers that `prefix` leads from `start` to `end`, through so many links.
    pub(crate) fn add(
        &self,
        (start, prefix): (&Location, &[u8]),
        (end, n_links): (&Location, u32),
        credentials: &Rc<Credentials>,
    ) {
        if prefix.len() > MAX_PREFIX {
            return;
        }
        let mut all = self.0.borrow_mut();
        if all.is_empty() {
            all.resize_with(N_KNOWN, Known::default);
        }
        if let Some(known) = all.get_mut(place(prefix)) {
            known.prefix.clear();
            known.prefix.extend_from_slice(prefix);
            known.start = Spot::of(start);
            known.end = Spot::of(end);
            known.credentials = Rc::downgrade(credentials);
            known.n_links = n_links;
            known.ways = facts::ways();
        }
    }

    /// Forgets all.
    pub(crate) fn clear(&self) {
        self.0.borrow_mut().clear();
    }
}

fn place(prefix: &[u8]) -> usize {
    let mut hasher = FixedState::default().build_hasher();
    hasher.write(prefix);
    usize::try_from(hasher.finish() % N_KNOWN as u64).unwrap_or(0)
}
