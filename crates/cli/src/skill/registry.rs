//! Asks the host's own pip and npm where they take packages from.
//!
//! They are asked from `/`, so that a configuration in the current folder, which may have come
//! with the skill, has no say.

use std::path::Path;
use std::process::{Command, Stdio};

use host_sys::beneath::read_named;
use skills::GUEST_PATH;
use skills::cases::find_program;
use skills::install::{Source, npm_source, pip_source};

use super::permissions::host_environment;

/// How long a file with the configuration of npm may be.
const MAX_CONFIGURATION_BYTES: u64 = 1 << 20;

/// The version of an interpreter that sandboxes show.
pub fn interpreter_version(name: &str) -> Option<String> {
    let program = find_program(name, GUEST_PATH)?;
    let isolated: &[&str] = if name == "python3" { &["-I"] } else { &[] };
    let text = output_of(Command::new(program).args(isolated).arg("--version"))?;
    Some(text.trim().to_owned())
}

/// Where pip takes packages from. `default_index` is what it uses when it is told of none.
pub fn python_source(default_index: &str) -> Source {
    let by_module = find_program("python3", GUEST_PATH).and_then(|python| {
        output_of(Command::new(python).args(["-I", "-m", "pip", "config", "list"]))
    });
    let by_name = || output_of(Command::new("pip3").args(["config", "list"]));
    let config = by_module.or_else(by_name).unwrap_or_else(of_environment);
    with_the_hosts_ways(pip_source(&config, default_index))
}

/// Where npm takes packages from.
pub fn node_source() -> Source {
    let config = output_of(Command::new("npm").args(["config", "list", "--json"]));
    let config = config.unwrap_or_default();
    let file = |name: &str| {
        let json: serde_json::Value = serde_json::from_str(&config).ok()?;
        let bytes = read_named(Path::new(json.get(name)?.as_str()?), MAX_CONFIGURATION_BYTES);
        String::from_utf8(bytes.ok()?).ok()
    };
    let files = [file("globalconfig"), file("userconfig")].into_iter().flatten();
    let files = files.collect::<Vec<_>>().join("\n");
    with_the_hosts_ways(npm_source(&config, &files, &host_environment()))
}

fn with_the_hosts_ways(mut source: Source) -> Source {
    let host_env = host_environment();
    source.use_proxy(&host_env);
    source.use_certificates(&host_env);
    source.paths.retain(|path| Path::new(path).exists());
    source
}

/// The variables of pip, in the form in which pip lists them, for a host without pip.
fn of_environment() -> String {
    let mut text = String::new();
    for (name, value) in host_environment() {
        if let Some(option) = name.strip_prefix("PIP_") {
            let value = value.replace('\\', "\\\\").replace('\n', "\\n");
            let option = option.to_lowercase().replace('_', "-");
            text.push_str(&format!(":env:.{option}='{value}'\n"));
        }
    }
    text
}

fn output_of(command: &mut Command) -> Option<String> {
    let output =
        command.current_dir("/").stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
