//! What of the host's `/etc` the default root shows: the one list, with reasons.
//!
//! A name is here if a program that runs inside would behave differently without it, and if no
//! program keeps keys or passwords there. Whatever is beneath these names still has to be readable
//! for everybody and must not have the name of a file with secrets: see `hostfs/hidden.rs`.
//!
//! Not here, on purpose: `npmrc`, `pip.conf`, `wgetrc`, `maven/settings.xml` (tokens, and addresses
//! with passwords), `profile.d`, `environment` and most of `default` (what the machine's owner
//! exports, proxies with passwords among it), `apache2`, `nginx` and other servers (they do not run
//! inside unless asked for, and may name databases), `pki` but for certificates (it has private keys
//! and entitlements), `ssl/private`, `ssh`, `shadow`, `sudoers`, `machine-id`, `gitconfig`.

/// Why names are shown, and the names: paths in `/etc`, with a `*` at the end for anything.
pub const ETC: &[(&str, &[&str])] = &[
    (
        "which program a name stands for, and where libraries are",
        &["alternatives", "ld.so.*", "debian_version", "os-release", "lsb-release"],
    ),
    ("distributions by other names", &["redhat-release", "dpkg"]),
    (
        "how interactive shells and editors start",
        &["bash.bashrc", "bash_completion*", "inputrc", "profile", "shells", "skel"],
    ),
    ("editors and pagers", &["emacs", "groff", "manpath.config", "nanorc", "terminfo", "vim"]),
    (
        "languages, time, paper",
        &["locale*", "localtime", "timezone", "papersize", "default/locale"],
    ),
    (
        "names of protocols, ports and networks",
        &[
            "bindresvport.blacklist",
            "ethertypes",
            "gai.conf",
            "host.conf",
            "netconfig",
            "networks",
            "protocols",
            "rpc",
            "services",
        ],
    ),
    (
        "whom TLS trusts; no private keys",
        &[
            "ca-certificates*",
            "crypto-policies",
            "gnutls",
            "gss",
            "pki/ca-trust/extracted",
            "pki/java",
            "pki/tls/cert.pem",
            "pki/tls/certs",
            "pki/tls/openssl.cnf",
            "ssl/cert.pem",
            "ssl/certs",
            "ssl/openssl.cnf",
        ],
    ),
    ("kinds of files", &["magic*", "mailcap*", "mime.types", "xml", "xdg"]),
    (
        "fonts, windows, pictures, graphics",
        &[
            "ImageMagick*",
            "OpenCL",
            "X11",
            "dconf",
            "fonts",
            "ghostscript",
            "gtk-*",
            "libva.conf",
            "sensors*",
            "vulkan",
        ],
    ),
    (
        "interpreters and compilers",
        &["R", "gprofng.rc", "java*", "matplotlibrc", "perl", "php", "python*", "ruby*", "texmf"],
    ),
    ("Maven's own start, not its settings", &["maven*/m2.conf", "maven*/logging"]),
    ("large programs that skills use", &["chromium*", "libreoffice"]),
    ("libraries that warn without them", &["issue*", "libaudit.conf", "libnl-3", "login.defs"]),
];
