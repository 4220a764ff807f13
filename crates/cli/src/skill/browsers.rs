//! Browsers in the user's cache that packages start: runs see them, read-only.

use std::path::PathBuf;

use host_sys::beneath::{Entry, Folder, Kind};
use sandbox_spec::HostPlace;
use skills::deps::{BROWSER_STORES, BrowserStore, Needs};

use super::places;
use crate::options::home_folder;

/// A folder of browsers has a few per version. One with more names is none.
const MAX_BROWSERS: usize = 1_000;

/// The folders with browsers for what is needed, on the host.
pub fn stores(needs: &Needs) -> Vec<(&'static BrowserStore, HostPlace)> {
    let needed = |store: &&BrowserStore| needs.browsers.iter().any(|it| it.name == store.name);
    let found = |store| Some((store, folder(store)?));
    BROWSER_STORES.iter().filter(needed).filter_map(found).collect()
}

/// Whether there is any folder with browsers. Cheap: asked for each run.
pub fn has_any() -> bool {
    BROWSER_STORES.iter().any(|store| folder(store).is_some())
}

/// The folder in which a package has a browser.
fn folder(store: &BrowserStore) -> Option<HostPlace> {
    let named =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|it| it.is_absolute());
    let cache = || named("XDG_CACHE_HOME").or_else(|| Some(home_folder()?.join(".cache")));
    let folder = named(store.variable).or_else(|| Some(cache()?.join(store.folder)))?;
    let held = Folder::at(&folder).ok().filter(|held| has_browser(held, store))?;
    Some(places::held(&folder, held))
}

fn has_browser(folder: &Folder, store: &BrowserStore) -> bool {
    let entries = folder.list(MAX_BROWSERS);
    let is_browser = |entry: &Entry| {
        let name = entry.name.to_string_lossy();
        entry.kind == Kind::Folder && store.browsers.iter().any(|it| name.starts_with(it))
    };
    entries.is_ok_and(|entries| entries.iter().any(is_browser))
}
