//! Where a link leads that a guest has made, in the folder as it will be.
//!
//! A link is read from where it is, through whatever links are on its way: those of the layer, and
//! those that the folder has already. Nothing outside is looked at.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use host_sys::beneath::{Folder, Kind};

/// How many links are followed, as Linux does.
const MAX_LINKS: usize = 40;
/// How many names are looked up for all links together. A guest may have made very many of them, each
/// with a long way.
const MAX_STEPS: usize = 1 << 18;

/// A layer, and the folder that it changes.
pub struct Leads<'t> {
    upper: &'t Folder,
    lower: Option<&'t Folder>,
    /// How many names may still be looked up.
    left: usize,
}

/// What a name is.
enum Found {
    Folder,
    Link(PathBuf),
    /// A file, or nothing: what follows it is taken as it is written.
    Other,
}

impl<'t> Leads<'t> {
    /// For the links of one layer.
    pub fn new(upper: &'t Folder, lower: Option<&'t Folder>) -> Self {
        Self { upper, lower, left: MAX_STEPS }
    }

    /// Whether what a link says leads out of the folder, or may: if it goes up again after a name
    /// that could be made a link, or if nobody has the time to find out.
    pub fn out(&mut self, link: &Path, target: &Path) -> bool {
        let is_name = |part: &Component<'_>| matches!(part, Component::Normal(_));
        let goes_up_later =
            target.components().skip_while(|it| !is_name(it)).any(|it| it == Component::ParentDir);
        // Whoever takes only some of the changes has the links of the folder instead of the layer's.
        goes_up_later || self.is_out(link, target, true) || self.is_out(link, target, false)
    }

    fn is_out(&mut self, link: &Path, target: &Path, with_layer: bool) -> bool {
        let mut at: Vec<OsString> = link.parent().map(names).unwrap_or_default();
        let mut way: VecDeque<Part> = parts(target);
        let mut n_links = 0;
        while let Some(part) = way.pop_front() {
            let name = match part {
                Part::Top => return true,
                Part::Up if at.pop().is_none() => return true,
                Part::Up => continue,
                Part::Name(name) => name,
            };
            let Some(left) = self.left.checked_sub(at.len() + 1) else { return true };
            self.left = left;
            match self.look(&at, &name, with_layer) {
                Found::Link(_) if n_links == MAX_LINKS => return true,
                Found::Link(target) => {
                    n_links += 1;
                    for part in parts(&target).into_iter().rev() {
                        way.push_front(part);
                    }
                }
                Found::Folder | Found::Other => at.push(name),
            }
        }
        false
    }

    /// What a name is in the folder as it will be, or as it is.
    fn look(&self, at: &[OsString], name: &OsStr, with_layer: bool) -> Found {
        let folder: PathBuf = at.iter().collect();
        let in_tree = |tree: &Folder| {
            let folder = tree.descend(&folder).ok()?;
            let status = folder.status_of(name).ok()??;
            Some(match status.kind {
                Kind::Folder => Found::Folder,
                Kind::Link => folder.read_link(name).map_or(Found::Other, Found::Link),
                _ => Found::Other,
            })
        };
        let upper = if with_layer { in_tree(self.upper) } else { None };
        upper.or_else(|| self.lower.and_then(in_tree)).unwrap_or(Found::Other)
    }
}

/// A part of what a link says.
enum Part {
    Top,
    Up,
    Name(OsString),
}

fn parts(target: &Path) -> VecDeque<Part> {
    let part = |part: Component<'_>| match part {
        Component::Normal(name) => Some(Part::Name(name.to_owned())),
        Component::ParentDir => Some(Part::Up),
        Component::CurDir => None,
        Component::RootDir | Component::Prefix(_) => Some(Part::Top),
    };
    target.components().filter_map(part).collect()
}

fn names(path: &Path) -> Vec<OsString> {
    path.components().map(|part| part.as_os_str().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_read_through_other_links() {
        let top = tempfile::tempdir().unwrap();
        let (upper, lower) = (top.path().join("upper"), top.path().join("lower"));
        fs::create_dir_all(upper.join("a/b")).unwrap();
        fs::create_dir_all(lower.join("own/deep")).unwrap();
        symlink(".", upper.join("here")).unwrap();
        symlink("..", upper.join("a/b/up")).unwrap();
        symlink("loop", upper.join("loop")).unwrap();
        symlink("/etc", lower.join("mine")).unwrap();
        symlink("/etc", lower.join("replaced")).unwrap();
        fs::create_dir(upper.join("replaced")).unwrap();
        let (upper, lower) = (Folder::at(&upper).unwrap(), Folder::at(&lower).unwrap());
        let mut leads = Leads::new(&upper, Some(&lower));
        for (link, target) in [
            ("x", "/etc/passwd"),
            ("x", "../y"),
            ("d/x", "../../y"),
            ("x", "here/../.ssh"),
            ("x", "a/b/up/up2/../../../y"),
            ("x", "mine/passwd"),
            ("x", "here/mine/passwd"),
            ("x", "replaced/passwd"),
            ("x", "loop"),
        ] {
            assert!(leads.out(Path::new(link), Path::new(target)), "{link} -> {target}");
        }
        for (link, target) in [
            ("x", "b/c"),
            ("d/x", "../y"),
            ("x", "here/a"),
            ("x", "a/b/up/b"),
            ("x", "own/deep"),
            ("x", "not/there"),
        ] {
            assert!(!leads.out(Path::new(link), Path::new(target)), "{link} -> {target}");
        }
        // Through `a/b/up` it is at `a`, and one further up is the top.
        assert!(!leads.is_out(Path::new("x"), Path::new("a/b/up/../y"), true));
        assert!(leads.is_out(Path::new("x"), Path::new("a/b/up/../../y"), true));
    }

    #[test]
    fn what_takes_too_long_leads_out() {
        let top = tempfile::tempdir().unwrap();
        let upper = Folder::at(top.path()).unwrap();
        let mut leads = Leads::new(&upper, None);
        leads.left = 10;
        assert!(!leads.out(Path::new("x"), Path::new("a")));
        assert!(leads.out(Path::new("x"), Path::new("a/b/c/d/e/f")));
    }
}
