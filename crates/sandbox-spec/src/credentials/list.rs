//! The one list of secret places and names, each with its reason. Who masks, who hides and who tells
//! of them takes from it what concerns it, and has no list of its own.

/// A place that usually holds credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CredentialPlace {
    /// The path: from the home folder in [`IN_HOME`], absolute in [`ON_SYSTEM`]. A folder stands
    /// for everything in it.
    pub path: &'static str,
    /// What is there: the reason why it is on the list, in words that fit after "holds".
    pub holds: &'static str,
    /// Its name says the same in every folder: it is one of [`HIDDEN_NAMES`].
    is_name: bool,
    /// Every program looks for something in it, so that a look tells nothing.
    pub is_wide: bool,
}

const fn place(path: &'static str, holds: &'static str) -> CredentialPlace {
    CredentialPlace { path, holds, is_name: false, is_wide: false }
}

const fn named(path: &'static str, holds: &'static str) -> CredentialPlace {
    CredentialPlace { is_name: true, ..place(path, holds) }
}

const fn wide(path: &'static str, holds: &'static str) -> CredentialPlace {
    CredentialPlace { is_wide: true, ..place(path, holds) }
}

/// A name that tells of a secret in whatever folder it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecretName {
    /// The name.
    pub name: &'static str,
    /// What it is.
    pub holds: &'static str,
    /// The default root does not show it.
    is_hidden: bool,
    /// Who looks for it, or for a name that starts with it, is told of.
    pub is_told: bool,
}

/// Hidden, and told of.
const fn key(name: &'static str, holds: &'static str) -> SecretName {
    SecretName { name, holds, is_hidden: true, is_told: true }
}

/// Hidden. Programs look for it without meaning anything by it.
const fn setting(name: &'static str, holds: &'static str) -> SecretName {
    SecretName { name, holds, is_hidden: true, is_told: false }
}

/// Told of. Nothing that the default root shows has it.
const fn sought(name: &'static str, holds: &'static str) -> SecretName {
    SecretName { name, holds, is_hidden: false, is_told: true }
}

/// Places in the home folder of a user.
pub const IN_HOME: &[CredentialPlace] = &[
    // Keys.
    named(".ssh", "SSH keys"),
    named(".gnupg", "GnuPG keys"),
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
    named(".netrc", "passwords of hosts"),
    place(".authinfo", "passwords of hosts"),
    place(".authinfo.gpg", "passwords of hosts"),
    named(".pgpass", "passwords of PostgreSQL"),
    named(".my.cnf", "passwords of MySQL"),
    place(".mylogin.cnf", "passwords of MySQL"),
    place(".msmtprc", "passwords of mail servers"),
    place(".fetchmailrc", "passwords of mail servers"),
    place(".smbcredentials", "passwords of file servers"),
    // Clouds.
    named(".aws", "AWS keys"),
    named(".azure", "Azure tokens"),
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
    named(".kube", "Kubernetes tokens"),
    place(".docker/config.json", "passwords of container registries"),
    place(".config/containers/auth.json", "passwords of container registries"),
    place(".config/helm/registry", "passwords of chart registries"),
    // Forges.
    named(".git-credentials", "passwords of git servers"),
    place(".config/git/credentials", "passwords of git servers"),
    place(".config/gh", "GitHub tokens"),
    place(".config/hub", "GitHub tokens"),
    place(".config/glab-cli", "GitLab tokens"),
    place(".config/tea", "Gitea tokens"),
    // Package registries.
    named(".npmrc", "npm tokens"),
    named(".yarnrc", "npm tokens"),
    named(".yarnrc.yml", "npm tokens"),
    named(".pypirc", "PyPI tokens"),
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
    wide("/root", "the home folder of root"),
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
    wide("/run", "sockets and credentials of services"),
    wide("/var/run", "sockets and credentials of services"),
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
    wide("/var/log", "logs, and passwords with them"),
    place("/var/mail", "mail"),
    wide("/var/spool", "mail and jobs"),
    wide("/proc", "environments and memory of processes"),
    wide("/sys", "the host's devices"),
    wide("/dev", "the host's devices"),
    place("/boot", "keys of disks, in the first file system"),
];

/// Places that hold no credentials, and tell something of whoever looks for them.
pub const LOOKED_FOR: &[CredentialPlace] = &[
    place("/run/secrets", "secrets of a container"),
    place("/var/run/secrets", "secrets of a container"),
    place("/proc/kcore", "the memory of the machine"),
    place("/dev/mem", "the memory of the machine"),
    place("/dev/kmem", "the memory of the machine"),
    place("/.dockerenv", "whether this is a container"),
    place("/run/.containerenv", "whether this is a container"),
    place("/proc/1/environ", "the environment of the first process"),
];

/// Names that are no places of [`IN_HOME`].
pub const NAMES: &[SecretName] = &[
    // Keys.
    key("id_rsa", "SSH keys"),
    key("id_ed25519", "SSH keys"),
    key("id_ecdsa", "SSH keys"),
    key("id_dsa", "SSH keys"),
    key(".env", "keys of a project"),
    sought("ssh_host_", "the host's SSH keys"),
    sought("_netrc", "passwords of hosts"),
    sought("wallet.dat", "a wallet"),
    // Ways to become somebody else.
    sought("docker.sock", "Docker's socket, a way to become root"),
    sought("podman.sock", "Podman's socket, a way to become somebody else"),
    sought("containerd.sock", "containerd's socket, a way to become root"),
    sought("crio.sock", "CRI-O's socket, a way to become root"),
    // Settings of web clients.
    setting(".curlrc", "passwords of hosts"),
    setting(".wgetrc", "passwords of hosts"),
    setting("curlrc", "passwords of hosts"),
    setting("netrc", "passwords of hosts"),
    setting("wgetrc", "passwords of hosts"),
    // Package managers: tokens, and addresses of registries with passwords.
    setting(".bowerrc", "tokens of a package registry"),
    setting(".pip", "passwords of package indexes"),
    setting("auth.json", "passwords of Composer repositories and container registries"),
    setting("npmrc", "npm tokens"),
    setting("pip.conf", "passwords of package indexes"),
    setting("settings-security.xml", "Maven's master password"),
    setting("Renviron.site", "variables of R, and tokens with them"),
    // Servers, clouds and forges.
    setting(".docker", "passwords of container registries"),
    setting(".dockercfg", "passwords of container registries"),
    setting(".htpasswd", "hashes of passwords"),
    setting("credentials.json", "keys of a cloud"),
    setting("service-account.json", "keys of a cloud"),
    setting(".gitconfig", "passwords of git servers"),
];

/// Names that are secret in folders of some names only, as (folder, name, what it holds): elsewhere
/// programs keep harmless files of these names.
pub const NAMES_IN_FOLDERS: &[(&str, &str, &str)] = &[
    ("conf", "settings.xml", "passwords of Maven repositories"),
    ("maven", "settings.xml", "passwords of Maven repositories"),
    (".m2", "settings.xml", "passwords of Maven repositories"),
];

/// All names that the default root does not show. An array, for it is searched whenever a file of
/// the root is looked up.
pub const HIDDEN_NAMES: [&str; n_hidden()] = hidden();

#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler, which checks it")]
const fn n_hidden() -> usize {
    let (mut n, mut at) = (0, 0);
    while at < IN_HOME.len() {
        n += IN_HOME[at].is_name as usize;
        at += 1;
    }
    at = 0;
    while at < NAMES.len() {
        n += NAMES[at].is_hidden as usize;
        at += 1;
    }
    n
}

#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler, which checks it")]
const fn hidden() -> [&'static str; n_hidden()] {
    let mut names = [""; n_hidden()];
    let (mut n, mut at) = (0, 0);
    while at < IN_HOME.len() {
        if IN_HOME[at].is_name {
            names[n] = IN_HOME[at].path;
            n += 1;
        }
        at += 1;
    }
    at = 0;
    while at < NAMES.len() {
        if NAMES[at].is_hidden {
            names[n] = NAMES[at].name;
            n += 1;
        }
        at += 1;
    }
    names
}
