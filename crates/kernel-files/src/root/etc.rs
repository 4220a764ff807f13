//! `/etc`: what is shown of the host's, and what is made up.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use linux_abi::{Errno, SysResult};
use sandbox_spec::{NetworkPolicy, SandboxSpec};

use crate::inode::Inode;
use crate::metadata::DeviceNumber;
use crate::static_directory::StaticDirectory;

/// Names in the host's `/etc` that programs need and that hold no secrets. A `*` at the end stands
/// for anything.
const SHOWN: [&str; 72] = [
    "ImageMagick*",
    "OpenCL",
    "R",
    "X11",
    "alternatives",
    "apache2",
    "bash.bashrc",
    "bash_completion*",
    "bindresvport.blacklist",
    "ca-certificates*",
    "chromium*",
    "crypto-policies",
    "dconf",
    "debian_version",
    "default",
    "dpkg",
    "emacs",
    "ethertypes",
    "fonts",
    "gai.conf",
    "ghostscript",
    "gnutls",
    "gprofng.rc",
    "groff",
    "gss",
    "gtk-*",
    "host.conf",
    "inputrc",
    "issue*",
    "java*",
    "ld.so.*",
    "libaudit.conf",
    "libnl-3",
    "libreoffice",
    "libva.conf",
    "locale*",
    "localtime",
    "login.defs",
    "lsb-release",
    "magic*",
    "mailcap*",
    "manpath.config",
    "matplotlibrc",
    "maven*",
    "mime.types",
    "nanorc",
    "netconfig",
    "networks",
    "npmrc",
    "os-release",
    "papersize",
    "perl",
    "php",
    "pki",
    "profile*",
    "protocols",
    "python*",
    "redhat-release",
    "rpc",
    "ruby*",
    "sensors*",
    "services",
    "shells",
    "skel",
    "terminfo",
    "texmf",
    "timezone",
    "vim",
    "vulkan",
    "wgetrc",
    "xdg",
    "xml",
];

fn is_shown(name: &str) -> bool {
    SHOWN.iter().any(|shown| match shown.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == *shown,
    })
}

/// What of `/etc/ssl` is shown: not the keys.
const SHOWN_OF_SSL: [&str; 3] = ["certs", "openssl.cnf", "cert.pem"];

/// The names in `etc` that guests see, as paths relative to it.
pub fn shown_names(etc: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(etc).into_iter().flatten().flatten();
    let shown = entries.map(|entry| entry.file_name());
    let shown = shown.filter(|name| name.to_str().is_some_and(is_shown)).map(PathBuf::from);
    shown.chain(SHOWN_OF_SSL.iter().map(|name| Path::new("ssl").join(name))).collect()
}

/// The part of the host's `/etc` that guests see.
pub fn shown(host_etc: &Rc<dyn Inode>, device: DeviceNumber) -> SysResult<Rc<dyn Inode>> {
    let names = host_etc.directory().ok_or(Errno::ENOTDIR)?;
    let mut found = Vec::new();
    names.list(0, &mut |entry| {
        found.push(entry.name.to_vec());
        true
    })?;
    let mut folder = StaticDirectory::new(device, 2, 0o755);
    for name in found {
        let Ok(text) = std::str::from_utf8(&name) else { continue };
        if is_shown(text)
            && let Ok(inode) = names.lookup(&name)
        {
            folder.add(&name, inode);
        }
    }
    if let Ok(ssl) = names.lookup(b"ssl") {
        folder.add(b"ssl", without_private(&ssl, device)?);
    }
    Ok(Rc::new(folder))
}

/// `/etc/ssl` without its keys.
fn without_private(ssl: &Rc<dyn Inode>, device: DeviceNumber) -> SysResult<Rc<dyn Inode>> {
    let names = ssl.directory().ok_or(Errno::ENOTDIR)?;
    let mut folder = StaticDirectory::new(device, 5, 0o755);
    for name in SHOWN_OF_SSL {
        if let Ok(inode) = names.lookup(name.as_bytes()) {
            folder.add(name.as_bytes(), inode);
        }
    }
    Ok(Rc::new(folder))
}

/// Files that say who is in the sandbox, not who is on the host.
pub fn generated(spec: &SandboxSpec) -> Vec<(&'static str, String)> {
    let identity = &spec.identity;
    let home = identity.home.display();
    let mut passwd = String::from("root:x:0:0:root:/root:/bin/sh\n");
    let mut group = String::from("root:x:0:\ntty:x:5:\n");
    if identity.uid != 0 {
        let (name, uid, gid) = (&identity.name, identity.uid, identity.gid);
        // Writing to a string does not fail.
        let _ = writeln!(passwd, "{name}:x:{uid}:{gid}:{name}:{home}:/bin/sh");
        let _ = writeln!(group, "{name}:x:{gid}:");
    }
    passwd.push_str("nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n");
    group.push_str("nogroup:x:65534:\n");
    let hostname = &spec.hostname;
    vec![
        ("passwd", passwd),
        ("group", group),
        ("hostname", format!("{hostname}\n")),
        ("hosts", format!("127.0.0.1\tlocalhost {hostname}\n::1\tlocalhost ip6-localhost\n")),
        ("nsswitch.conf", NSSWITCH.to_owned()),
        ("resolv.conf", resolv_conf(&spec.network)),
    ]
}

/// The porter answers for names where something may leave. Elsewhere nobody does, at once.
fn resolv_conf(network: &NetworkPolicy) -> String {
    match network {
        NetworkPolicy::Allow(_) => String::from("nameserver 10.0.2.3\n"),
        NetworkPolicy::None | NetworkPolicy::Loopback => String::from("nameserver 127.0.0.1\n"),
    }
}

/// What a root of the user's own gets, if something may leave: the image knows nothing of it.
pub fn for_images(spec: &SandboxSpec) -> Vec<(&'static str, String)> {
    let leaves = matches!(spec.network, NetworkPolicy::Allow(_));
    let is_needed = |file: &(&str, String)| leaves && ["hosts", "resolv.conf"].contains(&file.0);
    generated(spec).into_iter().filter(is_needed).collect()
}

const NSSWITCH: &str = "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n\
    networks: files\nprotocols: files\nservices: files\nethers: files\nrpc: files\n";
