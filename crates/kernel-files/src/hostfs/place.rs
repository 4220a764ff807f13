//! Where files of the host are found.

use std::cell::RefCell;
use std::rc::Rc;

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
