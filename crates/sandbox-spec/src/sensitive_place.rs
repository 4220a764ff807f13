//! Places that a program looks at to find keys, or a way out. What a guest looks for there in vain
//! tells as much as what it finds.

/// Where a place is.
enum Place {
    /// Exactly this path, or anything beneath it.
    At(&'static str),
    /// Names that follow one another, in any folder, and anything beneath them.
    In(&'static str),
    /// A last name that starts so.
    Named(&'static str),
}

use Place::{At, In, Named};

/// The places, each with what is there. Compared in this order, so the more telling come first.
const PLACES: &[(Place, &str)] = &[
    (In(".ssh"), "keys of SSH"),
    (Named("id_rsa"), "keys of SSH"),
    (Named("id_ed25519"), "keys of SSH"),
    (Named("id_ecdsa"), "keys of SSH"),
    (Named("ssh_host_"), "keys of the machine's SSH server"),
    (In(".gnupg"), "keys of GnuPG"),
    (At("/etc/shadow"), "passwords of the machine"),
    (At("/etc/gshadow"), "passwords of the machine"),
    (At("/etc/shadow-"), "passwords of the machine"),
    (At("/etc/sudoers"), "who may become root"),
    (At("/etc/sudoers.d"), "who may become root"),
    (In(".aws"), "keys of Amazon"),
    (In(".azure"), "keys of Azure"),
    (In(".config/gcloud"), "keys of Google"),
    (In(".oci"), "keys of Oracle"),
    (In(".aliyun"), "keys of Alibaba"),
    (In(".kube"), "keys of Kubernetes"),
    (In("secrets/kubernetes.io"), "keys of Kubernetes"),
    (At("/etc/kubernetes"), "keys of Kubernetes"),
    (At("/run/secrets"), "secrets of a container"),
    (At("/var/run/secrets"), "secrets of a container"),
    (Named("docker.sock"), "a way to become root: Docker's socket"),
    (Named("podman.sock"), "a way to become somebody else: Podman's socket"),
    (Named("containerd.sock"), "a way to become root: containerd's socket"),
    (Named("crio.sock"), "a way to become root: CRI-O's socket"),
    (In(".docker"), "keys of Docker"),
    (In(".config/containers"), "keys of Podman"),
    (Named(".netrc"), "passwords for hosts"),
    (Named("_netrc"), "passwords for hosts"),
    (Named(".git-credentials"), "passwords of git"),
    (In(".config/git/credentials"), "passwords of git"),
    (In(".config/gh"), "keys of GitHub"),
    (In(".config/hub"), "keys of GitHub"),
    (Named(".npmrc"), "keys of npm"),
    (Named(".pypirc"), "keys of PyPI"),
    (In(".cargo/credentials"), "keys of crates.io"),
    (In(".cargo/credentials.toml"), "keys of crates.io"),
    (In(".gem/credentials"), "keys of RubyGems"),
    (In(".m2/settings.xml"), "passwords of Maven"),
    (Named(".pgpass"), "passwords of databases"),
    (Named(".my.cnf"), "passwords of databases"),
    (Named(".vault-token"), "keys of Vault"),
    (In(".terraform.d"), "keys of Terraform"),
    (In(".config/op"), "keys of 1Password"),
    (In(".password-store"), "passwords"),
    (In(".local/share/keyrings"), "passwords"),
    (In(".config/kwalletd"), "passwords"),
    (In(".mozilla"), "passwords and sessions of a browser"),
    (In(".config/google-chrome"), "passwords and sessions of a browser"),
    (In(".config/chromium"), "passwords and sessions of a browser"),
    (In(".config/BraveSoftware"), "passwords and sessions of a browser"),
    (In(".bitcoin"), "money"),
    (In(".ethereum"), "money"),
    (In(".electrum"), "money"),
    (Named("wallet.dat"), "money"),
    (Named(".bash_history"), "what the user typed"),
    (Named(".zsh_history"), "what the user typed"),
    (Named(".python_history"), "what the user typed"),
    (Named(".psql_history"), "what the user typed"),
    (Named(".mysql_history"), "what the user typed"),
    (In(".claude"), "sessions and keys of an agent"),
    (In(".codex"), "sessions and keys of an agent"),
    (Named(".env"), "keys of a project"),
    (At("/proc/kcore"), "the memory of the machine"),
    (At("/dev/mem"), "the memory of the machine"),
    (At("/dev/kmem"), "the memory of the machine"),
    (At("/.dockerenv"), "whether this is a container"),
    (At("/run/.containerenv"), "whether this is a container"),
];

/// What is kept at an absolute, clean path, if it is one of these places.
pub fn sensitive_place(path: &[u8]) -> Option<&'static str> {
    let last = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    PLACES.iter().find(|(place, _)| place.has(path, last)).map(|(_, what)| *what)
}

impl Place {
    fn has(&self, path: &[u8], last: &[u8]) -> bool {
        let ends = |rest: &[u8]| matches!(rest.first(), None | Some(b'/'));
        match self {
            At(place) => path.strip_prefix(place.as_bytes()).is_some_and(ends),
            Named(start) => last.starts_with(start.as_bytes()),
            In(names) => {
                let names = names.as_bytes();
                // Only what follows a slash is a whole name.
                let after = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
                after.filter_map(|(at, _)| path.get(at + 1..)).any(|rest| {
                    rest.first() == names.first() && rest.strip_prefix(names).is_some_and(ends)
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_wherever_a_home_is() {
        for path in [
            "/home/user/.ssh/id_rsa",
            "/root/.ssh",
            "/home/user/id_rsa",
            "/etc/shadow",
            "/var/run/docker.sock",
            "/run/docker.sock",
            "/home/u/.aws/credentials",
            "/home/u/.config/gh/hosts.yml",
            "/var/run/secrets/kubernetes.io/serviceaccount/token",
            "/work/.env",
        ] {
            assert!(sensitive_place(path.as_bytes()).is_some(), "{path}");
        }
        for path in ["/usr/lib/python3/ssh.py", "/etc/shadows", "/work/x.ssh/a", "/work/aws", "/"] {
            assert_eq!(sensitive_place(path.as_bytes()), None, "{path}");
        }
    }
}
