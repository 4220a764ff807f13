//! `cargo xtask setup`: installs what the tests need, on Debian and its relatives.

use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use crate::command::{find_in_path, succeed};

/// A program that a test needs, and the package that has it.
const NEEDED: &[(&str, &str)] = &[
    ("bash", "bash"),
    ("busybox", "busybox-static"),
    ("bzip2", "bzip2"),
    ("curl", "curl"),
    ("dash", "dash"),
    ("fio", "fio"),
    ("flock", "util-linux"),
    ("g++", "g++"),
    ("gcc", "gcc"),
    ("git", "git"),
    ("go", "golang-go"),
    ("java", "default-jre-headless"),
    ("javac", "default-jdk-headless"),
    ("make", "make"),
    ("node", "nodejs"),
    ("npm", "npm"),
    ("/usr/sbin/nginx", "nginx-light"),
    ("openssl", "openssl"),
    ("perl", "perl"),
    ("/usr/bin/python3", "python3"),
    ("/usr/lib/python3/dist-packages/pip", "python3-pip"),
    ("/usr/lib/python3.11/ensurepip", "python3-venv"),
    ("/usr/lib/python3.11/test/test_os.py", "libpython3.11-testsuite"),
    ("ps", "procps"),
    ("/usr/lib/postgresql/15/bin/initdb", "postgresql"),
    ("redis-benchmark", "redis-tools"),
    ("redis-server", "redis-server"),
    ("rsync", "rsync"),
    ("ruby", "ruby"),
    ("sqlite3", "sqlite3"),
    ("gdb", "gdb"),
    ("strace", "strace"),
    ("stress-ng", "stress-ng"),
    ("tar", "tar"),
    ("tmux", "tmux"),
    ("vim.tiny", "vim-tiny"),
    ("less", "less"),
    ("wrk", "wrk"),
    ("xz", "xz-utils"),
    ("zstd", "zstd"),
    ("/usr/include/stdio.h", "libc6-dev"),
    // What the example skills need: see `examples/skills/REQUIREMENTS.md`.
    ("chromium", "chromium"),
    ("soffice", "libreoffice-calc"),
    ("pdftoppm", "poppler-utils"),
    ("/usr/share/fonts/truetype/dejavu", "fonts-dejavu-core"),
    ("/usr/lib/python3/dist-packages/matplotlib", "python3-matplotlib"),
    ("/usr/lib/python3/dist-packages/openpyxl", "python3-openpyxl"),
    ("/usr/lib/python3/dist-packages/PIL", "python3-pil"),
    ("/usr/lib/python3/dist-packages/pypdf", "python3-pypdf"),
];

/// Installs what is missing. Does nothing, and asks for no rights, when all is there.
pub fn run() -> Result<()> {
    let packages: Vec<_> = NEEDED
        .iter()
        .filter(|(program, _)| find_in_path(program).is_none())
        .map(|(_, package)| *package)
        .collect();
    if packages.is_empty() {
        return Ok(());
    }
    if find_in_path("apt-get").is_none() {
        bail!("there is no apt-get here; install these yourself: {}", packages.join(" "));
    }
    eprintln!("setup: installing {}", packages.join(" "));
    succeed(apt().arg("update"))?;
    succeed(apt().args(["install", "--yes", "--no-install-recommends"]).args(packages))
}

/// `apt-get` with the rights to install, and without words or questions.
fn apt() -> Command {
    let is_root = rustix::process::geteuid().is_root();
    let mut command = Command::new(if is_root { "env" } else { "sudo" });
    command.args(["DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}
