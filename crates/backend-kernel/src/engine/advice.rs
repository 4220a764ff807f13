//! Where copies of a process trap.
//!
//! A child of `fork` makes calls that its parent never makes, such as `_exit`. Their sites are not
//! rewritten in the parent, so they trap in every child anew. A child that goes tells where it
//! trapped, and its parent hears of it with its next `fork`.

use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::sync::atomic::Ordering::Relaxed;

use channel_abi::sites;
use kernel_tasks::Thread;

use super::Space;

/// What a process is to hear, and whose copy it is.
#[derive(Default)]
pub struct Advice {
    origin: RefCell<Weak<Space>>,
    sites: RefCell<Vec<u64>>,
}

impl Advice {
    /// The process is a copy of this one.
    pub fn set_origin(&self, origin: &Rc<Space>) {
        *self.origin.borrow_mut() = Rc::downgrade(origin);
    }

    /// A site that one of its copies trapped at, or 0.
    pub fn take(&self) -> u64 {
        self.sites.borrow_mut().pop().unwrap_or(0)
    }

    fn add(&self, site: u64) {
        let mut sites = self.sites.borrow_mut();
        if site != 0 && sites.len() < sites::COUNT && !sites.contains(&site) {
            sites.push(site);
        }
    }
}

/// A process that is a copy of another is about to end, or to run another program: the other one
/// hears where it trapped.
pub fn pass_on(space: &Space) {
    let Some(origin) = space.advice.origin.take().upgrade() else { return };
    if origin.is_retired.get() || !is_trusted(space, &origin) {
        return;
    }
    for word in &space.channel.header().trapped {
        origin.advice.add(word.load(Relaxed));
    }
}

/// Whoever gives advice on code must be allowed to change that code anyhow: the two are the same
/// user still, and no filter keeps either from what Linux would let it do.
fn is_trusted(space: &Space, origin: &Space) -> bool {
    let first = |space: &Space| -> Option<Rc<Thread>> {
        space.seats.borrow().iter().find_map(|seat| seat.thread.borrow().clone())
    };
    let (Some(copy), Some(original)) = (first(space), first(origin)) else { return false };
    let same_user = Rc::ptr_eq(&copy.credentials(), &original.credentials());
    same_user && !copy.has_call_filter() && copy.may_inspect(&original)
}
