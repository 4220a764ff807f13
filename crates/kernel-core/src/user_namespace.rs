//! User namespaces: what a user or group number means, and over what a capability reaches.
//!
//! The kernel keeps the numbers of the first namespace everywhere. They are translated where they
//! meet a guest: on the way in by [`UserNamespace::kernel_uid`], on the way out by
//! [`UserNamespace::shown_uid`].

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use linux_abi::{Errno, SysResult};

use crate::credentials::{Credentials, cap};
use crate::facts;

/// How deep user namespaces nest.
const MAX_LEVEL: u32 = 32;
/// How many user namespaces a sandbox may have at a time.
const MAX_NAMESPACES: usize = 4096;
/// How many lines a map may have.
pub const MAX_EXTENTS: usize = 340;
/// What stands for an id that has no number here (`kernel.overflowuid`).
pub const OVERFLOW_ID: u32 = 65_534;

/// The number of the first namespace of a kind that somebody makes.
const FIRST_NUMBER: u64 = 4_026_532_200;
/// The number of the first user namespace, as on Linux.
const INITIAL_NUMBER: u64 = 4_026_531_837;

/// A number for a new namespace of any kind, as `/proc/<pid>/ns` shows it.
pub fn new_number() -> u64 {
    thread_local!(static NEXT: Cell<u64> = const { Cell::new(FIRST_NUMBER) });
    let number = NEXT.get();
    NEXT.set(number + 1);
    number
}

/// A range of ids: `n` from `inside` on are `n` from `kernel` on in the first namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The first id as the namespace counts.
    pub inside: u32,
    /// The first id as the kernel counts.
    pub kernel: u32,
    /// How many there are.
    pub n: u32,
}

/// Which of the two maps is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdKind {
    /// Users.
    User,
    /// Groups.
    Group,
}

/// What ids mean in a namespace. Set once.
#[derive(Debug, Default)]
struct IdMap(RefCell<Vec<Extent>>);

impl IdMap {
    fn kernel_of(&self, id: u32) -> Option<u32> {
        let within = |extent: &&Extent| id >= extent.inside && id - extent.inside < extent.n;
        self.0.borrow().iter().find(within).map(|extent| extent.kernel + (id - extent.inside))
    }

    fn inside_of(&self, id: u32) -> Option<u32> {
        let within = |extent: &&Extent| id >= extent.kernel && id - extent.kernel < extent.n;
        self.0.borrow().iter().find(within).map(|extent| extent.inside + (id - extent.kernel))
    }

    /// The kernel's first id of a range that is mapped as a whole.
    fn range_to_kernel(&self, first: u32, n: u32) -> Option<u32> {
        let last = first.checked_add(n.checked_sub(1)?)?;
        let holds = |extent: &&Extent| {
            first >= extent.inside && last >= extent.inside && last - extent.inside < extent.n
        };
        self.0.borrow().iter().find(holds).map(|extent| extent.kernel + (first - extent.inside))
    }
}

/// A user namespace.
pub struct UserNamespace {
    /// What `/proc/<pid>/ns/user` shows.
    pub number: u64,
    parent: Option<Rc<UserNamespace>>,
    level: u32,
    /// The effective user and group of whoever made it, as the kernel counts.
    owner: (u32, u32),
    /// Whether the maker could give file capabilities, which mapping user 0 takes.
    maker_had_setfcap: bool,
    users: IdMap,
    groups: IdMap,
    may_set_groups: Cell<bool>,
}

thread_local! {
    static INITIAL: Rc<UserNamespace> = Rc::new(UserNamespace::initial_one());
    static N_NAMESPACES: Cell<usize> = const { Cell::new(0) };
}

impl std::fmt::Debug for UserNamespace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "user:[{}]", self.number)
    }
}

impl PartialEq for UserNamespace {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for UserNamespace {}

impl Drop for UserNamespace {
    fn drop(&mut self) {
        if self.parent.is_some() {
            N_NAMESPACES.set(N_NAMESPACES.get().saturating_sub(1));
        }
    }
}

impl UserNamespace {
    fn initial_one() -> Self {
        let everything = || IdMap(RefCell::new(vec![Extent { inside: 0, kernel: 0, n: u32::MAX }]));
        Self {
            number: INITIAL_NUMBER,
            parent: None,
            level: 0,
            owner: (0, 0),
            maker_had_setfcap: true,
            users: everything(),
            groups: everything(),
            may_set_groups: Cell::new(true),
        }
    }

    /// The namespace that a sandbox starts with, where every id is itself.
    pub fn initial() -> Rc<Self> {
        INITIAL.with(Rc::clone)
    }

    /// A namespace within that of `maker`, without maps. `EPERM` if the maker is nobody there,
    /// `ENOSPC` (as Linux) if there are too many.
    pub fn new(maker: &Credentials) -> SysResult<Rc<Self>> {
        let parent = Rc::clone(&maker.user_namespace);
        if parent.level >= MAX_LEVEL || N_NAMESPACES.get() >= MAX_NAMESPACES {
            return Err(Errno::ENOSPC);
        }
        if parent.uid(maker.euid).is_none() || parent.gid(maker.egid).is_none() {
            return Err(Errno::EPERM);
        }
        N_NAMESPACES.set(N_NAMESPACES.get() + 1);
        Ok(Rc::new(Self {
            number: new_number(),
            level: parent.level + 1,
            owner: (maker.euid, maker.egid),
            maker_had_setfcap: maker.has_own(cap::SETFCAP),
            users: IdMap::default(),
            groups: IdMap::default(),
            may_set_groups: Cell::new(parent.may_set_groups.get()),
            parent: Some(parent),
        }))
    }

    /// Whether it is the one that a sandbox starts with.
    pub fn is_initial(&self) -> bool {
        self.level == 0
    }

    /// The namespace that it was made in.
    pub fn parent(&self) -> Option<&Rc<Self>> {
        self.parent.as_ref()
    }

    /// The user that made it, as the kernel counts.
    pub fn owner(&self) -> u32 {
        self.owner.0
    }

    /// Whether this is `other` or was made within it.
    pub fn is_within(&self, other: &Self) -> bool {
        let mut at = Some(self);
        while let Some(namespace) = at {
            if namespace == other {
                return true;
            }
            at = namespace.parent.as_deref();
        }
        false
    }

    /// Whether `who` has a capability over this namespace: by having it here or further out, or
    /// as the one who made it.
    pub fn grants(&self, who: &Credentials, capability: u32) -> bool {
        let mut at = self;
        loop {
            if *at == *who.user_namespace {
                return who.has_own(capability);
            }
            if at.level <= who.user_namespace.level {
                return false;
            }
            let Some(parent) = at.parent.as_deref() else { return false };
            if *parent == *who.user_namespace && at.owner.0 == who.euid {
                return true;
            }
            at = parent;
        }
    }

    fn map(&self, kind: IdKind) -> &IdMap {
        match kind {
            IdKind::User => &self.users,
            IdKind::Group => &self.groups,
        }
    }

    /// The number of a user here, if it has one.
    pub fn uid(&self, kernel: u32) -> Option<u32> {
        if self.is_initial() { Some(kernel) } else { self.users.inside_of(kernel) }
    }

    /// The number of a group here, if it has one.
    pub fn gid(&self, kernel: u32) -> Option<u32> {
        if self.is_initial() { Some(kernel) } else { self.groups.inside_of(kernel) }
    }

    /// The number of a user here, or that of nobody.
    pub fn shown_uid(&self, kernel: u32) -> u32 {
        self.uid(kernel).unwrap_or(OVERFLOW_ID)
    }

    /// The number of a group here, or that of nobody.
    pub fn shown_gid(&self, kernel: u32) -> u32 {
        self.gid(kernel).unwrap_or(OVERFLOW_ID)
    }

    /// The user that a number of this namespace means.
    pub fn kernel_uid(&self, uid: u32) -> Option<u32> {
        if self.is_initial() { Some(uid) } else { self.users.kernel_of(uid) }
    }

    /// The group that a number of this namespace means.
    pub fn kernel_gid(&self, gid: u32) -> Option<u32> {
        if self.is_initial() { Some(gid) } else { self.groups.kernel_of(gid) }
    }

    /// Whether `setgroups(2)` works here.
    pub fn may_set_groups(&self) -> bool {
        self.may_set_groups.get() && !self.groups.0.borrow().is_empty()
    }

    /// What `/proc/<pid>/setgroups` says.
    pub fn setgroups_is_allowed(&self) -> bool {
        self.may_set_groups.get()
    }

    /// Forbids `setgroups(2)`, or says that it is allowed. `EPERM` if that was decided.
    pub fn set_setgroups(&self, allow: bool) -> SysResult<()> {
        if allow {
            return if self.may_set_groups.get() { Ok(()) } else { Err(Errno::EPERM) };
        }
        if !self.groups.0.borrow().is_empty() {
            return Err(Errno::EPERM);
        }
        self.may_set_groups.set(false);
        Ok(())
    }

    /// A map as a reader in `reader` sees it: the third number of a line is how many, the second
    /// what they are in the reader's namespace, or in the parent if that is this one.
    pub fn show_map(&self, kind: IdKind, reader: &Self) -> String {
        let mut seen_from = reader;
        if reader == self
            && let Some(parent) = &self.parent
        {
            seen_from = parent;
        }
        let line = |extent: &Extent| {
            let outside = seen_from.map(kind).inside_of(extent.kernel).unwrap_or(u32::MAX);
            format!("{:>10} {:>10} {:>10}\n", extent.inside, outside, extent.n)
        };
        self.map(kind).0.borrow().iter().map(line).collect()
    }

    /// Sets a map, once. `lines` count the outside as the parent does. `writer` writes it,
    /// `opener` has opened the file.
    pub fn set_map(
        &self,
        kind: IdKind,
        lines: &[Extent],
        writer: &Credentials,
        opener: &Credentials,
    ) -> SysResult<()> {
        let capability = match kind {
            IdKind::User => cap::SETUID,
            IdKind::Group => cap::SETGID,
        };
        let (Some(parent), true) = (&self.parent, self.map(kind).0.borrow().is_empty()) else {
            return Err(Errno::EPERM);
        };
        if !self.grants(opener, cap::SYS_ADMIN) {
            return Err(Errno::EPERM);
        }
        check_lines(lines)?;
        // Owners are shown otherwise from now on.
        facts::changed();
        let from = &*opener.user_namespace;
        if *from != *self && *from != **parent {
            return Err(Errno::EPERM);
        }
        let mut extents = Vec::with_capacity(lines.len());
        for line in lines {
            let first =
                parent.map(kind).range_to_kernel(line.kernel, line.n).ok_or(Errno::EPERM)?;
            extents.push(Extent { kernel: first, ..*line });
        }
        let maps_root = kind == IdKind::User
            && lines.iter().any(|line| line.kernel == 0 && parent.users.kernel_of(0).is_some());
        let may_map_root = if *from == *self {
            self.maker_had_setfcap
        } else {
            parent.grants(opener, cap::SETFCAP)
        };
        if maps_root && !may_map_root {
            return Err(Errno::EPERM);
        }
        let is_own = self.maps_only_self(kind, &extents, opener);
        let is_privileged = parent.grants(writer, capability) && parent.grants(opener, capability);
        if !is_own && !is_privileged {
            return Err(Errno::EPERM);
        }
        *self.map(kind).0.borrow_mut() = extents;
        Ok(())
    }

    /// Whether a map names nobody but the one who made the namespace, which takes no privilege.
    fn maps_only_self(&self, kind: IdKind, extents: &[Extent], opener: &Credentials) -> bool {
        let &[Extent { kernel, n: 1, .. }] = extents else { return false };
        if self.owner.0 != opener.euid {
            return false;
        }
        match kind {
            IdKind::User => kernel == opener.euid,
            IdKind::Group => !self.may_set_groups.get() && kernel == opener.egid,
        }
    }
}

/// `EINVAL` for lines that are empty, too many, too long or overlap.
fn check_lines(lines: &[Extent]) -> SysResult<()> {
    if lines.is_empty() || lines.len() > MAX_EXTENTS {
        return Err(Errno::EINVAL);
    }
    let end = |first: u32, n: u32| first.checked_add(n).ok_or(Errno::EINVAL);
    for line in lines {
        if line.n == 0 || line.inside == u32::MAX || line.kernel == u32::MAX {
            return Err(Errno::EINVAL);
        }
        end(line.inside, line.n)?;
        end(line.kernel, line.n)?;
    }
    for (index, one) in lines.iter().enumerate() {
        for other in lines.iter().skip(index + 1) {
            let apart = |a: u32, b: u32| {
                u64::from(a) + u64::from(one.n) <= u64::from(b)
                    || u64::from(b) + u64::from(other.n) <= u64::from(a)
            };
            if !apart(one.inside, other.inside) || !apart(one.kernel, other.kernel) {
                return Err(Errno::EINVAL);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(inside: u32, kernel: u32, n: u32) -> Extent {
        Extent { inside, kernel, n }
    }

    #[test]
    fn the_maker_maps_itself_and_nobody_else() {
        let maker = Credentials::of_user(1000, 1000);
        let namespace = UserNamespace::new(&maker).unwrap();
        let inside = maker.in_new_user_namespace(&namespace);
        let refused = namespace.set_map(IdKind::User, &[map(0, 5, 1)], &inside, &inside);
        assert_eq!(refused, Err(Errno::EPERM));
        namespace.set_map(IdKind::User, &[map(0, 1000, 1)], &inside, &inside).unwrap();
        assert_eq!(namespace.uid(1000), Some(0));
        assert_eq!(namespace.shown_uid(7), OVERFLOW_ID);
        let again = namespace.set_map(IdKind::User, &[map(0, 1000, 1)], &inside, &inside);
        assert_eq!(again, Err(Errno::EPERM));
    }

    #[test]
    fn a_group_is_mapped_only_when_groups_cannot_be_dropped() {
        let maker = Credentials::of_user(1000, 1000);
        let namespace = UserNamespace::new(&maker).unwrap();
        let inside = maker.in_new_user_namespace(&namespace);
        let line = [map(0, 1000, 1)];
        assert_eq!(namespace.set_map(IdKind::Group, &line, &inside, &inside), Err(Errno::EPERM));
        namespace.set_setgroups(false).unwrap();
        namespace.set_map(IdKind::Group, &line, &inside, &inside).unwrap();
        assert!(!namespace.may_set_groups());
    }

    #[test]
    fn capabilities_reach_inward_only() {
        let maker = Credentials::of_user(1000, 1000);
        let namespace = UserNamespace::new(&maker).unwrap();
        let inside = maker.in_new_user_namespace(&namespace);
        assert!(inside.has_own(cap::SYS_ADMIN) && !inside.has(cap::SYS_ADMIN));
        assert!(namespace.grants(&maker, cap::SYS_ADMIN));
        assert!(!namespace.grants(&Credentials::of_user(7, 7), cap::SYS_ADMIN));
        assert!(namespace.grants(&Credentials::of_user(0, 0), cap::SYS_ADMIN));
        assert!(!UserNamespace::initial().grants(&inside, cap::SYS_ADMIN));
    }
}
