//! Where credentials usually are on a host: the one list, and why each place is on it.
//!
//! A folder that is shown to a guest without being named as such (the current folder, a project)
//! is shown without these places. Whoever names one of them, as the source of a mount, gets it.
//! The list is of places, not of contents: a key that lies in a project is not found by it.

use std::path::{Path, PathBuf};

/// A place that usually holds credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CredentialPlace {
    /// The path: from the home folder in [`IN_HOME`], absolute in [`ON_SYSTEM`]. A folder stands
    /// for everything in it.
    pub path: &'static str,
    /// What is there: the reason why it is on the list, in words that fit after "holds".
    pub holds: &'static str,
}

const fn place(path: &'static str, holds: &'static str) -> CredentialPlace {
    CredentialPlace { path, holds }
}

/// Places in the home folder of a user.
pub const IN_HOME: &[CredentialPlace] = &[
    // Keys.
    place(".ssh", "SSH keys"),
    place(".gnupg", "GnuPG keys"),
    place(".pki", "certificates and their keys"),
    place(".age", "age keys"),
    place(".config/age", "age keys"),
    place(".config/sops", "SOPS keys"),
    place(".putty", "SSH keys"),
    place(".minisign", "minisign keys"),
    // Stores of passwords.
    place(".password-store", "passwords"),
    place(".local/share/keyrings", "the GNOME keyring"),
    place(".local/share/kwalletd", "the KDE wallet"),
    place(".config/op", "1Password's session"),
    place(".config/Bitwarden CLI", "Bitwarden's session"),
    place(".config/keepassxc", "KeePassXC's settings"),
    // Files of names and passwords.
    place(".netrc", "passwords of hosts"),
    place(".authinfo", "passwords of hosts"),
    place(".authinfo.gpg", "passwords of hosts"),
    place(".pgpass", "passwords of PostgreSQL"),
    place(".my.cnf", "passwords of MySQL"),
    place(".mylogin.cnf", "passwords of MySQL"),
    place(".msmtprc", "passwords of mail servers"),
    place(".fetchmailrc", "passwords of mail servers"),
    place(".smbcredentials", "passwords of file servers"),
    // Clouds.
    place(".aws", "AWS keys"),
    place(".azure", "Azure tokens"),
    place(".config/gcloud", "Google Cloud tokens"),
    place(".boto", "cloud storage keys"),
    place(".s3cfg", "S3 keys"),
    place(".config/rclone", "cloud storage keys"),
    place(".oci", "Oracle Cloud keys"),
    place(".aliyun", "Alibaba Cloud keys"),
    place(".config/doctl", "DigitalOcean tokens"),
    place(".config/hcloud", "Hetzner Cloud tokens"),
    place(".config/linode-cli", "Linode tokens"),
    place(".fly", "Fly.io tokens"),
    place(".config/heroku", "Heroku tokens"),
    place(".wrangler", "Cloudflare tokens"),
    place(".config/.wrangler", "Cloudflare tokens"),
    place(".vercel", "Vercel tokens"),
    place(".local/share/com.vercel.cli", "Vercel tokens"),
    place(".config/netlify", "Netlify tokens"),
    place(".terraform.d/credentials.tfrc.json", "Terraform tokens"),
    place(".terraformrc", "Terraform tokens"),
    place(".pulumi/credentials.json", "Pulumi tokens"),
    place(".vault-token", "a Vault token"),
    // Containers and clusters.
    place(".kube", "Kubernetes tokens"),
    place(".docker/config.json", "passwords of container registries"),
    place(".config/containers/auth.json", "passwords of container registries"),
    place(".config/helm/registry", "passwords of chart registries"),
    // Forges.
    place(".git-credentials", "passwords of git servers"),
    place(".config/git/credentials", "passwords of git servers"),
    place(".config/gh", "GitHub tokens"),
    place(".config/hub", "GitHub tokens"),
    place(".config/glab-cli", "GitLab tokens"),
    place(".config/tea", "Gitea tokens"),
    // Package registries.
    place(".npmrc", "npm tokens"),
    place(".yarnrc", "npm tokens"),
    place(".yarnrc.yml", "npm tokens"),
    place(".pypirc", "PyPI tokens"),
    place(".config/pip/pip.conf", "passwords of package indexes"),
    place(".pip/pip.conf", "passwords of package indexes"),
    place(".config/uv/credentials", "passwords of package indexes"),
    place(".local/share/uv/credentials", "passwords of package indexes"),
    place(".config/pypoetry/auth.toml", "passwords of package indexes"),
    place(".condarc", "tokens of conda channels"),
    place(".cargo/credentials", "crates.io tokens"),
    place(".cargo/credentials.toml", "crates.io tokens"),
    place(".gem/credentials", "RubyGems keys"),
    place(".bundle/config", "passwords of gem servers"),
    place(".m2/settings.xml", "passwords of Maven repositories"),
    place(".m2/settings-security.xml", "Maven's master password"),
    place(".gradle/gradle.properties", "passwords of Maven repositories"),
    place(".composer/auth.json", "passwords of Composer repositories"),
    place(".config/composer/auth.json", "passwords of Composer repositories"),
    place(".nuget/NuGet/NuGet.Config", "passwords of NuGet feeds"),
    place(".config/NuGet/NuGet.Config", "passwords of NuGet feeds"),
    place(".hex", "Hex keys"),
    // Services of machine learning, and agents.
    place(".huggingface", "Hugging Face tokens"),
    place(".cache/huggingface/token", "a Hugging Face token"),
    place(".cache/huggingface/stored_tokens", "Hugging Face tokens"),
    place(".kaggle", "Kaggle keys"),
    place(".config/kaggle", "Kaggle keys"),
    place(".config/wandb", "Weights & Biases keys"),
    place(".claude", "an agent's tokens and conversations"),
    place(".claude.json", "an agent's tokens"),
    place(".codex", "an agent's tokens and conversations"),
    place(".gemini", "an agent's tokens and conversations"),
    place(".config/github-copilot", "an agent's tokens"),
    // Browsers and mail: passwords, and cookies that are as good as passwords.
    place(".mozilla", "passwords and cookies of Firefox"),
    place(".thunderbird", "mail and its passwords"),
    place(".config/google-chrome", "passwords and cookies of Chrome"),
    place(".config/chromium", "passwords and cookies of Chromium"),
    place(".config/BraveSoftware", "passwords and cookies of Brave"),
    place(".config/microsoft-edge", "passwords and cookies of Edge"),
    place(".config/vivaldi", "passwords and cookies of Vivaldi"),
    place(".config/opera", "passwords and cookies of Opera"),
    place("snap/firefox", "passwords and cookies of Firefox"),
    place("snap/chromium", "passwords and cookies of Chromium"),
    place(".var/app", "data of desktop programs, browsers among them"),
    place(".config/Slack", "Slack's session"),
    place(".config/discord", "Discord's session"),
    place(".config/Signal", "Signal's messages and keys"),
    place(".local/share/TelegramDesktop", "Telegram's session"),
    // Wallets.
    place(".bitcoin", "a wallet"),
    place(".ethereum", "a wallet"),
    place(".electrum", "a wallet"),
    place(".config/solana", "a wallet"),
    place(".monero", "a wallet"),
    // What was typed, passwords among it.
    place(".bash_history", "what was typed, and passwords with it"),
    place(".zsh_history", "what was typed, and passwords with it"),
    place(".local/share/fish/fish_history", "what was typed, and passwords with it"),
    place(".python_history", "what was typed, and passwords with it"),
    place(".node_repl_history", "what was typed, and passwords with it"),
    place(".psql_history", "what was typed, and passwords with it"),
    place(".mysql_history", "what was typed, and passwords with it"),
    place(".rediscli_history", "what was typed, and passwords with it"),
    // What lets a program act as the user on this machine.
    place(".Xauthority", "the key of the display"),
    place(".ICEauthority", "the key of the desktop session"),
    place(".config/pulse/cookie", "the key of the sound server"),
];

/// Places of the system, by absolute paths.
pub const ON_SYSTEM: &[CredentialPlace] = &[
    place("/root", "the home folder of root"),
    place("/etc/shadow", "hashes of passwords"),
    place("/etc/shadow-", "hashes of passwords"),
    place("/etc/gshadow", "hashes of passwords"),
    place("/etc/gshadow-", "hashes of passwords"),
    place("/etc/security/opasswd", "hashes of old passwords"),
    place("/etc/sudoers", "who may become root"),
    place("/etc/sudoers.d", "who may become root"),
    place("/etc/ssh", "the host's SSH keys"),
    place("/etc/ssl/private", "keys of certificates"),
    place("/etc/pki/tls/private", "keys of certificates"),
    place("/etc/letsencrypt", "keys of certificates"),
    place("/etc/krb5.keytab", "Kerberos keys"),
    place("/etc/wireguard", "keys of networks"),
    place("/etc/openvpn", "keys of networks"),
    place("/etc/ipsec.secrets", "keys of networks"),
    place("/etc/ppp", "passwords of networks"),
    place("/etc/wpa_supplicant", "passwords of networks"),
    place("/etc/NetworkManager/system-connections", "passwords of networks"),
    place("/etc/kubernetes", "keys of a cluster"),
    place("/etc/rancher", "keys of a cluster"),
    place("/etc/docker", "keys of container registries"),
    place("/etc/apt/auth.conf", "passwords of package servers"),
    place("/etc/apt/auth.conf.d", "passwords of package servers"),
    place("/etc/mysql/debian.cnf", "a password of MySQL"),
    place("/etc/credstore", "credentials of services"),
    place("/etc/credstore.encrypted", "credentials of services"),
    place("/run", "sockets and credentials of services"),
    place("/var/run", "sockets and credentials of services"),
    place("/var/lib/private", "private data of services"),
    place("/var/lib/kubelet", "keys of a cluster"),
    place("/var/lib/docker", "containers, with all that is in them"),
    place("/var/lib/containers", "containers, with all that is in them"),
    place("/var/lib/containerd", "containers, with all that is in them"),
    place("/var/lib/systemd/credential.secret", "the key of service credentials"),
    place("/var/lib/sss", "hashes and tickets of a directory service"),
    place("/var/lib/NetworkManager", "keys of networks"),
    place("/var/lib/bluetooth", "keys of devices"),
    place("/var/lib/mysql", "a database"),
    place("/var/lib/postgresql", "a database"),
    place("/var/log", "logs, and passwords with them"),
    place("/var/mail", "mail"),
    place("/var/spool", "mail and jobs"),
    place("/proc", "environments and memory of processes"),
    place("/sys", "the host's devices"),
    place("/dev", "the host's devices"),
    place("/boot", "keys of disks, in the first file system"),
];

/// The places of [`IN_HOME`] in this home folder, and those of [`ON_SYSTEM`], with what they hold.
pub fn credential_places(home: Option<&Path>) -> Vec<(PathBuf, &'static str)> {
    let in_home = home
        .into_iter()
        .flat_map(|home| IN_HOME.iter().map(move |place| (home.join(place.path), place.holds)));
    in_home.chain(ON_SYSTEM.iter().map(|place| (place.path.into(), place.holds))).collect()
}

/// What an absolute path holds by the list, if it is one of its places or lies in one.
pub fn credentials_at(path: &Path, home: Option<&Path>) -> Option<&'static str> {
    let in_home = home.and_then(|home| path.strip_prefix(home).ok()).and_then(|rest| {
        IN_HOME.iter().find(|place| rest.starts_with(place.path)).map(|place| place.holds)
    });
    in_home.or_else(|| {
        let is_in = |place: &&CredentialPlace| {
            path.starts_with(place.path) && home.is_none_or(|home| !home.starts_with(place.path))
        };
        ON_SYSTEM.iter().find(is_in).map(|place| place.holds)
    })
}

/// What a folder that is shown as a whole holds by the list: as [`credentials_at`], or, if places
/// of the list are in it, that they are.
pub fn credentials_in(path: &Path, home: Option<&Path>) -> Option<&'static str> {
    credentials_at(path, home).or_else(|| {
        let is_around = credential_places(home).iter().any(|(place, _)| place.starts_with(path));
        is_around.then_some("the places where keys and passwords are")
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_place_is_written_once_and_cleanly() {
        let mut seen = BTreeSet::new();
        for place in IN_HOME.iter().chain(ON_SYSTEM) {
            assert!(seen.insert(place.path), "{} is there twice", place.path);
            let names = place.path.trim_start_matches('/').split('/');
            assert!(names.into_iter().all(|it| !matches!(it, "" | "." | "..")), "{}", place.path);
            assert!(!place.holds.is_empty(), "{} has no reason", place.path);
        }
        assert!(IN_HOME.iter().all(|place| !place.path.starts_with('/')));
        assert!(ON_SYSTEM.iter().all(|place| place.path.starts_with('/')));
    }

    #[test]
    fn a_place_is_itself_and_what_is_in_it() {
        let at = |path: &str| credentials_at(Path::new(path), Some(Path::new("/home/ann")));
        assert_eq!(at("/home/ann/.ssh"), Some("SSH keys"));
        assert_eq!(at("/home/ann/.ssh/id_ed25519"), Some("SSH keys"));
        assert_eq!(at("/home/ann/.sshrc"), None);
        assert_eq!(at("/home/ann"), None);
        assert_eq!(at("/home/bob/.ssh"), None);
        assert_eq!(at("/etc/shadow"), Some("hashes of passwords"));
        assert_eq!(at("/etc/passwd"), None);
    }

    #[test]
    fn a_home_in_a_place_of_the_system_is_a_home() {
        let at = |path: &str| credentials_at(Path::new(path), Some(Path::new("/root")));
        assert_eq!(at("/root/project"), None);
        assert_eq!(at("/root/.aws/credentials"), Some("AWS keys"));
        assert_eq!(
            credentials_at(Path::new("/root/project"), None),
            Some("the home folder of root")
        );
    }

    #[test]
    fn a_folder_around_places_holds_them() {
        let within = |path: &str| credentials_in(Path::new(path), Some(Path::new("/home/ann")));
        assert_eq!(within("/home/ann/.ssh"), Some("SSH keys"));
        for around in ["/", "/home", "/home/ann", "/home/ann/.config"] {
            assert_eq!(within(around), Some("the places where keys and passwords are"));
        }
        assert_eq!(within("/home/ann/project"), None);
    }

    #[test]
    fn all_places_have_their_paths_on_this_host() {
        let places = credential_places(Some(Path::new("/home/ann")));
        assert!(places.contains(&("/home/ann/.netrc".into(), "passwords of hosts")));
        assert!(places.contains(&("/etc/shadow".into(), "hashes of passwords")));
        assert_eq!(credential_places(None).len(), ON_SYSTEM.len());
    }
}
