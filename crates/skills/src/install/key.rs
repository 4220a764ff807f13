//! What an environment is called in the cache.

use std::collections::BTreeMap;

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::Requirements;

/// Raised when environments are laid out differently, or made in another way.
const LAYOUT: u32 = 3;

/// The fields in this order, and every map sorted: equal values make equal text.
#[derive(Serialize)]
struct Key<'k> {
    layout: u32,
    interpreters: &'k BTreeMap<String, String>,
    system_modules: bool,
    python: &'k [String],
    node: &'k BTreeMap<String, String>,
}

impl Requirements {
    /// The whole of what an environment depends on, as text. Two environments are the same if and
    /// only if this is: it is JSON, so that no requirement can pass for a line of another kind.
    pub fn key_text(&self, interpreters: &BTreeMap<String, String>) -> serde_json::Result<String> {
        serde_json::to_string(&Key {
            layout: LAYOUT,
            interpreters,
            system_modules: self.sees_system,
            python: &self.python,
            node: &self.node,
        })
    }
}

/// The name in the cache for a key. Nobody can find a second key with the same name.
pub fn key_name(key_text: &str) -> String {
    hex(&Sha256::digest(key_text.as_bytes()))
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
