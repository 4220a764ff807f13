//! Symbolic links on a path: following them, and telling where a path led that did not arrive.

use linux_abi::files::{MAX_SYMLINKS, MountFlags, ResolveFlags};
use linux_abi::{Errno, SysResult};

use super::{LastLink, Step, Walk, next_component};
use crate::fs_context::Access;
use crate::mount::Location;
use crate::observed;

/// Tells that a path led to nothing: the path as it was given, and, if it leads through links, the
/// place that they led to.
#[cold]
pub(crate) fn tell_missing(
    access: &Access<'_>,
    start: &Location,
    path: &[u8],
    flags: ResolveFlags,
) {
    observed::tell_missing(start, path);
    let walk = Walk::new(access, start, LastLink::Follow, flags);
    if let Some((folder, rest)) = walk.through_links(path) {
        observed::tell_missing(&folder, &rest);
    }
}

impl Walk<'_> {
    /// Starts to follow a symbolic link.
    pub(super) fn follow(&mut self, link: &Location) -> SysResult<Step> {
        self.n_links += 1;
        if self.n_links > MAX_SYMLINKS || self.flags.contains(ResolveFlags::NO_SYMLINKS) {
            return Err(Errno::ELOOP);
        }
        if link.mount.flags().contains(MountFlags::NO_SYMLINK_FOLLOW) {
            return Err(Errno::ELOOP);
        }
        let inode = link.inode()?;
        // That it was followed is written down, unless it never changes.
        self.is_known |= !inode.is_frozen();
        if let Some(target) = inode.magic_target() {
            if self.flags.contains(ResolveFlags::NO_MAGICLINKS) {
                return Err(Errno::ELOOP);
            }
            let target = target?;
            if self.flags.intersects(ResolveFlags::IN_ROOT | ResolveFlags::BENEATH) {
                return Err(Errno::EXDEV);
            }
            self.at = target;
            return Ok(Step::Moved);
        }
        let target = inode.read_link_for(Some(self.access.caller))?;
        if target.is_empty() {
            return Err(Errno::ENOENT);
        }
        inode.touch_accessed();
        if target.first() == Some(&b'/') {
            self.go_to_root()?;
        }
        Ok(Step::Link(target))
    }

    /// Where a path ends that leads through links and does not arrive: the folder that it gets to, and
    /// what is left of it. `None` if it leads through no link.
    fn through_links(mut self, whole: &[u8]) -> Option<(Location, Vec<u8>)> {
        let mut path = whole.to_vec();
        let mut position = 0;
        if path.first() == Some(&b'/') {
            self.go_to_root().ok()?;
        }
        loop {
            let (component, next) = next_component(&path, position);
            let is_over = component.is_empty();
            let step = if is_over { Err(Errno::ENOENT) } else { self.step(component) };
            let rest = path.get(next..).unwrap_or_default();
            match step {
                Ok(Step::Moved) => position = next,
                Ok(Step::Link(mut target)) => {
                    target.push(b'/');
                    target.extend_from_slice(rest);
                    (path, position) = (target, 0);
                }
                Err(_) if self.n_links > 0 && !is_over => {
                    // It goes on from where the walk is, wherever that path began.
                    let left = path.get(position..).unwrap_or_default();
                    let left =
                        left.iter().position(|byte| *byte != b'/').and_then(|at| left.get(at..));
                    return Some((self.at, left.unwrap_or_default().to_vec()));
                }
                Err(_) => return None,
            }
        }
    }
}
