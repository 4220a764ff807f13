//! What the host has and the sandbox does not show, when a program failed: the commonest mistake.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use sandbox::{ProgramError, StartError};
use sandbox_spec::{RootFs, SandboxSpec, belongs_to_the_sandbox, printable_path};

use crate::toolchains::SYSTEM;

/// How many arguments are looked at, and how many are named.
const MAX_LOOKED_AT: usize = 1000;
const MAX_NAMED: usize = 4;
/// Folders that a sandbox has for itself, or has some of: that they are there says nothing.
const OWN: &[&str] =
    &["/etc", "/home", "/mnt", "/root", "/run", "/srv", "/tmp", "/var", "/var/tmp"];

/// What to do about a program that only the host has.
pub fn of_program(error: &StartError, spec: &SandboxSpec) -> Option<String> {
    let StartError::Program(error) = error else { return None };
    let path = std::env::var_os("PATH").unwrap_or_default();
    match error {
        ProgramError::CommandNotFound(name) | ProgramError::NotFound(name) => {
            of_missing(name, spec, &path)
        }
        ProgramError::InterpreterNotFound { interpreter, .. } => {
            let real = interpreter.canonicalize().ok().filter(|_| spec.root == RootFs::Host)?;
            let folder = printable_path(installation(&real)?);
            (!is_visible(spec, &real)).then(|| {
                format!("the host has that interpreter; show it: --mount {folder}:{folder}")
            })
        }
        _ => None,
    }
}

fn of_missing(name: &Path, spec: &SandboxSpec, path: &OsStr) -> Option<String> {
    if spec.root != RootFs::Host {
        return None;
    }
    let found = match name.as_os_str().as_bytes().contains(&b'/') {
        true => std::path::absolute(name).ok().filter(|path| path.exists())?,
        false => std::env::split_paths(path)
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join(name))
            .find(|file| is_program(file))?,
    };
    // Its folder has to be shown, and not that of a link to it.
    let real = found.canonicalize().ok()?;
    let folder = installation(&real)?;
    let leads = match real == found {
        true => String::new(),
        false => format!(", which leads to {}", printable_path(&real)),
    };
    let shown = printable_path(folder);
    if is_visible(spec, &real) {
        return None;
    }
    let (at, real) = (printable_path(&found), printable_path(&real));
    Some(format!(
        "the host has it: {at}{leads}; show its folder and name it whole: \
         --mount {shown}:{shown} -- {real}"
    ))
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

/// The folder that has all that a program needs, as far as that can be seen: the one with its `bin`.
fn installation(program: &Path) -> Option<&Path> {
    let folder = program.parent()?;
    let above = folder.parent().filter(|above| above.parent().is_some());
    let is_bin = folder.file_name().is_some_and(|name| name == "bin" || name == "sbin");
    let is_home =
        |above: &&Path| std::env::var_os("HOME").is_some_and(|it| *above == Path::new(&it));
    Some(above.filter(|above| is_bin && !is_home(above)).unwrap_or(folder))
}

/// Says which arguments name something that the host has and the sandbox does not show.
pub fn tell_arguments(spec: &SandboxSpec) {
    for words in of_arguments(spec, std::env::current_dir().ok().as_deref()) {
        eprintln!("hint: {words}");
    }
}

fn of_arguments(spec: &SandboxSpec, here: Option<&Path>) -> Vec<String> {
    let mut hints: Vec<String> = Vec::new();
    if spec.root != RootFs::Host {
        return hints;
    }
    for argument in spec.program.iter().skip(1).take(MAX_LOOKED_AT) {
        let Some(named) = path_in(argument) else { continue };
        let Some(host) = here.map(|here| here.join(&named)) else { continue };
        let inside = spec.working_directory.join(&named);
        let is_missing = host.symlink_metadata().is_ok()
            && host.components().all(|part| part != std::path::Component::ParentDir)
            && !belongs_to_the_sandbox(&host)
            && !OWN.iter().any(|own| host == Path::new(own))
            && !is_visible(spec, &inside);
        if !is_missing {
            continue;
        }
        let (named, shown) = (printable_path(&named), printable_path(&host));
        let hint = format!(
            "{named} is on the host and is not shown inside; --mount {shown}:{shown} shows it"
        );
        if !hints.contains(&hint) && hints.len() < MAX_NAMED {
            hints.push(hint);
        }
    }
    hints
}

/// The path that an argument could be: itself, or what follows the `=` of an option. A plain word is
/// one only if it is a file of the current folder, which is then looked for.
fn path_in(argument: &OsString) -> Option<PathBuf> {
    let bytes = argument.as_bytes();
    let value = match bytes.strip_prefix(b"-") {
        None => bytes,
        Some(option) => option.get(option.iter().position(|byte| *byte == b'=')? + 1..)?,
    };
    let is_path = !value.is_empty() && value.len() < 4096 && !value.contains(&b'\n');
    is_path.then(|| PathBuf::from(OsStr::from_bytes(value)))
}

/// Whether a sandbox has this path of the host, as far as its specification tells.
fn is_visible(spec: &SandboxSpec, path: &Path) -> bool {
    let is_system = SYSTEM.iter().chain(&["/etc"]).any(|top| path.starts_with(top));
    is_system || spec.mounts.iter().any(|mount| path.starts_with(&mount.destination))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(words: &[&str], mounts: &[&str]) -> SandboxSpec {
        let mut spec = SandboxSpec::new(words.iter());
        spec.mounts = mounts.iter().map(|mount| mount.parse().unwrap()).collect();
        spec
    }

    #[test]
    fn a_command_of_the_hosts_path_is_found_to_the_end_of_its_links() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        std::fs::create_dir_all(top.join("tool/bin")).unwrap();
        std::fs::create_dir(top.join("links")).unwrap();
        let program = top.join("tool/bin/x");
        std::fs::write(&program, "").unwrap();
        std::os::unix::fs::symlink(&program, top.join("links/x")).unwrap();
        let hint = || of_missing(Path::new("x"), &spec(&["x"], &[]), top.join("links").as_os_str());
        assert_eq!(hint(), None, "nobody may execute it");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let tool = top.join("tool").display().to_string();
        let said = hint().unwrap();
        assert!(said.contains(&format!("--mount {tool}:{tool} -- {tool}/bin/x")), "{said}");
        assert!(of_missing(Path::new("/no/such"), &spec(&["x"], &[]), OsStr::new("")).is_none());
    }

    #[test]
    fn arguments_that_name_what_is_not_shown_are_told_of() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        std::fs::write(top.join("data"), "").unwrap();
        let data = top.join("data").display().to_string();
        let option = format!("--input={data}");
        let words = ["x", &data, &option, "-v", "data", "nothing", "/usr/bin", "/tmp", "--a=b"];
        let hints = of_arguments(&spec(&words, &[]), Some(&top));
        let shows = format!("--mount {data}:{data} shows it");
        assert_eq!(hints.len(), 2, "{hints:?}");
        assert!(hints.iter().all(|hint| hint.ends_with(&shows)), "{hints:?}");
        let mount = format!("{0}:{0}", top.display());
        let mut shown = spec(&words, &[&mount]);
        shown.working_directory = top.clone();
        assert!(of_arguments(&shown, Some(&top)).is_empty());
    }
}
