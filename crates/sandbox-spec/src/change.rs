//! What a run did to its files.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::os_text;

/// What became of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Happened {
    /// It was not there before.
    Created,
    /// It is different now.
    Changed,
    /// It is gone.
    Removed,
}

impl Happened {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Changed => "changed",
            Self::Removed => "removed",
        }
    }
}

/// What is at a path now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum Now {
    /// A file.
    File {
        /// Its size in bytes.
        size: u64,
        /// Its permissions, with the bits for running as somebody else.
        #[serde(default)]
        mode: u32,
    },
    /// A folder.
    Folder,
    /// A symbolic link.
    Link {
        /// What it says.
        #[serde(with = "os_text::path")]
        target: PathBuf,
    },
    /// Nothing any more.
    Nothing,
    /// A socket, a FIFO or a device. Such a thing is never copied to the host.
    Special,
}

/// What goes with a folder that is removed, or that something else takes the place of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gone {
    /// How many files there were in it, links and the like among them.
    pub files: u64,
    /// There may be more: not everything could be looked at.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_at_least: bool,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The path, relative to the folder that is looked at.
    #[serde(with = "os_text::path")]
    pub path: PathBuf,
    /// What became of it.
    pub happened: Happened,
    /// What is there now.
    #[serde(flatten)]
    pub now: Now,
    /// What goes, if there was a folder and is none any more, and somebody has counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone: Option<Gone>,
    /// It is a link, and what it says leads, or may lead, out of the folder that is looked at.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leads_out: bool,
}

impl Change {
    /// A change of which no more is known.
    pub fn new(path: impl Into<PathBuf>, happened: Happened, now: Now) -> Self {
        Self { path: path.into(), happened, now, gone: None, leads_out: false }
    }
}
