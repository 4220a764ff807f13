//! What the program is made of, in CycloneDX's words: every crate that is linked into it.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::command::cargo;

/// What of `cargo metadata` is used.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    source: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<DependencyKind>,
}

#[derive(Deserialize)]
struct DependencyKind {
    /// None for what is linked; tests and build scripts have a word.
    kind: Option<String>,
}

/// The description, as JSON.
pub fn describe(version: &str) -> Result<Vec<u8>> {
    let mut asked = cargo(&["metadata", "--format-version", "1", "--locked"]);
    let said = asked.args(["--filter-platform", "x86_64-unknown-linux-gnu"]).output()?;
    if !said.status.success() {
        bail!("cargo metadata: {}", String::from_utf8_lossy(&said.stderr));
    }
    let metadata: Metadata = serde_json::from_slice(&said.stdout)?;
    let packages: BTreeMap<&str, &Package> =
        metadata.packages.iter().map(|package| (package.id.as_str(), package)).collect();
    let program =
        metadata.packages.iter().find(|package| package.name == "cli" && package.source.is_none());
    let program = program.context("the package of the program")?;
    let linked = linked(&metadata.resolve, &program.id);
    let components: Vec<Value> =
        linked.iter().filter_map(|id| packages.get(id)).map(|package| component(package)).collect();
    let document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": { "component": {
            "type": "application", "name": "belljar", "version": version,
            "licenses": [{ "expression": "Apache-2.0" }],
        }},
        "components": components,
    });
    Ok(serde_json::to_vec_pretty(&document)?)
}

/// Everything that is linked into a package, by the names that cargo gives.
fn linked<'a>(resolve: &'a Resolve, program: &'a str) -> BTreeSet<&'a str> {
    let nodes: BTreeMap<&str, &Node> =
        resolve.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
    let (mut found, mut next) = (BTreeSet::new(), vec![program]);
    while let Some(id) = next.pop() {
        let Some(node) = nodes.get(id).filter(|_| found.insert(id)) else { continue };
        let used = node.deps.iter().filter(|it| it.dep_kinds.iter().any(|it| it.kind.is_none()));
        next.extend(used.map(|it| it.pkg.as_str()));
    }
    found.remove(program);
    found
}

fn component(package: &Package) -> Value {
    let Package { name, version, license, source, .. } = package;
    let mut component = json!({ "type": "library", "name": name, "version": version });
    if let Some(fields) = component.as_object_mut() {
        // Crates of before 2021 say "or" by a slash.
        let license = license.as_ref().map(|it| it.replace('/', " OR "));
        fields.extend(license.map(|it| ("licenses".to_owned(), json!([{ "expression": it }]))));
        // Our own crates are in no registry.
        let purl = source.as_ref().map(|_| format!("pkg:cargo/{name}@{version}"));
        fields.extend(purl.map(|it| ("purl".to_owned(), json!(it))));
    }
    component
}
