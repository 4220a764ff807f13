//! Epolls that watch epolls.
//!
//! A wake-up goes up from a file through every epoll above it, at once. So the graph must have no
//! loop, must not be deep, and must not have so many ways up that one event takes long.

use std::collections::HashMap;
use std::rc::Rc;

use linux_abi::{Errno, SysResult};

use super::Epoll;

/// How many epolls may lie above each other, not counting the lowest.
const MAX_DEPTH: usize = 4;

/// How many ways may lead up from an epoll, by their length.
const MAX_PATHS: [usize; MAX_DEPTH] = [500, 100, 50, 10];

/// What is known of epolls that were visited, by their address.
type Known<T> = HashMap<*const Epoll, T>;

/// Whether `parent` may watch `child`: `ELOOP` if that closes a loop or is too deep, `EINVAL` if
/// there would be too many ways up.
pub(super) fn check(parent: &Epoll, child: &Epoll) -> SysResult<()> {
    let mut depths = Known::new();
    let below = depth_below(child, parent, &mut depths)?;
    let above = paths_above(parent, &mut Known::new()).iter().take_while(|&&n| n > 0).count();
    if below + 1 + above > MAX_DEPTH {
        return Err(Errno::ELOOP);
    }
    // Count the ways as if the edge were there; it is added for good with the item.
    child.parents.borrow_mut().push(parent.this.clone());
    let result = check_paths(child, &mut Known::new(), &mut Known::new());
    child.parents.borrow_mut().pop();
    result
}

/// How many epolls lie below `epoll`, at most, one under the other. `ELOOP` if `forbidden` is
/// among them. Ends, because what is there already has no loop.
fn depth_below(epoll: &Epoll, forbidden: &Epoll, known: &mut Known<usize>) -> SysResult<usize> {
    if std::ptr::eq(epoll, forbidden) {
        return Err(Errno::ELOOP);
    }
    if let Some(&depth) = known.get(&std::ptr::from_ref(epoll)) {
        return Ok(depth);
    }
    let mut depth = 0;
    for child in children(epoll) {
        depth = depth.max(1 + depth_below(&child, forbidden, known)?);
    }
    known.insert(epoll, depth);
    Ok(depth)
}

/// How many ways lead up from `epoll`, by their length.
fn paths_above(epoll: &Epoll, known: &mut Known<[usize; MAX_DEPTH]>) -> [usize; MAX_DEPTH] {
    if let Some(&paths) = known.get(&std::ptr::from_ref(epoll)) {
        return paths;
    }
    let parents: Vec<Rc<Epoll>> =
        epoll.parents.borrow().iter().filter_map(std::rc::Weak::upgrade).collect();
    let mut paths = [0_usize; MAX_DEPTH];
    for parent in parents {
        let above = paths_above(&parent, known);
        for (count, more) in paths.iter_mut().zip(std::iter::once(1).chain(above)) {
            *count = count.saturating_add(more);
        }
    }
    known.insert(epoll, paths);
    paths
}

/// Whether the ways up from `epoll`, and from everything below it, are few enough.
fn check_paths(
    epoll: &Epoll,
    seen: &mut Known<()>,
    known: &mut Known<[usize; MAX_DEPTH]>,
) -> SysResult<()> {
    if seen.insert(epoll, ()).is_some() {
        return Ok(());
    }
    if paths_above(epoll, known).iter().zip(MAX_PATHS).any(|(&count, max)| count > max) {
        return Err(Errno::EINVAL);
    }
    children(epoll).iter().try_for_each(|child| check_paths(child, seen, known))
}

/// The epolls that `epoll` watches.
fn children(epoll: &Epoll) -> Vec<Rc<Epoll>> {
    let items = epoll.items.borrow();
    let files = items.values().filter_map(|item| item.file());
    files.filter_map(|file| file.ops_as::<Epoll>().and_then(|child| child.this.upgrade())).collect()
}
