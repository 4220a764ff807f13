//! Packages, made as their authors make them.

use std::io::{Cursor, Write as _};

use serde_json::json;

/// A build backend that lies in the source archive itself. What is to happen while the package is
/// built is put before it.
const BACKEND: &str = r#"
import zipfile

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    info = f"{NAME}-1.0.dist-info"
    files = {f"{NAME}.py": MODULE}
    files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {NAME}\nVersion: 1.0\n{REQUIRES}"
    files[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in files) + f"{info}/RECORD,,\n"
    name = f"{NAME}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(f"{wheel_directory}/{name}", "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
    return name
"#;

/// A package of Node.
pub struct Npm {
    /// Its name.
    pub name: &'static str,
    /// What it exports, as JavaScript.
    pub exports: String,
    /// What is run when it is installed.
    pub script: String,
    /// Further fields of its `package.json`.
    pub fields: serde_json::Value,
}

impl Npm {
    /// A package that exports its own name.
    pub fn new(name: &'static str, script: impl Into<String>) -> Self {
        Self { name, exports: format!("'{name}'"), script: script.into(), fields: json!({}) }
    }

    fn package_json(&self) -> serde_json::Value {
        let mut package = json!({ "name": self.name, "version": "1.0.0", "main": "index.js" });
        if !self.script.is_empty() {
            package["scripts"] = json!({ "postinstall": self.script });
            package["hasInstallScript"] = json!(true);
        }
        for (name, value) in self.fields.as_object().unwrap() {
            package[name] = value.clone();
        }
        package
    }

    pub fn document(&self, tarball: &str) -> String {
        let mut package = self.package_json();
        package["dist"] = json!({ "tarball": tarball });
        json!({
            "name": self.name,
            "dist-tags": { "latest": "1.0.0" },
            "versions": { "1.0.0": package },
        })
        .to_string()
    }

    pub fn archive(&self) -> Vec<u8> {
        let exports = format!("module.exports = {};\n", self.exports);
        let package = self.package_json().to_string();
        tar_gz(&[("package/package.json", &package), ("package/index.js", &exports)])
    }
}

/// A package of Python that is ready to be unpacked, in version 1.0.
pub struct Wheel {
    /// Its name.
    pub name: &'static str,
    /// Its files, besides those that describe it.
    pub files: Vec<(String, String)>,
    /// What it requires.
    pub requires: Vec<String>,
}

impl Wheel {
    /// A package with one module.
    pub fn new(name: &'static str, module: &str) -> Self {
        let files = vec![(format!("{name}.py"), module.to_owned())];
        Self { name, files, requires: Vec::new() }
    }

    pub fn file_name(&self) -> String {
        format!("{}-1.0-py3-none-any.whl", self.name)
    }

    pub fn archive(&self) -> Vec<u8> {
        let info = format!("{}-1.0.dist-info", self.name);
        let requires = requires_lines(&self.requires);
        let mut files = self.files.clone();
        let metadata =
            format!("Metadata-Version: 2.1\nName: {}\nVersion: 1.0\n{requires}", self.name);
        files.push((format!("{info}/METADATA"), metadata));
        let wheel = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n";
        files.push((format!("{info}/WHEEL"), wheel.to_owned()));
        let record: String = files.iter().map(|(path, _)| format!("{path},,\n")).collect();
        files.push((format!("{info}/RECORD"), format!("{record}{info}/RECORD,,\n")));
        let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (path, text) in &files {
            archive.start_file(path.as_str(), zip::write::SimpleFileOptions::default()).unwrap();
            archive.write_all(text.as_bytes()).unwrap();
        }
        archive.finish().unwrap().into_inner()
    }
}

/// A package of Python that has to be built, in version 1.0.
pub struct Source {
    /// Its name.
    pub name: &'static str,
    /// What happens while it is built, as Python. `MODULE` is the text of the module, and may be
    /// changed.
    pub attack: String,
    /// What it needs to be built.
    pub build_requires: Vec<String>,
    /// What it requires.
    pub requires: Vec<String>,
}

impl Source {
    /// A package that needs nothing else.
    pub fn new(name: &'static str, attack: impl Into<String>) -> Self {
        Self { name, attack: attack.into(), build_requires: Vec::new(), requires: Vec::new() }
    }

    pub fn file_name(&self) -> String {
        format!("{}-1.0.tar.gz", self.name)
    }

    pub fn archive(&self) -> Vec<u8> {
        let top = format!("{}-1.0", self.name);
        let needs = json!(self.build_requires);
        let project = format!(
            "[build-system]\nrequires = {needs}\nbuild-backend = \"backend\"\nbackend-path = [\".\"]\n"
        );
        let requires = requires_lines(&self.requires);
        let backend = format!(
            "NAME = {}\nREQUIRES = {}\nMODULE = 'def answer():\\n    return 42\\n'\n{}\n{BACKEND}",
            json!(self.name),
            json!(requires),
            self.attack
        );
        let information = format!("Metadata-Version: 2.1\nName: {}\nVersion: 1.0\n", self.name);
        tar_gz(&[
            (&format!("{top}/PKG-INFO"), &information),
            (&format!("{top}/pyproject.toml"), &project),
            (&format!("{top}/backend.py"), &backend),
        ])
    }
}

fn requires_lines(requires: &[String]) -> String {
    requires.iter().map(|text| format!("Requires-Dist: {text}\n")).collect()
}

fn tar_gz(files: &[(&str, &str)]) -> Vec<u8> {
    let compressed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut archive = tar::Builder::new(compressed);
    for (path, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, path, text.as_bytes()).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap()
}
