//! Browsers that packages start and do not bring along: they are downloaded once, into a folder in
//! the user's cache, by a command of the package.

use super::{Hint, Hints, lists};

/// A package that starts browsers of its own.
#[derive(Debug, PartialEq, Eq)]
pub struct BrowserStore {
    /// The name of the package, and of the need.
    pub name: &'static str,
    /// The distribution of Python, in its normal spelling.
    python: Option<&'static str>,
    /// Packages of Node.
    node: &'static [&'static str],
    /// The folder in the user's cache folder.
    pub folder: &'static str,
    /// The variable that names another folder.
    pub variable: &'static str,
    /// Where runs see it.
    pub target: &'static str,
    /// How names of browsers in the folder begin.
    pub browsers: &'static [&'static str],
    /// What downloads one.
    command: &'static str,
}

/// All that we know.
pub const BROWSER_STORES: &[BrowserStore] = &[
    BrowserStore {
        name: "playwright",
        python: Some("playwright"),
        node: &["playwright", "playwright-core", "@playwright/test"],
        folder: "ms-playwright",
        variable: "PLAYWRIGHT_BROWSERS_PATH",
        target: "/browsers/ms-playwright",
        browsers: &["chromium", "firefox", "webkit"],
        command: "playwright install chromium",
    },
    BrowserStore {
        name: "puppeteer",
        python: None,
        node: &["puppeteer"],
        folder: "puppeteer",
        variable: "PUPPETEER_CACHE_DIR",
        target: "/browsers/puppeteer",
        browsers: &["chrome", "firefox"],
        command: "npx puppeteer browsers install chrome",
    },
];

impl BrowserStore {
    /// The one of a need.
    pub fn of(name: &str) -> Option<&'static Self> {
        BROWSER_STORES.iter().find(|store| store.name == name)
    }

    /// How to get a browser.
    pub fn advice(&self) -> String {
        format!(
            "`{}`, outside, puts one into ~/.cache/{}, which runs are shown",
            self.command, self.folder
        )
    }
}

/// The browsers that the packages of these hints start.
pub(super) fn of_packages(hints: &Hints) -> Vec<Hint> {
    let mut browsers = Vec::new();
    for store in BROWSER_STORES {
        let is_python = |hint: &&Hint| {
            store.python.is_some_and(|name| lists::normal_distribution(&hint.name) == name)
        };
        let is_node = |hint: &&Hint| store.node.contains(&hint.name.as_str());
        let python = hints.python.iter().filter(is_python);
        let starting = python.chain(hints.node.iter().filter(is_node));
        browsers.extend(starting.map(|hint| Hint {
            name: store.name.to_owned(),
            import: None,
            requirement: None,
            ..hint.clone()
        }));
    }
    browsers
}
