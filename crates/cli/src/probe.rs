//! Tries one host feature in a process of its own, because trying changes the process.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use host_sys::{Namespace, enter_new_namespaces};

/// Options of `probe`.
#[derive(Args)]
pub struct Options {
    #[arg(value_enum)]
    what: Probe,
}

/// What can be tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Probe {
    /// A user namespace.
    #[value(name = "user-namespace")]
    User,
    /// A pid namespace, with a first process in it.
    #[value(name = "pid-namespace")]
    Pid,
    /// A mount namespace.
    #[value(name = "mount-namespace")]
    Mount,
    /// A network namespace.
    #[value(name = "network-namespace")]
    Network,
    /// An IPC namespace.
    #[value(name = "ipc-namespace")]
    Ipc,
}

impl Probe {
    /// Every probe.
    pub const ALL: [Self; 5] = [Self::User, Self::Pid, Self::Mount, Self::Network, Self::Ipc];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user-namespace",
            Self::Pid => "pid-namespace",
            Self::Mount => "mount-namespace",
            Self::Network => "network-namespace",
            Self::Ipc => "ipc-namespace",
        }
    }

    /// Tries it in a new process. The error is the host's words.
    pub fn try_it(self) -> Result<(), String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let output = std::process::Command::new(program)
            .args(["probe", self.name()])
            .output()
            .map_err(|error| error.to_string())?;
        if output.status.success() {
            return Ok(());
        }
        Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
    }
}

/// Tries it in this process and says why it failed. Every namespace is tried together with a user
/// namespace, since that is how a sandbox of an ordinary user gets it.
pub fn run(options: &Options) -> ExitCode {
    let kinds: &[Namespace] = match options.what {
        Probe::User => &[Namespace::User],
        Probe::Pid => &[Namespace::User, Namespace::Pid],
        Probe::Mount => &[Namespace::User, Namespace::Mount],
        Probe::Network => &[Namespace::User, Namespace::Network],
        Probe::Ipc => &[Namespace::User, Namespace::Ipc],
    };
    let entered = enter_new_namespaces(kinds).and_then(|()| match options.what {
        // The namespace exists once it has a first process.
        Probe::Pid => std::process::Command::new("/proc/self/exe")
            .arg("--version")
            .stdout(std::process::Stdio::null())
            .status()
            .map(|_| ()),
        _ => Ok(()),
    });
    match entered {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
