//! What a change does to a file, line by line, for somebody who has to agree to it.
//!
//! Both sides are read beneath folders that are held, without following a link, up to a limit.

use std::io;
use std::path::Path;

use host_sys::beneath::Folder;
use sandbox_spec::{Change, Happened, Now, printable_path};
use skills::lines_that_differ;

use super::listing::gone_with;

/// The largest file that is compared.
const MAX_BYTES: u64 = 1 << 20;
/// The folder of the user's and the layer with what was written.
pub struct Sides {
    old: Option<Folder>,
    new: Folder,
}

impl Sides {
    /// Opens both.
    pub fn open(folder: Option<&Path>, layer: &Path) -> io::Result<Self> {
        Ok(Self { old: folder.map(Folder::at).transpose()?, new: Folder::at(layer)? })
    }

    /// The difference in words, with a line that names it.
    pub fn of(&self, change: &Change) -> String {
        let title = format!("--- {} {}\n", change.happened.word(), printable_path(&change.path));
        let body = match &change.now {
            Now::Nothing if change.gone.is_some() => String::new(),
            Now::Folder => "  a folder\n".to_owned(),
            Now::Special => "  no file; it is not written\n".to_owned(),
            Now::Link { target } => format!("  a link to {}\n", printable_path(target)),
            Now::Nothing => self.compare(change),
            Now::File { mode, .. } => format!("  mode {mode:04o}\n") + &self.compare(change),
        };
        let gone =
            change.gone.map_or(String::new(), |gone| format!("  {} goes\n", gone_with(gone)));
        title + &gone + &body
    }

    fn compare(&self, change: &Change) -> String {
        let old = match (&self.old, change.happened) {
            (Some(top), Happened::Changed | Happened::Removed) if change.gone.is_none() => {
                read(top, &change.path)
            }
            _ => Ok(Vec::new()),
        };
        let new = match change.now {
            Now::File { .. } => read(&self.new, &change.path),
            _ => Ok(Vec::new()),
        };
        match (old, new) {
            (Ok(old), Ok(new)) => lines_that_differ(&old, &new),
            (Err(error), _) | (_, Err(error)) => format!("  cannot be shown: {error}\n"),
        }
    }
}

/// Reads a file beneath a folder.
fn read(top: &Folder, path: &Path) -> io::Result<Vec<u8>> {
    let (folder, name) = top.parent_of(path)?;
    folder.read(name, MAX_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn change(path: &str, happened: Happened) -> Change {
        Change::new(path, happened, Now::File { size: 0, mode: 0o644 })
    }

    #[test]
    fn links_and_large_files_are_not_read() {
        let top = tempfile::tempdir().unwrap();
        let (old, new) = (top.path().join("old"), top.path().join("new"));
        std::fs::create_dir(&old).unwrap();
        std::fs::create_dir(&new).unwrap();
        std::fs::write(top.path().join("secret"), "mine").unwrap();
        std::fs::create_dir(top.path().join("d")).unwrap();
        std::fs::write(top.path().join("d/f"), "mine").unwrap();
        symlink("../secret", new.join("f")).unwrap();
        symlink("../d", new.join("d")).unwrap();
        std::fs::write(new.join("large"), vec![b'x'; (1 << 20) + 1]).unwrap();
        let sides = Sides::open(Some(&old), &new).unwrap();
        for path in ["f", "d/f", "large", "gone"] {
            let text = sides.of(&change(path, Happened::Created));
            assert!(text.contains("cannot be shown") && !text.contains("mine"), "{text}");
        }
    }
}
