//! The layers that hold a sandbox together.

use serde::{Deserialize, Serialize};

/// One boundary around the guest. A report says of each whether it is in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContainmentLayer {
    /// The host filter of guest processes: about twenty host calls, none of which opens, connects
    /// or controls anything.
    GuestFilter,
    /// The kernel process's own filter, in force from the guest's first instruction on.
    KernelFilter,
    /// Guest processes and kernel process cannot gain privileges.
    NoNewPrivileges,
    /// A user namespace, with no capabilities in the host's.
    UserNamespace,
    /// A pid namespace: whatever happens, every host process of the sandbox dies with it.
    PidNamespace,
    /// A mount namespace.
    MountNamespace,
    /// A network namespace without any interface.
    NetworkNamespace,
    /// An IPC namespace.
    IpcNamespace,
    /// The kernel process can only reach the files beneath its mounts.
    Landlock,
    /// A control group with the limits of the specification.
    ControlGroup,
}

impl ContainmentLayer {
    /// Every layer, outermost last.
    pub const ALL: [Self; 10] = [
        Self::GuestFilter,
        Self::KernelFilter,
        Self::NoNewPrivileges,
        Self::UserNamespace,
        Self::PidNamespace,
        Self::MountNamespace,
        Self::NetworkNamespace,
        Self::IpcNamespace,
        Self::Landlock,
        Self::ControlGroup,
    ];

    /// The name as it is written in flags and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::GuestFilter => "guest-filter",
            Self::KernelFilter => "kernel-filter",
            Self::NoNewPrivileges => "no-new-privileges",
            Self::UserNamespace => "user-namespace",
            Self::PidNamespace => "pid-namespace",
            Self::MountNamespace => "mount-namespace",
            Self::NetworkNamespace => "network-namespace",
            Self::IpcNamespace => "ipc-namespace",
            Self::Landlock => "landlock",
            Self::ControlGroup => "control-group",
        }
    }

    /// The layer with this name, or with the short one that people know.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = match name {
            "userns" => "user-namespace",
            "pidns" => "pid-namespace",
            "mountns" => "mount-namespace",
            "netns" => "network-namespace",
            "ipcns" => "ipc-namespace",
            "cgroup" => "control-group",
            name => name,
        };
        Self::ALL.into_iter().find(|layer| layer.name() == name)
    }
}

impl std::fmt::Display for ContainmentLayer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}
