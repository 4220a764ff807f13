//! What a mount at one place means for others: which peers and slaves get copies of it.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use linux_abi::{Errno, SysResult};

use super::groups::{members, new_group, slaves};
use super::tree::{Kinship, copy_with, tree_of};
use super::{Location, Mount};
use crate::dentry::Dentry;

/// What the copies of a tree become: for each mount of the tree, by its number, the group to join
/// and the group to listen to.
type Kin = HashMap<u64, (u64, u64)>;

/// A copy that another place gets.
pub(super) struct Copy {
    pub(super) top: Rc<Mount>,
    pub(super) place: Location,
}

/// The mounts that hear of what happens on `origin`, without itself, where they show `dentry`.
pub(super) fn listeners(origin: &Rc<Mount>, dentry: &Rc<Dentry>) -> Vec<Rc<Mount>> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut pending = vec![origin.group()];
    while let Some(group) = pending.pop() {
        if group == 0 || !seen.insert(group) {
            continue;
        }
        found.extend(members(group));
        for slave in slaves(group) {
            if slave.is_shared() { pending.push(slave.group()) } else { found.push(slave) }
        }
    }
    found.retain(|mount| !Rc::ptr_eq(mount, origin) && shows(mount, dentry));
    found
}

/// Whether a mount is somewhere and shows this name.
fn shows(mount: &Rc<Mount>, dentry: &Rc<Dentry>) -> bool {
    mount.namespace().is_some() && mount.root.contains(dentry)
}

/// Makes a copy of the tree `top` for everybody who hears of what happens at `place`. All mounts
/// of the tree are shared already. What is made is in `made`, also on failure. `budget` says how many mounts are left to each namespace.
pub(super) fn copies(
    top: &Rc<Mount>,
    place: &Location,
    made: &mut Vec<Copy>,
    budget: &mut dyn FnMut(&Rc<Mount>, usize) -> SysResult<()>,
) -> SysResult<()> {
    let tree = tree_of(top);
    let as_peers: Kin = tree.iter().map(|it| (it.id, (it.group(), it.master()))).collect();
    let mut seen = HashSet::new();
    let mut pending = vec![(place.mount.group(), Rc::new(as_peers))];
    let mut make = |mount: &Rc<Mount>, kin: &Kin| -> SysResult<()> {
        budget(mount, tree.len())?;
        let kinship = |old: &Mount| kin.get(&old.id).copied().unwrap_or_default();
        let copy = copy_with(top, &top.root, &|old| {
            let (group, master) = kinship(old);
            Kinship::Of(group, master)
        })?;
        let place = Location { mount: Rc::clone(mount), dentry: Rc::clone(&place.dentry) };
        made.push(Copy { top: copy, place });
        Ok(())
    };
    while let Some((group, kin)) = pending.pop() {
        if group == 0 || !seen.insert(group) {
            continue;
        }
        for member in members(group) {
            if !Rc::ptr_eq(&member, &place.mount) && shows(&member, &place.dentry) {
                make(&member, &kin)?;
            }
        }
        for slave in slaves(group) {
            if slave.is_shared() {
                let fits = members(slave.group()).iter().any(|it| shows(it, &place.dentry));
                let theirs = if fits { Rc::new(as_shared_slaves(&kin)) } else { Rc::clone(&kin) };
                if !seen.contains(&slave.group()) {
                    pending.push((slave.group(), theirs));
                }
            } else if shows(&slave, &place.dentry) {
                let kin = kin.iter().map(|(&id, &(group, _))| (id, (0, group))).collect();
                make(&slave, &kin)?;
            }
        }
    }
    Ok(())
}

/// What copies for a group of slaves become: a group of their own, and slaves too.
fn as_shared_slaves(kin: &Kin) -> Kin {
    kin.iter().map(|(&id, &(group, _))| (id, (new_group(), group))).collect()
}

/// Counts what each namespace gets; `ENOSPC` if it is too much for one.
pub(super) fn budget(max: usize) -> impl FnMut(&Rc<Mount>, usize) -> SysResult<()> {
    let mut added: HashMap<u64, usize> = HashMap::new();
    move |mount, n| {
        let namespace = mount.namespace().ok_or(Errno::EINVAL)?;
        let sum = added.entry(namespace.number).or_default();
        *sum += n;
        if namespace.n_mounts() + *sum > max { Err(Errno::ENOSPC) } else { Ok(()) }
    }
}
