//! Who hears of whose mounts: groups of peers, and the slaves of groups.
//!
//! Members of a group (`MS_SHARED`) see each other's mounts. A slave sees those of its master
//! group, which does not see the slave's. A mount may be both: the slave of one group and a member
//! of another.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::rc::{Rc, Weak};

use super::Mount;

/// A mount that some group knows.
struct Known {
    id: u64,
    mount: Weak<Mount>,
}

#[derive(Default)]
struct Group {
    members: Vec<Known>,
    slaves: Vec<Known>,
}

thread_local! {
    /// The kernel has one thread, so these are the groups of one sandbox.
    static GROUPS: RefCell<HashMap<u64, Group>> = RefCell::default();
    static FREE: RefCell<BTreeSet<u64>> = const { RefCell::new(BTreeSet::new()) };
    static NEXT: Cell<u64> = const { Cell::new(1) };
}

/// What `mount` makes of a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// A member of a group (`MS_SHARED`).
    Shared,
    /// By itself (`MS_PRIVATE`).
    Private,
    /// A listener of what was its group (`MS_SLAVE`).
    Slave,
    /// By itself, and not to be bound elsewhere (`MS_UNBINDABLE`).
    Unbindable,
}

/// The number of a group that has no members as yet.
pub(super) fn new_group() -> u64 {
    // Numbers of groups that are gone are used again, the lowest first.
    FREE.with_borrow_mut(BTreeSet::pop_first).unwrap_or_else(|| {
        let group = NEXT.get();
        NEXT.set(group + 1);
        group
    })
}

/// The members of a group.
pub(super) fn members(group: u64) -> Vec<Rc<Mount>> {
    listed(group, |group| &group.members)
}

/// The slaves of a group.
pub(super) fn slaves(group: u64) -> Vec<Rc<Mount>> {
    listed(group, |group| &group.slaves)
}

fn listed(group: u64, which: fn(&Group) -> &Vec<Known>) -> Vec<Rc<Mount>> {
    GROUPS.with_borrow(|groups| {
        let Some(group) = groups.get(&group) else { return Vec::new() };
        which(group).iter().filter_map(|known| known.mount.upgrade()).collect()
    })
}

/// A mount with this number is gone, or leaves its groups. What listened to a group without
/// members listens to the group's master from then on.
pub(super) fn forget(id: u64, group: u64, master: u64) {
    if group == 0 && master == 0 {
        return;
    }
    let orphans = GROUPS.with_borrow_mut(|groups| {
        if let Some(of_master) = groups.get_mut(&master) {
            of_master.slaves.retain(|known| known.id != id);
        }
        let left = groups.get_mut(&group)?;
        left.members.retain(|known| known.id != id);
        if left.members.is_empty() { groups.remove(&group) } else { None }
    });
    let Some(orphans) = orphans else { return };
    FREE.with_borrow_mut(|free| free.insert(group));
    for slave in orphans.slaves.iter().filter_map(|known| known.mount.upgrade()) {
        slave.master.set(0);
        slave.listen_to(master);
    }
}

impl Mount {
    /// The group it is a member of; 0 for none.
    pub fn group(&self) -> u64 {
        self.group.get()
    }

    /// The group whose slave it is; 0 for none.
    pub fn master(&self) -> u64 {
        self.master.get()
    }

    /// Whether it has peers, or may get some.
    pub fn is_shared(&self) -> bool {
        self.group.get() != 0
    }

    /// Whether it cannot be bound elsewhere.
    pub fn is_unbindable(&self) -> bool {
        self.is_unbindable.get()
    }

    /// Makes this mount a member of a group. It is a member of none.
    pub(super) fn join(self: &Rc<Self>, group: u64) {
        if group == 0 {
            return;
        }
        self.group.set(group);
        let known = Known { id: self.id, mount: Rc::downgrade(self) };
        GROUPS.with_borrow_mut(|groups| groups.entry(group).or_default().members.push(known));
    }

    /// Makes this mount a slave of a group, if that has members. It is the slave of none.
    pub(super) fn listen_to(self: &Rc<Self>, group: u64) {
        let known = Known { id: self.id, mount: Rc::downgrade(self) };
        let exists = GROUPS.with_borrow_mut(|groups| match groups.get_mut(&group) {
            Some(found) => {
                found.slaves.push(known);
                true
            }
            None => false,
        });
        if exists {
            self.master.set(group);
        }
    }

    /// Leaves its group and its master.
    pub(super) fn leave_groups(&self) {
        let (group, master) = (self.group.replace(0), self.master.replace(0));
        forget(self.id, group, master);
    }

    /// Changes who hears of what is mounted here.
    pub fn set_propagation(self: &Rc<Self>, propagation: Propagation) {
        self.is_unbindable.set(propagation == Propagation::Unbindable);
        match propagation {
            Propagation::Shared => {
                if !self.is_shared() {
                    self.join(new_group());
                }
            }
            Propagation::Private | Propagation::Unbindable => self.leave_groups(),
            Propagation::Slave => {
                let (group, master) = (self.group(), self.master());
                self.leave_groups();
                let has_peers = GROUPS.with_borrow(|groups| groups.contains_key(&group));
                self.listen_to(if has_peers { group } else { master });
            }
        }
    }

    /// The nearest group that `root` can see mounts of and that this slave hears of in the end,
    /// if its master cannot be seen itself (`propagate_from`).
    pub fn visible_master(&self, root: &super::Location) -> Option<u64> {
        let is_visible = |group: u64| {
            members(group).iter().any(|mount| {
                let same = mount.namespace().zip(root.mount.namespace());
                same.is_some_and(|(one, other)| Rc::ptr_eq(&one, &other))
                    && mount.top().path_from(root).1
            })
        };
        let mut group = self.master();
        while group != 0 {
            if is_visible(group) {
                return Some(group);
            }
            group = members(group).first().map_or(0, |member| member.master());
        }
        None
    }
}
