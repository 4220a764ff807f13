//! Finding System V IPC objects by key and by id.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use kernel_core::credentials::Credentials;
use linux_abi::events::sysv::{IPC_CREAT, IPC_EXCL, IPC_PRIVATE};
use linux_abi::{Errno, SysResult};

use super::permission::{Guarded, Want};

/// How many bits of an id say where the object is. The rest tells its successors apart from it.
pub const INDEX_BITS: u32 = 15;

const INDEX_MASK: u32 = (1 << INDEX_BITS) - 1;
/// Ids are positive numbers of 31 bits.
const SEQUENCE_MASK: u32 = (1 << (31 - INDEX_BITS)) - 1;

struct Place<T> {
    sequence: u32,
    object: Option<Rc<T>>,
}

/// The objects of one kind.
pub struct IpcTable<T> {
    places: RefCell<Vec<Place<T>>>,
    free: RefCell<Vec<u32>>,
    by_key: RefCell<HashMap<i32, u32>>,
    n_objects: Cell<usize>,
    limit: usize,
}

impl<T: Guarded> IpcTable<T> {
    /// A table for at most `limit` objects.
    pub fn new(limit: usize) -> Self {
        Self {
            places: RefCell::default(),
            free: RefCell::default(),
            by_key: RefCell::default(),
            n_objects: Cell::new(0),
            limit,
        }
    }

    /// The object with this key, or a new one, as the flags of `semget`, `msgget` and `shmget` say.
    /// `check` refuses an object that is there but does not fit.
    pub fn get_or_make(
        &self,
        key: i32,
        flags: u32,
        who: &Credentials,
        check: impl FnOnce(&T) -> SysResult<()>,
        make: impl FnOnce() -> SysResult<T>,
    ) -> SysResult<u32> {
        let found = match key {
            IPC_PRIVATE => None,
            _ => self.by_key.borrow().get(&key).copied(),
        };
        let Some(id) = found else {
            if key != IPC_PRIVATE && flags & IPC_CREAT == 0 {
                return Err(Errno::ENOENT);
            }
            return self.insert(key, make);
        };
        if flags & (IPC_CREAT | IPC_EXCL) == IPC_CREAT | IPC_EXCL {
            return Err(Errno::EEXIST);
        }
        let object = self.find(id)?;
        check(&object)?;
        object.permission().get().check(who, Want(flags & 0o777))?;
        Ok(id)
    }

    fn insert(&self, key: i32, make: impl FnOnce() -> SysResult<T>) -> SysResult<u32> {
        if self.n_objects.get() >= self.limit {
            return Err(Errno::ENOSPC);
        }
        let object = Rc::new(make()?);
        let mut places = self.places.borrow_mut();
        let index = match self.free.borrow_mut().pop() {
            Some(index) => index,
            None => {
                let index = u32::try_from(places.len()).map_err(|_| Errno::ENOSPC)?;
                places.push(Place { sequence: 0, object: None });
                index
            }
        };
        let place = places.get_mut(index as usize).ok_or(Errno::ENOSPC)?;
        place.object = Some(object);
        let id = place.sequence << INDEX_BITS | index;
        self.n_objects.set(self.n_objects.get() + 1);
        if key != IPC_PRIVATE {
            self.by_key.borrow_mut().insert(key, id);
        }
        Ok(id)
    }

    /// The object with this id; `EINVAL` if there is none.
    pub fn find(&self, id: u32) -> SysResult<Rc<T>> {
        let places = self.places.borrow();
        let place = places.get((id & INDEX_MASK) as usize).ok_or(Errno::EINVAL)?;
        if place.sequence != id >> INDEX_BITS {
            return Err(Errno::EINVAL);
        }
        place.object.clone().ok_or(Errno::EINVAL)
    }

    /// The id and the object in this place, as `SEM_STAT` and its like ask for.
    pub fn find_by_index(&self, index: u32) -> SysResult<(u32, Rc<T>)> {
        let places = self.places.borrow();
        let place = places.get(index as usize).ok_or(Errno::EINVAL)?;
        let object = place.object.clone().ok_or(Errno::EINVAL)?;
        Ok((place.sequence << INDEX_BITS | index, object))
    }

    /// Takes an object out.
    pub fn remove(&self, id: u32) -> SysResult<Rc<T>> {
        let object = self.find(id)?;
        self.forget_key(object.permission().get().key, id);
        let index = id & INDEX_MASK;
        if let Some(place) = self.places.borrow_mut().get_mut(index as usize) {
            place.object = None;
            place.sequence = (place.sequence + 1) & SEQUENCE_MASK;
        }
        self.free.borrow_mut().push(index);
        self.n_objects.set(self.n_objects.get() - 1);
        Ok(object)
    }

    /// Lets the key find nothing any more, while the id still does.
    pub fn forget_key(&self, key: i32, id: u32) {
        let mut by_key = self.by_key.borrow_mut();
        if by_key.get(&key) == Some(&id) {
            by_key.remove(&key);
        }
    }

    /// Every object with its id, in the order of their places.
    pub fn all(&self) -> Vec<(u32, Rc<T>)> {
        let n_places = u32::try_from(self.places.borrow().len()).unwrap_or(0);
        (0..n_places).filter_map(|index| self.find_by_index(index).ok()).collect()
    }

    /// How many objects there are.
    pub fn n_objects(&self) -> usize {
        self.n_objects.get()
    }

    /// The highest place that was ever used, as the `*_INFO` commands return.
    pub fn highest_index(&self) -> u32 {
        u32::try_from(self.places.borrow().len().saturating_sub(1)).unwrap_or(0)
    }
}
