//! The layers that the kernel process puts around itself.

use std::path::PathBuf;

use host_sys::{Reach, landlock_abi, restrict_to, seccomp};
use kernel_files::root::host_places;
use sandbox::{LayerReport, LayerState};
use sandbox_spec::{ContainmentLayer, SandboxSpec};

use crate::control::Refusal;
use crate::kernel_filter;

/// Holds this process, and the guest processes to come, to the files that the specification shows.
/// Must come before the zygote: the host lets nobody read the memory of a process that is less
/// restricted.
pub fn restrict_files(spec: &SandboxSpec) -> LayerReport {
    let state = match landlock_abi() {
        Err(reason) => LayerState::Unavailable(reason.to_string()),
        Ok(version) if forbids_too_much(version, spec) => LayerState::Unused(
            "version 1, of Linux before 5.19, forbids to move files between folders, and some are \
             to be written here; where it is required it holds all the same"
                .to_owned(),
        ),
        Ok(version) => match restrict_to(version, &places(spec)) {
            Ok(()) => LayerState::InForce,
            Err(error) => LayerState::Unavailable(error.to_string()),
        },
    };
    LayerReport { layer: ContainmentLayer::Landlock, state }
}

/// Whether this version would break what the guest may do: the first one lets nobody move or link a
/// file into another folder, wherever that is.
fn forbids_too_much(version: u32, spec: &SandboxSpec) -> bool {
    const LETS_MOVE: u32 = 2;
    version < LETS_MOVE
        && !spec.required_containment.contains(&ContainmentLayer::Landlock)
        && host_places(spec).iter().any(|place| place.is_written)
}

/// What the tree shows, what the host says of guest processes, and the standard streams of these.
fn places(spec: &SandboxSpec) -> Vec<(PathBuf, Reach)> {
    let shown = host_places(spec).into_iter().map(|place| {
        let reach = if place.is_written { Reach::Write } else { Reach::Read };
        (place.path, reach)
    });
    shown.chain([("/proc".into(), Reach::Read), ("/dev/null".into(), Reach::Write)]).collect()
}

/// Holds this process to the calls that it needs from now on. Guest processes have a filter of
/// their own, which came with the zygote.
pub fn restrict_calls() -> LayerReport {
    let program = kernel_filter::assemble(kernel_filter::RULES);
    let state = match seccomp::install(&program) {
        Ok(()) => LayerState::InForce,
        Err(error) => LayerState::Unavailable(error.to_string()),
    };
    LayerReport { layer: ContainmentLayer::KernelFilter, state }
}

/// Puts what came of trying into a list of layers.
pub fn note(layers: &mut [LayerReport], tried: LayerReport) {
    if let Some(entry) = layers.iter_mut().find(|entry| entry.layer == tried.layer) {
        *entry = tried;
    }
}

/// Refuses to start without a layer that the specification requires.
pub fn check(spec: &SandboxSpec, layers: &[LayerReport]) -> Result<(), Refusal> {
    let missing = layers.iter().find(|report| {
        report.reason_against().is_some() && spec.required_containment.contains(&report.layer)
    });
    missing.map_or(Ok(()), |report| Err(Refusal::Layer(report.clone())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(mount: &str) -> SandboxSpec {
        let mut spec = SandboxSpec::new(["x"]);
        spec.mounts.push(mount.parse().unwrap());
        spec
    }

    #[test]
    fn the_first_version_holds_only_where_nothing_is_written_or_it_is_required() {
        let mut written = spec("/srv:/srv:rw");
        assert!(forbids_too_much(1, &written));
        assert!(!forbids_too_much(2, &written));
        assert!(!forbids_too_much(1, &spec("/srv:/srv")));
        written.required_containment.insert(ContainmentLayer::Landlock);
        assert!(!forbids_too_much(1, &written));
    }
}
