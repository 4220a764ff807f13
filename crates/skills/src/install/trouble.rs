//! Why an installer failed, from what it printed.

use sandbox_spec::printable;

/// The program that installs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Installer {
    /// `python3 -m venv`.
    Venv,
    /// `pip install`.
    Pip,
    /// `npm install`.
    Npm,
}

/// What went wrong, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// What went wrong.
    pub what: String,
    /// What the user can do.
    pub hint: String,
}

impl Trouble {
    fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: printable(&what.into()), hint: hint.into() }
    }
}

/// What installers print when nobody answers at the other end.
const UNREACHABLE: [&str; 16] = [
    "Temporary failure in name resolution",
    "Name or service not known",
    "No address associated with hostname",
    "Network is unreachable",
    "Connection refused",
    "Permission denied'))",
    "NewConnectionError",
    "ConnectTimeoutError",
    "ReadTimeoutError",
    "EAI_AGAIN",
    "ENOTFOUND",
    "ENETUNREACH",
    "ECONNREFUSED",
    "ETIMEDOUT",
    "EACCES connect",
    "network request to",
];

/// What installers print when the other end's certificate is not trusted.
const UNTRUSTED: [&str; 4] = [
    "CERTIFICATE_VERIFY_FAILED",
    "SELF_SIGNED_CERT",
    "UNABLE_TO_GET_ISSUER_CERT",
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
];

/// What installers print when they are not let in.
const LOCKED: [&str; 4] = ["401 Error", "403 Error", "E401", "E403"];

/// Whether an installer could not ask the registry.
pub fn is_unreachable(output: &str) -> bool {
    UNREACHABLE.iter().any(|words| output.contains(words))
}

/// Explains why a package could not be built, in a sandbox without network.
pub fn explain_build(installer: Installer, output: &str) -> Trouble {
    if installer != Installer::Venv && is_unreachable(output) {
        return Trouble::new(
            "a package wants to fetch something while it is built",
            "packages are built without network; make an environment yourself, and name it with \
             --venv or --node-modules",
        );
    }
    explain(installer, output, "")
}

/// Explains a failed installation.
pub fn explain(installer: Installer, output: &str, hosts: &str) -> Trouble {
    let says = |words: &[&str]| words.iter().any(|word| output.contains(word));
    if installer == Installer::Venv {
        return Trouble::new(
            "cannot make a virtual environment of Python",
            "Debian and its relatives have the missing part in the package `python3-venv`",
        );
    }
    // pip speaks of a missing package also when it could not ask, so this comes first.
    if is_unreachable(output) {
        return Trouble::new(
            format!("cannot reach the package registry ({hosts})"),
            "look at the network, and at what pip and npm are configured for; a registry that \
             keeps its files elsewhere needs --registry-host HOST; or name what you have with \
             --venv or --node-modules",
        );
    }
    if says(&UNTRUSTED) {
        return Trouble::new(
            format!("the certificate of the package registry ({hosts}) is not trusted"),
            "name the certificates in pip's `cert` or npm's `cafile` option",
        );
    }
    if says(&LOCKED) {
        return Trouble::new(
            format!("the package registry ({hosts}) does not let us in"),
            "look at the name and key in the configuration of pip or npm",
        );
    }
    if let Some(name) = missing_package(output) {
        return Trouble::new(
            format!("the registry has no package `{name}` that fits"),
            "a requirements.txt or package.json beside SKILL.md says what a module's package is \
             really called, and which version of it",
        );
    }
    if output.contains("No space left on device") {
        return Trouble::new("the disk is full", "make room in the cache folder (XDG_CACHE_HOME)");
    }
    Trouble::new("the packages cannot be installed", "the lines above say why")
}

/// The package of Node whose own program failed while it was installed, or a word for it.
pub fn failed_script(output: &str) -> Option<&str> {
    let is_script = |line: &&str| {
        let rest = line.strip_prefix("npm ERR! ").or_else(|| line.strip_prefix("npm error "));
        rest.is_some_and(|rest| rest.starts_with("command failed"))
    };
    output.lines().find(is_script)?;
    let folder = output.lines().find_map(|line| {
        let (_, path) = line.split_once("path ")?;
        path.split_once("node_modules/").map(|(_, package)| package.trim())
    });
    Some(folder.unwrap_or("a package"))
}

/// The package that the registry does not have.
fn missing_package(output: &str) -> Option<&str> {
    const BEFORE: [&str; 5] = [
        "No matching distribution found for ",
        "satisfies the requirement ",
        "No matching version found for ",
        "404  '",
        "The requested resource '",
    ];
    BEFORE.iter().find_map(|before| {
        let (_, rest) = output.split_once(before)?;
        rest.split(|c: char| c.is_whitespace() || c == '\'').next().filter(|name| !name.is_empty())
    })
}
