//! `cargo xtask docs`: writes the pages that are made from code.

use anyhow::{Context, Result};

use crate::command::project;

/// Writes what is not up to date.
pub fn run() -> Result<()> {
    for page in house_rules::pages::all() {
        let path = project().join(page.path);
        let old = std::fs::read_to_string(&path).unwrap_or_default();
        if old != page.text {
            std::fs::write(&path, page.text).with_context(|| format!("{}", path.display()))?;
            println!("wrote {}", page.path);
        }
    }
    Ok(())
}
