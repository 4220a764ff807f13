//! What other parts of the kernel hang on an inode.
//!
//! A bound Unix socket, the pipe behind a FIFO, file locks and inotify watches all belong to an
//! inode, but file systems know none of them. Each finds its own object by its type. An inode
//! object lives at least as long as its file in `tmpfs`, and elsewhere for as long as somebody
//! holds it; so whoever attaches something that must last holds the inode (or its location) too.

use std::any::{Any, TypeId};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The objects that hang on one inode, at most one of each type.
#[derive(Default)]
pub struct Attachments {
    objects: RefCell<Vec<(TypeId, Rc<dyn Any>)>>,
    /// How many open files read this one and cannot write to it. Here, and no object of its own,
    /// because every open file counts.
    pub(crate) n_readers: Cell<u32>,
}

impl Attachments {
    /// The attached `T`, if there is one.
    pub fn get<T: Any>(&self) -> Option<Rc<T>> {
        let objects = self.objects.borrow();
        let object = objects.iter().find(|(id, _)| *id == TypeId::of::<T>())?;
        Rc::clone(&object.1).downcast().ok()
    }

    /// The attached `T`; a new one if there is none.
    pub fn get_or_attach<T: Any>(&self, make: impl FnOnce() -> T) -> Rc<T> {
        self.get().unwrap_or_else(|| {
            let object = Rc::new(make());
            self.set(Rc::clone(&object));
            object
        })
    }

    /// Attaches `object`, in place of the `T` that was attached before.
    pub fn set<T: Any>(&self, object: Rc<T>) {
        self.remove::<T>();
        self.objects.borrow_mut().push((TypeId::of::<T>(), object));
    }

    /// Takes the `T` off.
    pub fn remove<T: Any>(&self) {
        self.objects.borrow_mut().retain(|(id, _)| *id != TypeId::of::<T>());
    }
}
