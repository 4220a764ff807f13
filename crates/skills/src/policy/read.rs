//! Reads and writes `belljar.yaml`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use sandbox_spec::credentials::credentials_in;
use sandbox_spec::{
    ByteSize, HostRule, LEAST_DISK, LEAST_MEMORY, LEAST_OUTPUT, PathPattern, Tilde,
    belongs_to_the_sandbox, parse_duration, printable,
};

use super::{Access, Env, Files, Mount, Network, Policy, ResourceLimits};
use crate::finding::{Finding, Severity};
use crate::yaml::{Node, Position, Source};

/// Targets that a policy may not replace: they are the sandbox's own.
const RESERVED: [&str; 2] = ["/skill", "/work"];

/// A policy and what was wrong with its text.
#[derive(Clone, Debug)]
pub struct PolicyRead {
    /// What could be read.
    pub policy: Policy,
    /// What was wrong. A policy with errors must not be used.
    pub findings: Vec<Finding>,
}

impl PolicyRead {
    /// Whether the text has no errors.
    pub fn is_valid(&self) -> bool {
        !self.findings.iter().any(|finding| finding.severity == Severity::Error)
    }
}

/// Reads a policy. `file` is its name in findings.
pub fn read(file: &str, text: &str) -> PolicyRead {
    let mut source = Source::new(file, "policy");
    let policy = source.parse(text).map(|root| read_root(&mut source, &root)).unwrap_or_default();
    PolicyRead { policy, findings: source.findings }
}

fn read_root(source: &mut Source<'_>, root: &Node) -> Policy {
    let mut policy = Policy::default();
    if root.is_null() {
        return policy;
    }
    let Some(mut fields) = source.fields(root, "policy") else { return policy };
    if let Some(node) = fields.take("version")
        && source.number::<u64>(node, "version") != Some(1)
    {
        source.error(node.position, "only version 1 is known", "write `version: 1`");
    }
    policy.network = fields.take("network").and_then(|node| network(source, node));
    if let Some(node) = fields.take("mounts") {
        policy.mounts = mounts(source, node);
    }
    if let Some(node) = fields.take("env") {
        policy.env = env(source, node);
    }
    if let Some(node) = fields.take("limits") {
        policy.limits = limits(source, node);
    }
    policy.files = fields.take("files").and_then(|node| files(source, node));
    policy.programs = fields.take("programs").map(|node| programs(source, node));
    fields.refuse_others(source);
    policy
}

fn network(source: &mut Source<'_>, node: &Node) -> Option<Network> {
    if matches!(&node.value, crate::yaml::Value::Scalar { text, .. } if text == "none") {
        return Some(Network::default());
    }
    let mut fields = source.fields(node, "network")?;
    let mut network = Network::default();
    for (name, hosts) in [("allow", &mut network.allow), ("deny", &mut network.deny)] {
        let Some(list) = fields.take(name) else { continue };
        for (at, host) in source.texts(list, name) {
            match host.parse::<HostRule>() {
                Ok(_) => {
                    hosts.insert(host);
                }
                Err(error) => source.error(at, error.to_string(), "no scheme and no path"),
            }
        }
    }
    fields.refuse_others(source);
    Some(network)
}

fn mounts(source: &mut Source<'_>, node: &Node) -> Vec<Mount> {
    let mut mounts: Vec<Mount> = Vec::new();
    for item in source.items(node, "mounts") {
        let Some(mut fields) = source.fields(item, "mount") else { continue };
        let from = fields.take("source").and_then(|node| source.text(node, "source"));
        let to = fields.take("target").and_then(|node| source.text(node, "target"));
        let access = match fields.take("access") {
            Some(node) => access(source, node),
            None => Access::Read,
        };
        fields.refuse_others(source);
        let (Some(from), Some(to)) = (from, to) else {
            source.error(item.position, "a mount needs `source` and `target`", "add both");
            continue;
        };
        if !is_source(source, item.position, &from) {
            continue;
        }
        if let Some(target) = target(source, item.position, &to) {
            if mounts.iter().any(|known| known.target == target) {
                source.error(item.position, format!("`{target}` is mounted twice"), "remove one");
            } else {
                mounts.push(Mount { source: from, target, access });
            }
        }
    }
    mounts
}

/// Whether a path of the host is one that can be found. Says so if it is where credentials are.
fn is_source(source: &mut Source<'_>, at: Position, from: &str) -> bool {
    const HOME: &str = "~";
    let path = Path::new(from);
    if from.is_empty() || Tilde::of(path) == Tilde::Other {
        source.error(
            at,
            format!("`{from}` is no path that can be found"),
            "write an absolute path, one from the policy's folder, or `~/` and one from the home",
        );
        return false;
    }
    if let Some(holds) = credentials_in(path, Some(Path::new(HOME))) {
        let what = format!("`{from}` holds {holds}, which everything that runs could then read");
        source.warning(at, what, "ask for less, or for a file of its own");
    }
    true
}

fn access(source: &mut Source<'_>, node: &Node) -> Access {
    match source.text(node, "access").as_deref() {
        Some("read" | "ro") => Access::Read,
        Some("write" | "rw") => Access::Write,
        _ => {
            source.error(node.position, "`access` is `read` or `write`", "write one of the two");
            Access::Read
        }
    }
}

fn target(source: &mut Source<'_>, at: Position, target: &str) -> Option<String> {
    let clean = target.trim_end_matches('/');
    let is_clean = target.starts_with('/')
        && !clean.split('/').skip(1).any(|part| matches!(part, "" | "." | ".."));
    if !is_clean {
        source.error(
            at,
            format!("`{target}` is not a clean absolute path"),
            "write for example `/data`",
        );
        return None;
    }
    let is_reserved = |own: &str| clean == own || clean.starts_with(&format!("{own}/"));
    if belongs_to_the_sandbox(Path::new(clean)) || RESERVED.iter().any(|own| is_reserved(own)) {
        source.error(at, format!("`{target}` belongs to the sandbox"), "choose another target");
        return None;
    }
    Some(clean.to_owned())
}

fn env(source: &mut Source<'_>, node: &Node) -> Env {
    let mut env = Env::default();
    let Some(mut fields) = source.fields(node, "env") else { return env };
    if let Some(node) = fields.take("set") {
        env.set = source.text_map(node, "set");
        for name in env.set.keys().filter(|name| !is_variable(name)) {
            source.error(
                node.position,
                format!("`{name}` is not a variable's name"),
                "use letters, digits and `_`",
            );
        }
    }
    if let Some(node) = fields.take("pass") {
        for (at, name) in source.texts(node, "pass") {
            if is_variable(&name) {
                env.pass.insert(name);
            } else {
                source.error(
                    at,
                    format!("`{name}` is not a variable's name"),
                    "use letters, digits and `_`",
                );
            }
        }
    }
    fields.refuse_others(source);
    env
}

fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn limits(source: &mut Source<'_>, node: &Node) -> ResourceLimits {
    let mut limits = ResourceLimits::default();
    let Some(mut fields) = source.fields(node, "limits") else { return limits };
    let mut size = |name: &'static str, least| {
        fields.take(name).and_then(|node| bytes(source, node, name, least))
    };
    limits.memory_bytes = size("memory", LEAST_MEMORY);
    limits.output_bytes = size("output", LEAST_OUTPUT);
    limits.disk_bytes = size("disk", LEAST_DISK);
    limits.processes = fields.take("processes").and_then(|node| {
        let n = source.number(node, "processes")?;
        if n == 0 {
            source.error(node.position, "`processes` is at least 1", "write for example `64`");
        }
        Some(n)
    });
    limits.timeout = fields.take("timeout").and_then(|node| {
        let text = source.text(node, "timeout")?;
        parse_duration(&text)
            .inspect_err(|error| {
                source.error(node.position, error.to_string(), "write for example `30s`")
            })
            .ok()
    });
    fields.refuse_others(source);
    limits
}

fn bytes(source: &mut Source<'_>, node: &Node, name: &str, least: ByteSize) -> Option<u64> {
    let text = source.text(node, name)?;
    ByteSize::parse_at_least(&text, least)
        .inspect_err(|error| {
            let hint = error.hint().unwrap_or_else(|| "write for example `512M`".to_owned());
            source.error(node.position, error.to_string(), hint)
        })
        .ok()
        .map(|size| size.0)
}

fn files(source: &mut Source<'_>, node: &Node) -> Option<Files> {
    let mut fields = source.fields(node, "files")?;
    let read = fields.take("read").map(|node| paths(source, node, "read")).unwrap_or_default();
    let write = fields.take("write").map(|node| paths(source, node, "write")).unwrap_or_default();
    fields.refuse_others(source);
    Some(Files { read, write })
}

/// Absolute paths inside.
fn paths(source: &mut Source<'_>, node: &Node, name: &str) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    for (at, text) in source.texts(node, name) {
        match text.parse::<PathPattern>() {
            Ok(path) => {
                paths.insert(path.into());
            }
            Err(error) => source.error(at, error.to_string(), "write for example `/work`"),
        }
    }
    paths
}

/// Programs: absolute paths inside, or names that are looked for in `PATH`.
fn programs(source: &mut Source<'_>, node: &Node) -> BTreeSet<String> {
    let mut programs = BTreeSet::new();
    for (at, text) in source.texts(node, "programs") {
        match text.parse::<PathPattern>() {
            Ok(path) => {
                programs.insert(path.into());
            }
            Err(_) if !text.is_empty() && !text.contains('/') => {
                programs.insert(text);
            }
            Err(error) => source.error(at, error.to_string(), "write a name or an absolute path"),
        }
    }
    programs
}

/// Writes a policy so that [`read`] reads the same.
pub(super) fn write(policy: &Policy) -> String {
    let mut text = "version: 1\n".to_owned();
    if let Some(network) = &policy.network {
        match network.allow.is_empty() && network.deny.is_empty() {
            true => text.push_str("network: none\n"),
            false => {
                text.push_str("network:\n");
                write_list(&mut text, "  ", "allow", &network.allow);
                write_list(&mut text, "  ", "deny", &network.deny);
            }
        }
    }
    if !policy.mounts.is_empty() {
        text.push_str("mounts:\n");
    }
    for mount in &policy.mounts {
        let access = if mount.access == Access::Write { "write" } else { "read" };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  - source: {}", quoted(&mount.source));
        let _ = writeln!(text, "    target: {}\n    access: {access}", quoted(&mount.target));
    }
    if !policy.env.is_empty() {
        text.push_str("env:\n");
        if !policy.env.set.is_empty() {
            text.push_str("  set:\n");
        }
        for (name, value) in &policy.env.set {
            let _ = writeln!(text, "    {name}: {}", quoted(value));
        }
        write_list(&mut text, "  ", "pass", &policy.env.pass);
    }
    write_limits(&mut text, &policy.limits);
    if let Some(files) = &policy.files {
        text.push_str("files:\n");
        let _ = if files.read.is_empty() { writeln!(text, "  read: []") } else { Ok(()) };
        write_list(&mut text, "  ", "read", &files.read);
        write_list(&mut text, "  ", "write", &files.write);
    }
    if let Some(programs) = &policy.programs {
        let _ = if programs.is_empty() { writeln!(text, "programs: []") } else { Ok(()) };
        write_list(&mut text, "", "programs", programs);
    }
    text
}

fn write_limits(text: &mut String, limits: &ResourceLimits) {
    if limits.is_empty() {
        return;
    }
    text.push_str("limits:\n");
    let timeout = limits.timeout.map(|time| format!("{}ms", time.as_millis()));
    let rows = [
        ("memory", limits.memory_bytes.map(|n| n.to_string())),
        ("timeout", timeout),
        ("processes", limits.processes.map(|n| n.to_string())),
        ("output", limits.output_bytes.map(|n| n.to_string())),
        ("disk", limits.disk_bytes.map(|n| n.to_string())),
    ];
    for (name, value) in rows {
        if let Some(value) = value {
            let _ = writeln!(text, "  {name}: {value}");
        }
    }
}

fn write_list(text: &mut String, indent: &str, name: &str, items: &BTreeSet<String>) {
    if items.is_empty() {
        return;
    }
    let _ = writeln!(text, "{indent}{name}:");
    for item in items {
        let _ = writeln!(text, "{indent}  - {}", quoted(item));
    }
}

/// A text as YAML has it in double quotes. A JSON text is one as well; what could not be seen for what
/// it is by whoever reads the file is escaped.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::new();
    for c in serde_json::Value::from(text).to_string().chars() {
        match u32::from(c) {
            _ if printable(c.encode_utf8(&mut [0; 4])).starts_with(c) => quoted.push(c),
            number @ ..=0xffff => quoted.push_str(&format!("\\u{number:04x}")),
            number => quoted.push_str(&format!("\\U{number:08x}")),
        }
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: &str = r#"version: 1
network:
  allow:
    - "*.example.org"
    - example.com:443
  deny: [bad.example.org]
mounts:
  - source: ./data
    target: /data
    access: write
env:
  set:
    MODE: "fast"
  pass:
    - TOKEN
limits:
  memory: 512M
  timeout: 30s
  processes: 64
  output: 1M
files:
  read: [/usr]
  write: [/work/out]
programs: [git]
"#;

    #[test]
    fn reads_everything() {
        let read = read("belljar.yaml", FULL);
        assert!(read.findings.is_empty(), "{:?}", read.findings);
        assert_eq!(read.policy.limits.memory_bytes, Some(512 << 20));
        assert_eq!(read.policy.mounts[0].access, Access::Write);
        assert!(read.policy.env.pass.contains("TOKEN"));
    }

    #[test]
    fn what_is_written_reads_back() {
        let policy = read("a", FULL).policy;
        assert_eq!(read("b", &policy.to_yaml()).policy, policy);
        let none = Policy {
            network: Some(Network::default()),
            files: Some(Files::default()),
            programs: Some(BTreeSet::new()),
            ..Policy::default()
        };
        let again = read("b", &none.to_yaml());
        assert!(again.is_valid(), "{:?} {}", again.findings, none.to_yaml());
        assert_eq!(again.policy, none);
    }

    #[test]
    fn what_cannot_be_seen_is_written_with_escapes() {
        let odd = "/work/a\u{202e}b\u{1b}\u{7f}\u{85}\u{2028}\u{e0001}\u{fe0f}\\*\"é\u{1f980}";
        let files = Files { read: BTreeSet::from([odd.to_owned()]), ..Files::default() };
        let policy = Policy { files: Some(files), ..Policy::default() };
        let text = policy.to_yaml();
        let is_seen = |c: char| c == '\n' || c == ' ' || c.is_ascii_graphic() || "é🦀".contains(c);
        assert!(text.chars().all(is_seen), "{text}");
        assert_eq!(read("a", &text).policy, policy);
    }

    #[test]
    fn an_empty_policy_says_nothing() {
        assert_eq!(read("a", "").policy, Policy::default());
    }

    #[test]
    fn mistakes_are_found_at_their_place() {
        let lines = |text: &str| -> Vec<usize> {
            read("a", text).findings.iter().map(|f| f.place.line).collect()
        };
        assert_eq!(lines("netwrok: none\n"), [1]);
        assert_eq!(lines("network:\n  allow:\n    - \"https://x.org/\"\n"), [3]);
        assert_eq!(lines("limits:\n  memory: lots\n  timeout: soon\n"), [2, 3]);
        assert_eq!(lines("limits:\n  memory: 512\n  disk: 0\n  processes: 0\n"), [2, 3, 4]);
        assert_eq!(lines("mounts:\n  - source: /x\n    target: /proc/x\n"), [2]);
        assert_eq!(lines("mounts:\n  - source: /x\n    target: data\n"), [2]);
        assert_eq!(lines("mounts:\n  - source: /x\n    target: /work/a\n"), [2]);
        assert_eq!(lines("mounts:\n  - source: /x\n    target: /a/../skill\n"), [2]);
        assert_eq!(
            lines("mounts:\n  - {source: /x, target: /a}\n  - {source: /y, target: /a/}\n"),
            [3]
        );
        assert_eq!(lines("mounts:\n  - {source: ~bob/x, target: /x}\n"), [2]);
        assert_eq!(lines("mounts:\n  - {source: ~/data, target: /x}\n"), Vec::<usize>::new());
        assert_eq!(lines("env:\n  pass: [A B]\n"), [2]);
        assert_eq!(lines("version: 2\n"), [1]);
    }
}
