//! Where tools that users install for themselves lie, and what of them a sandbox needs.

/// A tool, or a manager of tools, that is installed in a home folder.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Its name.
    pub name: &'static str,
    /// The variable that says where it is.
    pub variable: Option<&'static str>,
    /// Where it is without that, from the home folder or absolute.
    pub folder: &'static str,
    /// What of it is shown. Settings are not, because tokens are among them.
    pub shown: &'static [&'static str],
    /// Whether programs inside have to be told by the variable where it is: their home is another.
    pub is_told: bool,
    /// What is shown with it: the tools that its programs start.
    pub with: &'static [&'static str],
}

const fn layout(
    name: &'static str,
    variable: Option<&'static str>,
    folder: &'static str,
    shown: &'static [&'static str],
) -> Layout {
    Layout { name, variable, folder, shown, is_told: false, with: &[] }
}

/// All that are known. One is shown if an entry of `PATH` leads into it.
pub const LAYOUTS: &[Layout] = &[
    Layout {
        is_told: true,
        with: &["rustup"],
        ..layout("cargo", Some("CARGO_HOME"), ".cargo", &["bin", "registry", "git"])
    },
    Layout { is_told: true, ..layout("rustup", Some("RUSTUP_HOME"), ".rustup", &["."]) },
    Layout { is_told: true, ..layout("pyenv", Some("PYENV_ROOT"), ".pyenv", &["."]) },
    layout("nvm", Some("NVM_DIR"), ".nvm", &["."]),
    layout("fnm", Some("FNM_DIR"), ".local/share/fnm", &["node-versions", "aliases"]),
    Layout { is_told: true, ..layout("volta", Some("VOLTA_HOME"), ".volta", &["."]) },
    layout("go", Some("GOPATH"), "go", &["bin"]),
    layout("sdkman", Some("SDKMAN_DIR"), ".sdkman", &["candidates"]),
    layout(
        "Homebrew",
        Some("HOMEBREW_PREFIX"),
        "/home/linuxbrew/.linuxbrew",
        &[
            "bin",
            "sbin",
            "lib",
            "libexec",
            "share",
            "include",
            "opt",
            "Cellar",
            "etc/ca-certificates",
            "etc/openssl@3",
        ],
    ),
    layout("rbenv", Some("RBENV_ROOT"), ".rbenv", &["."]),
    layout("asdf", Some("ASDF_DATA_DIR"), ".asdf", &["."]),
    layout("mise", Some("MISE_DATA_DIR"), ".local/share/mise", &["installs", "shims"]),
    layout("bun", Some("BUN_INSTALL"), ".bun", &["bin"]),
    layout("deno", Some("DENO_INSTALL"), ".deno", &["bin"]),
    layout("pnpm", Some("PNPM_HOME"), ".local/share/pnpm", &["."]),
    layout("ghcup", None, ".ghcup", &["."]),
    Layout {
        with: &["uv"],
        ..layout("~/.local", None, ".local", &["bin", "lib", "pipx/venvs", "share/pipx/venvs"])
    },
    layout("uv", None, ".local/share/uv", &["python", "tools"]),
];

/// Files with tokens that lie in what is shown, beneath the folder of an installation.
pub const SETTINGS: &[&str] =
    &["etc/npmrc", "etc/pip.conf", "pip.conf", ".npmrc", ".condarc", "condarc", ".netrc"];

/// Folders of a layout whose folders are installations of their own, at this depth.
pub const INSTALLATIONS: &[(&str, usize)] = &[
    ("versions", 1),
    ("versions/node", 1),
    ("node-versions", 2),
    ("installs", 2),
    ("python", 1),
    ("tools", 1),
    ("pipx/venvs", 1),
    ("share/pipx/venvs", 1),
    ("candidates", 2),
    ("toolchains", 1),
];
