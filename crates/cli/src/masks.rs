//! Credentials in a folder that a guest sees because somebody stands in it: they are masked, and
//! the user is told.
//!
//! Guests may have shaped the folder in earlier runs. So nothing in it is reached by its path: links
//! are read, one by one, in folders that are held.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use host_sys::beneath::{Folder, Kind};
use sandbox_spec::credentials::{credential_places, credentials_at};
use skills::printable;

use crate::blocked::Ran;
use crate::options::home_folder;

/// How many places are named before the rest is counted.
const MAX_NAMED: usize = 6;
/// How many home folders of others are looked at.
const MAX_HOMES: usize = 1 << 20;
/// How many links are followed, as Linux does.
const MAX_LINKS: usize = 40;
/// Where home folders are, beside the user's own.
const HOMES: &str = "/home";
const HOME_OF_ROOT: &str = "/root";

/// What of a folder is not shown, and what is said of it.
#[derive(Debug, Default)]
pub struct Masks {
    /// Paths from the folder.
    pub paths: Vec<PathBuf>,
    /// The folder, by a path without links.
    folder: PathBuf,
    warning: Option<String>,
}

impl Masks {
    /// The places of credentials in this folder.
    pub fn of(folder: &Path, ran: Ran) -> Self {
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
        let own = home_folder().map(|home| home.canonicalize().unwrap_or(home));
        let places: BTreeSet<PathBuf> = homes(&folder, own.as_deref())
            .iter()
            .flat_map(|home| credential_places(home.as_deref()))
            .map(|(place, _)| place)
            .collect();
        let mut paths = BTreeSet::new();
        let mut present = Vec::new();
        for place in places {
            let Some(path) = inside(&folder, &place) else { continue };
            if is_there(&place) {
                present.push(printable(&path.to_string_lossy()));
            }
            // Where a link leads to is as secret as the link.
            let target = without_links(&place).ok();
            paths.extend(target.and_then(|target| inside(&folder, &target)));
            paths.insert(path);
        }
        let warning = warning(&folder, own.as_deref(), &present, ran);
        Self { paths: paths.into_iter().collect(), folder, warning }
    }

    /// The places of credentials that one home folder has in this folder, which has no links in its
    /// path. Nothing is looked at.
    pub fn in_home(folder: &Path, home: Option<&Path>) -> Self {
        let places = credential_places(home).into_iter();
        let paths = places.filter_map(|(place, _)| inside(folder, &place)).collect();
        Self { paths, folder: folder.to_path_buf(), warning: None }
    }

    /// Masks a place that is in this folder for another reason than credentials.
    pub fn hide(&mut self, place: &Path) {
        let real = without_links(place).unwrap_or_else(|_| place.to_path_buf());
        self.paths.extend(inside(&self.folder, &real));
    }

    /// Says what is not shown, if there is something to say.
    pub fn tell(&self) {
        if let Some(warning) = &self.warning {
            eprintln!("{warning}");
        }
    }
}

/// Whether something has this absolute path; a link is something.
fn is_there(place: &Path) -> bool {
    let (Some(above), Some(name)) = (place.parent(), place.file_name()) else { return true };
    let folder = without_links(above).and_then(|above| Folder::at_exactly(&above));
    folder.and_then(|folder| folder.status_of(name)).is_ok_and(|status| status.is_some())
}

/// The path, without links in it, of what an absolute path leads to.
fn without_links(path: &Path) -> io::Result<PathBuf> {
    let part = |part: Component<'_>| part.as_os_str().to_owned();
    let mut way: VecDeque<OsString> = path.components().map(part).collect();
    let (mut at, mut n_links) = (PathBuf::from("/"), 0);
    while let Some(name) = way.pop_front() {
        match Path::new(&name).components().next() {
            Some(Component::RootDir) => at = PathBuf::from("/"),
            Some(Component::ParentDir) => {
                at.pop();
            }
            Some(Component::Normal(_)) => {
                let folder = Folder::at_exactly(&at)?;
                let status = folder.status_of(&name)?.ok_or(io::ErrorKind::NotFound)?;
                if status.kind != Kind::Link {
                    at.push(&name);
                    continue;
                }
                n_links += 1;
                if n_links > MAX_LINKS {
                    return Err(io::ErrorKind::QuotaExceeded.into());
                }
                for part in folder.read_link(&name)?.components().map(part).rev() {
                    way.push_front(part);
                }
            }
            _ => {}
        }
    }
    Ok(at)
}

/// The path from `folder` to something that is in it.
fn inside(folder: &Path, place: &Path) -> Option<PathBuf> {
    let path = place.strip_prefix(folder).ok()?;
    (!path.as_os_str().is_empty()).then(|| path.to_path_buf())
}

/// The home folders that are in a folder, or that it is in. One that is not known is `None`.
fn homes(folder: &Path, own: Option<&Path>) -> Vec<Option<PathBuf>> {
    let mut homes = vec![own.map(Path::to_path_buf)];
    let mut candidates = vec![PathBuf::from(HOME_OF_ROOT)];
    let others = Folder::at(Path::new(HOMES)).and_then(|homes| homes.list(MAX_HOMES));
    let others = others.unwrap_or_default().into_iter();
    candidates.extend(others.map(|entry| Path::new(HOMES).join(entry.name)));
    let is_near = |home: &PathBuf| home.starts_with(folder) || folder.starts_with(home);
    homes.extend(candidates.into_iter().filter(is_near).map(Some));
    homes
}

fn warning(folder: &Path, own: Option<&Path>, present: &[String], ran: Ran) -> Option<String> {
    let (who, otherwise) = match ran {
        Ran::Skill => ("the skill", "name one with --work DIR"),
        Ran::Program => ("the program", "leave it out with --no-cwd"),
    };
    let shown = printable(&folder.to_string_lossy());
    if let Some(holds) = credentials_at(folder, own) {
        return Some(format!(
            "warning: {shown} holds {holds}, and {who} sees it\n\
             hint: stand in the folder that it shall work on, or {otherwise}"
        ));
    }
    let what = match folder.parent() {
        None => "the whole file system",
        Some(_) if own == Some(folder) => "your home folder",
        Some(_) if own.is_some_and(|own| own.starts_with(folder)) => "above your home folder",
        Some(_) if present.is_empty() => return None,
        Some(_) => "a folder with credentials in it",
    };
    let named = present.get(..MAX_NAMED.min(present.len())).unwrap_or_default().join(", ");
    let except = match present.len() {
        0 => String::new(),
        n if n > MAX_NAMED => format!(", except {named} and {} more", n - MAX_NAMED),
        _ => format!(", except {named}"),
    };
    Some(format!(
        "warning: {shown} is {what}, and {who} sees everything in it{except}\n\
         hint: stand in the folder that it shall work on, or {otherwise}; \
         --mount SRC:DST shows it one more"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_a_folder_is_masked_and_what_is_beside_it_is_not() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        let masks = Masks::of(&top, Ran::Skill);
        assert!(masks.paths.is_empty() && masks.warning.is_none());
        let root = Masks::of(Path::new("/"), Ran::Skill);
        assert!(root.paths.contains(&PathBuf::from("etc/shadow")));
        assert!(root.paths.contains(&PathBuf::from("root")));
        assert!(root.warning.unwrap().contains("the whole file system"));
    }

    #[test]
    fn much_is_counted() {
        let present: Vec<String> = (0..9).map(|n| format!("p{n}")).collect();
        let said = warning(Path::new("/h"), Some(Path::new("/h")), &present, Ran::Program).unwrap();
        assert!(said.contains("your home folder") && said.contains("p5 and 3 more"), "{said}");
        assert!(warning(Path::new("/h/project"), Some(Path::new("/h")), &[], Ran::Skill).is_none());
        let said = warning(Path::new("/h/.aws"), Some(Path::new("/h")), &[], Ran::Skill).unwrap();
        assert!(said.contains("holds AWS keys"), "{said}");
    }

    #[test]
    fn links_are_read_as_the_host_reads_them() {
        use std::os::unix::fs::symlink;
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        std::fs::create_dir_all(top.join("a/b")).unwrap();
        std::fs::write(top.join("a/b/file"), "").unwrap();
        symlink("a", top.join("l")).unwrap();
        symlink("../l/b/../b/file", top.join("a/far")).unwrap();
        symlink(top.join("l/b"), top.join("absolute")).unwrap();
        symlink("gone", top.join("dangling")).unwrap();
        symlink("loop", top.join("loop")).unwrap();
        for path in
            ["a/b/file", "l/b/file", "a/far", "l/far", "absolute/file", "dangling", "loop", "gone"]
        {
            let path = top.join(path);
            assert_eq!(without_links(&path).ok(), path.canonicalize().ok(), "{}", path.display());
            assert_eq!(is_there(&path), path.symlink_metadata().is_ok(), "{}", path.display());
        }
        assert!(is_there(Path::new("/")));
    }
}
