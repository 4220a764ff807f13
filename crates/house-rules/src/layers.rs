//! Crates depend only on lower layers.

use std::collections::BTreeMap;
use std::path::Path;

/// A crate of the workspace.
#[derive(Clone, Debug)]
pub struct Crate {
    /// Its name.
    pub name: String,
    /// Its folder's name.
    pub folder: String,
    /// `package.metadata.layer`.
    pub layer: Option<i64>,
    /// The crates of this workspace that it depends on, for running or for building.
    pub dependencies: Vec<String>,
}

/// Reads every manifest.
pub fn crates(project: &Path) -> Result<Vec<Crate>, String> {
    let mut folders = vec![project.join("xtask")];
    for entry in project.join("crates").read_dir().map_err(|error| error.to_string())? {
        folders.push(entry.map_err(|error| error.to_string())?.path());
    }
    folders.sort();
    let with_manifest = folders.iter().filter(|folder| folder.join("Cargo.toml").exists());
    let mut found = with_manifest.map(|folder| read(folder)).collect::<Result<Vec<_>, _>>()?;
    let names: Vec<_> = found.iter().map(|it| it.name.clone()).collect();
    for one in &mut found {
        one.dependencies.retain(|name| names.contains(name));
    }
    Ok(found)
}

fn read(folder: &Path) -> Result<Crate, String> {
    let path = folder.join("Cargo.toml");
    let place = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(&path).map_err(|error| place(&error))?;
    let manifest: toml::Table = toml::from_str(&text).map_err(|error| place(&error))?;
    let package = manifest.get("package").ok_or_else(|| place(&"no package"))?;
    let table = |name: &str| manifest.get(name).and_then(toml::Value::as_table);
    let dependencies = ["dependencies", "build-dependencies"].into_iter().filter_map(table);
    Ok(Crate {
        name: package.get("name").and_then(toml::Value::as_str).unwrap_or_default().to_owned(),
        folder: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        layer: package
            .get("metadata")
            .and_then(|metadata| metadata.get("layer"))
            .and_then(toml::Value::as_integer),
        dependencies: dependencies.flat_map(|table| table.keys().cloned()).collect(),
    })
}

/// What breaks the rule, in words.
pub fn violations(crates: &[Crate]) -> Vec<String> {
    let layers: BTreeMap<_, _> = crates.iter().map(|one| (one.name.as_str(), one.layer)).collect();
    let mut found = Vec::new();
    for one in crates {
        if one.name != one.folder {
            found.push(format!("the crate {} is in the folder {}", one.name, one.folder));
        }
        let Some(own) = one.layer else {
            found.push(format!("{} does not say its layer in package.metadata", one.name));
            continue;
        };
        for dependency in &one.dependencies {
            let Some(Some(other)) = layers.get(dependency.as_str()) else { continue };
            if *other >= own {
                found.push(format!(
                    "{} (layer {own}) may not depend on {dependency} (layer {other})",
                    one.name
                ));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, layer: i64, dependencies: &[&str]) -> Crate {
        Crate {
            name: name.into(),
            folder: name.into(),
            layer: Some(layer),
            dependencies: dependencies.iter().map(|it| (*it).to_owned()).collect(),
        }
    }

    #[test]
    fn a_crate_may_not_depend_upwards_or_sideways() {
        let crates = [of("a", 0, &["b"]), of("b", 1, &["c"]), of("c", 1, &[]), of("d", 2, &["a"])];
        let found = violations(&crates);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0], "a (layer 0) may not depend on b (layer 1)");
    }
}
