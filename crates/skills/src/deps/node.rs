//! Requires and imports of JavaScript and TypeScript files.

use super::lists::is_node_builtin;
use super::{Evidence, Hint, Hints, is_scanned, programs};
use crate::pattern::Pattern;
use crate::skill::Skill;

static MODULE: Pattern = Pattern::new(
    r#"(?:\brequire(?:\.resolve)?\s*\(\s*|\bimport\s*\(\s*|\bfrom\s+|^\s*import\s+)["']([^"'\s]+)["']"#,
);

const EXTENSIONS: [&str; 8] = ["js", "mjs", "cjs", "ts", "mts", "cts", "jsx", "tsx"];

/// Adds what the JavaScript files need.
pub(super) fn scan(skill: &Skill, hints: &mut Hints) {
    for entry in skill.regular_files().filter(|entry| is_scanned(entry)) {
        let is_node = entry.extension().is_some_and(|end| EXTENSIONS.contains(&end))
            || (entry.extension().is_none()
                && crate::script::interpreter_of(skill, entry) == Some(crate::Interpreter::Node));
        let Some(text) = is_node.then(|| skill.read_text(entry)).flatten() else { continue };
        for (line, package) in packages(&text) {
            hints.node.push(Hint::new(package, &entry.path, line, Evidence::Used));
        }
        for (line, code) in code_lines(&text) {
            for program in programs::started_by_node(code) {
                hints.programs.push(Hint::new(program, &entry.path, line, Evidence::Used));
            }
        }
    }
}

/// The packages that a text imports, with their lines.
pub(super) fn packages(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in code_lines(text) {
        for module in MODULE.find_groups(line) {
            if let Some(package) = package_of(module.as_str()) {
                found.push((number, package));
            }
        }
    }
    found
}

/// The lines that are not comments.
fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_comment = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let trimmed = line.trim_start();
        if is_comment {
            is_comment = !trimmed.contains("*/");
            return None;
        }
        if trimmed.starts_with("/*") {
            is_comment = !trimmed.contains("*/");
            return None;
        }
        (!trimmed.starts_with("//")).then_some((index + 1, line))
    })
}

/// The package of a module, or nothing for files, addresses and what comes with Node.
fn package_of(module: &str) -> Option<String> {
    let is_elsewhere = module.starts_with(['.', '/', '#']) || module.contains("://");
    if is_elsewhere || is_node_builtin(module) || module.contains("${") {
        return None;
    }
    // Deno and Bun write `npm:package@version`.
    let module = module.strip_prefix("npm:").unwrap_or(module);
    if module.contains(':') {
        return None;
    }
    let parts = if module.starts_with('@') { 2 } else { 1 };
    let name: Vec<&str> = module.split('/').take(parts).collect();
    let name = name.join("/");
    let end = name.rfind('@').filter(|at| *at > 0).unwrap_or(name.len());
    name.get(..end).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules() {
        let text = "const fs = require('fs');\nimport x from 'lodash/fp';\nimport 'side';\n\
                    import { a } from \"@scope/pkg/sub\";\nconst y = await import('./local.js');\n\
                    // require('comment')\n/*\nrequire('block')\n*/\nexport * from 'node:path';\n\
                    import z from 'npm:zod@3';\nconst [q, r] = [require('q'), require(\"r\")];\n";
        let names: Vec<(usize, String)> = packages(text);
        let names: Vec<(usize, &str)> = names.iter().map(|(l, n)| (*l, n.as_str())).collect();
        assert_eq!(
            names,
            [(2, "lodash"), (3, "side"), (4, "@scope/pkg"), (11, "zod"), (12, "q"), (12, "r")]
        );
    }
}
