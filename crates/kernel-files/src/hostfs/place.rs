//! Where files of the host are found.

use std::cell::RefCell;
use std::rc::Rc;

use host_sys::rustix;
use linux_abi::{Errno, SysResult};

use super::inode::HostInode;

/// How many other names of a file are remembered.
const MAX_OTHER_PLACES: usize = 64;

/// Where a file was last found.
#[derive(Clone)]
pub(super) struct Place {
    pub parent: Rc<HostInode>,
    pub name: Rc<[u8]>,
}

impl Place {
    pub fn is(&self, other: &Self) -> bool {
        self.is_in(&other.parent, &other.name)
    }

    pub fn is_in(&self, parent: &HostInode, name: &[u8]) -> bool {
        std::ptr::eq(&*self.parent, parent) && *self.name == *name
    }
}

/// Other names that a file had or got, for when the one that it is known by goes.
#[derive(Default)]
pub(super) struct OtherPlaces(RefCell<Vec<Place>>);

impl OtherPlaces {
    pub fn add(&self, place: Place) {
        let mut places = self.0.borrow_mut();
        places.retain(|known| !known.is(&place));
        if places.len() >= MAX_OTHER_PLACES {
            places.remove(0);
        }
        places.push(place);
    }

    /// Gives the place of this name, if it is one of them, for another one.
    pub fn exchange(&self, parent: &HostInode, name: &[u8], for_this: &Place) -> Option<Place> {
        let mut places = self.0.borrow_mut();
        let known = places.iter_mut().find(|known| known.is_in(parent, name))?;
        Some(std::mem::replace(known, for_this.clone()))
    }

    /// The one that was added last.
    pub fn take(&self) -> Option<Place> {
        self.0.borrow_mut().pop()
    }
}

impl HostInode {
    /// The name that the file was known by is gone: another one that it had or got, if it has it.
    pub(super) fn find_again(&self) -> Option<(Place, rustix::fs::Statx)> {
        while let Some(other) = self.other_places.take() {
            if let Ok(stat) = self.stat_at(&other) {
                self.moved_to(other.clone());
                return Some((other, stat));
            }
        }
        None
    }

    /// Does something with the file where it is found. It may have lost the name that it was known by
    /// since somebody looked.
    pub(super) fn where_it_is<T>(
        &self,
        place: &Place,
        act: impl Fn(&Place) -> SysResult<T>,
    ) -> SysResult<T> {
        act(place).or_else(|errno| match errno {
            Errno::ENOENT | Errno::ESTALE => {
                self.find_again().map_or(Err(errno), |(other, _)| act(&other))
            }
            _ => Err(errno),
        })
    }
}
