//! From a path to a file.
//!
//! One walk serves all calls. It resolves everything but leaves the last step open: the result
//! says in which directory the path ends, by what name, and what is there now, if anything is.
//! Calls that want an existing file take [`lookup`]; calls that make or remove a name take
//! [`resolve`].

mod links;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use kernel_core::facts;
use linux_abi::files::{NAME_MAX, ResolveFlags};
use linux_abi::{Errno, SysResult};
use smallvec::SmallVec;

use crate::fs_context::Access;
use crate::inode::Directory;
use crate::metadata::FileKind;
use crate::mount::Location;
use crate::observed;
use crate::permission::check_search;

pub(crate) use links::tell_missing;

/// A file name that rarely needs the heap.
pub type Name = SmallVec<[u8; 48]>;

/// What the last component of a path is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Last {
    /// An ordinary name.
    Name(Name),
    /// `.`, or nothing, such as after a magic link.
    Dot,
    /// `..`.
    DotDot,
    /// The path is `/`, or several of them.
    Root,
}

/// Where a path ends.
pub struct Found {
    /// The directory of the last component.
    pub parent: Location,
    /// The last component.
    pub last: Last,
    /// What is there now.
    pub target: Option<Location>,
    /// Nobody has looked whether something is there: whoever makes the name will see.
    pub is_unchecked: bool,
    /// The path ended in a slash: only a directory will do.
    pub has_trailing_slash: bool,
}

impl Found {
    /// The last component, for calls that make a new name: `EEXIST` for `.`, `..` and `/`.
    pub fn new_name(&self) -> SysResult<&[u8]> {
        match &self.last {
            Last::Name(name) => Ok(name),
            _ => Err(Errno::EEXIST),
        }
    }

    /// `ENOENT` if nothing is there and the directory is one that nobody makes names in.
    pub fn check_can_be_made(&self) -> SysResult<()> {
        let is_fixed = |directory: &dyn Directory| directory.knows_all_names();
        if self.target.is_none() && self.parent.inode()?.directory().is_some_and(is_fixed) {
            return Err(Errno::ENOENT);
        }
        Ok(())
    }

    /// Why a name could not be made: if nobody has looked before, it may be there already, which comes
    /// before all other reasons.
    pub fn why_not_made(&self, errno: Errno) -> Errno {
        let is_there =
            |name| self.parent.dentry.child(name).is_ok_and(|child| child.inode_if_any().is_some());
        match &self.last {
            Last::Name(name) if self.is_unchecked && is_there(name) => Errno::EEXIST,
            _ => errno,
        }
    }

    /// What is there; `ENOENT` if nothing is, `ENOTDIR` if only a directory would do.
    pub fn existing(self) -> SysResult<Location> {
        let target = self.target.ok_or(Errno::ENOENT)?;
        if self.has_trailing_slash && target.inode()?.kind() != FileKind::Directory {
            return Err(Errno::ENOTDIR);
        }
        Ok(target)
    }
}

/// Whether a symbolic link at the end of a path is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastLink {
    /// It is, as by `stat`.
    Follow,
    /// It is not, as by `lstat`; but a trailing slash makes it so.
    Keep,
    /// It is not, and not even a trailing slash makes it so, as for a name that shall be removed
    /// or made.
    KeepAlways,
    /// The same for a name that shall be made and must not be there yet. The result may be
    /// [unchecked](Found::is_unchecked).
    New,
}

/// The file that `path` names, starting from `start` if it is relative.
pub fn lookup(
    access: &Access<'_>,
    start: &Location,
    path: &[u8],
    last_link: LastLink,
) -> SysResult<Location> {
    let found = resolve(access, start, path, last_link, ResolveFlags::empty())?;
    // That nothing is there is an answer of the directory.
    let source = found.target.as_ref().unwrap_or(&found.parent);
    facts::answered_from(source.inode()?.is_steady());
    if found.target.is_none() && observed::is_there() {
        tell_missing(access, start, path, ResolveFlags::empty());
    }
    found.existing()
}

/// Where `path` ends, starting from `start` if it is relative.
pub fn resolve(
    access: &Access<'_>,
    start: &Location,
    path: &[u8],
    last_link: LastLink,
    flags: ResolveFlags,
) -> SysResult<Found> {
    if path.is_empty() {
        return Err(Errno::ENOENT);
    }
    let walk = Walk::new(access, start, last_link, flags);
    let found = walk.run(path);
    if matches!(found, Err(Errno::ENOENT | Errno::EACCES)) && observed::is_there() {
        tell_missing(access, start, path, flags);
    }
    found
}

struct Walk<'a> {
    access: &'a Access<'a>,
    /// What `/` and the highest `..` mean.
    root: Location,
    at: Location,
    n_links: u32,
    last_link: LastLink,
    flags: ResolveFlags,
    /// The directory of the path is known, or is not to be remembered.
    is_known: bool,
    /// How much of the path leads to the directory above that one, if it shall be remembered too.
    upper_length: usize,
}

/// What a step did.
enum Step {
    /// Now at the next component.
    Moved,
    /// The component is a symbolic link, and this is its path.
    Link(Vec<u8>),
}

impl<'a> Walk<'a> {
    fn new(
        access: &'a Access<'a>,
        start: &Location,
        last_link: LastLink,
        flags: ResolveFlags,
    ) -> Self {
        let is_scoped = flags.intersects(ResolveFlags::IN_ROOT | ResolveFlags::BENEATH);
        Self {
            access,
            root: if is_scoped { start.clone() } else { access.fs.root() },
            at: start.clone(),
            n_links: 0,
            last_link,
            flags,
            is_known: false,
            upper_length: 0,
        }
    }
}

impl Walk<'_> {
    fn run(mut self, whole: &[u8]) -> SysResult<Found> {
        let mut path = Cow::Borrowed(whole);
        let start = self.at.clone();
        let mut position = self.go_to_known(&start, whole);
        if position == 0 && path.first() == Some(&b'/') {
            self.go_to_root()?;
        }
        loop {
            let (component, next) = next_component(&path, position);
            if component.is_empty() {
                // Only slashes, or a link that led to a place.
                let last = if next > 0 && path.iter().all(|&byte| byte == b'/') {
                    Last::Root
                } else {
                    Last::Dot
                };
                return Ok(self.end(last));
            }
            let rest = path.get(next..).unwrap_or_default();
            let is_last = rest.iter().all(|&byte| byte == b'/');
            let has_trailing_slash = is_last && !rest.is_empty();
            if is_last && (component == b"." || component == b"..") {
                return self.end_at_dots(component == b"..");
            }
            let keeps = match self.last_link {
                LastLink::Follow => false,
                LastLink::Keep => !has_trailing_slash,
                LastLink::KeepAlways | LastLink::New => true,
            };
            if is_last {
                if !std::mem::replace(&mut self.is_known, true) {
                    self.remember(&start, directory_part(whole));
                }
                let name = Name::from_slice(component);
                let found = self.last_step(name, keeps, has_trailing_slash)?;
                match found {
                    LastStep::Done(found) => return Ok(found),
                    LastStep::Link(mut target) => {
                        if has_trailing_slash {
                            target.push(b'/');
                        }
                        path = Cow::Owned(target);
                    }
                }
                position = 0;
                continue;
            }
            match self.step(component)? {
                Step::Moved => {
                    position = next;
                    let is_upper = next + 1 == self.upper_length && !self.is_known;
                    if is_upper && matches!(path, Cow::Borrowed(_)) {
                        self.remember(&start, whole.get(..=next).unwrap_or_default());
                    }
                }
                Step::Link(mut target) => {
                    target.push(b'/');
                    target.extend_from_slice(rest);
                    path = Cow::Owned(target);
                    position = 0;
                }
            }
        }
    }

    /// Goes to the directory of a path at once, or to the one above it, if it is known. Returns how much
    /// of the path that was.
    fn go_to_known(&mut self, start: &Location, path: &[u8]) -> usize {
        let prefix = directory_part(path);
        self.is_known = prefix.len() < 2 || !self.flags.is_empty() || path.ends_with(b"/");
        if self.is_known {
            return 0;
        }
        let upper = directory_part(prefix.get(..prefix.len() - 1).unwrap_or_default());
        let find = |prefix: &[u8]| {
            let known = self.access.fs.known_directories();
            known.find(self.origin(start, prefix), prefix, self.access.credentials)
        };
        let (is_known, length, found) = match find(prefix) {
            Some(found) => (true, prefix.len(), Some(found)),
            None => (false, upper.len(), find(upper)),
        };
        let Some((location, n_links)) = found else {
            self.upper_length = upper.len();
            return 0;
        };
        self.at = location;
        self.n_links = n_links;
        self.is_known = is_known;
        length
    }

    /// Where a path begins.
    fn origin<'a>(&'a self, start: &'a Location, path: &[u8]) -> &'a Location {
        if path.starts_with(b"/") { &self.root } else { start }
    }

    /// Remembers that a part of the path leads here, if that cannot change unnoticed.
    fn remember(&self, start: &Location, prefix: &[u8]) {
        if !facts::is_from_outside() {
            let from = (self.origin(start, prefix), prefix);
            let known = self.access.fs.known_directories();
            known.add(from, (&self.at, self.n_links), self.access.credentials);
        }
    }

    fn end(self, last: Last) -> Found {
        Found {
            parent: self.at.clone(),
            last,
            target: Some(self.at),
            is_unchecked: false,
            has_trailing_slash: false,
        }
    }

    fn end_at_dots(mut self, is_parent: bool) -> SysResult<Found> {
        self.check_directory()?;
        if is_parent {
            self.go_up()?;
            return Ok(self.end(Last::DotDot));
        }
        Ok(self.end(Last::Dot))
    }

    /// `ENOTDIR` unless this is a directory, `EACCES` unless it may be searched.
    fn check_directory(&self) -> SysResult<()> {
        let inode = self.at.inode()?;
        if inode.directory().is_none() {
            return Err(Errno::ENOTDIR);
        }
        check_search(&**inode, self.access.credentials)
    }

    fn check_name(&self, component: &[u8]) -> SysResult<()> {
        self.check_directory()?;
        if component.len() > NAME_MAX { Err(Errno::ENAMETOOLONG) } else { Ok(()) }
    }

    /// Whether nobody has to look for a name before it is made.
    fn need_not_look(&self, name: &[u8]) -> bool {
        let notices = |directory: &dyn Directory| directory.notices_existing_names();
        self.last_link == LastLink::New
            && self.at.inode().is_ok_and(|inode| inode.directory().is_some_and(notices))
            && !self.at.dentry.knows(name)
            && !observed::is_there()
    }

    fn child(&self, component: &[u8]) -> SysResult<Location> {
        self.check_name(component)?;
        let dentry = self.at.dentry.child(component)?;
        Ok(Location { mount: self.at.mount.clone(), dentry })
    }

    /// A component that is not the last.
    fn step(&mut self, component: &[u8]) -> SysResult<Step> {
        if component == b"." {
            self.check_directory()?;
            return Ok(Step::Moved);
        }
        if component == b".." {
            self.check_directory()?;
            self.go_up()?;
            return Ok(Step::Moved);
        }
        let child = self.child(component)?;
        let inode = child.inode()?;
        if inode.kind() == FileKind::Symlink {
            return self.follow(&child);
        }
        if inode.kind() != FileKind::Directory {
            return Err(Errno::ENOTDIR);
        }
        self.at = self.enter(child)?;
        Ok(Step::Moved)
    }

    fn last_step(
        &mut self,
        name: Name,
        keeps_link: bool,
        has_trailing_slash: bool,
    ) -> SysResult<LastStep> {
        let parent = self.at.clone();
        let nothing = |name, is_unchecked| {
            let last = Last::Name(name);
            LastStep::Done(Found { parent, last, target: None, is_unchecked, has_trailing_slash })
        };
        if self.need_not_look(&name) {
            self.check_name(&name)?;
            facts::came_from_outside();
            return Ok(nothing(name, true));
        }
        let child = self.child(&name)?;
        let Some(inode) = child.dentry.inode_if_any() else { return Ok(nothing(name, false)) };
        if inode.kind() == FileKind::Symlink && !keeps_link {
            return Ok(match self.follow(&child)? {
                Step::Link(target) => LastStep::Link(target),
                Step::Moved => LastStep::Done(Found {
                    parent: self.at.clone(),
                    last: Last::Dot,
                    target: Some(self.at.clone()),
                    is_unchecked: false,
                    has_trailing_slash,
                }),
            });
        }
        let parent = self.at.clone();
        let (last, target) = (Last::Name(name), Some(self.enter(child)?));
        let is_unchecked = false;
        Ok(LastStep::Done(Found { parent, last, target, is_unchecked, has_trailing_slash }))
    }

    /// Crosses into what is mounted at `location`.
    fn enter(&self, location: Location) -> SysResult<Location> {
        if !location.dentry.is_mount_point() {
            return Ok(location);
        }
        let entered = location.clone().topmost();
        if self.flags.contains(ResolveFlags::NO_XDEV) && !entered.is_same(&location) {
            return Err(Errno::EXDEV);
        }
        Ok(entered)
    }

    fn go_to_root(&mut self) -> SysResult<()> {
        if self.flags.contains(ResolveFlags::BENEATH) {
            return Err(Errno::EXDEV);
        }
        if self.flags.contains(ResolveFlags::NO_XDEV)
            && !std::rc::Rc::ptr_eq(&self.at.mount, &self.root.mount)
        {
            return Err(Errno::EXDEV);
        }
        self.at = self.root.clone();
        Ok(())
    }

    fn go_up(&mut self) -> SysResult<()> {
        let mut at = self.at.clone();
        loop {
            if at.is_same(&self.root) {
                if self.flags.contains(ResolveFlags::BENEATH) {
                    return Err(Errno::EXDEV);
                }
                return Ok(());
            }
            if !at.is_mount_root() {
                break;
            }
            // The top of everything has no place to go up to.
            let Some(place) = at.mount.place() else { return Ok(()) };
            if self.flags.contains(ResolveFlags::NO_XDEV) {
                return Err(Errno::EXDEV);
            }
            at = place;
        }
        if let Some(parent) = at.dentry.parent() {
            at.dentry = parent;
        }
        self.at = self.enter(at)?;
        Ok(())
    }
}

enum LastStep {
    Done(Found),
    Link(Vec<u8>),
}

/// A path up to its last slash.
fn directory_part(path: &[u8]) -> &[u8] {
    let length = path.iter().rposition(|&byte| byte == b'/').map_or(0, |at| at + 1);
    path.get(..length).unwrap_or_default()
}

/// The component from `position` on, and the position after it.
fn next_component(path: &[u8], position: usize) -> (&[u8], usize) {
    let rest = path.get(position..).unwrap_or_default();
    let start = rest.iter().position(|&byte| byte != b'/').unwrap_or(rest.len());
    let rest = rest.get(start..).unwrap_or_default();
    let length = rest.iter().position(|&byte| byte == b'/').unwrap_or(rest.len());
    (rest.get(..length).unwrap_or_default(), position + start + length)
}
