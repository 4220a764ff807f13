//! What this backend can promise on this host, found out by trying.

use host_sys::rustix;
use host_sys::{Forked, Namespace, fork_into, landlock_abi, seccomp_trap_available};
use kernel_tasks::kernel::RELEASE;
use sandbox::{CapabilityReport, LayerReport, LayerState, StartError};
use sandbox_spec::ContainmentLayer;

use crate::{control_group, lockdown, namespaces};

/// Why this backend cannot run here at all. Cheap: asked at every start.
pub fn obstacles() -> Vec<String> {
    if is_nested() {
        return vec![StartError::Nested.to_string()];
    }
    let mut obstacles = Vec::new();
    if let Err(reason) = host_sys::fsgsbase_available() {
        obstacles.push(reason.to_string());
    }
    if !host_sys::xsave_available() {
        obstacles.push("the processor or the host's kernel has no XSAVE".to_owned());
    }
    if seccomp_trap_available().is_err() {
        obstacles.push("the host's kernel has no seccomp filters".to_owned());
    }
    if let Err(reason) = host_sys::descendants_readable() {
        obstacles.push(reason.to_string());
    }
    let needed = [
        ("openat2", host_sys::openat2_available()),
        ("close_range", host_sys::close_range_available()),
    ];
    for (name, answer) in needed {
        if let Err(error) = answer {
            obstacles.push(format!("the host does not serve {name}: {error}"));
        }
    }
    obstacles
}

/// Whether this is the inside of a sandbox of this backend, whose kernel does not do for one more
/// what the host does for it.
pub fn is_nested() -> bool {
    rustix::system::uname().release().to_bytes() == RELEASE.as_bytes()
}

/// Every layer, with its state.
pub fn report() -> CapabilityReport {
    let mut layers = layers(&permitted_namespaces());
    lockdown::note(&mut layers, control_group::report(control_group::state()));
    CapabilityReport { backend: crate::NAME, obstacles: obstacles(), layers }
}

/// Every layer, of a kernel process in these namespaces.
pub fn layers(namespaces: &[Namespace]) -> Vec<LayerReport> {
    ContainmentLayer::ALL
        .into_iter()
        .map(|layer| LayerReport { layer, state: state(layer, namespaces) })
        .collect()
}

fn state(layer: ContainmentLayer, namespaces: &[Namespace]) -> LayerState {
    let namespace = |kind| {
        if namespaces.contains(&kind) {
            LayerState::InForce
        } else {
            LayerState::Unavailable("the host does not permit it to this user".to_owned())
        }
    };
    match layer {
        ContainmentLayer::GuestFilter
        | ContainmentLayer::KernelFilter
        | ContainmentLayer::NoNewPrivileges => LayerState::InForce,
        ContainmentLayer::UserNamespace => namespace(Namespace::User),
        ContainmentLayer::PidNamespace => namespace(Namespace::Pid),
        ContainmentLayer::MountNamespace => namespace(Namespace::Mount),
        ContainmentLayer::NetworkNamespace => namespace(Namespace::Network),
        ContainmentLayer::IpcNamespace => namespace(Namespace::Ipc),
        ContainmentLayer::Landlock => match landlock_abi() {
            Ok(_) => LayerState::InForce,
            Err(reason) => LayerState::Unavailable(reason.to_string()),
        },
        // Known to the starter, which says so.
        ContainmentLayer::ControlGroup => LayerState::Unused("not tried".to_owned()),
    }
}

/// The namespaces that a kernel process gets here: forks one that ends at once.
fn permitted_namespaces() -> Vec<Namespace> {
    for set in namespaces::SETS {
        match fork_into(set) {
            Ok(Forked::Child) => std::process::exit(0),
            Ok(Forked::Parent(pid)) => {
                let options = rustix::process::WaitOptions::empty();
                let _ = rustix::process::waitpid(Some(pid), options);
                return set.to_vec();
            }
            Err(_) => {}
        }
    }
    Vec::new()
}
