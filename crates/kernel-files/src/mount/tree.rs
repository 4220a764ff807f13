//! Changes of the tree of mounts, with what they mean for peers and slaves.

use std::collections::HashSet;
use std::rc::Rc;

use linux_abi::{Errno, SysResult};

use super::namespace::MAX_MOUNTS;
use super::propagate::{budget, copies, listeners};
use super::{Location, Mount, Propagation};
use crate::dentry::Dentry;

/// What a copy of a mount is to the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kinship {
    /// A member of this group and a slave of that one; 0 for neither.
    Of(u64, u64),
    /// It is not copied, nor what is on it.
    Skip,
}

/// A mount and everything beneath it, parents first.
pub fn tree_of(top: &Rc<Mount>) -> Vec<Rc<Mount>> {
    let mut tree = vec![Rc::clone(top)];
    let mut next = 0;
    while let Some(mount) = tree.get(next).cloned() {
        tree.extend(mount.children());
        next += 1;
    }
    tree
}

/// Puts a mount on another one. Nothing else is there.
fn link(mount: &Rc<Mount>, place: Location) {
    place.dentry.add_mount();
    place.mount.children.borrow_mut().insert(Rc::as_ptr(&place.dentry), Rc::clone(mount));
    *mount.place.borrow_mut() = Some(place);
}

/// Takes a mount off another one.
pub(super) fn unlink(mount: &Rc<Mount>) {
    let Some(place) = mount.place.borrow_mut().take() else { return };
    place.mount.children.borrow_mut().remove(&Rc::as_ptr(&place.dentry));
    place.dentry.remove_mount();
}

/// Copies what is mounted from `root` of `top` on, each as `kinship` says.
pub(super) fn copy_with(
    top: &Rc<Mount>,
    root: &Rc<Dentry>,
    kinship: &dyn Fn(&Mount) -> Kinship,
) -> SysResult<Rc<Mount>> {
    let copy = |old: &Rc<Mount>, root: &Rc<Dentry>| match kinship(old) {
        Kinship::Skip => None,
        Kinship::Of(group, master) => {
            let new = old.same_at(root);
            new.join(group);
            new.listen_to(master);
            Some(new)
        }
    };
    let new_top = copy(top, root).ok_or(Errno::EINVAL)?;
    let is_beneath =
        |child: &Rc<Mount>| child.place().is_some_and(|place| root.contains(&place.dentry));
    let mut pending: Vec<_> = top.children().into_iter().filter(is_beneath).collect();
    let mut parents = vec![Rc::clone(&new_top); pending.len()];
    while let (Some(old), Some(parent)) = (pending.pop(), parents.pop()) {
        let (Some(place), Some(new)) = (old.place(), copy(&old, &old.root)) else { continue };
        link(&new, Location { mount: parent, dentry: place.dentry });
        for child in old.children() {
            pending.push(child);
            parents.push(Rc::clone(&new));
        }
    }
    Ok(new_top)
}

/// A copy of the mount at `source`, or of the part of it, that is at no place; with what is mounted
/// on it if `is_recursive` (`MS_BIND`). `EINVAL` if that would show what is hidden.
pub fn copy_tree(source: &Location, is_recursive: bool) -> SysResult<Rc<Mount>> {
    let top = &source.mount;
    if top.is_unbindable() {
        return Err(Errno::EINVAL);
    }
    if !is_recursive {
        let hides = |child: &Rc<Mount>| {
            child.is_locked()
                && child.place().is_some_and(|place| source.dentry.contains(&place.dentry))
        };
        if top.children().iter().any(hides) {
            return Err(Errno::EINVAL);
        }
        let new = top.same_at(&source.dentry);
        new.join(top.group());
        new.listen_to(top.master());
        new.is_locked.set(false);
        return Ok(new);
    }
    if tree_of(top).iter().any(|it| it.is_unbindable() && it.is_locked()) {
        return Err(Errno::EPERM);
    }
    let new = copy_with(top, &source.dentry, &|old| {
        if old.is_unbindable() { Kinship::Skip } else { Kinship::Of(old.group(), old.master()) }
    })?;
    new.is_locked.set(false);
    Ok(new)
}

/// Takes apart a tree that is in no namespace, as when nobody will find it any more.
pub fn dissolve(top: &Rc<Mount>) {
    for mount in tree_of(top).iter().rev() {
        unlink(mount);
        mount.leave_groups();
    }
}

/// Mounts the tree `top` at a place, on top of what is mounted there already, and a copy of it
/// wherever that is heard of.
pub fn attach(top: &Rc<Mount>, place: &Location) -> SysResult<()> {
    let place = place.clone().topmost();
    let tree = tree_of(top);
    let Some(namespace) = place.mount.namespace() else {
        return attach_to_detached(top, tree.len(), place);
    };
    let mut budget = budget(MAX_MOUNTS);
    budget(&place.mount, tree.len())?;
    let mut made = Vec::new();
    if place.mount.is_shared() {
        let mut newly_shared: Vec<&Rc<Mount>> = Vec::new();
        for mount in tree.iter().filter(|mount| !mount.is_shared()) {
            mount.set_propagation(Propagation::Shared);
            newly_shared.push(mount);
        }
        if let Err(errno) = copies(top, &place, &mut made, &mut budget) {
            for copy in &made {
                dissolve(&copy.top);
            }
            for mount in &newly_shared {
                mount.leave_groups();
            }
            return Err(errno);
        }
    }
    link(top, place);
    for mount in &tree {
        namespace.add(mount);
    }
    for copy in made {
        attach_copy(&copy.top, copy.place, &namespace.owner);
    }
    Ok(())
}

/// Mounts on a tree that is in no namespace as yet: nobody hears of it.
fn attach_to_detached(top: &Rc<Mount>, n: usize, place: Location) -> SysResult<()> {
    let mut bottom = Rc::clone(&place.mount);
    while let Some(below) = bottom.place() {
        bottom = below.mount;
    }
    if tree_of(&bottom).len() + n > MAX_MOUNTS {
        return Err(Errno::ENOSPC);
    }
    link(top, place);
    Ok(())
}

/// Mounts a copy where it is heard of: beneath what hides that place already.
fn attach_copy(
    top: &Rc<Mount>,
    place: Location,
    owner: &Rc<kernel_core::user_namespace::UserNamespace>,
) {
    let Some(namespace) = place.mount.namespace() else { return };
    let hides = place.mount.mounted_at(&place.dentry);
    if let Some(hides) = &hides {
        unlink(hides);
    }
    let tree = tree_of(top);
    link(top, place);
    for mount in &tree {
        if *namespace.owner != **owner {
            mount.lock();
        }
        namespace.add(mount);
    }
    top.is_locked.set(false);
    if let Some(hides) = hides {
        link(&hides, top.top());
    }
}

/// Moves a mount to another place, with everything mounted beneath it.
pub fn move_tree(mount: &Rc<Mount>, to: &Location) -> SysResult<()> {
    let to = to.clone().topmost();
    let old_place = mount.place().ok_or(Errno::EINVAL)?;
    if old_place.mount.is_shared() || mount.is_locked() {
        return Err(Errno::EINVAL);
    }
    if to.mount.is_shared() && tree_of(mount).iter().any(|it| it.is_unbindable()) {
        return Err(Errno::EINVAL);
    }
    if is_beneath(&to, mount) {
        return Err(Errno::ELOOP);
    }
    let namespace = mount.namespace().ok_or(Errno::EINVAL)?;
    let tree = tree_of(mount);
    unlink(mount);
    for moved in &tree {
        namespace.remove(moved);
    }
    attach(mount, &to).inspect_err(|_| {
        link(mount, old_place.clone());
        for moved in &tree {
            namespace.add(moved);
        }
    })
}

/// Puts a mount that is at no place of its own, such as a root, on another one without telling
/// anybody (`pivot_root`).
pub(super) fn relink(mount: &Rc<Mount>, place: Option<Location>) {
    unlink(mount);
    if let Some(place) = place {
        link(mount, place);
    }
}

/// Whether `location` is in `mount` or in a mount beneath it.
pub(super) fn is_beneath(location: &Location, mount: &Rc<Mount>) -> bool {
    let mut at = Some(location.clone());
    while let Some(location) = at {
        if Rc::ptr_eq(&location.mount, mount) {
            return true;
        }
        at = location.mount.place();
    }
    false
}

/// Takes a mount out of the tree, with everything on it if `is_lazy`; those that use it keep it.
/// What peers and slaves have of it goes too, unless something else is mounted there. `EBUSY` if it
/// is in use and not `is_lazy`. The caller holds `n_held` handles of the mount.
pub fn unmount(mount: &Rc<Mount>, is_lazy: bool, n_held: usize) -> SysResult<()> {
    let place = mount.place().ok_or(Errno::EINVAL)?;
    if !is_lazy {
        if mount.has_children() || mount.is_used(n_held) {
            return Err(Errno::EBUSY);
        }
        for listener in listeners(&place.mount, &place.dentry) {
            let Some(theirs) = listener.mounted_at(&place.dentry) else { continue };
            if !theirs.has_children() && theirs.is_used(1) {
                return Err(Errno::EBUSY);
            }
        }
    }
    drop(place);
    let mut gone = tree_of(mount);
    gone.reverse();
    let mut ids: HashSet<u64> = gone.iter().map(|it| it.id).collect();
    let mut echoed = Vec::new();
    for one in &gone {
        let Some(place) = one.place() else { continue };
        for listener in listeners(&place.mount, &place.dentry) {
            let Some(theirs) = listener.mounted_at(&place.dentry) else { continue };
            let keeps = theirs.children().iter().any(|child| {
                let is_topper =
                    child.place().is_some_and(|place| Rc::ptr_eq(&place.dentry, &theirs.root));
                !is_topper && !ids.contains(&child.id)
            });
            if !keeps && ids.insert(theirs.id) {
                echoed.push(theirs);
            }
        }
    }
    for one in gone.iter().chain(&echoed) {
        take_out(one);
    }
    Ok(())
}

/// Takes one mount out. What hides its top moves to where it was.
fn take_out(mount: &Rc<Mount>) {
    let place = mount.place();
    let topper = mount.mounted_at(&mount.root);
    unlink(mount);
    if let (Some(topper), Some(place)) = (topper, place) {
        unlink(&topper);
        link(&topper, place);
    }
    if let Some(namespace) = mount.namespace() {
        namespace.remove(mount);
    }
    mount.leave_groups();
}
