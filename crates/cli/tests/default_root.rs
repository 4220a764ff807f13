//! What of the host's `/etc`, `/opt` and `/usr/local/etc` a sandbox shows if nobody says anything.
//!
//! The files are planted in a mount namespace of the test's own, where the user is root and may
//! read all of them: what is hidden is hidden by the program.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Files with a secret, and their modes.
const SECRETS: [(&str, u32); 30] = [
    ("etc/npmrc", 0o644),
    ("etc/wgetrc", 0o644),
    ("etc/pip.conf", 0o644),
    ("etc/netrc", 0o644),
    ("etc/environment", 0o644),
    ("etc/profile.d/proxy.sh", 0o644),
    ("etc/default/service", 0o644),
    ("etc/maven/settings.xml", 0o644),
    ("etc/pki/tls/private/host.key", 0o644),
    ("etc/pki/entitlement/key.pem", 0o644),
    ("etc/ssl/private/host.key", 0o644),
    ("etc/apache2/sites.conf", 0o644),
    ("etc/shadow", 0o644),
    ("etc/gshadow", 0o644),
    ("etc/sudoers", 0o644),
    ("etc/machine-id", 0o644),
    ("etc/ssh/ssh_host_rsa_key", 0o644),
    ("etc/java-17/management/jmxremote.password", 0o600),
    ("etc/php/cli/database.ini", 0o640),
    ("etc/xdg/.npmrc", 0o644),
    ("etc/R/Renviron.site", 0o644),
    ("opt/tool/etc/npmrc", 0o644),
    ("opt/tool/.env", 0o644),
    ("opt/tool/token", 0o600),
    ("opt/tool/closed/token", 0o644),
    ("opt/maven/conf/settings.xml", 0o644),
    ("opt/home/.ssh/id_rsa", 0o644),
    ("opt/home/.aws/credentials", 0o644),
    ("usr/local/etc/npmrc", 0o644),
    ("usr/local/etc/pip.conf", 0o644),
];

/// Files that programs need.
const NEEDED: [(&str, u32); 9] = [
    ("etc/maven/m2.conf", 0o644),
    ("etc/default/locale", 0o644),
    ("etc/pki/tls/certs/bundle.crt", 0o644),
    ("etc/ssl/certs/bundle.crt", 0o644),
    ("etc/java-17/security/policy", 0o644),
    ("etc/fonts/fonts.conf", 0o644),
    ("opt/tool/bin/tool", 0o755),
    ("opt/tool/settings.xml", 0o644),
    ("usr/local/etc/tool.conf", 0o644),
];

/// Prints what is there, and what was read although it holds a secret.
const LOOK: &str = r"
import os, sys
for top in ('/etc', '/opt', '/usr/local/etc'):
    for folder, _, files in os.walk(top):
        for name in files:
            path = os.path.join(folder, name)
            try: text = open(path, errors='replace').read()
            except OSError: continue
            if text in ('a secret', 'needed'): print(text, path[1:])
for path in sys.argv[1:]:
    try: print('opened', path, open('/' + path).read())
    except OSError as error: print(error.strerror, path)
";

fn plant(top: &Path, files: &[(&str, u32)], text: &str) {
    for (name, mode) in files {
        let path = top.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).unwrap();
    }
}

/// Whether the user may mount in a namespace of his own.
fn can_mount() -> bool {
    let script = "mount -t tmpfs none /mnt";
    let tried = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", script])
        .stderr(Stdio::null())
        .status();
    tried.is_ok_and(|status| status.success())
}

#[test]
fn secrets_of_the_machine_are_not_shown() {
    if !can_mount() {
        test_skips::skip("default-root", "users may not mount in a namespace of their own here");
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let top = place.path();
    plant(top, &SECRETS, "a secret");
    plant(top, &NEEDED, "needed");
    let closed = fs::Permissions::from_mode(0o700);
    fs::set_permissions(top.join("opt/tool/closed"), closed).unwrap();
    for needed in ["ld.so.cache", "alternatives"] {
        let status = Command::new("cp")
            .args(["-a", "--no-preserve=ownership"])
            .arg(Path::new("/etc").join(needed))
            .arg(top.join("etc"))
            .status();
        assert!(status.unwrap().success());
    }
    let script = "for it in etc opt usr/local/etc; do mount --bind \"$0/$it\" /$it || exit 99; done
                  exec \"$@\"";
    let names = SECRETS.iter().map(|(name, _)| *name);
    let output = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", script])
        .arg(top)
        .args([env!("CARGO_BIN_EXE_belljar"), "run", "--user", "root", "--"])
        .args(["/usr/bin/python3", "-c", LOOK])
        .args(names.clone())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let mut found: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("needed ")).collect();
    found.sort_unstable();
    let mut needed = NEEDED.map(|(name, _)| name);
    needed.sort_unstable();
    assert_eq!(found, needed);
    let shown: Vec<_> = text.lines().filter(|line| line.contains("a secret")).collect();
    assert!(shown.is_empty(), "{}", shown.join("\n"));
    for name in names {
        assert!(text.contains(&format!("No such file or directory {name}\n")), "{name}: {text}");
    }
}
