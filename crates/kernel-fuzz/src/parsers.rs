//! Parsers of bytes that guests or users send, each as a function that takes any bytes.
//!
//! `cargo fuzz` calls them with instrumentation (the folder `fuzz`); the tests of this crate call
//! them with the files of `fuzz/corpus` and with mutations of these. None may panic, take long or
//! leave anything.

mod beneath;
mod elf;
mod host;
mod install;
mod names;
mod needs;
mod processes;
mod scratch;
mod seal;
mod shown;
mod skill;
mod sockets;
mod tar;

/// A parser to be fuzzed.
#[derive(Clone, Copy)]
pub struct Target {
    /// The name of its `cargo fuzz` target and of the folder of its corpus.
    pub name: &'static str,
    /// Parses.
    pub parse: fn(&[u8]),
}

/// All of them.
pub const TARGETS: [Target; 19] = [
    Target { name: "elf", parse: elf::program },
    Target { name: "interpreter", parse: elf::interpreter },
    Target { name: "script", parse: elf::script },
    Target { name: "tar", parse: tar::archive },
    Target { name: "zip", parse: skill::archive },
    Target { name: "skill_md", parse: skill::manifest },
    Target { name: "policy", parse: skill::policy },
    Target { name: "beneath", parse: beneath::names },
    Target { name: "status", parse: processes::status },
    Target { name: "install", parse: install::answers },
    Target { name: "netlink", parse: sockets::netlink },
    Target { name: "cmsg", parse: sockets::control_messages },
    Target { name: "control", parse: host::control },
    Target { name: "porter", parse: host::porter },
    Target { name: "dns", parse: names::message },
    Target { name: "seal", parse: seal::trees },
    Target { name: "needs", parse: needs::files },
    Target { name: "printable", parse: shown::printable },
    Target { name: "difference", parse: shown::difference },
];

/// Calls a target by its name.
///
/// # Panics
///
/// If there is none, or the parser does what it must not.
pub fn parse(name: &str, bytes: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name);
    assert!(target.is_some(), "no target has the name {name}");
    if let Some(target) = target {
        (target.parse)(bytes);
    }
}
