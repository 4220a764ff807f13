//! Landlock: rules that a task puts on itself, and that its children inherit.
//!
//! A [`Domain`] is a stack of layers. Each layer says which rights it handles; a right that it
//! handles is there only where one of its rules gives it. All layers must agree. What a file, a
//! port or a signal has to do with it is decided where those are known.

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use linux_abi::{Errno, SysResult};

/// The version of the interface that is offered.
pub const ABI_VERSION: u64 = 6;

/// How many layers a domain may have.
const MAX_LAYERS: u32 = 16;
/// How many rules a set may have.
const MAX_RULES: usize = 4096;

/// Rights to files (`LANDLOCK_ACCESS_FS_*`).
#[expect(missing_docs, reason = "the names are those of landlock(7)")]
pub mod fs {
    pub const EXECUTE: u64 = 1 << 0;
    pub const WRITE_FILE: u64 = 1 << 1;
    pub const READ_FILE: u64 = 1 << 2;
    pub const READ_DIR: u64 = 1 << 3;
    pub const REMOVE_DIR: u64 = 1 << 4;
    pub const REMOVE_FILE: u64 = 1 << 5;
    pub const MAKE_CHAR: u64 = 1 << 6;
    pub const MAKE_DIR: u64 = 1 << 7;
    pub const MAKE_REG: u64 = 1 << 8;
    pub const MAKE_SOCK: u64 = 1 << 9;
    pub const MAKE_FIFO: u64 = 1 << 10;
    pub const MAKE_BLOCK: u64 = 1 << 11;
    pub const MAKE_SYM: u64 = 1 << 12;
    pub const REFER: u64 = 1 << 13;
    pub const TRUNCATE: u64 = 1 << 14;
    pub const IOCTL_DEV: u64 = 1 << 15;
    pub const ALL: u64 = (1 << 16) - 1;
    /// What can be said of something that is no folder.
    pub const OF_FILES: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;
}

/// Rights to TCP ports (`LANDLOCK_ACCESS_NET_*`).
#[expect(missing_docs, reason = "the names are those of landlock(7)")]
pub mod net {
    pub const BIND_TCP: u64 = 1 << 0;
    pub const CONNECT_TCP: u64 = 1 << 1;
    pub const ALL: u64 = 3;
}

/// What must stay within the domain (`LANDLOCK_SCOPE_*`).
#[expect(missing_docs, reason = "the names are those of landlock(7)")]
pub mod scope {
    pub const ABSTRACT_UNIX_SOCKET: u64 = 1 << 0;
    pub const SIGNAL: u64 = 1 << 1;
    pub const ALL: u64 = 3;
}

/// What names a file in a rule: the address of its inode, which the rule keeps alive.
pub type FileKey = usize;

/// Rules in the making, and what they handle.
#[derive(Default)]
pub struct Ruleset {
    handled_fs: u64,
    handled_net: u64,
    scoped: u64,
    rules: RefCell<Rules>,
}

#[derive(Clone, Default)]
struct Rules {
    files: HashMap<FileKey, (u64, Rc<dyn Any>)>,
    ports: HashMap<u16, u64>,
}

impl Ruleset {
    /// No rules, of what is handled. `EINVAL` for rights that are not known, `ENOMSG` if nothing
    /// is handled.
    pub fn new(handled_fs: u64, handled_net: u64, scoped: u64) -> SysResult<Self> {
        if handled_fs & !fs::ALL != 0 || handled_net & !net::ALL != 0 || scoped & !scope::ALL != 0 {
            return Err(Errno::EINVAL);
        }
        if handled_fs | handled_net | scoped == 0 {
            return Err(Errno::ENOMSG);
        }
        Ok(Self { handled_fs, handled_net, scoped, rules: RefCell::default() })
    }

    /// Gives rights to a file, and to everything beneath it. `EINVAL` for rights that the set
    /// does not handle.
    pub fn allow_beneath(&self, key: FileKey, file: Rc<dyn Any>, rights: u64) -> SysResult<()> {
        if rights == 0 {
            return Err(Errno::ENOMSG);
        }
        if rights & !self.handled_fs != 0 {
            return Err(Errno::EINVAL);
        }
        let mut rules = self.rules.borrow_mut();
        if rules.files.len() >= MAX_RULES {
            return Err(Errno::E2BIG);
        }
        rules.files.entry(key).or_insert((0, file)).0 |= rights;
        Ok(())
    }

    /// Gives rights to a port.
    pub fn allow_port(&self, port: u64, rights: u64) -> SysResult<()> {
        if rights == 0 {
            return Err(Errno::ENOMSG);
        }
        if rights & !self.handled_net != 0 {
            return Err(Errno::EINVAL);
        }
        let port = u16::try_from(port).map_err(|_| Errno::EINVAL)?;
        let mut rules = self.rules.borrow_mut();
        if rules.ports.len() >= MAX_RULES {
            return Err(Errno::E2BIG);
        }
        *rules.ports.entry(port).or_default() |= rights;
        Ok(())
    }
}

/// The layers that a task is under, the newest first.
pub struct Domain {
    outer: Option<Rc<Domain>>,
    depth: u32,
    handled_fs: u64,
    handled_net: u64,
    scoped: u64,
    rules: Rules,
}

impl std::fmt::Debug for Domain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "landlock domain of {} layers", self.depth)
    }
}

impl PartialEq for Domain {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Domain {}

impl Domain {
    /// One more layer. `E2BIG` if there are too many.
    pub fn new(outer: Option<&Rc<Domain>>, ruleset: &Ruleset) -> SysResult<Rc<Self>> {
        let depth = outer.map_or(0, |outer| outer.depth) + 1;
        if depth > MAX_LAYERS {
            return Err(Errno::E2BIG);
        }
        Ok(Rc::new(Self {
            outer: outer.cloned(),
            depth,
            handled_fs: ruleset.handled_fs,
            handled_net: ruleset.handled_net,
            scoped: ruleset.scoped,
            rules: ruleset.rules.borrow().clone(),
        }))
    }

    /// Its layers, the newest first.
    pub fn layers(&self) -> impl Iterator<Item = &Domain> {
        std::iter::successors(Some(self), |layer| layer.outer.as_deref())
    }

    /// The rights to files that this layer handles. Moving files between folders it always does.
    pub fn handled_fs(&self) -> u64 {
        self.handled_fs
    }

    /// The rights that this layer gives to a file by a rule for that very file.
    pub fn rights_of(&self, key: FileKey) -> u64 {
        self.rules.files.get(&key).map_or(0, |rule| rule.0)
    }

    /// Whether any layer has to do with files.
    pub fn concerns_files(&self) -> bool {
        self.layers().any(|layer| layer.handled_fs != 0)
    }

    /// `EACCES` if a port may not be used so.
    pub fn check_port(&self, port: u16, right: u64) -> SysResult<()> {
        let permits = |layer: &Domain| {
            layer.handled_net & right == 0
                || layer.rules.ports.get(&port).is_some_and(|rights| rights & right != 0)
        };
        if self.layers().all(permits) { Ok(()) } else { Err(Errno::EACCES) }
    }

    /// Whether this is `other` or has been put within it.
    fn is_within(&self, other: &Domain) -> bool {
        self.layers().any(|layer| layer == other)
    }

    /// Whether a task of this domain may reach one of `other`, by what `scope` names.
    pub fn may_reach(&self, other: Option<&Domain>, scope: u64) -> bool {
        // The outermost layer that keeps it in counts least: each must have the other within it.
        self.layers()
            .filter(|layer| layer.scoped & scope != 0)
            .all(|layer| other.is_some_and(|other| other.is_within(layer)))
    }

    /// Whether a task of this domain may look inside one of `other`.
    pub fn may_inspect(&self, other: Option<&Domain>) -> bool {
        other.is_some_and(|other| other.is_within(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_only_take_away() {
        let set = Ruleset::new(0, net::BIND_TCP, 0).unwrap();
        set.allow_port(80, net::BIND_TCP).unwrap();
        assert_eq!(set.allow_port(80, net::CONNECT_TCP), Err(Errno::EINVAL));
        let first = Domain::new(None, &set).unwrap();
        assert_eq!(first.check_port(80, net::BIND_TCP), Ok(()));
        assert_eq!(first.check_port(81, net::BIND_TCP), Err(Errno::EACCES));
        assert_eq!(first.check_port(81, net::CONNECT_TCP), Ok(()));
        let nothing = Ruleset::new(0, net::BIND_TCP, 0).unwrap();
        let second = Domain::new(Some(&first), &nothing).unwrap();
        assert_eq!(second.check_port(80, net::BIND_TCP), Err(Errno::EACCES));
    }

    #[test]
    fn a_scope_keeps_in() {
        let set = Ruleset::new(0, 0, scope::SIGNAL).unwrap();
        let domain = Domain::new(None, &set).unwrap();
        let inner = Domain::new(Some(&domain), &set).unwrap();
        assert!(!domain.may_reach(None, scope::SIGNAL));
        assert!(domain.may_reach(None, scope::ABSTRACT_UNIX_SOCKET));
        assert!(domain.may_reach(Some(&inner), scope::SIGNAL));
        assert!(!inner.may_reach(Some(&domain), scope::SIGNAL));
    }
}
