//! The rules of this workspace, as functions that find what breaks them.
//!
//! `tests/rules.rs` calls them, so that `cargo test` teaches the rules. The pages that are made
//! from code are here too ([`pages`]): `cargo xtask docs` writes them, a test compares. Nothing of
//! the product depends on this crate.

#![forbid(unsafe_code)]

pub mod attacks;
pub mod guest_trees;
pub mod host_surface;
pub mod layers;
pub mod output;
pub mod pages;
pub mod skips;
pub mod sources;

use std::path::{Path, PathBuf};

/// The folder of the workspace.
pub fn project() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).unwrap_or(own).to_owned()
}
